//! How many requests of resellers may be under way before who begins something new has to wait. Where what is begun takes long,
//! more is under way than the machine and its database can do, and the room shrinks; while it is done soon, the room grows
//! again. So it finds by itself what they hold.

use std::time::{Duration, Instant};

/// However late it is, there is room for so many.
const LEAST: usize = 128;
/// What takes longer to begin is late.
const LATE: Duration = Duration::from_millis(150);
/// After each step it is seen what that did. A crowd that comes at once is served before the room has shrunk by much.
const STEP: Duration = Duration::from_millis(100);

pub(crate) struct Room {
    most: usize,
    size: usize,
    /// How long it took lately to begin something.
    lately: Duration,
    stepped_at: Option<Instant>,
}

impl Room {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, size: most, lately: Duration::ZERO, stepped_at: None }
    }

    /// Whether one who has `mine` of what everybody has under way may begin one more: there is room, or they have less than
    /// their share of it. Who wants less than an even share leaves the rest of it to others.
    pub(crate) fn is_for(&self, mine: usize, everybody: impl Iterator<Item = usize> + Clone) -> bool {
        if everybody.clone().sum::<usize>() < self.size {
            return true;
        }
        let mut counts: Vec<_> = everybody.collect();
        counts.sort_unstable();
        let (mut left, mut sharing, mut share) = (self.size, counts.len(), self.size);
        for count in counts {
            share = left / sharing;
            if count >= share {
                break;
            }
            (left, sharing) = (left - count, sharing - 1);
        }
        mine < share.max(1)
    }

    /// Something was begun, and it took so long. One that took very long is not worth more than a few.
    pub(crate) fn learn(&mut self, took: Duration, now: Instant) {
        self.lately = (self.lately * 7 + took.min(LATE * 4)) / 8;
        if self.stepped_at.is_some_and(|at| now.duration_since(at) < STEP) {
            return;
        }
        self.size = match (self.lately < LATE, took < LATE) {
            (true, _) => (self.size + self.size / 8 + 1).min(self.most),
            (false, false) => (self.size * 9 / 10).max(LEAST.min(self.most)),
            // It gets better.
            (false, true) => return,
        };
        self.stepped_at = Some(now);
    }

    /// Nothing is under way.
    pub(crate) fn rest(&mut self) {
        *self = Self::new(self.most);
    }

    #[cfg(test)]
    pub(crate) fn has_learnt(&self) -> bool {
        self.stepped_at.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many that are begun one after the other, ten milliseconds apart, and take so long.
    fn learn(room: &mut Room, from: Instant, times: u32, took: Duration) -> Instant {
        let at = |time| from + Duration::from_millis(10) * time;
        (1..=times).for_each(|time| room.learn(took, at(time)));
        at(times)
    }

    #[test]
    fn it_shrinks_while_it_is_late_and_grows_when_it_is_not() {
        let (mut room, now) = (Room::new(1000), Instant::now());
        let now = learn(&mut room, now, 40, LATE * 2);
        assert!((600..1000).contains(&room.size), "a crowd passes: {}", room.size);
        let now = learn(&mut room, now, 1000, LATE * 2);
        assert_eq!(room.size, LEAST);
        let now = learn(&mut room, now, 50, LATE / 2);
        assert!((LEAST + 20..LEAST * 2).contains(&room.size), "{}", room.size);
        learn(&mut room, now, 300, LATE / 2);
        assert_eq!(room.size, 1000);
        learn(&mut room, now, 1000, LATE * 2);
        room.rest();
        assert!(room.size == 1000 && !room.has_learnt());
    }

    #[test]
    fn one_that_takes_for_ever_says_little() {
        let (mut room, now) = (Room::new(1000), Instant::now());
        let now = learn(&mut room, now, 10, LATE / 10);
        let now = learn(&mut room, now, 1, LATE * 1000);
        learn(&mut room, now, 100, LATE / 10);
        assert_eq!(room.size, 1000);
    }

    #[test]
    fn what_is_begun_soon_does_not_shrink_it() {
        let (mut room, now) = (Room::new(1000), Instant::now());
        let now = learn(&mut room, now, 10, LATE * 4);
        let before = room.size;
        assert!(room.lately > LATE);
        room.learn(LATE / 10, now + STEP);
        assert_eq!(room.size, before);
    }

    #[test]
    fn what_is_small_stays_as_it_is() {
        let mut room = Room::new(8);
        learn(&mut room, Instant::now(), 1000, LATE * 2);
        assert_eq!(room.size, 8);
    }

    #[test]
    fn a_full_room_is_for_those_who_have_less_than_their_share() {
        let room = Room::new(100);
        let is_for = |mine, others: &[usize]| {
            let all = others.iter().copied().chain((mine > 0).then_some(mine));
            room.is_for(mine, all)
        };
        assert!(is_for(99, &[]) && !is_for(100, &[]));
        assert!(is_for(0, &[100]) && is_for(49, &[101]));
        assert!(!is_for(50, &[100]) && !is_for(100, &[50]));
        assert!(is_for(40, &[10, 70]) && !is_for(55, &[10, 70]), "who wants little leaves the rest to others");
        assert!(is_for(0, &[2; 500]) && !is_for(1, &[2; 500]));
    }
}
