//! The value of an `issue` or `issuewild` property (RFC 8659 section 4.2).

/// Whom a property lets issue, and under which conditions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct IssueValue<'a> {
    /// Empty where nobody may.
    pub issuer: &'a str,
    /// Tags and values, in order. Tags can be repeated; what that means is for whoever defines them.
    pub parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> IssueValue<'a> {
    /// None if it does not follow the grammar to the letter.
    pub(crate) fn parse(value: &'a [u8]) -> Option<Self> {
        let value = std::str::from_utf8(value).ok()?;
        let (issuer, parameters) = match value.split_once(';') {
            Some((issuer, parameters)) => (trim(issuer), trim(parameters)),
            None => (trim(value), ""),
        };
        if !issuer.is_empty() && !issuer.split('.').all(is_label) {
            return None;
        }
        let parameters = match parameters {
            "" => Vec::new(),
            some => some.split(';').map(parameter).collect::<Option<_>>()?,
        };
        Some(Self { issuer, parameters })
    }

    /// All values of a parameter. The case of its tag does not matter: read so, a condition is never overlooked.
    pub(crate) fn values(&self, tag: &str) -> impl Iterator<Item = &'a str> {
        self.parameters.iter().filter(move |(found, _)| found.eq_ignore_ascii_case(tag)).map(|(_, value)| *value)
    }
}

fn parameter(text: &str) -> Option<(&str, &str)> {
    let (tag, value) = text.split_once('=')?;
    let (tag, value) = (trim(tag), trim(value));
    (is_label(tag) && value.bytes().all(|byte| byte.is_ascii_graphic())).then_some((tag, value))
}

/// Letters and digits, and hyphens between them.
fn is_label(label: &str) -> bool {
    !label.is_empty()
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// White space is blanks and tabs, and nothing else.
fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(value: &str) -> Option<(&str, Vec<(&str, &str)>)> {
        IssueValue::parse(value.as_bytes()).map(|value| (value.issuer, value.parameters))
    }

    #[test]
    fn values_follow_the_grammar() {
        for (text, issuer, parameters) in [
            ("ca.test", "ca.test", vec![]),
            (" \tca.test \t", "ca.test", vec![]),
            ("", "", vec![]),
            (";", "", vec![]),
            (" ; ", "", vec![]),
            ("ca.test;", "ca.test", vec![]),
            ("ca.test; a=b", "ca.test", vec![("a", "b")]),
            ("ca.test ;a = b;c=", "ca.test", vec![("a", "b"), ("c", "")]),
            ("ca.test; a=b ; \t a=c", "ca.test", vec![("a", "b"), ("a", "c")]),
            ("; policy=ev", "", vec![("policy", "ev")]),
            ("ca.test; uri=https://a.test/x=y,z?q#f", "ca.test", vec![("uri", "https://a.test/x=y,z?q#f")]),
            ("a--b.c1; x-1=!", "a--b.c1", vec![("x-1", "!")]),
        ] {
            assert_eq!(parsed(text), Some((issuer, parameters)), "{text:?}");
        }
        for text in [
            "%%%%%",
            "ca.test.",
            ".ca.test",
            "ca..test",
            "-ca.test",
            "ca_x.test",
            "ca.test other.test",
            "ca.test; a",
            "ca.test; a=b;",
            "ca.test; =b",
            "ca.test; a-=b",
            "ca.test; a=b c",
            "ca.test\n",
            "ca.test; a=b;;c=d",
            "cä.test",
        ] {
            assert_eq!(parsed(text), None, "{text:?}");
        }
        assert_eq!(IssueValue::parse(b"\xff"), None);
    }

    proptest! {
        #[test]
        fn no_value_makes_it_panic(bytes: Vec<u8>, text in "[ -~\t]{0,60}") {
            let _ = IssueValue::parse(&bytes);
            let _ = IssueValue::parse(text.as_bytes());
        }
    }
}
