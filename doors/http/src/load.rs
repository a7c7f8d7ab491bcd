//! How many requests are under way, in all and for each holder: the reseller, once that is known, and until then the network
//! that it came from. Beyond what a node can do, more are turned away at once with 503 and the time to come again, before they
//! wait for anything; and as it fills, nobody has more than their share. Whoever begins something is turned away first, so that
//! what was begun can be finished.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chancery_domain::ResellerId;
use parking_lot::Mutex;

use crate::error::ApiError;
use crate::room::Room;

const REFUSED: &str = "chancery_http_overload_total";

/// The requests that a router has under way; clones share the count.
#[derive(Clone)]
pub(crate) struct Load {
    inner: Arc<Inner>,
}

struct Inner {
    most: usize,
    state: Mutex<State>,
}

struct State {
    all: usize,
    strangers: HashMap<IpAddr, usize>,
    resellers: HashMap<ResellerId, usize>,
    /// Requests of resellers that are not answered yet: what keeps others from beginning something.
    working: HashMap<ResellerId, usize>,
    room: Room,
}

/// The place of one request that is worked on, until dropped; found in its extensions.
pub struct Place {
    held: Arc<Held>,
    worker: Mutex<Option<ResellerId>>,
    something_new: bool,
}

/// What a request takes of the places that there are, until its answer has been taken, too; found in the extensions of that.
pub(crate) struct Held {
    load: Load,
    holder: Mutex<Holder>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Holder {
    /// Nobody knows where it came from.
    Nobody,
    Network(IpAddr),
    Reseller(ResellerId),
}

impl Load {
    /// So many at a time.
    pub(crate) fn new(most: usize) -> Self {
        let state = State {
            all: 0,
            strangers: HashMap::new(),
            resellers: HashMap::new(),
            working: HashMap::new(),
            room: Room::new((most / 4).max(1)),
        };
        Self { inner: Arc::new(Inner { most, state: Mutex::new(state) }) }
    }

    /// Counts one more, unless there are as many as there may be, or the network has its share of strangers: whoever sends half
    /// a request costs a place, and cannot have all of them. Who begins something is turned away once resellers have a quarter
    /// of the places; one of them alone, or strangers, cannot bring that about.
    pub(crate) fn begin(&self, from: Option<IpAddr>, something_new: bool) -> Result<Arc<Place>, ApiError> {
        let mut state = self.inner.state.lock();
        if state.all >= self.inner.most {
            return Err(refused("full"));
        }
        if something_new && state.at_work(self.inner.most / 8) >= (self.inner.most / 4).max(1) {
            return Err(refused("new"));
        }
        let holder = match from.map(network) {
            Some(network) => {
                self.count(state.all, &mut state.strangers, network)?;
                Holder::Network(network)
            }
            None => Holder::Nobody,
        };
        state.all += 1;
        let held = Arc::new(Held { load: self.clone(), holder: Mutex::new(holder) });
        Ok(Arc::new(Place { held, worker: Mutex::default(), something_new }))
    }

    /// Something new was begun, and it took so long.
    pub(crate) fn learn(&self, took: Duration) {
        self.inner.state.lock().room.learn(took, Instant::now());
    }

    /// Counts one more of a holder, unless that has its share already and others want theirs: from half of the places on,
    /// those that are left are for those who have fewer.
    fn count<K: Eq + Hash>(&self, all: usize, of: &mut HashMap<K, usize>, holder: K) -> Result<(), ApiError> {
        let mine = of.get(&holder).copied().unwrap_or(0);
        let others = of.len() - usize::from(mine > 0);
        let share = self.inner.most / (others + 2);
        if all > self.inner.most / 2 && mine >= share.max(1) {
            return Err(refused("share"));
        }
        *of.entry(holder).or_default() += 1;
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn has_learnt(&self) -> bool {
        self.inner.state.lock().room.has_learnt()
    }
}

impl Place {
    /// Notes whose it is; from then on it is no stranger's.
    pub(crate) fn claim(&self, reseller: ResellerId) -> Result<(), ApiError> {
        let Held { load, holder } = self.held.as_ref();
        let mut holder = holder.lock();
        if *holder == Holder::Reseller(reseller) {
            return Ok(());
        }
        let mut state = load.inner.state.lock();
        if self.something_new {
            state.require_room_for(reseller)?;
        }
        load.count(state.all, &mut state.resellers, reseller)?;
        state.leave(*holder);
        *holder = Holder::Reseller(reseller);
        *state.working.entry(reseller).or_default() += 1;
        if let Some(before) = self.worker.lock().replace(reseller) {
            discount(&mut state.working, before);
        }
        Ok(())
    }

    /// That it would be the reseller's turn, if it is theirs: asked before that is known for sure, which takes time.
    pub(crate) fn require_turn(&self, reseller: ResellerId) -> Result<(), ApiError> {
        if self.something_new { self.held.load.inner.state.lock().require_room_for(reseller) } else { Ok(()) }
    }

    /// What stays taken until the answer has been.
    pub(crate) fn held(&self) -> Arc<Held> {
        self.held.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.held.load.inner.state.lock();
        if let Some(worker) = self.worker.get_mut() {
            discount(&mut state.working, *worker);
        }
        if state.working.is_empty() {
            state.room.rest();
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let holder = *self.holder.get_mut();
        let mut state = self.load.inner.state.lock();
        state.all -= 1;
        state.leave(holder);
    }
}

impl State {
    /// How many requests of resellers are worked on, no more than so many counted of each.
    fn at_work(&self, most_each: usize) -> usize {
        self.working.values().map(|places| (*places).min(most_each.max(1))).sum()
    }

    /// That this reseller may begin something.
    fn require_room_for(&self, reseller: ResellerId) -> Result<(), ApiError> {
        let mine = self.working.get(&reseller).copied().unwrap_or(0);
        if self.room.is_for(mine, self.working.values().copied()) { Ok(()) } else { Err(refused("late")) }
    }

    fn leave(&mut self, holder: Holder) {
        match holder {
            Holder::Nobody => {}
            Holder::Network(network) => discount(&mut self.strangers, network),
            Holder::Reseller(reseller) => discount(&mut self.resellers, reseller),
        }
    }
}

fn discount<K: Eq + Hash>(of: &mut HashMap<K, usize>, holder: K) {
    match of.get_mut(&holder) {
        Some(count) if *count > 1 => *count -= 1,
        Some(_) | None => drop(of.remove(&holder)),
    }
}

/// An IPv4 address, or an IPv6 /48: whoever has one such network has 65,536 of the /64 that rates go by, and one place for
/// each would be all there are.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 80 << 80)),
    }
}

fn refused(reason: &'static str) -> ApiError {
    metrics::counter!(REFUSED, "reason" => reason).increment(1);
    ApiError::unavailable("The service has more to do than it can at the moment; try again.", 1)
}

#[cfg(test)]
mod tests {
    use chancery_domain::Timestamp;

    use super::*;

    struct Zeros(std::sync::atomic::AtomicU8);

    impl chancery_domain::Entropy for Zeros {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        }
    }

    fn resellers() -> [ResellerId; 3] {
        let entropy: &dyn chancery_domain::Entropy = &Zeros(1.into());
        [1, 2, 3].map(|second| ResellerId::new(Timestamp::from_secs(second), entropy))
    }

    fn ip(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn one_too_many_is_turned_away_until_another_is_done() {
        let load = Load::new(2);
        let (_first, second) = (load.begin(None, false).unwrap(), load.begin(None, false).unwrap());
        assert_eq!(load.begin(None, false).err().unwrap().status(), 503);
        drop(second);
        assert!(load.begin(None, false).is_ok());
    }

    #[test]
    fn what_was_begun_goes_on_where_nothing_new_is_taken() {
        let (load, [one, two, _]) = (Load::new(8), resellers());
        let strangers: Vec<_> = (0..4).map(|_| load.begin(None, true).unwrap()).collect();
        assert!(strangers[..2].iter().all(|place| place.claim(one).is_ok()));
        assert!(load.begin(None, true).is_ok(), "neither strangers nor one reseller keep others from beginning");
        strangers[2].claim(two).unwrap();
        assert_eq!(load.begin(None, true).err().unwrap().status(), 503);
        assert!(load.begin(None, false).is_ok());
        drop(strangers);
        assert!(load.begin(None, true).is_ok());
    }

    #[test]
    fn what_is_answered_has_its_place_until_that_is_taken_and_keeps_nobody_from_beginning() {
        let (load, [one, two, _]) = (Load::new(8), resellers());
        let places: Vec<_> = (0..4).map(|_| load.begin(None, true).unwrap()).collect();
        assert!(places[0].claim(one).is_ok() && places[1].claim(two).is_ok());
        assert!(load.begin(None, true).is_err());
        let held: Vec<_> = places.iter().map(|place| place.held()).collect();
        drop(places);
        let more: Vec<_> = (0..4).map(|_| load.begin(None, true).unwrap()).collect();
        assert_eq!(load.begin(None, false).err().unwrap().status(), 503);
        drop(held);
        assert!(load.begin(None, false).is_ok());
        drop(more);
        let state = load.inner.state.lock();
        assert!(state.all == 0 && state.resellers.is_empty() && state.working.is_empty());
    }

    #[test]
    fn a_reseller_begins_no_more_where_it_has_all_the_room_and_others_do() {
        let (load, [noisy, quiet, _]) = (Load::new(40), resellers());
        let begin = |who, new| {
            let place = load.begin(None, new)?;
            assert_eq!(place.require_turn(who).is_ok(), place.claim(who).is_ok());
            place.claim(who).map(|()| place)
        };
        let mut held: Vec<_> = (0..10).map(|_| begin(noisy, true).unwrap()).collect();
        assert_eq!(begin(noisy, true).err().unwrap().status(), 503);
        held.push(begin(noisy, false).unwrap());
        held.push(begin(quiet, true).unwrap());
        load.learn(Duration::from_secs(1));
        assert!(load.has_learnt());
        drop(held);
        assert!(begin(noisy, true).is_ok() && !load.has_learnt());
    }

    #[test]
    fn as_it_fills_nobody_has_more_than_their_share() {
        let (load, [noisy, quiet, third]) = (Load::new(100), resellers());
        let mut held = Vec::new();
        let mut enter = |who| {
            let place = load.begin(ip("192.0.2.1"), false)?;
            place.claim(who)?;
            held.push(place);
            Ok::<_, ApiError>(())
        };
        let taken = (0..1000).filter(|_| enter(noisy).is_ok()).count();
        assert_eq!(taken, 50, "alone, half of it: the rest is for whoever comes");
        assert!(enter(quiet).is_ok());
        let second = (0..1000).filter(|_| enter(quiet).is_ok()).count();
        assert!((25..=40).contains(&second), "{second}");
        assert!(enter(noisy).is_err() && enter(third).is_ok());
        held.clear();
        let state = load.inner.state.lock();
        assert!(state.resellers.is_empty() && state.strangers.is_empty() && state.all == 0);
    }

    #[test]
    fn while_there_is_room_nobody_counts_shares() {
        let (load, [one, ..]) = (Load::new(100), resellers());
        let held: Vec<_> = (0..50).map(|_| load.begin(None, false).unwrap()).collect();
        assert!(held.iter().all(|place| place.claim(one).is_ok()));
    }

    #[test]
    fn strangers_of_one_network_cannot_have_all_places() {
        let (load, [one, ..]) = (Load::new(100), resellers());
        let mut held = Vec::new();
        let mut enter = |from: &str| {
            let place = load.begin(ip(from), false)?;
            held.push(place.clone());
            Ok::<_, ApiError>(place)
        };
        let taken = (0..1000).filter(|number| enter(&format!("2001:db8:7:{number:x}::1")).is_ok()).count();
        assert_eq!(taken, 51, "as many /64 as it likes, but half of the places");
        let other = (0..1000).filter(|_| enter("192.0.2.1").is_ok()).count();
        assert!((25..=40).contains(&other), "{other}");
        assert!(enter("2001:db8:7::1").is_err());
        enter("198.51.100.1").unwrap().claim(one).unwrap();
    }

    #[test]
    fn whoever_has_said_who_they_are_is_no_stranger() {
        let (load, [one, two, _]) = (Load::new(100), resellers());
        let mut held = Vec::new();
        for number in 0..60 {
            let place = load.begin(ip("192.0.2.1"), false).unwrap();
            place.claim(if number % 2 == 0 { one } else { two }).unwrap();
            held.push(place);
        }
        assert!(load.inner.state.lock().strangers.is_empty());
        assert_eq!(load.inner.state.lock().resellers.values().sum::<usize>(), 60);
        assert!(
            held[0].claim(one).is_ok() && load.inner.state.lock().resellers[&one] == 30,
            "said twice, it counts once"
        );
    }
}
