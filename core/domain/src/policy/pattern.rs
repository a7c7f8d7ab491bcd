//! Which names a rule speaks of.

use std::fmt;

use crate::identifier::{DnsName, Identifier, IdentifierError};

/// `example.com` is that name alone, `*.example.com` every name below it at any depth (wildcards too), `**` all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DomainPattern {
    Everything,
    Exactly(DnsName),
    Below(String),
}

/// Why a text is not a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a domain pattern (`example.com`, `*.example.com` or `**`): {reason}")]
pub struct PatternError {
    text: String,
    reason: Unfit,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Unfit {
    #[error(transparent)]
    Name(#[from] IdentifierError),
    /// As a name it would never match anything, and whoever wrote it would not know.
    #[error("it is an IP address, and those are ruled by allow_ip_addresses")]
    Address,
}

impl DomainPattern {
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        Self::read(text, Identifier::parse)
    }

    /// One that was taken earlier, perhaps by older rules.
    pub fn from_stored(text: &str) -> Result<Self, PatternError> {
        Self::read(text, Identifier::from_stored)
    }

    fn read(text: &str, read: fn(&str) -> Result<Identifier, IdentifierError>) -> Result<Self, PatternError> {
        if text == "**" {
            return Ok(Self::Everything);
        }
        let name = match read(text) {
            Ok(Identifier::Dns(name)) => Ok(name),
            Ok(Identifier::Ip(_)) => Err(Unfit::Address),
            Err(error) => Err(Unfit::Name(error)),
        };
        let name = name.map_err(|reason| PatternError { text: text.to_owned(), reason })?;
        Ok(if name.is_wildcard() { Self::Below(name.base().to_owned()) } else { Self::Exactly(name) })
    }

    pub fn covers(&self, name: &DnsName) -> bool {
        match self {
            Self::Everything => true,
            Self::Exactly(only) => name == only,
            Self::Below(parent) => name.is_below(parent),
        }
    }

    /// Whether this pattern forbids the name: a wildcard stands for all names below it, so denying one of them denies it.
    pub fn touches(&self, name: &DnsName) -> bool {
        let hidden = |exact: &DnsName| {
            name.is_wildcard()
                && exact.is_below(name.base())
                && !exact.as_str()[..exact.as_str().len() - name.base().len() - 1].contains('.')
        };
        self.covers(name)
            || match self {
                Self::Everything | Self::Below(_) => false,
                Self::Exactly(only) => hidden(only),
            }
    }
}

impl fmt::Display for DomainPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everything => f.write_str("**"),
            Self::Exactly(name) => name.fmt(f),
            Self::Below(parent) => write!(f, "*.{parent}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(pattern: &str, name: &str) -> bool {
        DomainPattern::parse(pattern).unwrap().covers(&DnsName::parse(name).unwrap())
    }

    #[test]
    fn a_star_is_every_name_below_and_not_the_name_itself() {
        assert!(covers("*.example.com", "a.example.com"));
        assert!(covers("*.example.com", "b.a.example.com"));
        assert!(covers("*.example.com", "*.example.com"));
        assert!(!covers("*.example.com", "example.com"));
        assert!(!covers("*.example.com", "badexample.com"));
        assert!(covers("*.BÜCHER.example", "a.xn--bcher-kva.example"));
    }

    #[test]
    fn a_plain_name_is_itself_alone() {
        assert!(covers("example.com", "EXAMPLE.com."));
        assert!(!covers("example.com", "www.example.com"));
        assert!(covers("**", "anything.test"));
    }

    #[test]
    fn denying_a_name_denies_the_wildcard_that_would_serve_it() {
        let touches =
            |pattern: &str, name: &str| DomainPattern::parse(pattern).unwrap().touches(&DnsName::parse(name).unwrap());
        assert!(touches("admin.example.com", "*.example.com"));
        assert!(!touches("a.admin.example.com", "*.example.com"));
        assert!(!touches("admin.example.com", "www.example.com"));
    }

    #[test]
    fn comes_back_from_its_text() {
        for text in ["**", "example.com", "*.example.com"] {
            assert_eq!(DomainPattern::parse(text).unwrap().to_string(), text);
        }
        for bad in ["", "*", "***", "a.*", "*.*.a", "a b", "_x.example", "192.0.2.1", "2001:db8::1"] {
            assert!(DomainPattern::parse(bad).is_err(), "{bad:?}");
        }
    }
}
