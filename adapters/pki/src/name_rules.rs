//! Which names and addresses may stand in a certificate.

use std::{collections::HashSet, net::IpAddr};

use chancery_domain::{DnsName, Identifier, IdentifierError, special_use};
use chancery_suffix::{Suffix, registrable_domain};

/// What a profile and an installation allow in names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameRules {
    /// The most names of one certificate.
    pub max_names: usize,
    /// Names that begin with `*.`.
    pub wildcards: bool,
    /// IP addresses.
    pub ip_addresses: bool,
    /// Addresses that are private, loopback, for documentation, …: for `dev` only.
    pub special_addresses: bool,
    /// Names whose top-level domain is not in the public suffix list, such as `hello.test`, and names below `arpa`,
    /// such as `nas.home.arpa`: not for public profiles.
    pub internal_names: bool,
}

/// Everything but what only an internal CA may do.
impl Default for NameRules {
    fn default() -> Self {
        Self { max_names: 100, wildcards: true, ip_addresses: true, special_addresses: false, internal_names: false }
    }
}

/// Why a name cannot stand in a certificate; the text says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameProblem {
    /// It is not a host name.
    #[error("{name:?} is not a host name: it {why}")]
    Invalid {
        /// The name as it was given.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// It has more than 253 characters.
    #[error("{0:?} is longer than 253 characters; shorten it")]
    TooLong(String),
    /// It contains an underscore.
    #[error("{0:?} contains an underscore, which host names must not; rename it")]
    Underscore(String),
    /// A `*` that is not the whole leftmost label, or where none is allowed.
    #[error("{0:?}: `*` may only be the whole leftmost label; ask for the name, or for `*.` and a domain")]
    Wildcard(String),
    /// A wildcard where there may be none.
    #[error("{0:?}: wildcards are not allowed here; ask for each name by itself")]
    WildcardNotAllowed(String),
    /// It is a suffix under which others register names, or a wildcard right below one.
    #[error(
        "{0:?} is, or stands for all of, a public suffix under which anyone can register; ask for a domain below it"
    )]
    PublicSuffix(String),
    /// Its top-level domain does not exist in the public DNS.
    #[error("{0:?} does not end in a public top-level domain; ask for a name in the public DNS")]
    Internal(String),
    /// It is an onion service, or all of them.
    #[error("{0:?} is a name of Tor, which must not be looked up in the DNS (RFC 7686); ask for a name in the DNS")]
    Onion(String),
    /// It is in the part of the DNS that serves the DNS itself, or homes.
    #[error("{0:?} is below arpa, where nobody can register (RFC 3172); ask for a domain that is registered to you")]
    Arpa(String),
    /// An address that is not 4 or 16 octets.
    #[error("an iPAddress name has {0} octets; write 4 for IPv4 or 16 for IPv6")]
    AddressLength(usize),
    /// An address where there may be none.
    #[error("{0}: IP addresses are not allowed here; ask for a host name")]
    AddressNotAllowed(IpAddr),
    /// An address that nobody owns.
    #[error("{address} is a special-use address ({purpose}); ask for a public address")]
    SpecialAddress {
        /// The address.
        address: IpAddr,
        /// What it is for.
        purpose: &'static str,
    },
    /// The same name twice.
    #[error("{0} is listed more than once; list it once")]
    Duplicate(Identifier),
    /// Too many names.
    #[error("there are {found} names, and a certificate may have {allowed}; split them over several certificates")]
    TooMany {
        /// How many there are.
        found: usize,
        /// How many there may be.
        allowed: usize,
    },
}

impl NameProblem {
    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid { .. } | Self::AddressLength(_) => "invalid_name",
            Self::TooLong(_) => "name_too_long",
            Self::Underscore(_) => "underscore",
            Self::Wildcard(_) => "wildcard",
            Self::WildcardNotAllowed(_) => "wildcard_not_allowed",
            Self::PublicSuffix(_) => "public_suffix",
            Self::Internal(_) => "internal_name",
            Self::Onion(_) | Self::Arpa(_) => "special_name",
            Self::AddressNotAllowed(_) => "ip_not_allowed",
            Self::SpecialAddress { .. } => "special_ip",
            Self::Duplicate(_) => "duplicate_name",
            Self::TooMany { .. } => "too_many_names",
        }
    }
}

impl NameRules {
    /// Everything that is wrong with a set of names; empty if they may stand in one certificate.
    pub fn problems(&self, names: &[Identifier]) -> Vec<NameProblem> {
        let mut found = Vec::new();
        let (mut seen, mut repeated) = (HashSet::new(), HashSet::new());
        // Of too many names only as many are looked at as there may be.
        for name in names.iter().take(self.max_names) {
            if seen.insert(name) {
                found.extend(self.problem(name));
            } else if repeated.insert(name) {
                found.push(NameProblem::Duplicate(name.clone()));
            }
        }
        if names.len() > self.max_names {
            found.push(NameProblem::TooMany { found: names.len(), allowed: self.max_names });
        }
        found
    }

    fn problem(&self, name: &Identifier) -> Option<NameProblem> {
        match name {
            Identifier::Dns(name) => self.dns_problem(name),
            Identifier::Ip(address) if !self.ip_addresses => Some(NameProblem::AddressNotAllowed(*address)),
            Identifier::Ip(_) if self.special_addresses => None,
            Identifier::Ip(address) => {
                special_use(*address).map(|purpose| NameProblem::SpecialAddress { address: *address, purpose })
            }
        }
    }

    fn dns_problem(&self, name: &DnsName) -> Option<NameProblem> {
        let text = || name.to_string();
        // The public suffix list has both top-level domains, so to it names below them are like any other.
        match top_level_domain(name) {
            "onion" => return Some(NameProblem::Onion(text())),
            "arpa" if !self.internal_names => return Some(NameProblem::Arpa(text())),
            _ => {}
        }
        if name.is_wildcard() && !self.wildcards {
            return Some(NameProblem::WildcardNotAllowed(text()));
        }
        match Suffix::of(name.base()) {
            // Only registries' suffixes count: the operator of a suffix of the private section, such as github.io, may
            // have certificates for it (Baseline Requirements section 3.2.2.6).
            Suffix::Registry if is_public_suffix(name.base()) => Some(NameProblem::PublicSuffix(text())),
            Suffix::Unknown if !self.internal_names => Some(NameProblem::Internal(text())),
            Suffix::Unknown if name.is_wildcard() && !name.base().contains('.') => {
                Some(NameProblem::PublicSuffix(text()))
            }
            Suffix::Registry | Suffix::Private | Suffix::Unknown => None,
        }
    }
}

/// Reads a dNSName, as it stands in a request, as a name; an address in its place is a mistake.
pub fn read_dns_name(text: &str) -> Result<Identifier, NameProblem> {
    let invalid = |why: String| NameProblem::Invalid { name: shown(text), why };
    if text.parse::<IpAddr>().is_ok() {
        return Err(invalid("is an IP address, which belongs into an iPAddress name".to_owned()));
    }
    let name = DnsName::parse(text).map_err(|error| match error {
        IdentifierError::TooLong => NameProblem::TooLong(shown(text)),
        IdentifierError::Wildcard => NameProblem::Wildcard(shown(text)),
        IdentifierError::Label(label) if label.contains('_') => NameProblem::Underscore(shown(text)),
        IdentifierError::Label(label) => {
            invalid(format!("has the part {:?}; parts are 1 to 63 letters, digits and inner hyphens", shown(&label)))
        }
        IdentifierError::Empty => invalid("is empty".to_owned()),
        IdentifierError::Number => invalid("ends in a number".to_owned()),
        IdentifierError::Idna => invalid("is not valid by the rules for internationalised names (IDNA)".to_owned()),
    })?;
    Ok(Identifier::Dns(name))
}

/// Reads the octets of an iPAddress.
pub(crate) fn read_address(octets: &[u8]) -> Result<Identifier, NameProblem> {
    let v4 = || <[u8; 4]>::try_from(octets).map(IpAddr::from);
    let v6 = |_| <[u8; 16]>::try_from(octets).map(IpAddr::from);
    v4().or_else(v6).map(Identifier::Ip).map_err(|_| NameProblem::AddressLength(octets.len()))
}

/// A text of the request for a message, which must not grow with it.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut shown: String = text.chars().take(LONGEST).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// Whether names right below this one belong to different owners: then nobody controls all of them.
///
/// Every top-level domain is such a name, on the public suffix list or not.
pub fn is_public_suffix(name: &str) -> bool {
    registrable_domain(name).is_none()
}

/// Whether a name and all that is at or below `namespace` have one owner: no public suffix lies between them.
pub fn is_owned_with(name: &str, namespace: &str) -> bool {
    let at_or_below =
        |name: &str, above: &str| name.strip_suffix(above).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    at_or_below(name, namespace) && registrable_domain(name).is_some_and(|domain| at_or_below(namespace, domain))
}

fn top_level_domain(name: &DnsName) -> &str {
    name.base().rsplit('.').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLIC: NameRules = NameRules {
        max_names: 3,
        wildcards: true,
        ip_addresses: true,
        special_addresses: false,
        internal_names: false,
    };
    const INTERNAL: NameRules = NameRules { special_addresses: true, internal_names: true, ..PUBLIC };

    fn codes(rules: NameRules, names: &[&str]) -> Vec<&'static str> {
        let names: Vec<_> = names.iter().map(|name| Identifier::parse(name).unwrap()).collect();
        rules.problems(&names).iter().map(NameProblem::code).collect()
    }

    #[test]
    fn public_suffixes_and_wildcards_right_below_them_are_refused() {
        for bad in ["com", "co.uk", "*.com", "*.co.uk", "xn--p1ai", "*.xn--p1ai", "foo.ck", "*.foo.ck"] {
            assert_eq!(codes(PUBLIC, &[bad]), ["public_suffix"], "{bad}");
            assert_eq!(codes(INTERNAL, &[bad]), ["public_suffix"], "{bad}");
        }
        for good in ["example.com", "*.example.com", "a.co.uk", "*.a.co.uk", "www.ck", "github.io", "*.github.io"] {
            assert_eq!(codes(PUBLIC, &[good]), [""; 0], "{good}");
        }
    }

    #[test]
    fn a_namespace_reaches_no_further_than_one_owner() {
        for (name, namespace) in [
            ("a.example.com", "example.com"),
            ("a.b.example.com", "b.example.com"),
            ("example.com", "example.com"),
            ("a.example.test", "example.test"),
            ("a.b.c.kobe.jp", "b.c.kobe.jp"),
            ("a.city.kobe.jp", "city.kobe.jp"),
            ("a.b.github.io", "b.github.io"),
        ] {
            assert!(is_owned_with(name, namespace), "{name} {namespace}");
        }
        for (name, namespace) in [
            ("a.example.com", "com"),
            ("a.example.com", "ample.com"),
            ("a.example.com", "b.example.com"),
            ("example.com", "a.example.com"),
            ("a.b.c.kobe.jp", "c.kobe.jp"),
            ("a.b.c.kobe.jp", "kobe.jp"),
            ("a.bucket.s3.amazonaws.com", "s3.amazonaws.com"),
            ("a.bucket.s3.amazonaws.com", "amazonaws.com"),
            ("a.b.github.io", "github.io"),
            ("github.io", "github.io"),
            ("a.test", "test"),
        ] {
            assert!(!is_owned_with(name, namespace), "{name} {namespace}");
        }
    }

    #[test]
    fn names_outside_the_public_dns_are_for_internal_use() {
        for name in ["hello.test", "localhost", "printer.lan", "*.hello.test"] {
            assert_eq!(codes(PUBLIC, &[name]), ["internal_name"], "{name}");
            assert_eq!(codes(INTERNAL, &[name]), [""; 0], "{name}");
        }
        assert_eq!(codes(INTERNAL, &["*.test"]), ["public_suffix"]);
    }

    #[test]
    fn names_of_tor_are_for_nobody() {
        for name in ["onion", "*.onion", "hello.onion", "*.hello.onion", "a.hello.ONION."] {
            assert_eq!(codes(PUBLIC, &[name]), ["special_name"], "{name}");
            assert_eq!(codes(INTERNAL, &[name]), ["special_name"], "{name}");
        }
        for name in ["onion.com", "onion.example.com", "redonion.com"] {
            assert_eq!(codes(PUBLIC, &[name]), [""; 0], "{name}");
        }
        assert_eq!(codes(INTERNAL, &["red-onion", "a.redonion"]), [""; 0]);
    }

    #[test]
    fn names_below_arpa_are_for_internal_use() {
        for name in ["a.home.arpa", "*.a.home.arpa", "2.0.192.in-addr.arpa", "8.b.d.0.1.0.0.2.ip6.arpa", "as112.arpa"] {
            assert_eq!(codes(PUBLIC, &[name]), ["special_name"], "{name}");
            assert_eq!(codes(INTERNAL, &[name]), [""; 0], "{name}");
        }
        for name in ["arpa", "*.arpa", "home.arpa", "*.home.arpa"] {
            assert_eq!(codes(PUBLIC, &[name]), ["special_name"], "{name}");
            assert_eq!(codes(INTERNAL, &[name]), ["public_suffix"], "{name}");
        }
        assert_eq!(codes(PUBLIC, &["arpa.com", "a.arpa.example.com"]), [""; 0]);
    }

    #[test]
    fn addresses_and_wildcards_are_refused_where_they_are_not_allowed() {
        assert_eq!(codes(PUBLIC, &["1.1.1.1", "2606:4700::1111"]), [""; 0]);
        assert_eq!(codes(PUBLIC, &["10.0.0.1", "::1"]), ["special_ip", "special_ip"]);
        assert_eq!(codes(INTERNAL, &["10.0.0.1", "::1"]), [""; 0]);
        assert_eq!(codes(NameRules { ip_addresses: false, ..PUBLIC }, &["1.1.1.1"]), ["ip_not_allowed"]);
        assert_eq!(codes(NameRules { wildcards: false, ..PUBLIC }, &["*.example.com"]), ["wildcard_not_allowed"]);
    }

    #[test]
    fn a_name_counts_once_and_there_are_only_so_many() {
        assert_eq!(codes(PUBLIC, &["example.com", "EXAMPLE.com", "example.com."]), ["duplicate_name"]);
        assert_eq!(codes(PUBLIC, &["a.com", "b.com", "c.com"]), [""; 0]);
        assert_eq!(codes(PUBLIC, &["a.com", "b.com", "c.com", "d.com"]), ["too_many_names"]);
    }

    #[test]
    fn what_is_no_host_name_is_refused_by_what_is_wrong_with_it() {
        let long = vec!["a".repeat(63); 4].join(".");
        for (text, code) in [
            ("", "invalid_name"),
            ("a..example.com", "invalid_name"),
            ("-a.example.com", "invalid_name"),
            ("a b.example.com", "invalid_name"),
            ("xn--zzzzzzzz99999.example.com", "invalid_name"),
            ("192.0.2.1", "invalid_name"),
            ("1.2.3.4.5", "invalid_name"),
            ("_acme-challenge.example.com", "underscore"),
            ("a_b.example.com", "underscore"),
            ("*", "wildcard"),
            ("w*.example.com", "wildcard"),
            ("*.*.example.com", "wildcard"),
            ("a.*.example.com", "wildcard"),
            (&long, "name_too_long"),
        ] {
            assert_eq!(read_dns_name(text).unwrap_err().code(), code, "{text:?}");
        }
        let endless = read_dns_name(&"a".repeat(60_000)).unwrap_err().to_string();
        assert!(endless.len() < 400, "{endless}");
        assert_eq!(read_address(&[1; 5]).unwrap_err().code(), "invalid_name");
        assert_eq!(read_address(&[1; 4]).unwrap().to_string(), "1.1.1.1");
        assert_eq!(read_address(&[0; 16]).unwrap().to_string(), "::");
    }
}
