//! One e-mail address, in the plain form that mail systems agree on.

use std::fmt;

use crate::identifier::DnsName;

/// A valid address: `local@domain`, the local part a dot-string of RFC 5321 section 4.1.2, the domain a real one.
///
/// Quoted local parts, comments, display names and address literals are refused: they are legal in places,
/// but two systems seldom agree on who they name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmailAddress {
    shown: String,
    key: String,
}

/// Why a text is not an address we take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmailError {
    #[error("must be one e-mail address such as `admin@example.com`")]
    Shape,
    #[error(
        "the part before the @ must be 1 to 64 letters, digits or .!#$%&'*+/=?^_`{{|}}~- without a dot at either end or two in a row"
    )]
    Local,
    #[error(
        "the part after the @ must be a domain name with at least one dot and none at its end, written without combining or invisible characters"
    )]
    Domain,
    #[error("must be at most 254 characters")]
    TooLong,
}

impl EmailAddress {
    pub fn parse(text: &str) -> Result<Self, EmailError> {
        if text.len() > 254 {
            return Err(EmailError::TooLong);
        }
        let (local, domain) = text.rsplit_once('@').ok_or(EmailError::Shape)?;
        if !is_dot_string(local) {
            return Err(EmailError::Local);
        }
        let host = DnsName::parse(domain).map_err(|_| EmailError::Domain)?;
        let plain = !host.is_wildcard() && host.as_str().contains('.');
        if !plain || !is_written_plainly(domain, &host) {
            return Err(EmailError::Domain);
        }
        let key = format!("{}@{}", local.to_ascii_lowercase(), host.as_str());
        if key.len() > 254 {
            return Err(EmailError::TooLong);
        }
        Ok(Self { shown: text.to_owned(), key })
    }

    /// As its owner wrote it.
    pub fn as_str(&self) -> &str {
        &self.shown
    }

    /// What two spellings of one address share: lower case, the domain in its ASCII form.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Display for EmailAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

fn is_dot_string(local: &str) -> bool {
    (1..=64).contains(&local.len())
        && local.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(is_atom_character))
}

fn is_atom_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+/=?^_`{|}~-".contains(&byte)
}

/// Whether a domain is written in its own letters, large or small. IDNA also takes full-width and invisible characters,
/// and makes one name of them; an address is shown as it was written, and must not hide what it is.
fn is_written_plainly(domain: &str, host: &DnsName) -> bool {
    let plain = |(written, ascii): (&str, &str)| {
        let small: String = written.chars().flat_map(char::to_lowercase).collect();
        small == ascii || small == idna::domain_to_unicode(ascii).0
    };
    let labels = || domain.split('.').zip(host.as_str().split('.'));
    domain.split('.').count() == host.as_str().split('.').count() && labels().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_ordinary_addresses() {
        for good in [
            "a@example.com",
            "first.last+tag@sub.example.co.uk",
            "o'hara@example.com",
            "x@bücher.example",
            "x@BÜCHER.Example",
            "x@ΣΟΦΟΣ.example",
            "x@XN--bcher-kva.bücher.example",
        ] {
            assert!(EmailAddress::parse(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn refuses_every_trick() {
        let long = format!("{}@example.com", "a".repeat(65));
        for bad in [
            "",
            "a",
            "@example.com",
            "a@",
            "a@b",
            "a@@b.example",
            "a b@example.com",
            " a@example.com",
            "a@example.com ",
            "a@example.com,b@example.com",
            "A <a@example.com>",
            "\"a b\"@example.com",
            "a@[127.0.0.1]",
            "a@127.0.0.1",
            ".a@example.com",
            "a.@example.com",
            "a..b@example.com",
            "a@-example.com",
            "a@example..com",
            "a@example.com.",
            "a@exa_mple.com",
            "a\0@example.com",
            "a@example.com\n",
            "a(comment)@example.com",
            "a@*.example.com",
            "ü@example.com",
            "a@\u{202e}example.com",
            "a@example\u{200b}.com",
            "a@exam\u{ad}ple.com",
            "a@ｅxample.com",
            "a@example。com",
            &long,
        ] {
            assert!(EmailAddress::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn spellings_of_one_address_share_a_key() {
        let key = |text| EmailAddress::parse(text).unwrap().key().to_owned();
        assert_eq!(key("Admin@Example.COM"), key("admin@example.com"));
        assert_eq!(key("a@BÜCHER.example"), key("a@xn--bcher-kva.example"));
    }
}
