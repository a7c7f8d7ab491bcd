//! The part of an address that counts as one client.

use std::net::{IpAddr, Ipv6Addr};

/// An IPv4 address, or an IPv6 network of a fixed length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientNetwork(IpAddr);

impl ClientNetwork {
    /// An IPv4 address or an IPv6 /64: one host usually has all addresses of a /64.
    pub fn of_host(address: IpAddr) -> Self {
        Self::with_prefix(address, 64)
    }

    /// An IPv4 address or an IPv6 /48: one site usually has all 65,536 networks of a /48.
    pub fn of_site(address: IpAddr) -> Self {
        Self::with_prefix(address, 48)
    }

    fn with_prefix(address: IpAddr, bits: u32) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << (128 - bits)))),
        })
    }
}

/// The bucket key of an address given as text: an IPv4 address or an IPv6 /64.
pub fn client_network(address: &str) -> String {
    match address.parse().map(ClientNetwork::of_host) {
        Ok(ClientNetwork(IpAddr::V6(network))) => format!("{network}/64"),
        Ok(ClientNetwork(IpAddr::V4(address))) => address.to_string(),
        Err(_) => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_network_counts_as_one_client_and_a_mapped_address_as_ipv4() {
        assert_eq!(client_network("2001:db8::1"), client_network("2001:db8::ffff"));
        assert_ne!(client_network("2001:db8::1"), client_network("2001:db8:0:1::1"));
        assert_eq!(client_network("::ffff:192.0.2.1"), "192.0.2.1");
        let site = |text: &str| ClientNetwork::of_site(text.parse().unwrap());
        assert_eq!(site("2001:db8:7:1::1"), site("2001:db8:7:ffff::1"));
        assert_ne!(site("2001:db8:7::1"), site("2001:db8:8::1"));
    }
}
