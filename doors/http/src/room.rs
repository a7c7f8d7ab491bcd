//! How many requests of resellers may be under way before who begins something new has to wait. Nothing that a beginning waits
//! for is outside of this system: where those that are taken take long, there is more under way than it can do, and the room
//! shrinks; while they are served soon it grows again. So it finds by itself what a machine and its database hold.

use std::time::{Duration, Instant};

/// However late it is, there is room for so many.
const LEAST: usize = 128;
/// What takes longer to begin is late.
const LATE: Duration = Duration::from_millis(150);
/// It shrinks by a tenth, and then it is seen what that did. A crowd that comes at once is served before it has shrunk by much.
const STEP: Duration = Duration::from_millis(100);

pub(crate) struct Room {
    most: usize,
    size: usize,
    /// How long beginnings took lately.
    lately: Duration,
    shrunk_at: Option<Instant>,
}

impl Room {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, size: most, lately: Duration::ZERO, shrunk_at: None }
    }

    /// Whether one more may begin something who has so many of all that are under way: there is room, or they have less than
    /// their share of it.
    pub(crate) fn is_for(&self, mine: usize, all: usize, others: usize) -> bool {
        all < self.size || mine < (self.size / (others + 1)).max(1)
    }

    /// Something was begun, and it took so long.
    pub(crate) fn learn(&mut self, took: Duration, now: Instant) {
        self.lately = (self.lately * 7 + took) / 8;
        if self.lately < LATE {
            self.size = (self.size + 1).min(self.most);
        } else if self.shrunk_at.is_none_or(|at| now.duration_since(at) >= STEP) {
            self.size = (self.size * 9 / 10).max(LEAST.min(self.most));
            self.shrunk_at = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beginnings one after the other, ten milliseconds apart, that take so long.
    fn learn(room: &mut Room, from: Instant, times: u32, took: Duration) -> Instant {
        let at = |time| from + Duration::from_millis(10) * time;
        (1..=times).for_each(|time| room.learn(took, at(time)));
        at(times)
    }

    #[test]
    fn it_shrinks_while_it_is_late_and_grows_when_it_is_not() {
        let (mut room, now) = (Room::new(1000), Instant::now());
        let now = learn(&mut room, now, 20, LATE * 2);
        assert!((700..1000).contains(&room.size), "a crowd passes: {}", room.size);
        let now = learn(&mut room, now, 1000, LATE * 2);
        assert_eq!(room.size, LEAST);
        let now = learn(&mut room, now, 100, LATE / 2);
        assert!((LEAST + 50..LEAST + 100).contains(&room.size), "{}", room.size);
        learn(&mut room, now, 1000, LATE / 2);
        assert_eq!(room.size, 1000);
    }

    #[test]
    fn one_that_is_late_is_none() {
        let (mut room, now) = (Room::new(1000), Instant::now());
        let now = learn(&mut room, now, 10, LATE / 10);
        learn(&mut room, now, 1, LATE * 5);
        assert_eq!(room.size, 1000);
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
        assert!(room.is_for(99, 99, 0));
        assert!(!room.is_for(100, 100, 0));
        assert!(room.is_for(0, 100, 1) && room.is_for(49, 150, 1));
        assert!(!room.is_for(50, 150, 1));
        assert!(room.is_for(0, 1000, 500) && !room.is_for(1, 1000, 500));
    }
}
