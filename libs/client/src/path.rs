//! Paths, written as in the OpenAPI document, with whatever a caller gives as lookup safely inside one segment.

use std::fmt::Display;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All but the unreserved characters (RFC 3986 section 2.3).
pub(crate) const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// `route!("/v1/account/{}", lookup)`: each `{}` is one segment, percent-encoded.
macro_rules! route {
    ($template:literal $(, $lookup:expr)* $(,)?) => {
        $crate::path::Path::new(format!($template $(, $crate::path::segment(&$lookup))*))
    };
}
pub(crate) use route;

/// A path whose segments are all there, or the reason why it cannot be asked for.
#[derive(Clone)]
pub(crate) struct Path(pub(crate) Result<String, &'static str>);

impl Path {
    /// An empty segment or a dot segment would address something else: whoever stands between here and the server may
    /// take it out (RFC 3986 section 5.2.4), encoded or not.
    pub(crate) fn new(text: String) -> Self {
        if text.split('/').skip(1).any(|segment| matches!(segment, "" | "." | "..")) {
            return Self(Err("a lookup must not be empty, `.` or `..`"));
        }
        Self(Ok(text))
    }
}

pub(crate) fn segment(lookup: &dyn Display) -> String {
    utf8_percent_encode(&lookup.to_string(), RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_lookup_stays_inside_its_segment() {
        let written = |lookup: &str| route!("/v1/account/{}/eab-credential", lookup).0.unwrap();
        assert_eq!(written("acc_01-x.y~z"), "/v1/account/acc_01-x.y~z/eab-credential");
        assert_eq!(written("a+b@example.com"), "/v1/account/a%2Bb%40example.com/eab-credential");
        assert_eq!(written("../policy?x#y%2F"), "/v1/account/..%2Fpolicy%3Fx%23y%252F/eab-credential");
        assert_eq!(written("ü\0 "), "/v1/account/%C3%BC%00%20/eab-credential");
        assert_eq!(route!("/v1/account/{}", 42).0.unwrap(), "/v1/account/42");
    }

    #[test]
    fn a_lookup_that_would_change_the_path_is_refused() {
        for lookup in ["", ".", ".."] {
            assert!(route!("/v1/account/{}", lookup).0.is_err(), "{lookup:?}");
            assert!(route!("/v1/account/{}/eab-credential", lookup).0.is_err(), "{lookup:?}");
        }
        assert!(route!("/v1/account/{}", "...").0.is_ok());
    }
}
