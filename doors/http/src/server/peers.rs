//! How many connections each client has.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
};

use crate::proxies::TrustedProxies;
use parking_lot::Mutex;

/// Counts connections by client, up to a limit for each; trusted proxies are none.
#[derive(Clone)]
pub(super) struct Peers {
    limit: Option<usize>,
    proxies: Arc<TrustedProxies>,
    counts: Counts,
}

type Counts = Arc<Mutex<HashMap<IpAddr, usize>>>;

/// One connection's part in its client's count, given back when dropped.
pub(super) struct Share {
    of: Option<(IpAddr, Counts)>,
}

impl Peers {
    pub(super) fn new(limit: Option<usize>, proxies: Arc<TrustedProxies>) -> Self {
        Self { limit, proxies, counts: Arc::default() }
    }

    /// Whether it is a proxy that is believed.
    pub(super) fn trusts(&self, address: IpAddr) -> bool {
        self.proxies.trusts(address)
    }

    /// Counts one more connection, unless the client is at its limit.
    pub(super) fn admit(&self, address: IpAddr) -> Option<Share> {
        let Some(limit) = self.limit.filter(|_| !self.trusts(address)) else { return Some(Share { of: None }) };
        let client = client(address);
        let mut counts = self.counts.lock();
        let count = counts.entry(client).or_default();
        if *count >= limit {
            return None;
        }
        *count += 1;
        Some(Share { of: Some((client, self.counts.clone())) })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let Some((client, counts)) = &self.of else { return };
        let mut counts = counts.lock();
        match counts.get_mut(client) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(counts.remove(client)),
        }
    }
}

/// An IPv4 address stands for one client; of an IPv6 address only the network does, since one host has all of a /64.
fn client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_client_at_its_limit_gets_no_more_until_one_is_given_back() {
        let peers = Peers::new(Some(2), Arc::default());
        let first = peers.admit(ip("192.0.2.1")).unwrap();
        let _second = peers.admit(ip("::ffff:192.0.2.1")).unwrap();
        assert!(peers.admit(ip("192.0.2.1")).is_none());
        assert!(peers.admit(ip("192.0.2.2")).is_some());
        drop(first);
        assert!(peers.admit(ip("192.0.2.1")).is_some());
    }

    #[test]
    fn one_ipv6_network_is_one_client() {
        let peers = Peers::new(Some(1), Arc::default());
        let first = peers.admit(ip("2001:db8::1")).unwrap();
        assert!(peers.admit(ip("2001:db8::ffff")).is_none());
        assert!(peers.admit(ip("2001:db8:0:1::1")).is_some());
        drop(first);
        assert!(peers.counts.lock().is_empty());
    }

    #[test]
    fn without_a_limit_nothing_is_counted() {
        let peers = Peers::new(None, Arc::default());
        let _share = peers.admit(ip("192.0.2.1")).unwrap();
        assert!(peers.counts.lock().is_empty());
    }
}
