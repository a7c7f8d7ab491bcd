//! Connects to a host: to the very address that was looked up and checked, and to no other. A name that leads elsewhere a
//! moment later gains nothing by it.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use async_trait::async_trait;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::error::PostError;

/// Addresses of each family that are tried, IPv6 first.
const ADDRESSES_TRIED: usize = 2;

/// Looks host names up. Whoever makes a [`Publisher`](crate::Publisher) supplies it, so that this crate knows no other
/// adapter. It must not block: these threads serve requests too.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// The addresses of a host, none if it does not exist; or why that is not known.
    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, String>;
}

/// What an address is set aside for, if it may not be spoken to.
pub(crate) type Guard = fn(IpAddr) -> Option<&'static str>;

pub(crate) async fn connect(
    resolver: &dyn Resolver,
    host: &str,
    port: u16,
    guard: Guard,
    patience: Duration,
) -> Result<TcpStream, PostError> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let found = match bare.parse::<IpAddr>() {
        Ok(address) => vec![address],
        Err(_) => resolver.addresses(bare).await.map_err(PostError::Lookup)?,
    };
    let mut reasons = Vec::new();
    for address in allowed(&found, guard)? {
        let address = SocketAddr::new(address, port);
        match timeout(patience, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => reasons.push(format!("{}: {error}", address.ip())),
            Err(_) => reasons.push(format!("{}: no connection within {patience:?}", address.ip())),
        }
    }
    Err(PostError::Connect(reasons.join("; ")))
}

/// The addresses to try: at least one, and none that may not be spoken to.
fn allowed(found: &[IpAddr], guard: Guard) -> Result<Vec<IpAddr>, PostError> {
    let (v6, v4): (Vec<IpAddr>, Vec<IpAddr>) =
        found.iter().copied().filter(|address| guard(*address).is_none()).partition(IpAddr::is_ipv6);
    let allowed: Vec<_> = v6.into_iter().take(ADDRESSES_TRIED).chain(v4.into_iter().take(ADDRESSES_TRIED)).collect();
    match found.iter().find_map(|address| Some((*address, guard(*address)?))) {
        Some((address, why)) if allowed.is_empty() => Err(PostError::Special(address, why)),
        None if allowed.is_empty() => Err(PostError::NoAddress),
        Some(_) | None => Ok(allowed),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use chancery_domain::set_aside;

    use super::*;

    /// Knows one name.
    struct Loopback;

    #[async_trait]
    impl Resolver for Loopback {
        async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, String> {
            Ok(if host == "localhost" { vec![Ipv4Addr::LOCALHOST.into()] } else { Vec::new() })
        }
    }

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn of_several_addresses_only_ordinary_ones_are_tried() {
        let mixed = addresses(&["127.0.0.1", "1.1.1.1", "fd00::1"]);
        assert_eq!(allowed(&mixed, set_aside).unwrap(), addresses(&["1.1.1.1"]));
        let inside = allowed(&addresses(&["10.0.0.1", "::1"]), set_aside);
        assert!(matches!(inside, Err(PostError::Special(..))), "{inside:?}");
        assert!(matches!(allowed(&[], set_aside), Err(PostError::NoAddress)));
    }

    #[test]
    fn ipv4_is_tried_however_many_ipv6_addresses_there_are() {
        let many = addresses(&["2600::1", "2600::2", "2600::3", "1.1.1.1", "2600::4", "1.1.1.2", "1.1.1.3"]);
        assert_eq!(allowed(&many, set_aside).unwrap(), addresses(&["2600::1", "2600::2", "1.1.1.1", "1.1.1.2"]));
    }

    #[tokio::test]
    async fn i10_inner_addresses_are_refused_however_they_are_written() {
        let patience = Duration::from_secs(1);
        for host in ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "localhost"] {
            let connected = connect(&Loopback, host, 9, set_aside, patience).await;
            assert!(matches!(connected, Err(PostError::Special(..))), "{host}: {connected:?}");
        }
        // Old C libraries take these for addresses. Here they are names.
        for host in ["127.1", "0x7f000001"] {
            let connected = connect(&Loopback, host, 9, set_aside, patience).await;
            assert!(matches!(connected, Err(PostError::NoAddress)), "{host}: {connected:?}");
        }
    }
}
