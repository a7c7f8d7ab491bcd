//! Connects to a host: to the very address that was looked up and checked, and to no other. A name that leads elsewhere a
//! moment later gains nothing by it.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use crate::error::PostError;

/// Addresses that are tried before it is given up.
const MOST: usize = 4;

/// What an address is set aside for, if it may not be spoken to.
pub(crate) type Guard = fn(IpAddr) -> Option<&'static str>;

pub(crate) async fn connect(host: &str, port: u16, guard: Guard, patience: Duration) -> Result<TcpStream, PostError> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let found: Vec<SocketAddr> = match bare.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, port)],
        Err(_) => lookup_host((bare, port)).await.map_err(|error| PostError::Lookup(error.to_string()))?.collect(),
    };
    let mut reasons = Vec::new();
    for address in allowed(&found, guard)? {
        match timeout(patience, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => reasons.push(format!("{}: {error}", address.ip())),
            Err(_) => reasons.push(format!("{}: no connection within {patience:?}", address.ip())),
        }
    }
    Err(PostError::Connect(reasons.join("; ")))
}

/// Those that may be spoken to; there is at least one.
fn allowed(found: &[SocketAddr], guard: Guard) -> Result<Vec<SocketAddr>, PostError> {
    let allowed: Vec<_> = found.iter().copied().filter(|address| guard(address.ip()).is_none()).take(MOST).collect();
    match found.iter().find_map(|address| Some((address.ip(), guard(address.ip())?))) {
        Some((address, why)) if allowed.is_empty() => Err(PostError::Special(address, why)),
        None if allowed.is_empty() => Err(PostError::NoAddress),
        Some(_) | None => Ok(allowed),
    }
}

#[cfg(test)]
mod tests {
    use chancery_domain::set_aside;

    use super::*;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| SocketAddr::new(text.parse().unwrap(), 443)).collect()
    }

    #[test]
    fn of_several_addresses_only_ordinary_ones_are_tried() {
        let mixed = addresses(&["127.0.0.1", "1.1.1.1", "fd00::1"]);
        assert_eq!(allowed(&mixed, set_aside).unwrap(), addresses(&["1.1.1.1"]));
        let inside = allowed(&addresses(&["10.0.0.1", "::1"]), set_aside);
        assert!(matches!(inside, Err(PostError::Special(..))), "{inside:?}");
        assert!(matches!(allowed(&[], set_aside), Err(PostError::NoAddress)));
    }

    #[tokio::test]
    async fn i10_inner_addresses_are_refused_however_they_are_written() {
        let patience = Duration::from_secs(1);
        // The last ones are what old C libraries take for addresses.
        for host in ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "localhost", "127.1", "0x7f000001"]
        {
            let connected = connect(host, 9, set_aside, patience).await;
            assert!(matches!(connected, Err(PostError::Special(..) | PostError::Lookup(_))), "{host}: {connected:?}");
        }
    }
}
