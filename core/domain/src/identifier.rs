//! What a certificate can be for: a domain name, perhaps with a wildcard, or an IP address.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

/// A DNS name or an IP address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Identifier {
    Dns(DnsName),
    Ip(IpAddr),
}

/// A domain name in its ASCII form, lower case, without a trailing dot; `*` may stand as the whole leftmost label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DnsName(String);

/// Why a text is not a name we take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentifierError {
    #[error("must not be empty")]
    Empty,
    #[error("must be at most 253 characters")]
    TooLong,
    #[error("{0:?} is not a label of a host name: 1 to 63 letters, digits and inner hyphens")]
    Label(String),
    #[error("is not a valid internationalised name")]
    Idna,
    #[error("`*` may only be the whole leftmost label")]
    Wildcard,
    #[error("must not end in a number, as only addresses do")]
    Number,
}

impl Identifier {
    /// An IP address where the text is one, else a name.
    pub fn parse(text: &str) -> Result<Self, IdentifierError> {
        match text.parse() {
            Ok(address) => Ok(Self::Ip(address)),
            Err(_) => DnsName::parse(text).map(Self::Dns),
        }
    }

    /// One that was taken earlier, perhaps by older rules.
    pub fn from_stored(text: &str) -> Result<Self, IdentifierError> {
        match text.parse() {
            Ok(address) => Ok(Self::Ip(address)),
            Err(_) => DnsName::from_stored(text).map(Self::Dns),
        }
    }

    pub fn is_wildcard(&self) -> bool {
        matches!(self, Self::Dns(name) if name.is_wildcard())
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns(name) => name.fmt(f),
            Self::Ip(address) => address.fmt(f),
        }
    }
}

impl DnsName {
    pub fn parse(text: &str) -> Result<Self, IdentifierError> {
        let name = Self::from_stored(text)?;
        // RFC 3696 section 2. `192.0.2.1.` would be a name here, and an address wherever it is read again.
        let last = name.0.rsplit('.').next();
        let is_number = last.is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
        if is_number { Err(IdentifierError::Number) } else { Ok(name) }
    }

    /// One that was taken earlier: names that end in a number once were.
    pub fn from_stored(text: &str) -> Result<Self, IdentifierError> {
        let text = text.strip_suffix('.').unwrap_or(text);
        if text.is_empty() {
            return Err(IdentifierError::Empty);
        }
        let (wildcard, base) = match text.strip_prefix("*.") {
            Some(base) => ("*.", base),
            None => ("", text),
        };
        if base.contains('*') {
            return Err(IdentifierError::Wildcard);
        }
        let ascii = match is_plain(base) {
            true => Cow::Borrowed(base),
            false => idna::domain_to_ascii_strict(base).map_err(|_| diagnose(base))?.into(),
        };
        for label in ascii.split('.') {
            if !is_host_label(label) {
                return Err(IdentifierError::Label(label.to_owned()));
            }
        }
        let name = format!("{wildcard}{ascii}");
        if name.len() > 253 { Err(IdentifierError::TooLong) } else { Ok(Self(name)) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_wildcard(&self) -> bool {
        self.0.starts_with("*.")
    }

    /// The name without its `*.`: where control of a wildcard is shown.
    pub fn base(&self) -> &str {
        self.0.strip_prefix("*.").unwrap_or(&self.0)
    }

    /// The names above this one, the nearest first.
    pub fn above(&self) -> Vec<Self> {
        let mut names = Vec::new();
        let mut rest = self.base();
        while let Some((_, above)) = rest.split_once('.') {
            names.push(Self(above.to_owned()));
            rest = above;
        }
        names
    }

    /// Whether this is a name below `parent`, at any depth; no name is below itself, but its wildcard is.
    pub fn is_below(&self, parent: &str) -> bool {
        self.0.strip_suffix(parent).is_some_and(|rest| rest.ends_with('.') && rest.len() > 1)
    }
}

impl fmt::Display for DnsName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_host_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// Whether it is its own ASCII form, as nearly all are. Two hyphens in a row are IDNA's to judge.
fn is_plain(base: &str) -> bool {
    let plain = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
    base.len() <= 253 && base.bytes().all(plain) && !base.contains("--")
}

/// The IDNA processing says only "no": find out which label it was, for the person who has to mend it.
fn diagnose(base: &str) -> IdentifierError {
    if base.len() > 253 {
        return IdentifierError::TooLong;
    }
    let bad = base.split('.').find(|label| label.is_ascii() && !is_host_label(label));
    bad.map_or(IdentifierError::Idna, |label| IdentifierError::Label(label.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> DnsName {
        DnsName::parse(text).unwrap()
    }

    #[test]
    fn has_one_spelling() {
        assert_eq!(name("WWW.Example.COM.").as_str(), "www.example.com");
        assert_eq!(name("Bücher.example").as_str(), "xn--bcher-kva.example");
        assert_eq!(name("*.Example.com").as_str(), "*.example.com");
    }

    /// What passes by IDNA is what IDNA would have let pass: every text of five of these characters, and some long ones.
    #[test]
    fn a_plain_name_is_its_own_ascii_form() {
        let characters = ["a", "z", "0", "-", "."];
        let mut texts = vec![String::new()];
        for _ in 0..5 {
            texts = texts.iter().flat_map(|text| characters.map(|next| format!("{text}{next}"))).collect();
        }
        texts.extend([64, 63, 253, 254].map(|length| "a".repeat(length)));
        texts.extend(
            [63, 64].map(|last| format!("{}.{}", ["a".repeat(63).as_str(); 3].join("."), "b".repeat(last - 2))),
        );
        let plain: Vec<_> = texts.iter().filter(|text| is_plain(text) && !text.ends_with('.')).collect();
        assert!(plain.len() > 2000);
        for text in plain {
            let by_idna = idna::domain_to_ascii_strict(text).ok().filter(|ascii| ascii.split('.').all(is_host_label));
            assert_eq!(DnsName::from_stored(text).ok().map(|name| name.0), by_idna, "{text}");
        }
    }

    #[test]
    fn refuses_what_is_not_a_host_name() {
        for bad in [
            "",
            ".",
            "a..b",
            "-a.example",
            "a-.example",
            "a_b.example",
            "*",
            "a.*.example",
            "w*.example",
            "*.*.example",
            "a b.example",
            "a\0.example",
            "xn--a",
            "xn--zzzzzzzz99999.example",
            "exa\u{202e}mple.com",
        ] {
            assert!(DnsName::parse(bad).is_err(), "{bad:?}");
        }
        assert!(DnsName::parse(&"a".repeat(64)).is_err());
        assert!(DnsName::parse(&vec!["a".repeat(63); 5].join(".")).is_err());
    }

    #[test]
    fn below_means_strictly_below() {
        assert!(name("www.example.com").is_below("example.com"));
        assert!(name("*.example.com").is_below("example.com"));
        assert!(!name("example.com").is_below("example.com"));
        assert!(!name("badexample.com").is_below("example.com"));
    }

    #[test]
    fn an_address_is_an_address_in_every_spelling() {
        assert_eq!(Identifier::parse("2001:DB8::0:1").unwrap().to_string(), "2001:db8::1");
        assert!(matches!(Identifier::parse("192.0.2.1"), Ok(Identifier::Ip(_))));
    }

    #[test]
    fn no_name_is_written_as_an_address() {
        for bad in ["192.0.2.1.", "192。0。2。1", "*.192.0.2.1", "１92.0.2.1", "0x7f.1", "a.7"] {
            assert_eq!(Identifier::parse(bad), Err(IdentifierError::Number), "{bad}");
        }
        assert!(DnsName::parse("192.0.2.1").is_err());
        assert!(DnsName::parse("7.a").is_ok());
        // What was taken before can still be read.
        assert_eq!(Identifier::from_stored("a.7").unwrap().to_string(), "a.7");
        assert!(Identifier::from_stored("a_.7").is_err());
    }
}
