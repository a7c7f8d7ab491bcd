//! Which names belong to different owners: the public suffix list, compiled in.
//!
//! The list is code, ten thousand comparisons of which a question needs some dozens. It is a crate of its own because no optimiser
//! is needed for it: that would work on it longer than on anything else, and make a third of a microsecond a twentieth.

use psl::{Psl, Type};

/// Who answers for the suffix under which a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suffix {
    Registry,
    Private,
    Unknown,
}

impl Suffix {
    pub fn of(name: &str) -> Self {
        match psl::List.suffix(name.as_bytes()).and_then(|suffix| suffix.typ()) {
            Some(Type::Icann) => Self::Registry,
            Some(Type::Private) => Self::Private,
            None => Self::Unknown,
        }
    }
}

/// The part of a name that was registered, one label below its public suffix: above it, names belong to different owners.
/// None where the name is a public suffix itself, as every top-level domain is, on the list or not.
pub fn registrable_domain(name: &str) -> Option<&str> {
    let domain = psl::List.domain(name.as_bytes())?;
    std::str::from_utf8(domain.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_under_a_suffix_of_a_registry_of_a_company_or_of_nobody() {
        assert_eq!(Suffix::of("www.example.co.uk"), Suffix::Registry);
        assert_eq!(Suffix::of("site.github.io"), Suffix::Private);
        assert_eq!(Suffix::of("printer.localnet"), Suffix::Unknown);
    }

    #[test]
    fn what_was_registered_is_one_label_below_the_suffix() {
        assert_eq!(registrable_domain("a.b.example.co.uk"), Some("example.co.uk"));
        assert_eq!(registrable_domain("a.site.github.io"), Some("site.github.io"));
        assert_eq!(registrable_domain("tray.printer.localnet"), Some("printer.localnet"));
        assert_eq!(registrable_domain("co.uk"), None);
        assert_eq!(registrable_domain("localnet"), None);
    }
}
