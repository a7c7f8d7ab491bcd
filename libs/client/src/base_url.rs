//! Where the service is.

use std::net::IpAddr;

use http::Uri;
use http::uri::Scheme;

use crate::builder::BuildError;
use crate::error::Error;

/// An absolute URL without a query: `https`, or `http` to this machine alone.
pub(crate) struct BaseUrl {
    /// Without a slash at its end.
    text: String,
    https: bool,
}

impl BaseUrl {
    pub(crate) fn parse(text: &str) -> Result<Self, BuildError> {
        let unusable = |reason: &str| BuildError::Url { url: without_credentials(text), reason: reason.to_owned() };
        let uri: Uri = text.parse().map_err(|error: http::uri::InvalidUri| unusable(&error.to_string()))?;
        let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
            return Err(unusable("it must be absolute, such as https://ca.example.com"));
        };
        if authority.as_str().contains('@') {
            return Err(unusable("it must not carry a user name or password"));
        }
        if uri.query().is_some() || text.contains('#') {
            return Err(unusable("it must have neither a query nor a fragment"));
        }
        let https = *scheme == Scheme::HTTPS;
        if !https && *scheme != Scheme::HTTP {
            return Err(unusable("it must begin with https://"));
        }
        if !https && !is_this_machine(authority.host()) {
            return Err(unusable("it must begin with https://; http:// is only for 127.0.0.0/8, [::1] and localhost"));
        }
        Ok(Self { text: text.trim_end_matches('/').to_owned(), https })
    }

    pub(crate) fn is_https(&self) -> bool {
        self.https
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The URL of a path and query below this one. The slash is demanded, as without it the path could become a part
    /// of the host.
    pub(crate) fn join(&self, target: &str) -> Result<Uri, Error> {
        if !target.starts_with('/') {
            return Err(Error::Unsendable(format!("the path {target:?} does not begin with a slash")));
        }
        format!("{}{target}", self.text)
            .parse()
            .map_err(|error| Error::Unsendable(format!("the path {target:?} is not part of a URL: {error}")))
    }
}

fn is_this_machine(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The URL as it may stand in an error: what stands before an `@` may be a secret.
fn without_credentials(text: &str) -> String {
    text.rsplit_once('@').map_or_else(|| text.to_owned(), |(_, host)| format!("…@{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        BaseUrl::parse(url).err().unwrap_or_else(|| panic!("{url} was accepted")).to_string()
    }

    #[test]
    fn https_is_accepted_everywhere_and_http_on_this_machine() {
        for url in ["https://ca.example.com", "https://192.0.2.1:8443/", "https://[2001:db8::1]/api/"] {
            assert!(BaseUrl::parse(url).unwrap().is_https(), "{url}");
        }
        for url in ["http://127.0.0.1:8080", "http://127.9.8.7", "http://[::1]:80", "http://LocalHost/"] {
            assert!(!BaseUrl::parse(url).unwrap().is_https(), "{url}");
        }
        for host in ["ca.example.com", "192.0.2.1", "0.0.0.0", "[::2]", "localhost.example.com"] {
            assert!(refusal(&format!("http://{host}/")).contains("http:// is only for"), "{host}");
        }
    }

    #[test]
    fn what_is_no_base_url_is_refused() {
        for url in ["", "/v1", "ca.example.com", "ftp://ca.example.com", "https://", "https://a b/"] {
            refusal(url);
        }
        assert!(refusal("https://ca.example.com/?a=1").contains("neither a query"));
        assert!(refusal("https://ca.example.com/#a").contains("nor a fragment"));
        let with_password = refusal("https://anna:geheim@ca.example.com/");
        assert!(
            with_password.contains("user name or password") && !with_password.contains("geheim"),
            "{with_password}"
        );
    }

    #[test]
    fn a_path_is_put_below_it_and_never_into_its_host() {
        let join = |base: &str, target: &str| BaseUrl::parse(base).unwrap().join(target).map(|uri| uri.to_string());
        assert_eq!(join("https://a.example/", "/v1/x?y=1").unwrap(), "https://a.example/v1/x?y=1");
        assert_eq!(join("https://a.example/api/", "/v1").unwrap(), "https://a.example/api/v1");
        for target in ["@evil.example/", ".evil.example/", ":80/", "", "v1"] {
            assert!(matches!(join("https://a.example", target), Err(Error::Unsendable(_))), "{target}");
        }
    }
}
