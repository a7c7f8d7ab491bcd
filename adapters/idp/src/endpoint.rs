//! Where the keys are: a URL that was found fit to be fetched from.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use http::Uri;
use http::uri::Scheme;
use rustls::pki_types::ServerName;

use crate::FetcherError;

/// The URL of a key set: `https`, or `http` to this machine alone. Its text leaves out the query, which may hold
/// something that is not for logs.
pub(crate) struct Endpoint {
    uri: Uri,
    tls_name: Option<ServerName<'static>>,
}

impl Endpoint {
    pub(crate) fn parse(url: &str) -> Result<Self, FetcherError> {
        let unusable = |reason: &str| FetcherError::Url(reason.to_owned());
        let uri = Uri::from_str(url).map_err(|error| FetcherError::Url(error.to_string()))?;
        let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
            return Err(unusable("it must be absolute, such as https://id.example.com/jwks.json"));
        };
        if authority.as_str().contains('@') {
            return Err(FetcherError::Credentials);
        }
        let host = bare(authority.host());
        let tls_name = if *scheme == Scheme::HTTPS {
            let name = ServerName::try_from(host).map_err(|_| unusable("its host is no name and no address"))?;
            Some(name.to_owned())
        } else if *scheme != Scheme::HTTP {
            return Err(FetcherError::Scheme(scheme.to_string()));
        } else if !is_this_machine(host) {
            return Err(FetcherError::PlainHttp(host.to_owned()));
        } else {
            None
        };
        Ok(Self { uri, tls_name })
    }

    /// The whole URL.
    pub(crate) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The name that the server's certificate must bear; none where the URL is `http`.
    pub(crate) fn tls_name(&self) -> Option<&ServerName<'static>> {
        self.tls_name.as_ref()
    }

    /// Host and port as they stand in the URL.
    pub(crate) fn authority(&self) -> &str {
        self.uri.authority().map_or("", |authority| authority.as_str())
    }

    /// What to ask the server for (RFC 9112 section 3.2.1).
    pub(crate) fn target(&self) -> &str {
        self.uri.path_and_query().map_or("/", |target| target.as_str())
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.uri.scheme_str().unwrap_or_default(), self.authority(), self.uri.path())
    }
}

/// Whether this is the name that means this machine, and nothing else whatever a resolver says (RFC 6761 section 6.3).
pub(crate) fn is_localhost(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
}

fn is_this_machine(host: &str) -> bool {
    is_localhost(host) || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The host without the brackets that an IPv6 address has in a URL (RFC 3986 section 3.2.2).
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        match Endpoint::parse(url) {
            Ok(endpoint) => panic!("{endpoint} was accepted"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn https_is_accepted_everywhere_and_http_on_this_machine() {
        for (url, encrypted) in [
            ("https://id.example.com/keys", true),
            ("https://192.0.2.1:8443/keys", true),
            ("https://[2001:db8::1]/keys", true),
            ("HTTPS://id.example.com", true),
            ("http://127.0.0.1:8080/keys", false),
            ("http://127.9.8.7/keys", false),
            ("http://[::1]:8080/keys", false),
            ("http://localhost/keys", false),
            ("http://LocalHost/keys", false),
        ] {
            let endpoint = Endpoint::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
            assert_eq!(endpoint.tls_name().is_some(), encrypted, "{url}");
        }
    }

    #[test]
    fn http_to_another_machine_is_refused() {
        for host in [
            "id.example.com",
            "192.0.2.1",
            "0.0.0.0",
            "128.0.0.1",
            "[::2]",
            "[::ffff:127.0.0.1]",
            "127.1",
            "127.0.0.1.example.com",
            "localhost.example.com",
        ] {
            let refusal = refusal(&format!("http://{host}:80/keys"));
            assert!(refusal.contains("must begin with https://") && refusal.ends_with(bare(host)), "{refusal}");
        }
    }

    #[test]
    fn what_is_no_web_address_is_refused() {
        assert!(refusal("ftp://id.example.com/keys").ends_with("not ftp://"));
        assert!(refusal("file:///etc/keys.json").contains("not usable"));
        for url in ["", "/keys", "id.example.com", "id.example.com/keys", "https://", "https://a b/", "https://-/"] {
            assert!(refusal(url).contains("not usable"), "{url:?}: {}", refusal(url));
        }
    }

    #[test]
    fn credentials_are_refused_and_not_repeated() {
        for url in ["https://anna:geheim@id.example.com/", "http://geheim@localhost/", "http://127.0.0.1:geheim@evil/"]
        {
            let refusal = refusal(url);
            assert!(refusal.contains("user name or password") && !refusal.contains("geheim"), "{refusal}");
        }
    }

    #[test]
    fn its_text_leaves_out_the_query_that_is_sent() {
        let endpoint = Endpoint::parse("https://id.example.com:8443/a/keys?token=geheim").unwrap();
        assert_eq!(endpoint.to_string(), "https://id.example.com:8443/a/keys");
        assert_eq!(endpoint.target(), "/a/keys?token=geheim");
        assert_eq!(endpoint.authority(), "id.example.com:8443");
    }
}
