//! Small closed lists that policies, profiles and orders share.

use std::fmt;
use std::str::FromStr;

use crate::identifier::Identifier;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident, $word:literal { $($name:ident = $text:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $kind { $($name,)* }

        impl $kind {
            pub const ALL: &'static [$kind] = &[$($kind::$name,)*];

            pub const fn as_str(self) -> &'static str {
                match self { $($kind::$name => $text,)* }
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $kind {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                Self::ALL.iter().copied().find(|kind| kind.as_str() == text).ok_or_else(|| {
                    let known: Vec<_> = Self::ALL.iter().map(|kind| kind.as_str()).collect();
                    format!(concat!("{:?} is not a ", $word, "; known are {}"), text, known.join(", "))
                })
            }
        }
    )*};
}
pub(crate) use kinds;

kinds! {
    /// The kind of a subscriber's key.
    KeyType, "key type" {
        Rsa2048 = "rsa-2048",
        Rsa3072 = "rsa-3072",
        Rsa4096 = "rsa-4096",
        EcP256 = "ec-p256",
        EcP384 = "ec-p384",
        Ed25519 = "ed25519",
    }
    /// A way to show control of a name.
    ChallengeType, "challenge type" {
        Http01 = "http-01",
        Dns01 = "dns-01",
        TlsAlpn01 = "tls-alpn-01",
        DnsAccount01 = "dns-account-01",
        DnsPersist01 = "dns-persist-01",
    }
}

impl ChallengeType {
    /// What a profile offers where nothing else is said: what is not a draft any more.
    pub const USUAL: &'static [Self] = &[Self::Http01, Self::Dns01, Self::TlsAlpn01];

    /// Whether control is shown by a record in DNS, and so of a whole namespace: of wildcards, and never of an address.
    pub const fn is_dns(self) -> bool {
        self.record_label().is_some()
    }

    /// Whether control of this can be shown so at all: of a wildcard by DNS alone (RFC 8555 section 7.1.3), of an address
    /// never by DNS (RFC 8738 section 7).
    pub fn fits(self, identifier: &Identifier) -> bool {
        match identifier {
            Identifier::Dns(name) => self.is_dns() || !name.is_wildcard(),
            Identifier::Ip(_) => !self.is_dns(),
        }
    }

    /// The label below which a record in DNS shows control of a name.
    pub const fn record_label(self) -> Option<&'static str> {
        match self {
            Self::Dns01 | Self::DnsAccount01 => Some("_acme-challenge"),
            Self::DnsPersist01 => Some("_validation-persist"),
            Self::Http01 | Self::TlsAlpn01 => None,
        }
    }

    /// Whether it is bound to the URL of an ACME account, and so means nothing without one.
    pub const fn needs_acme_account(self) -> bool {
        match self {
            Self::DnsAccount01 | Self::DnsPersist01 => true,
            Self::Http01 | Self::Dns01 | Self::TlsAlpn01 => false,
        }
    }

    /// Whether what was shown counts for later orders. A record that persists can be looked at anew each time, and may be
    /// relied on no longer than its TTL (draft-ietf-acme-dns-persist section 7.8).
    pub const fn counts_later(self) -> bool {
        match self {
            Self::DnsPersist01 => false,
            Self::Http01 | Self::Dns01 | Self::TlsAlpn01 | Self::DnsAccount01 => true,
        }
    }

    /// Whether control of all names below one can be shown so: by its DNS alone, as a web server shows nothing of the
    /// names below its own (Baseline Requirements sections 3.2.2.4.19 and 3.2.2.4.20; RFC 9444 section 7.3 leaves it to
    /// us). A record that persists would need a policy of its own.
    pub const fn shows_namespaces(self) -> bool {
        self.is_dns() && self.counts_later()
    }
}
