//! The query of a page, and links with one.

use axum::extract::FromRequestParts;
use http::request::Parts;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::form::Fields;

const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The query of a request; anything can be asked, and what is not known is not looked at.
pub(crate) struct Query(pub(crate) Fields);

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(Fields::parse(parts.uri.query().unwrap_or_default())))
    }
}

/// A path with a query of those names that have a value.
pub(crate) fn link(path: &str, pairs: &[(&str, &str)]) -> String {
    let mut text = path.to_owned();
    for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
        text.push(if text.contains('?') { '&' } else { '?' });
        text.push_str(name);
        text.push('=');
        text.push_str(&encoded(value));
    }
    text
}

pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, KEPT).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_has_the_values_that_there_are() {
        assert_eq!(link("/console/x", &[("a", "1&2"), ("b", ""), ("c", "é")]), "/console/x?a=1%262&c=%C3%A9");
        assert_eq!(link("/console/x", &[]), "/console/x");
    }
}
