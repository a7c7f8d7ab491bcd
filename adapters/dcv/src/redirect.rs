//! Where a redirect may lead.

use chancery_domain::ProblemKind;
use url::Url;

use crate::dial::Host;
use crate::refusal::Refusal;
use crate::text::shown;

/// The ports that are always allowed. RFC 8555 section 8.3 begins at 80; redirects to HTTPS are followed.
const PORTS: [u16; 2] = [80, 443];
/// Longer ones are nobody's.
const MAX_URL: usize = 2048;

/// The URL that a `Location` means, if it may be followed: http or https, to a port for the web, for no particular
/// user.
pub(crate) fn target(from: &Url, location: Option<&[u8]>, more_ports: &[u16]) -> Result<Url, Refusal> {
    let refused = |why: &str| {
        let to = location.map(shown).unwrap_or_default();
        Err(Refusal::wrong(ProblemKind::IncorrectResponse, format!("{from} redirects to {to:?}: {why}")))
    };
    let Some(text) = location.and_then(|location| std::str::from_utf8(location).ok()) else {
        return refused("there is no readable Location");
    };
    if text.len() > MAX_URL {
        return refused("that is too long");
    }
    let Ok(mut to) = from.join(text) else { return refused("that is no URL") };
    to.set_fragment(None);
    if !matches!(to.scheme(), "http" | "https") {
        return refused("only http and https are followed");
    }
    if !to.username().is_empty() || to.password().is_some() {
        return refused("it names a user");
    }
    let (Some(port), Some(_)) = (to.port_or_known_default(), host(&to)) else { return refused("it names no host") };
    if !PORTS.contains(&port) && !more_ports.contains(&port) {
        return refused("only ports 80 and 443 are followed");
    }
    Ok(to)
}

/// The host of a URL.
pub(crate) fn host(url: &Url) -> Option<Host> {
    match url.host()? {
        url::Host::Domain(name) => Some(Host::Name(name.to_owned())),
        url::Host::Ipv4(address) => Some(Host::Address(address.into())),
        url::Host::Ipv6(address) => Some(Host::Address(address.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(location: &str) -> Result<String, String> {
        let from = Url::parse("http://example.test/.well-known/acme-challenge/token").unwrap();
        target(&from, Some(location.as_bytes()), &[5002])
            .map(|url| url.to_string())
            .map_err(|refusal| refusal.problem.detail)
    }

    #[test]
    fn redirects_go_to_web_ports_over_http_and_https() {
        for (location, url) in [
            ("https://www.example.test/x", "https://www.example.test/x"),
            ("/elsewhere?a=b#part", "http://example.test/elsewhere?a=b"),
            ("//other.test/y", "http://other.test/y"),
            ("http://example.test:443/", "http://example.test:443/"),
            ("https://example.test:80/", "https://example.test:80/"),
            ("http://example.test:5002/", "http://example.test:5002/"),
        ] {
            assert_eq!(follow(location).as_deref(), Ok(url), "{location}");
        }
        for location in [
            "http://example.test:8080/",
            "http://example.test:22/",
            "https://example.test:8443/",
            "ftp://example.test/",
            "file:///etc/passwd",
            "gopher://example.test:80/",
            "data:text/plain,x",
            "http://user@example.test/",
            "http://:secret@example.test/",
            "http://",
            "http://[::1",
        ] {
            let refused = follow(location).expect_err(location);
            assert!(refused.contains("redirects to"), "{refused}");
        }
        assert!(follow(&format!("/{}", "a".repeat(3000))).is_err());
    }

    #[test]
    fn a_location_that_is_missing_or_no_text_is_refused() {
        let from = Url::parse("http://example.test/").unwrap();
        assert!(target(&from, None, &[]).is_err());
        assert!(target(&from, Some(b"/\xff"), &[]).is_err());
    }

    #[test]
    fn an_address_in_any_spelling_is_an_address() {
        for spelling in ["http://127.0.0.1/", "http://0x7f.1/", "http://2130706433/", "http://0177.0.0.1/"] {
            let address = Host::Address("127.0.0.1".parse().unwrap());
            assert_eq!(host(&Url::parse(&follow(spelling).unwrap()).unwrap()), Some(address), "{spelling}");
        }
    }
}
