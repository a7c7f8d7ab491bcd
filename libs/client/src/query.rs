//! Query strings.

use std::fmt::Display;

use percent_encoding::utf8_percent_encode;

use crate::path::RESERVED;

/// The parameters of a query, in the order they were given.
#[derive(Clone, Default)]
pub(crate) struct Query(Vec<(&'static str, String)>);

impl Query {
    /// Adds a parameter, where it has a value.
    pub(crate) fn with(mut self, name: &'static str, value: Option<impl Display>) -> Self {
        self.0.extend(value.map(|value| (name, value.to_string())));
        self
    }

    /// Gives a parameter another value, or its first.
    pub(crate) fn set(&mut self, name: &'static str, value: String) {
        self.0.retain(|(known, _)| *known != name);
        self.0.push((name, value));
    }

    /// With its question mark; nothing where there are no parameters.
    pub(crate) fn to_text(&self) -> String {
        let pair = |(name, value): &(&str, String)| format!("{name}={}", utf8_percent_encode(value, RESERVED));
        let pairs: Vec<_> = self.0.iter().map(pair).collect();
        if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_encoded_and_what_is_absent_is_left_out() {
        let query = Query::default().with("a", Some("x&y=z +é")).with("b", None::<bool>).with("c", Some(true));
        assert_eq!(query.to_text(), "?a=x%26y%3Dz%20%2B%C3%A9&c=true");
        assert_eq!(Query::default().to_text(), "");
    }

    #[test]
    fn setting_replaces() {
        let mut query = Query::default().with("cursor", Some("1")).with("limit", Some(2));
        query.set("cursor", "3".to_owned());
        assert_eq!(query.to_text(), "?limit=2&cursor=3");
    }
}
