//! Whether a request says clearly which host it is for.

use http::header::HOST;
use http::uri::Authority;
use http::{HeaderValue, Request, Version};

/// In the extensions of a request that does not say clearly which host it is for, with what is the matter. It has to be refused
/// (RFC 9112, section 3.2): a proxy before us may have taken it for another host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnclearHost(
    /// For the person who sent it.
    pub(crate) &'static str,
);

impl UnclearHost {
    pub(super) fn of<B>(request: &Request<B>) -> Option<Self> {
        let mut hosts = request.headers().get_all(HOST).iter();
        match (hosts.next(), hosts.next()) {
            // HTTP/1.0 did not know it, and HTTP/2 says it otherwise.
            (None, _) if request.version() != Version::HTTP_11 => None,
            (None, _) => Some(Self("An HTTP/1.1 request needs a header Host, and this one has none.")),
            (Some(host), None) if is_host(host) => None,
            (Some(_), None) => Some(Self("The header Host must be a host name or an address, and a port if need be.")),
            (Some(_), Some(_)) => Some(Self("A request has one header Host, and this one has several.")),
        }
    }
}

fn is_host(value: &HeaderValue) -> bool {
    // It is empty where an address has no host.
    value.is_empty() || Authority::try_from(value.as_bytes()).is_ok_and(|host| !host.as_str().contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unclear(version: Version, hosts: &[&[u8]]) -> bool {
        let mut request = Request::builder().version(version);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        UnclearHost::of(&request.body(()).unwrap()).is_some()
    }

    #[test]
    fn a_request_of_http_1_1_has_one_host() {
        for clear in ["ca.example", "ca.example:8443", "127.0.0.1:80", "[::1]:8080", "xn--bcher-kva.example", ""] {
            assert!(!unclear(Version::HTTP_11, &[clear.as_bytes()]), "{clear}");
        }
        for not_a_host in ["a b", "https://ca.example", "ca.example/x", "me@ca.example", "[::1", "a,b c"] {
            assert!(unclear(Version::HTTP_11, &[not_a_host.as_bytes()]), "{not_a_host}");
        }
        assert!(unclear(Version::HTTP_11, &[b"caf\xc3\xa9.example"]));
        assert!(unclear(Version::HTTP_11, &[]));
        for version in [Version::HTTP_10, Version::HTTP_11, Version::HTTP_2] {
            assert!(unclear(version, &[b"a.example", b"a.example"]), "{version:?}");
        }
    }

    #[test]
    fn other_versions_may_have_none() {
        assert!(!unclear(Version::HTTP_10, &[]));
        assert!(!unclear(Version::HTTP_2, &[]));
    }
}
