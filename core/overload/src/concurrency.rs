//! Requests in flight on a listener: in total, and for each tenant. A tenant is a reseller once it is known, and until then the
//! network that the request came from.
//!
//! Requests beyond the limit are refused at once with 503, before they wait for anything. From half of the capacity on, no tenant
//! may have more than its share. Requests that start new work are refused first, so that work in progress can be completed.
//!
//! The bytes of responses that the clients of a reseller have not read yet are bounded too: a count of requests does not bound
//! memory if a response can have 4 MiB. Responses to unidentified clients are short, or share one copy in memory.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chancery_domain::ResellerId;
use parking_lot::Mutex;

use crate::adaptive::AdaptiveLimit;
use crate::client_network::ClientNetwork;
use crate::keyed_cap::release;
use crate::limit::Limit;

/// Bytes of unsent responses to one reseller: eight list pages of the largest size.
pub const MAX_UNSENT: u64 = 32 * 1024 * 1024;
/// Shorter responses are not counted. The number of requests in flight bounds them.
const MIN_COUNTED: u64 = 16 * 1024;

/// The requests in flight of one listener; clones share the counts.
#[derive(Clone)]
pub struct ConcurrencyLimit {
    inner: Arc<Inner>,
}

struct Inner {
    max: usize,
    state: Mutex<State>,
}

struct State {
    /// Requests whose response has not been sent completely.
    total: usize,
    networks: HashMap<ClientNetwork, usize>,
    resellers: HashMap<ResellerId, usize>,
    /// Requests of resellers whose response is not ready: these keep others from starting new work.
    running: HashMap<ResellerId, usize>,
    /// Bytes of responses that have not been sent completely.
    unsent: HashMap<ResellerId, u64>,
    adaptive: AdaptiveLimit,
}

/// The permit of a request until its response is ready; dropped then.
pub struct RequestPermit {
    response: Arc<ResponsePermit>,
    running_for: Mutex<Option<ResellerId>>,
    starts_work: bool,
}

/// The permit of a request until its response has been sent.
pub struct ResponsePermit {
    limit: ConcurrencyLimit,
    tenant: Mutex<Tenant>,
    /// Bytes of the response body, and the reseller that they count for.
    unsent: Mutex<Option<(ResellerId, u64)>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tenant {
    Unknown,
    Network(ClientNetwork),
    Reseller(ResellerId),
}

impl ConcurrencyLimit {
    /// At most `max` requests at a time.
    pub fn new(max: usize) -> Self {
        let state = State {
            total: 0,
            networks: HashMap::new(),
            resellers: HashMap::new(),
            running: HashMap::new(),
            unsent: HashMap::new(),
            adaptive: AdaptiveLimit::new((max / 4).max(1)),
        };
        Self { inner: Arc::new(Inner { max, state: Mutex::new(state) }) }
    }

    /// Counts one more request, unless the limit is reached or the network has its share of unidentified requests: half-sent
    /// requests of one network cannot occupy the whole capacity. Requests that start work are refused once resellers occupy a
    /// quarter of the capacity; one reseller alone, or unidentified clients, cannot cause that.
    pub fn admit(&self, from: Option<IpAddr>, starts_work: bool) -> Result<Arc<RequestPermit>, Limit> {
        let mut state = self.inner.state.lock();
        if state.total >= self.inner.max {
            return Err(Limit::RequestsInFlight);
        }
        if starts_work && state.running(self.inner.max / 8) >= (self.inner.max / 4).max(1) {
            return Err(Limit::NewWork);
        }
        let tenant = match from.map(ClientNetwork::of_site) {
            Some(network) => {
                self.count(state.total, &mut state.networks, network)?;
                Tenant::Network(network)
            }
            None => Tenant::Unknown,
        };
        state.total += 1;
        let response =
            Arc::new(ResponsePermit { limit: self.clone(), tenant: Mutex::new(tenant), unsent: Mutex::default() });
        Ok(Arc::new(RequestPermit { response, running_for: Mutex::default(), starts_work }))
    }

    /// Records how long it took to accept new work.
    pub fn observe(&self, latency: Duration) {
        self.inner.state.lock().adaptive.observe(latency, Instant::now());
    }

    /// Whether observed latencies have adjusted the limit on new work.
    pub fn is_adjusted(&self) -> bool {
        self.inner.state.lock().adaptive.is_adjusted()
    }

    /// Counts one more request of a tenant, unless more than half of the capacity is in use and the tenant has its share.
    fn count<K: Eq + Hash>(&self, total: usize, of: &mut HashMap<K, usize>, tenant: K) -> Result<(), Limit> {
        let mine = of.get(&tenant).copied().unwrap_or(0);
        let others = of.len() - usize::from(mine > 0);
        let share = self.inner.max / (others + 2);
        if total > self.inner.max / 2 && mine >= share.max(1) {
            return Err(Limit::RequestsInFlightPerTenant);
        }
        *of.entry(tenant).or_default() += 1;
        Ok(())
    }
}

impl RequestPermit {
    /// Assigns the request to its reseller; it no longer counts for its network. Refuses if the reseller has its share of the
    /// requests in flight, or [`MAX_UNSENT`] bytes of unsent responses.
    pub fn assign(&self, reseller: ResellerId) -> Result<(), Limit> {
        let ResponsePermit { limit, tenant, .. } = self.response.as_ref();
        let mut tenant = tenant.lock();
        if *tenant == Tenant::Reseller(reseller) {
            return Ok(());
        }
        let mut state = limit.inner.state.lock();
        if state.unsent.get(&reseller).is_some_and(|unsent| *unsent >= MAX_UNSENT) {
            return Err(Limit::UnsentResponses);
        }
        if self.starts_work {
            state.check_new_work(reseller)?;
        }
        limit.count(state.total, &mut state.resellers, reseller)?;
        state.release(*tenant);
        *tenant = Tenant::Reseller(reseller);
        *state.running.entry(reseller).or_default() += 1;
        if let Some(before) = self.running_for.lock().replace(reseller) {
            release(&mut state.running, &before);
        }
        Ok(())
    }

    /// Refuses a request that starts work if its alleged reseller could not start it: a check before the expensive authentication.
    pub fn check_new_work(&self, reseller: ResellerId) -> Result<(), Limit> {
        if self.starts_work { self.response.limit.inner.state.lock().check_new_work(reseller) } else { Ok(()) }
    }

    /// The part that is held until the response has been sent.
    pub fn response(&self) -> Arc<ResponsePermit> {
        self.response.clone()
    }
}

impl ResponsePermit {
    /// Counts the bytes of a response body for its reseller until the permit is dropped. Counts nothing and refuses if the reseller
    /// would have more than [`MAX_UNSENT`].
    pub fn reserve_unsent(&self, bytes: u64) -> Result<(), Limit> {
        self.count_up_to(MAX_UNSENT, bytes)
    }

    /// As [`ResponsePermit::reserve_unsent`], for a response that must be sent because the request has changed something. It can
    /// exceed the bound; further requests of the reseller are refused then.
    pub fn count_unsent(&self, bytes: u64) {
        // Without a bound, nothing is refused.
        let _counted = self.count_up_to(u64::MAX, bytes);
    }

    fn count_up_to(&self, max: u64, bytes: u64) -> Result<(), Limit> {
        let tenant = *self.tenant.lock();
        let Tenant::Reseller(reseller) = tenant else { return Ok(()) };
        if bytes < MIN_COUNTED {
            return Ok(());
        }
        let mut counted = self.unsent.lock();
        let mut state = self.limit.inner.state.lock();
        let unsent = state.unsent.get(&reseller).copied().unwrap_or(0).saturating_add(bytes);
        if unsent > max {
            return Err(Limit::UnsentResponses);
        }
        state.unsent.insert(reseller, unsent);
        if let Some((before, bytes)) = counted.replace((reseller, bytes)) {
            state.release_unsent(before, bytes);
        }
        Ok(())
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        let mut state = self.response.limit.inner.state.lock();
        if let Some(reseller) = self.running_for.get_mut() {
            release(&mut state.running, reseller);
        }
        if state.running.is_empty() {
            state.adaptive.reset();
        }
    }
}

impl Drop for ResponsePermit {
    fn drop(&mut self) {
        let tenant = *self.tenant.get_mut();
        let unsent = self.unsent.get_mut().take();
        let mut state = self.limit.inner.state.lock();
        state.total -= 1;
        state.release(tenant);
        if let Some((reseller, bytes)) = unsent {
            state.release_unsent(reseller, bytes);
        }
    }
}

impl State {
    /// Running requests of all resellers, at most `max_each` counted of each.
    fn running(&self, max_each: usize) -> usize {
        self.running.values().map(|count| (*count).min(max_each.max(1))).sum()
    }

    fn check_new_work(&self, reseller: ResellerId) -> Result<(), Limit> {
        let mine = self.running.get(&reseller).copied().unwrap_or(0);
        match self.adaptive.admits(mine, self.running.values().copied()) {
            true => Ok(()),
            false => Err(Limit::NewWorkPerReseller),
        }
    }

    fn release(&mut self, tenant: Tenant) {
        match tenant {
            Tenant::Unknown => {}
            Tenant::Network(network) => release(&mut self.networks, &network),
            Tenant::Reseller(reseller) => release(&mut self.resellers, &reseller),
        }
    }

    fn release_unsent(&mut self, reseller: ResellerId, bytes: u64) {
        if let Entry::Occupied(mut unsent) = self.unsent.entry(reseller) {
            *unsent.get_mut() -= bytes;
            if *unsent.get() == 0 {
                unsent.remove();
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use chancery_domain::{Entropy, Timestamp};

    use super::*;

    struct Counting(std::sync::atomic::AtomicU8);

    impl Entropy for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        }
    }

    pub(crate) fn resellers() -> [ResellerId; 3] {
        let entropy: &dyn Entropy = &Counting(1.into());
        [1, 2, 3].map(|second| ResellerId::new(Timestamp::from_secs(second), entropy))
    }

    fn ip(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn a_request_beyond_the_limit_is_refused_until_another_ends() {
        let limit = ConcurrencyLimit::new(2);
        let (_first, second) = (limit.admit(None, false).unwrap(), limit.admit(None, false).unwrap());
        assert_eq!(limit.admit(None, false).err(), Some(Limit::RequestsInFlight));
        drop(second);
        assert!(limit.admit(None, false).is_ok());
    }

    #[test]
    fn work_in_progress_continues_while_new_work_is_refused() {
        let (limit, [one, two, _]) = (ConcurrencyLimit::new(8), resellers());
        let permits: Vec<_> = (0..4).map(|_| limit.admit(None, true).unwrap()).collect();
        assert!(permits[..2].iter().all(|permit| permit.assign(one).is_ok()));
        assert!(limit.admit(None, true).is_ok(), "one reseller and unidentified clients do not block new work");
        permits[2].assign(two).unwrap();
        assert_eq!(limit.admit(None, true).err(), Some(Limit::NewWork));
        assert!(limit.admit(None, false).is_ok());
        drop(permits);
        assert!(limit.admit(None, true).is_ok());
    }

    #[test]
    fn an_unsent_response_counts_in_total_but_does_not_block_new_work() {
        let (limit, [one, two, _]) = (ConcurrencyLimit::new(8), resellers());
        let permits: Vec<_> = (0..4).map(|_| limit.admit(None, true).unwrap()).collect();
        assert!(permits[0].assign(one).is_ok() && permits[1].assign(two).is_ok());
        assert!(limit.admit(None, true).is_err());
        let responses: Vec<_> = permits.iter().map(|permit| permit.response()).collect();
        drop(permits);
        let more: Vec<_> = (0..4).map(|_| limit.admit(None, true).unwrap()).collect();
        assert_eq!(limit.admit(None, false).err(), Some(Limit::RequestsInFlight));
        drop(responses);
        assert!(limit.admit(None, false).is_ok());
        drop(more);
        let state = limit.inner.state.lock();
        assert!(state.total == 0 && state.resellers.is_empty() && state.running.is_empty());
    }

    #[test]
    fn a_reseller_with_all_capacity_starts_no_more_and_others_do() {
        let (limit, [noisy, quiet, _]) = (ConcurrencyLimit::new(40), resellers());
        let start = |reseller, starts_work| {
            let permit = limit.admit(None, starts_work)?;
            assert_eq!(permit.check_new_work(reseller).is_ok(), permit.assign(reseller).is_ok());
            permit.assign(reseller).map(|()| permit)
        };
        let mut permits: Vec<_> = (0..10).map(|_| start(noisy, true).unwrap()).collect();
        assert_eq!(start(noisy, true).err(), Some(Limit::NewWorkPerReseller));
        permits.push(start(noisy, false).unwrap());
        permits.push(start(quiet, true).unwrap());
        limit.observe(Duration::from_secs(1));
        assert!(limit.is_adjusted());
        drop(permits);
        assert!(start(noisy, true).is_ok() && !limit.is_adjusted());
    }

    #[test]
    fn from_half_of_the_capacity_on_no_tenant_has_more_than_its_share() {
        let (limit, [noisy, quiet, third]) = (ConcurrencyLimit::new(100), resellers());
        let mut permits = Vec::new();
        let mut enter = |reseller| {
            let permit = limit.admit(ip("192.0.2.1"), false)?;
            permit.assign(reseller)?;
            permits.push(permit);
            Ok::<_, Limit>(())
        };
        let admitted = (0..1000).filter(|_| enter(noisy).is_ok()).count();
        assert_eq!(admitted, 50, "one reseller alone gets half");
        assert!(enter(quiet).is_ok());
        let second = (0..1000).filter(|_| enter(quiet).is_ok()).count();
        assert!((25..=40).contains(&second), "{second}");
        assert_eq!(enter(noisy), Err(Limit::RequestsInFlightPerTenant));
        assert!(enter(third).is_ok());
        permits.clear();
        let state = limit.inner.state.lock();
        assert!(state.resellers.is_empty() && state.networks.is_empty() && state.total == 0);
    }

    #[test]
    fn below_half_of_the_capacity_shares_do_not_matter() {
        let (limit, [one, ..]) = (ConcurrencyLimit::new(100), resellers());
        let permits: Vec<_> = (0..50).map(|_| limit.admit(None, false).unwrap()).collect();
        assert!(permits.iter().all(|permit| permit.assign(one).is_ok()));
    }

    #[test]
    fn unidentified_clients_of_one_network_cannot_occupy_the_whole_capacity() {
        let (limit, [one, ..]) = (ConcurrencyLimit::new(100), resellers());
        let mut permits = Vec::new();
        let mut enter = |from: &str| {
            let permit = limit.admit(ip(from), false)?;
            permits.push(permit.clone());
            Ok::<_, Limit>(permit)
        };
        let admitted = (0..1000).filter(|number| enter(&format!("2001:db8:7:{number:x}::1")).is_ok()).count();
        assert_eq!(admitted, 51, "all /64 networks of one /48 count together");
        let other = (0..1000).filter(|_| enter("192.0.2.1").is_ok()).count();
        assert!((25..=40).contains(&other), "{other}");
        assert!(enter("2001:db8:7::1").is_err());
        enter("198.51.100.1").unwrap().assign(one).unwrap();
    }

    #[test]
    fn an_assigned_request_no_longer_counts_for_its_network() {
        let (limit, [one, two, _]) = (ConcurrencyLimit::new(100), resellers());
        let mut permits = Vec::new();
        for number in 0..60 {
            let permit = limit.admit(ip("192.0.2.1"), false).unwrap();
            permit.assign(if number % 2 == 0 { one } else { two }).unwrap();
            permits.push(permit);
        }
        assert!(limit.inner.state.lock().networks.is_empty());
        assert_eq!(limit.inner.state.lock().resellers.values().sum::<usize>(), 60);
        assert!(permits[0].assign(one).is_ok(), "assigning twice counts once");
        assert_eq!(limit.inner.state.lock().resellers[&one], 30);
    }

    const PAGE: u64 = 4 * 1024 * 1024;

    /// A response of `bytes` to a reseller, unsent until dropped.
    fn unsent(limit: &ConcurrencyLimit, reseller: ResellerId, bytes: u64) -> Result<Arc<ResponsePermit>, Limit> {
        let permit = limit.admit(None, false)?;
        permit.assign(reseller)?;
        let response = permit.response();
        response.reserve_unsent(bytes)?;
        Ok(response)
    }

    #[test]
    fn unsent_responses_of_a_reseller_are_bounded_in_bytes_and_those_of_others_are_not_affected() {
        let (limit, [noisy, quiet, _]) = (ConcurrencyLimit::new(100), resellers());
        let mut pages: Vec<_> = (0..8).map(|_| unsent(&limit, noisy, PAGE).unwrap()).collect();
        assert_eq!(limit.inner.state.lock().unsent[&noisy], MAX_UNSENT);
        assert_eq!(unsent(&limit, noisy, MIN_COUNTED).err(), Some(Limit::UnsentResponses));
        assert_eq!(
            unsent(&limit, noisy, 1).err(),
            Some(Limit::UnsentResponses),
            "it is refused before it does any work"
        );
        assert!(unsent(&limit, quiet, PAGE).is_ok());
        pages.pop();
        assert_eq!(unsent(&limit, noisy, PAGE + 1).err(), Some(Limit::UnsentResponses));
        assert!(unsent(&limit, noisy, 1).is_ok(), "a short response is sent");
        pages.push(unsent(&limit, noisy, PAGE).unwrap());
        drop(pages);
        let state = limit.inner.state.lock();
        assert!(state.unsent.is_empty() && state.total == 0);
    }

    #[test]
    fn a_response_that_must_be_sent_counts_and_is_not_refused() {
        let (limit, [noisy, quiet, _]) = (ConcurrencyLimit::new(100), resellers());
        let permits: Vec<_> = (0..2).map(|_| limit.admit(None, false).unwrap()).collect();
        assert!(permits.iter().all(|permit| permit.assign(noisy).is_ok()));
        permits.iter().for_each(|permit| permit.response().count_unsent(MAX_UNSENT));
        assert_eq!(limit.inner.state.lock().unsent[&noisy], 2 * MAX_UNSENT);
        assert_eq!(unsent(&limit, noisy, 1).err(), Some(Limit::UnsentResponses));
        assert!(unsent(&limit, quiet, 1).is_ok());
        drop(permits);
        assert!(unsent(&limit, noisy, MAX_UNSENT).is_ok());
    }

    #[test]
    fn responses_to_unidentified_clients_and_short_ones_are_not_counted() {
        let (limit, [one, ..]) = (ConcurrencyLimit::new(100), resellers());
        let anonymous = limit.admit(ip("192.0.2.1"), false).unwrap();
        assert_eq!(anonymous.response().reserve_unsent(2 * MAX_UNSENT), Ok(()));
        let short = unsent(&limit, one, MIN_COUNTED - 1).unwrap();
        assert!(limit.inner.state.lock().unsent.is_empty());
        drop((anonymous, short));
    }
}
