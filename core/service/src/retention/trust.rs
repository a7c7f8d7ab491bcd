//! Whether the clock is believed when it comes to deleting. What is deleted by a clock that is years ahead does not come
//! back, so a clock that is far beyond the last time has to stand by what it says for a day: long enough for somebody to
//! see the error, and for a service that really was off for a month to go on by itself.

use std::time::Duration;

use chancery_domain::Timestamp;
use chancery_store::SweepTimes;

/// How far beyond the next time that it is looked after the clock may be before it is doubted.
const FAR: Duration = Duration::from_secs(7 * 86_400);
/// How long it has to stand by that.
pub(super) const STEADY: Duration = Duration::from_secs(86_400);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    Believed,
    /// Doubted from now on: nothing is deleted.
    Doubted,
    /// Doubted since then.
    Waiting(Timestamp),
}

/// What to make of a clock that says `now`, where this is looked after every so often.
pub(super) fn judge(times: SweepTimes, now: Timestamp, every: Duration) -> Trust {
    let far = every + FAR;
    if times.swept.is_some_and(|swept| now.since(swept) <= far) {
        return Trust::Believed;
    }
    match times.doubted {
        // It went back, or ahead once more: it has not stood by anything.
        Some(doubted) if now < doubted || now.since(doubted) > STEADY + far => Trust::Doubted,
        Some(doubted) if now.since(doubted) < STEADY => Trust::Waiting(doubted),
        Some(_) => Trust::Believed,
        None => Trust::Doubted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);
    const HOUR: Duration = Duration::from_secs(3600);

    fn judged(swept: Option<Timestamp>, doubted: Option<Timestamp>, now: Timestamp) -> Trust {
        judge(SweepTimes { swept, doubted }, now, HOUR)
    }

    #[test]
    fn a_clock_that_is_far_ahead_has_to_stand_by_it_for_a_day() {
        let last = Timestamp::from_secs(1_800_000_000);
        assert_eq!(judged(Some(last), None, last.plus(HOUR)), Trust::Believed);
        assert_eq!(judged(Some(last), None, last.plus(7 * DAY)), Trust::Believed);
        let ahead = last.plus(3650 * DAY);
        assert_eq!(judged(Some(last), None, ahead), Trust::Doubted);
        assert_eq!(judged(Some(last), Some(ahead), ahead.plus(HOUR)), Trust::Waiting(ahead));
        assert_eq!(judged(Some(last), Some(ahead), ahead.plus(DAY)), Trust::Believed);
    }

    #[test]
    fn a_clock_that_is_set_right_is_believed_and_one_that_moves_again_is_doubted_anew() {
        let last = Timestamp::from_secs(1_800_000_000);
        let ahead = last.plus(3650 * DAY);
        assert_eq!(judged(Some(last), Some(ahead), last.plus(HOUR)), Trust::Believed);
        assert_eq!(judged(Some(last), Some(ahead), last.minus(DAY)), Trust::Believed);
        assert_eq!(judged(Some(last), Some(ahead), ahead.minus(DAY)), Trust::Doubted);
        assert_eq!(judged(Some(last), Some(ahead), ahead.plus(30 * DAY)), Trust::Doubted);
    }

    #[test]
    fn a_clock_that_nothing_is_known_of_has_to_stand_by_what_it_says_too() {
        let now = Timestamp::from_secs(1_800_000_000);
        assert_eq!(judged(None, None, now), Trust::Doubted);
        assert_eq!(judged(None, Some(now), now.plus(HOUR)), Trust::Waiting(now));
        assert_eq!(judged(None, Some(now), now.plus(DAY)), Trust::Believed);
    }
}
