//! Places for many parties, of which none can crowd out the others; and queues that divide a server's time between them.

mod channel;
mod queue;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

pub use self::channel::{FairReceiver, FairSender, SendError, fair_channel};
pub use self::queue::{FairQueue, QueueLimits, Tenant};

/// A number of places. A party has at most its share of them at a time, and those that wait are let in by turns, one of each
/// party: whoever asks for a thousand places delays only himself.
#[derive(Clone)]
pub struct FairPlaces(Arc<Inner>);

struct Inner {
    share: Share,
    state: Mutex<State>,
}

/// How many places one party may have at a time.
#[derive(Clone, Copy)]
enum Share {
    Fixed(usize),
    /// Fewer than there are free places.
    OfFree,
}

impl Share {
    fn allows(self, taken: usize, free: usize) -> bool {
        match self {
            Self::Fixed(share) => taken < share,
            Self::OfFree => taken < free,
        }
    }
}

struct State {
    free: usize,
    taken: HashMap<String, usize>,
    waiting: HashMap<String, VecDeque<oneshot::Sender<Place>>>,
    /// The parties that wait, in the order of their turns.
    turns: VecDeque<String>,
}

/// A place; it is free again when this is dropped.
pub struct Place {
    places: FairPlaces,
    whose: String,
}

impl FairPlaces {
    /// At least one place, of which a party has at most half.
    pub fn new(places: usize) -> Self {
        Self::with_share(places, places.div_ceil(2))
    }

    /// At least one place, of which a party has at most so many, and at least one.
    pub fn with_share(places: usize, share: usize) -> Self {
        Self::build(places, Share::Fixed(share.max(1)))
    }

    /// At least one place. A party gets another place only while it has fewer than are free.
    ///
    /// One busy party has at most half of the places, two a third each, and so on. Places that are held for long are
    /// therefore not a problem for a party that has none: as long as fewer parties than places are busy, one is free.
    pub fn with_share_of_free(places: usize) -> Self {
        Self::build(places, Share::OfFree)
    }

    fn build(places: usize, share: Share) -> Self {
        let (taken, waiting, turns) = (HashMap::new(), HashMap::new(), VecDeque::new());
        let state = Mutex::new(State { free: places.max(1), taken, waiting, turns });
        Self(Arc::new(Inner { share, state }))
    }

    /// Waits for a place for this party. An empty name is nobody in particular, who waits like others but may have
    /// every place.
    pub async fn acquire(&self, whose: &str) -> Place {
        let (sender, place) = oneshot::channel();
        self.queue_up(whose, sender);
        self.let_in();
        place.await.expect("whoever waits is let in sooner or later: the places outlive the waiting")
    }

    fn queue_up(&self, whose: &str, sender: oneshot::Sender<Place>) {
        let mut state = self.0.state.lock();
        if !state.waiting.contains_key(whose) {
            state.turns.push_back(whose.to_owned());
        }
        state.waiting.entry(whose.to_owned()).or_default().push_back(sender);
    }

    fn let_in(&self) {
        let mut let_in = Vec::new();
        let mut state = self.0.state.lock();
        let mut passed_over = 0;
        while state.free > 0 && passed_over < state.turns.len() {
            let Some(whose) = state.turns.pop_front() else { break };
            let taken = state.taken.get(&whose).copied().unwrap_or(0);
            if !whose.is_empty() && !self.0.share.allows(taken, state.free) {
                state.turns.push_back(whose);
                passed_over += 1;
                continue;
            }
            let queue = state.waiting.entry(whose.clone()).or_default();
            // Some have stopped waiting.
            let next = std::iter::from_fn(|| queue.pop_front()).find(|sender| !sender.is_closed());
            if queue.is_empty() {
                state.waiting.remove(&whose);
            } else {
                state.turns.push_back(whose.clone());
            }
            if let Some(sender) = next {
                state.free -= 1;
                *state.taken.entry(whose.clone()).or_default() += 1;
                let_in.push((sender, Place { places: self.clone(), whose }));
                passed_over = 0;
            }
        }
        drop(state);
        for (sender, place) in let_in {
            // Where nobody takes it, dropping it frees it.
            drop(sender.send(place));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.places.0.state.lock();
        state.free += 1;
        if let Some(taken) = state.taken.get_mut(&self.whose) {
            *taken -= 1;
            if *taken == 0 {
                state.taken.remove(&self.whose);
            }
        }
        drop(state);
        self.places.let_in();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    async fn at_once(places: &FairPlaces, whose: &str) -> Option<Place> {
        timeout(Duration::from_millis(50), places.acquire(whose)).await.ok()
    }

    #[tokio::test]
    async fn one_party_leaves_half_of_the_places_to_others() {
        let places = FairPlaces::new(4);
        let greedy = [at_once(&places, "a").await, at_once(&places, "a").await];
        assert!(greedy.iter().all(Option::is_some));
        assert!(at_once(&places, "a").await.is_none());
        let others = [at_once(&places, "b").await, at_once(&places, "c").await];
        assert!(others.iter().all(Option::is_some));
        assert!(at_once(&places, "d").await.is_none(), "there are four");
        drop(greedy);
        assert!(at_once(&places, "a").await.is_some());
    }

    #[tokio::test]
    async fn a_share_may_be_less_than_half() {
        let places = FairPlaces::with_share(4, 1);
        let first = at_once(&places, "a").await;
        assert!(first.is_some() && at_once(&places, "a").await.is_none());
        assert!(at_once(&places, "b").await.is_some());
        drop(first);
        assert!(at_once(&places, "a").await.is_some());
    }

    #[tokio::test]
    async fn busy_parties_leave_a_place_to_one_that_has_none() {
        let places = FairPlaces::with_share_of_free(12);
        let mut held = Vec::new();
        for (party, expected) in [("a", 6), ("b", 3), ("c", 2)] {
            let before = held.len();
            while let Some(place) = at_once(&places, party).await {
                held.push(place);
            }
            assert_eq!(held.len() - before, expected, "{party}");
        }
        let last = at_once(&places, "d").await;
        assert!(last.is_some(), "one is left to a party that has none");
        drop(last);
        // A party that waits because of its share goes on once places are free again.
        let waiting = tokio::spawn({
            let places = places.clone();
            async move { places.acquire("c").await }
        });
        held.drain(..6);
        waiting.await.unwrap();
    }

    #[tokio::test]
    async fn those_who_wait_are_let_in_by_turns() {
        let places = FairPlaces::new(1);
        let held = places.acquire("a").await;
        let (told, mut order) = tokio::sync::mpsc::unbounded_channel();
        for whose in ["a", "a", "a", "b", "c", "b"] {
            let (places, told) = (places.clone(), told.clone());
            tokio::spawn(async move {
                let _place = places.acquire(whose).await;
                told.send(whose).unwrap();
            });
            tokio::task::yield_now().await;
        }
        drop((held, told));
        let mut came = Vec::new();
        while let Some(whose) = order.recv().await {
            came.push(whose);
        }
        assert_eq!(came, ["a", "b", "c", "a", "b", "a"]);
    }

    #[tokio::test]
    async fn whoever_stops_waiting_takes_no_place() {
        let places = FairPlaces::new(1);
        let held = places.acquire("a").await;
        for _ in 0..100 {
            assert!(timeout(Duration::from_millis(1), places.acquire("b")).await.is_err());
        }
        drop(held);
        assert!(at_once(&places, "c").await.is_some());
        let state = places.0.state.lock();
        assert!(state.free == 1 && state.taken.is_empty() && state.waiting.is_empty() && state.turns.is_empty());
    }

    #[tokio::test]
    async fn nobody_in_particular_may_have_every_place() {
        let places = FairPlaces::new(2);
        let both = [at_once(&places, "").await, at_once(&places, "").await];
        assert!(both.iter().all(Option::is_some));
        assert!(at_once(&places, "").await.is_none());
    }
}
