//! The cap on connections of each client.

use std::{net::IpAddr, sync::Arc};

use chancery_overload::{ClientNetwork, KeyedCap, KeyedCapGuard};

use crate::proxies::TrustedProxies;

/// Counts connections by client, up to a cap for each; trusted proxies are exempt.
#[derive(Clone)]
pub(super) struct Peers {
    max: Option<usize>,
    proxies: Arc<TrustedProxies>,
    counts: KeyedCap<ClientNetwork>,
}

/// One connection's unit of its client's cap, if it counts.
pub(super) struct PeerConnection {
    _guard: Option<KeyedCapGuard<ClientNetwork>>,
}

impl Peers {
    pub(super) fn new(max: Option<usize>, proxies: Arc<TrustedProxies>) -> Self {
        Self { max, proxies, counts: KeyedCap::default() }
    }

    /// Whether the address is a trusted proxy.
    pub(super) fn trusts(&self, address: IpAddr) -> bool {
        self.proxies.trusts(address)
    }

    /// Counts one more connection, unless the client is at its cap.
    pub(super) fn admit(&self, address: IpAddr) -> Option<PeerConnection> {
        let Some(max) = self.max.filter(|_| !self.trusts(address)) else {
            return Some(PeerConnection { _guard: None });
        };
        let guard = self.counts.acquire(ClientNetwork::of_host(address), max)?;
        Some(PeerConnection { _guard: Some(guard) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_client_at_its_cap_gets_no_more_connections_until_one_closes() {
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
        let _first = peers.admit(ip("2001:db8::1")).unwrap();
        assert!(peers.admit(ip("2001:db8::ffff")).is_none());
        assert!(peers.admit(ip("2001:db8:0:1::1")).is_some());
    }

    #[test]
    fn without_a_cap_any_number_is_admitted() {
        let peers = Peers::new(None, Arc::default());
        let connections: Vec<_> = (0..1000).filter_map(|_| peers.admit(ip("192.0.2.1"))).collect();
        assert_eq!(connections.len(), 1000);
    }
}
