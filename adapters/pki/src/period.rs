//! From when until when a new certificate is valid.

use chancery_domain::Timestamp;

use crate::{issuer::Issuer, profile::SubscriberProfile, validity::Validity};

const DAY: i64 = 86_400;

/// The Baseline Requirements (section 6.3.2) lower the longest validity step by step: from when on, how many days.
const CEILINGS: [(i64, u32); 3] = [
    (0, 200),
    // 2027-03-15T00:00:00Z
    (1_805_068_800, 100),
    // 2029-03-15T00:00:00Z
    (1_868_227_200, 47),
];

/// They also lower for how long control that was shown may be relied on (section 4.2.1): from when on, how many days.
const REUSE_CEILINGS: [(i64, u32); 4] = [
    (0, 398),
    // 2026-03-15T00:00:00Z
    (1_773_532_800, 200),
    // 2027-03-15T00:00:00Z
    (1_805_068_800, 100),
    // 2029-03-15T00:00:00Z
    (1_868_227_200, 10),
];

/// `notBefore` of a public certificate is at most this far from its signing (Baseline Requirements section 7.1.2.7).
pub(crate) const MAX_DISTANCE: i64 = 48 * 3600;

/// The most days a public certificate that begins at this time may last, counted with its last second.
pub fn ceiling_days(not_before: i64) -> u32 {
    applying(&CEILINGS, not_before)
}

/// The most days that control of a name, once shown, may be relied on for public certificates issued at this time.
pub fn reuse_ceiling_days(now: i64) -> u32 {
    applying(&REUSE_CEILINGS, now)
}

fn applying(steps: &[(i64, u32)], at: i64) -> u32 {
    let applying = steps.iter().rev().find(|(from, _)| at >= *from).or(steps.first());
    applying.map_or(0, |(_, days)| *days)
}

/// What is asked of a period, beside the profile. Times are Unix seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeriodWish {
    /// The first second, if the subscriber chose one.
    pub not_before: Option<i64>,
    /// The last second, if the subscriber chose one.
    pub not_after: Option<i64>,
    /// The most days that policies allow.
    pub max_days: Option<u32>,
}

/// A certificate's period, and whether it is shorter than its profile says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// The period.
    pub validity: Validity,
    /// Why it is shorter than the profile's, if it is, and nobody asked for that.
    pub shortened: Option<Shortened>,
}

/// Why a period is shorter than its profile says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Shortened {
    /// A policy allows fewer days.
    #[error("a policy allows {0} days")]
    Policy(u32),
    /// The Baseline Requirements allow fewer days at this date.
    #[error("public certificates may last {0} days at this date")]
    Ceiling(u32),
    /// The issuer's own certificate ends earlier.
    #[error("the issuer's own certificate ends at {}", Timestamp::from_secs(*.0))]
    Issuer(i64),
}

/// Why there is no period as wished for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeriodError {
    /// It would begin in the past.
    #[error(
        "the certificate would begin earlier than {}; leave not_before out, or choose a later time",
        Timestamp::from_secs(*earliest)
    )]
    TooEarly {
        /// The earliest first second.
        earliest: i64,
    },
    /// It would begin too late.
    #[error(
        "the certificate would begin later than {}; leave not_before out, or choose an earlier time",
        Timestamp::from_secs(*latest)
    )]
    TooLate {
        /// The latest first second.
        latest: i64,
    },
    /// It would end later than it may.
    #[error(
        "the certificate would end later than {}; leave not_after out, or choose an earlier time",
        Timestamp::from_secs(*latest)
    )]
    TooLong {
        /// The latest last second.
        latest: i64,
    },
    /// It would be over before it began.
    #[error("the certificate would end before it begins, or is over already; choose a later not_after")]
    Empty,
    /// The issuer's own certificate is over, or its period cannot be written.
    #[error("the issuer's own certificate is over")]
    IssuerOver,
}

impl Period {
    /// The period of a certificate that is issued now.
    ///
    /// It begins a little before now and lasts as long as the profile says, unless a policy, the Baseline Requirements
    /// or the end of the issuer's certificate shorten it. What the subscriber chose is kept to the second, or refused;
    /// only a beginning is put off, where the issuer begins later, or where nothing would be left of a shortened period. With an
    /// end alone it begins a little before now as well, as far as the longest period that may be reaches.
    pub fn plan(
        profile: &SubscriberProfile,
        issuer: &Issuer,
        wish: &PeriodWish,
        now: i64,
    ) -> Result<Self, PeriodError> {
        let issuer_ends = issuer.not_after();
        if now > issuer_ends {
            return Err(PeriodError::IssuerOver);
        }
        let earliest = now - i64::from(profile.backdate_seconds);
        let latest = if profile.public { now + MAX_DISTANCE } else { issuer_ends };
        let (days, mut shortened) = longest(profile, wish, now);
        // Half of a shortened period at most lies before now: else one that is shorter than the profile's backdating
        // would be over at once.
        let usual = match shortened {
            Some(_) => earliest.max(now - i64::from(days) * DAY / 2),
            None => earliest,
        };
        // Not before its issuer, where that is new.
        let issuer_begins = issuer.certificate().not_before();
        let not_before = match wish.not_before {
            Some(wished) if wished < earliest => return Err(PeriodError::TooEarly { earliest }),
            Some(wished) if wished > latest => return Err(PeriodError::TooLate { latest }),
            // With an end of its own the period is as long as it was chosen, whatever the days are.
            Some(wished) if wish.not_after.is_some() => wished.max(issuer_begins),
            Some(wished) => wished.max(usual).max(issuer_begins),
            None => {
                let longest = wish.not_after.map(|end| end.saturating_sub(i64::from(days) * DAY - 1));
                usual.max(issuer_begins).max(longest.unwrap_or(i64::MIN)).min(now)
            }
        };

        let mut not_after = not_before.saturating_add(i64::from(days) * DAY - 1);
        if issuer_ends < not_after {
            (not_after, shortened) = (issuer_ends, Some(Shortened::Issuer(issuer_ends)));
        }
        match wish.not_after {
            Some(wished) if wished > not_after => return Err(PeriodError::TooLong { latest: not_after }),
            Some(wished) => (not_after, shortened) = (wished, None),
            None => {}
        }
        if not_after < now {
            return Err(PeriodError::Empty);
        }
        let validity = Validity::lasting(not_before, not_after - not_before + 1).map_err(|_| PeriodError::Empty)?;
        Ok(Self { validity, shortened })
    }
}

/// For how many days it may last at most, and why that is less than the profile says, if it is.
fn longest(profile: &SubscriberProfile, wish: &PeriodWish, now: i64) -> (u32, Option<Shortened>) {
    let policy = wish.max_days.map(|max| (max, Shortened::Policy(max)));
    // What counts is the date of issuance (section 6.3.2), which backdating must not evade.
    let ceiling = ceiling_days(wish.not_before.map_or(now, |wished| wished.max(now)));
    let ceiling = profile.public.then_some((ceiling, Shortened::Ceiling(ceiling)));
    let mut longest = (profile.validity_days, None);
    for (max, why) in [policy, ceiling].into_iter().flatten() {
        if max < longest.0 {
            longest = (max, Some(why));
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{CaName, KeyAlgorithm, PrivateKey, Serial, root};

    /// 2026-06-01T00:00:00Z.
    const NOW: i64 = 1_780_272_000;
    const NO_WISH: PeriodWish = PeriodWish { not_before: None, not_after: None, max_days: None };

    struct Zeros;

    impl chancery_domain::Entropy for Zeros {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0);
        }
    }

    /// An issuer whose certificate lasts from so many days before now until so many days after.
    fn issuer(before: i64, after: i64) -> Issuer {
        let key = Arc::new(PrivateKey::generate(KeyAlgorithm::EcP256).unwrap());
        let validity = Validity::lasting(NOW - before * DAY, (before + after) * DAY).unwrap();
        let name = CaName::new("XX", "Tests", "Root").unwrap();
        Issuer::new(root(&*key, &name, validity, Serial::draw(&Zeros)).unwrap(), key).unwrap()
    }

    fn plan(profile: &SubscriberProfile, wish: PeriodWish, now: i64) -> Result<Period, PeriodError> {
        Period::plan(profile, &issuer(100, 3650), &wish, now)
    }

    #[test]
    fn ninety_days_are_ninety_days_with_their_last_second() {
        let period = plan(&SubscriberProfile::tls(90), NO_WISH, NOW).unwrap();
        assert_eq!(period.validity.not_before(), NOW - 3600);
        assert_eq!(period.validity.not_after(), NOW - 3600 + 90 * DAY - 1);
        assert_eq!(period.shortened, None);
    }

    #[test]
    fn control_once_shown_counts_for_less_and_less() {
        let [_, (year_2026, _), (year_2027, _), (year_2029, _)] = REUSE_CEILINGS;
        for (at, days) in [
            (year_2026 - 1, 398),
            (year_2026, 200),
            (year_2027 - 1, 200),
            (year_2027, 100),
            (year_2029 - 1, 100),
            (year_2029, 10),
            (-1, 398),
        ] {
            assert_eq!(reuse_ceiling_days(at), days, "{at}");
        }
    }

    #[test]
    fn the_ceilings_come_down_on_their_days() {
        assert_eq!(CEILINGS.map(|(from, _)| from % DAY), [0; 3]);
        let (year_2027, year_2029) = (CEILINGS[1].0, CEILINGS[2].0);
        for (at, days) in [(NOW, 200), (year_2027 - 1, 200), (year_2027, 100), (year_2029 - 1, 100), (year_2029, 47)] {
            assert_eq!(ceiling_days(at), days, "{at}");
            let period = plan(&SubscriberProfile::tls(365), NO_WISH, at).unwrap();
            let seconds = period.validity.not_after() - period.validity.not_before() + 1;
            assert_eq!(seconds, i64::from(days) * DAY, "{at}");
            assert_eq!(period.shortened, Some(Shortened::Ceiling(days)));
            let private = SubscriberProfile { public: false, ..SubscriberProfile::tls(365) };
            assert_eq!(plan(&private, NO_WISH, at).unwrap().shortened, None);
        }
        // Backdated to before the day on which the ceiling comes down.
        let period = plan(&SubscriberProfile::tls(199), NO_WISH, year_2027 + 60).unwrap();
        assert!(period.validity.not_before() < year_2027);
        assert_eq!(period.shortened, Some(Shortened::Ceiling(100)));
    }

    #[test]
    fn a_policy_shortens_and_says_so() {
        let period = plan(&SubscriberProfile::tls(90), PeriodWish { max_days: Some(7), ..NO_WISH }, NOW).unwrap();
        assert_eq!(period.validity.not_after() - period.validity.not_before() + 1, 7 * DAY);
        assert_eq!(period.shortened, Some(Shortened::Policy(7)));
        let longer = plan(&SubscriberProfile::tls(90), PeriodWish { max_days: Some(91), ..NO_WISH }, NOW).unwrap();
        assert_eq!(longer.shortened, None);
    }

    #[test]
    fn a_policy_shorter_than_the_backdating_leaves_half_of_its_days() {
        let profile = SubscriberProfile { backdate_seconds: 48 * 3600, ..SubscriberProfile::tls(90) };
        let two_days = PeriodWish { max_days: Some(2), ..NO_WISH };
        let period = plan(&profile, two_days, NOW).unwrap();
        assert_eq!((period.validity.not_before(), period.validity.not_after()), (NOW - DAY, NOW + DAY - 1));
        // Nor does a chosen beginning use all of it up, where no end was chosen.
        let early = plan(&profile, PeriodWish { not_before: Some(NOW - 2 * DAY), ..two_days }, NOW).unwrap();
        assert_eq!(early, period);
        let both = PeriodWish { not_before: Some(NOW - 2 * DAY + 7200), not_after: Some(NOW + 3600), ..two_days };
        let both = plan(&profile, both, NOW).unwrap();
        assert_eq!((both.validity.not_before(), both.validity.not_after()), (NOW - 2 * DAY + 7200, NOW + 3600));
        // Where there is time enough, nothing changes; nor where nothing is shortened.
        let week = plan(&profile, PeriodWish { max_days: Some(7), ..NO_WISH }, NOW).unwrap();
        assert_eq!(week.validity.not_before(), NOW - 2 * DAY);
        let brief = SubscriberProfile { validity_days: 3, ..profile };
        assert_eq!(plan(&brief, NO_WISH, NOW).unwrap().validity.not_before(), NOW - 2 * DAY);
    }

    #[test]
    fn with_an_end_alone_it_begins_as_early_as_the_longest_period_reaches() {
        let begins = |profile: &SubscriberProfile, max_days, end| {
            let wish = PeriodWish { not_after: Some(end), max_days, ..NO_WISH };
            let period = plan(profile, wish, NOW)?;
            assert_eq!((period.validity.not_after(), period.shortened), (end, None));
            Ok(period.validity.not_before())
        };
        // By the profile, by a policy, and by the ceiling of the day.
        let month = SubscriberProfile { public: false, ..SubscriberProfile::tls(30) };
        for (profile, max_days, days) in [
            (&month, None, 30),
            (&SubscriberProfile::tls(90), Some(30), 30),
            (&SubscriberProfile::tls(398), Some(398), 200),
        ] {
            let end = NOW + days * DAY - 1;
            assert_eq!(begins(profile, max_days, end), Ok(NOW));
            assert_eq!(begins(profile, max_days, end - 99), Ok(NOW - 99));
            assert_eq!(begins(profile, max_days, end - DAY), Ok(NOW - 3600));
            assert_eq!(begins(profile, max_days, end + 1), Err(PeriodError::TooLong { latest: end }));
        }
        assert_eq!(begins(&SubscriberProfile::tls(90), None, NOW + 30 * DAY - 2), Ok(NOW - 3600));
    }

    #[test]
    fn no_certificate_outlives_its_issuer() {
        let profile = SubscriberProfile::tls(90);
        let ends = NOW + 30 * DAY - 1;
        let period = Period::plan(&profile, &issuer(100, 30), &NO_WISH, NOW).unwrap();
        assert_eq!(period.validity.not_after(), ends);
        assert_eq!(period.shortened, Some(Shortened::Issuer(ends)));
        assert_eq!(Period::plan(&profile, &issuer(100, 30), &NO_WISH, ends + 1), Err(PeriodError::IssuerOver));
        // Nor begins before it.
        let young = Period::plan(&profile, &issuer(0, 300), &NO_WISH, NOW).unwrap();
        assert_eq!(young.validity.not_before(), NOW);
        for not_after in [None, Some(NOW + DAY)] {
            let wish = PeriodWish { not_before: Some(NOW - 60), not_after, ..NO_WISH };
            let young = Period::plan(&profile, &issuer(0, 300), &wish, NOW).unwrap();
            assert_eq!(young.validity.not_before(), NOW, "{not_after:?}");
        }
    }

    #[test]
    fn times_are_told_as_people_write_them() {
        for said in [
            PeriodError::TooEarly { earliest: NOW }.to_string(),
            PeriodError::TooLate { latest: NOW }.to_string(),
            PeriodError::TooLong { latest: NOW }.to_string(),
            Shortened::Issuer(NOW).to_string(),
        ] {
            assert!(said.contains(" 2026-06-01T00:00:00Z"), "{said}");
        }
    }

    #[test]
    fn a_chosen_period_is_kept_to_the_second_or_refused() {
        let profile = SubscriberProfile::tls(90);
        let chosen = |not_before, not_after| plan(&profile, PeriodWish { not_before, not_after, max_days: None }, NOW);
        let period = chosen(Some(NOW + 10), Some(NOW + DAY)).unwrap();
        assert_eq!((period.validity.not_before(), period.validity.not_after()), (NOW + 10, NOW + DAY));
        assert_eq!(period.shortened, None);
        assert!(chosen(Some(NOW - 3600), None).is_ok());
        assert_eq!(chosen(Some(NOW - 3601), None), Err(PeriodError::TooEarly { earliest: NOW - 3600 }));
        assert!(chosen(Some(NOW + MAX_DISTANCE), None).is_ok());
        let late = Err(PeriodError::TooLate { latest: NOW + MAX_DISTANCE });
        assert_eq!(chosen(Some(NOW + MAX_DISTANCE + 1), None), late);
        let latest = NOW + 90 * DAY - 1;
        assert!(chosen(Some(NOW), Some(latest)).is_ok());
        assert_eq!(chosen(Some(NOW), Some(latest + 1)), Err(PeriodError::TooLong { latest }));
        assert_eq!(chosen(Some(NOW + 10), Some(NOW + 5)), Err(PeriodError::Empty));
        assert_eq!(chosen(None, Some(NOW - 1)), Err(PeriodError::Empty));
    }
}
