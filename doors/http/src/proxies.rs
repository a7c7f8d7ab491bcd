//! Whose request it is behind proxies: told by a header, and believed of those alone that the operator names.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use http::HeaderMap;
use http::header::{FORWARDED, HeaderName};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Proxies that are believed when they say whose request they pass on; by default none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies {
    pub networks: Vec<Network>,
    pub header: ProxyHeader,
    /// Whether they begin each connection by saying whose it is: the PROXY protocol.
    pub announce: bool,
}

/// The header in which they say so. One alone is read: a proxy that sets one passes the other on as the client sent it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProxyHeader {
    #[default]
    XForwardedFor,
    /// RFC 7239.
    Forwarded,
}

/// An address, or all those with the same first bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => same(own.to_bits().into(), other.to_bits().into(), 32 - self.bits),
            (IpAddr::V6(own), IpAddr::V6(other)) => same(own.to_bits(), other.to_bits(), 128 - self.bits),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

fn same(one: u128, other: u128, ignored: u32) -> bool {
    one.checked_shr(ignored).unwrap_or(0) == other.checked_shr(ignored).unwrap_or(0)
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not an address or a network such as 10.0.0.0/8 or fd00::/8");
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address = address.parse::<IpAddr>().map_err(|_| wrong())?.to_canonical();
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), |bits| bits.parse().map_err(|_| wrong()))?;
        if bits > most { Err(wrong()) } else { Ok(Self { address, bits }) }
    }
}

impl TrustedProxies {
    /// Whose request it is that came over a connection from `peer`, where that was not announced: read from the last proxy back to the first that is not
    /// trusted. What a client has written there itself stands before that, and is never reached.
    pub(crate) fn client(&self, peer: SocketAddr, headers: &HeaderMap) -> SocketAddr {
        // Who announces clients before the request says nothing within it: that would be the client's own word.
        if self.announce || self.networks.is_empty() || !self.trusts(peer.ip()) {
            return peer;
        }
        let said = match self.header {
            ProxyHeader::XForwardedFor => x_forwarded_for(headers),
            ProxyHeader::Forwarded => forwarded(headers),
        };
        let mut client = peer;
        for hop in said.into_iter().rev() {
            // Who hides, or cannot be read, stays hidden behind the proxy that said so.
            let Some(hop) = hop else { break };
            client = hop;
            if !self.trusts(hop.ip()) {
                break;
            }
        }
        client
    }

    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(address))
    }
}

fn lines(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    headers.get_all(name).into_iter().map(|value| value.to_str().unwrap_or("?"))
}

fn x_forwarded_for(headers: &HeaderMap) -> Vec<Option<SocketAddr>> {
    lines(headers, X_FORWARDED_FOR).flat_map(|line| line.split(',')).map(|hop| node(hop.trim())).collect()
}

/// RFC 7239 section 4. A comma cannot stand in the value of `for`, quoted or not.
fn forwarded(headers: &HeaderMap) -> Vec<Option<SocketAddr>> {
    let hops = lines(headers, FORWARDED).flat_map(|line| line.split(','));
    hops.map(|hop| {
        let mut pairs = hop.split(';').filter_map(|pair| pair.trim().split_once('='));
        let (_, value) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("for"))?;
        node(value.trim().trim_matches('"'))
    })
    .collect()
}

/// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:80`.
fn node(text: &str) -> Option<SocketAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    match bare.parse::<IpAddr>() {
        Ok(address) => Some(SocketAddr::new(address.to_canonical(), 0)),
        Err(_) => text.parse::<SocketAddr>().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(header: ProxyHeader, peer: &str, lines: &[&str]) -> String {
        let networks = ["10.0.0.0/8", "fd00::/8", "127.0.0.1"].map(|text| text.parse().unwrap()).into();
        let mut headers = HeaderMap::new();
        let name = match header {
            ProxyHeader::XForwardedFor => X_FORWARDED_FOR,
            ProxyHeader::Forwarded => FORWARDED,
        };
        for line in lines {
            headers.append(&name, line.parse().unwrap());
        }
        TrustedProxies { networks, header, announce: false }.client(peer.parse().unwrap(), &headers).ip().to_string()
    }

    #[test]
    fn the_last_that_is_no_proxy_of_ours_is_the_client() {
        let told = |peer, lines: &[&str]| client(ProxyHeader::XForwardedFor, peer, lines);
        assert_eq!(told("10.0.0.1:5", &["192.0.2.7"]), "192.0.2.7");
        assert_eq!(told("[::ffff:10.0.0.1]:5", &["192.0.2.7, 10.9.9.9"]), "192.0.2.7");
        assert_eq!(
            told("10.0.0.1:5", &["203.0.113.1, 192.0.2.7"]),
            "192.0.2.7",
            "what the client wrote is not believed"
        );
        assert_eq!(told("10.0.0.1:5", &["203.0.113.1", "192.0.2.7:80, 10.0.0.2"]), "192.0.2.7");
        assert_eq!(told("10.0.0.1:5", &["[2001:db8::1]:80"]), "2001:db8::1");
        assert_eq!(told("10.0.0.1:5", &["203.0.113.1, unknown"]), "10.0.0.1");
        assert_eq!(told("10.0.0.1:5", &[]), "10.0.0.1");
    }

    #[test]
    fn a_stranger_is_not_believed() {
        assert_eq!(client(ProxyHeader::XForwardedFor, "192.0.2.9:1", &["10.0.0.1"]), "192.0.2.9");
        let none = TrustedProxies::default();
        let mut headers = HeaderMap::new();
        headers.insert(X_FORWARDED_FOR, "10.0.0.1".parse().unwrap());
        assert_eq!(none.client("127.0.0.1:1".parse().unwrap(), &headers).ip().to_string(), "127.0.0.1");
    }

    #[test]
    fn the_standard_header_is_read_where_it_is_the_one() {
        let told = |lines: &[&str]| client(ProxyHeader::Forwarded, "10.0.0.1:5", lines);
        assert_eq!(told(&["for=192.0.2.7;proto=https;by=10.0.0.1"]), "192.0.2.7");
        assert_eq!(told(&["for=1.2.3.4, For=\"[2001:db8::7]:4711\""]), "2001:db8::7");
        assert_eq!(told(&["for=1.2.3.4, for=_hidden"]), "10.0.0.1");
        assert_eq!(client(ProxyHeader::XForwardedFor, "10.0.0.1:5", &[]), "10.0.0.1");
    }

    #[test]
    fn networks_are_read_or_refused() {
        for bad in ["", "10.0.0.0/33", "fd00::/129", "10.0.0.0/x", "example.com"] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
        let all: Network = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains("192.0.2.1".parse().unwrap()) && !all.contains("::1".parse().unwrap()));
    }
}
