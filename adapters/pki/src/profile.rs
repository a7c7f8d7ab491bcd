//! What kind of certificate subscribers get: the operator's choices, as data.

use std::{fmt, str::FromStr};

use chancery_domain::KeyType;
use der::{
    asn1::ObjectIdentifier,
    oid::db::{
        rfc5280::ANY_POLICY,
        rfc5912::{ID_KP_CLIENT_AUTH, ID_KP_SERVER_AUTH},
    },
};

use crate::{csr::CsrRules, name_rules::NameRules, transparency::CurrentLogs};

/// How subscribers' certificates of one profile look. The validity is counted with its last second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriberProfile {
    /// How many days of 86,400 seconds a certificate lasts, at most.
    pub validity_days: u32,
    /// How many seconds before its issuance a certificate begins, for clocks that are late. Where a policy shortens the
    /// certificate, at most half of what is left of it.
    pub backdate_seconds: u32,
    /// The kinds of keys it is for.
    pub key_types: Vec<KeyType>,
    /// Whether certificates for RSA keys also allow key encipherment, which TLS 1.2 without forward secrecy needs. The
    /// Baseline Requirements allow that and do not recommend it; linters warn of it.
    pub key_encipherment: bool,
    /// What the certificates are for; at least one.
    pub purposes: Vec<Purpose>,
    /// The policies they are issued under; for public profiles one that the CA/Browser Forum reserved, and no other of
    /// that kind.
    pub policies: Vec<PolicyId>,
    /// Whether the subject has a common name, which is then one of the names and at most 64 characters long. Not
    /// recommended either.
    pub common_name: bool,
    /// Whether there is a subject key identifier. Not recommended either.
    pub subject_key_id: bool,
    /// Which names it is for.
    pub names: NameRules,
    /// Whether the Baseline Requirements hold, with their ceilings on the validity.
    pub public: bool,
    /// The logs that are shown certificates before there are any; none are where they are not.
    pub logs: Option<CurrentLogs>,
}

/// What a certificate's key may be used for (RFC 5280 section 4.2.1.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A TLS server.
    ServerAuth,
    /// A TLS client; not for public profiles.
    ClientAuth,
}

/// A certificate policy: an object identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PolicyId(pub(crate) ObjectIdentifier);

/// Why a text is not a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a policy is an object identifier in dotted form, such as 2.23.140.1.2.1")]
pub struct PolicyIdError;

impl SubscriberProfile {
    /// A public TLS server profile: every key type the Baseline Requirements allow, no common name, domain validated.
    pub fn tls(validity_days: u32) -> Self {
        Self {
            validity_days,
            backdate_seconds: 3600,
            key_types: CsrRules::default().key_types.to_vec(),
            key_encipherment: false,
            purposes: vec![Purpose::ServerAuth],
            policies: vec![PolicyId::DOMAIN_VALIDATED],
            common_name: false,
            subject_key_id: false,
            names: NameRules::default(),
            public: true,
            logs: None,
        }
    }

    /// Where its settings contradict themselves or, for a public one, the Baseline Requirements; empty if nowhere.
    pub fn contradictions(&self) -> Vec<&'static str> {
        let rules = [
            (self.validity_days == 0, "certificates must be valid for at least a day"),
            (
                i64::from(self.backdate_seconds) >= i64::from(self.validity_days) * 86_400,
                "certificates would be over at once",
            ),
            (self.key_types.is_empty(), "at least one kind of key is needed"),
            (self.purposes.is_empty(), "at least one purpose is needed"),
            (self.public && !self.policies.contains(&PolicyId::DOMAIN_VALIDATED), "public needs policy 2.23.140.1.2.1"),
            // Baseline Requirements section 7.1.2.7.9: one reserved policy, and never anyPolicy.
            (
                self.public && self.policies.iter().any(|policy| policy.is_otherwise_reserved()),
                "public has no other policy that the CA/Browser Forum reserved than 2.23.140.1.2.1",
            ),
            (self.public && self.policies.contains(&PolicyId::ANY), "public certificates are never under 2.5.29.32.0"),
            (self.public && self.purposes != [Purpose::ServerAuth], "public certificates are for TLS servers only"),
            (self.public && self.key_types.contains(&KeyType::Ed25519), "public certificates are not for Ed25519 keys"),
            (self.public && self.names.internal_names, "public certificates are not for internal names"),
            (self.public && self.names.special_addresses, "public certificates are not for special-use addresses"),
            (self.public && self.backdate_seconds > 48 * 3600, "public certificates begin at most 48 hours early"),
        ];
        rules.into_iter().filter(|(broken, _)| *broken).map(|(_, what)| what).collect()
    }
}

impl Purpose {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::ServerAuth, Self::ClientAuth];

    /// Its name in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ServerAuth => "server-auth",
            Self::ClientAuth => "client-auth",
        }
    }

    pub(crate) const fn oid(self) -> ObjectIdentifier {
        match self {
            Self::ServerAuth => ID_KP_SERVER_AUTH,
            Self::ClientAuth => ID_KP_CLIENT_AUTH,
        }
    }
}

impl FromStr for Purpose {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = || Self::ALL.map(Self::as_str).join(", ");
        let found = Self::ALL.into_iter().find(|purpose| purpose.as_str() == text);
        found.ok_or_else(|| format!("{text:?} is not a usage; known are {}", known()))
    }
}

impl PolicyId {
    /// CA/Browser Forum: domain validated (Baseline Requirements section 7.1.6.1).
    pub const DOMAIN_VALIDATED: Self = Self(ObjectIdentifier::new_unwrap("2.23.140.1.2.1"));

    /// All of them at once: `anyPolicy` (RFC 5280 section 4.2.1.4).
    pub(crate) const ANY: Self = Self(ANY_POLICY);

    /// Whether the CA/Browser Forum reserved it for something else than domain validated: extended validation, code
    /// signing and the like.
    fn is_otherwise_reserved(self) -> bool {
        const RESERVED: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.23.140.1");
        self != Self::DOMAIN_VALIDATED && self.0.starts_with(RESERVED)
    }
}

impl FromStr for PolicyId {
    type Err = PolicyIdError;

    fn from_str(text: &str) -> Result<Self, PolicyIdError> {
        ObjectIdentifier::new(text).map(Self).map_err(|_| PolicyIdError)
    }
}

impl fmt::Display for PolicyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tls_profile_is_consistent_and_every_contradiction_is_found() {
        let tls = SubscriberProfile::tls(90);
        assert_eq!(tls.contradictions(), [""; 0]);
        let broken = SubscriberProfile {
            validity_days: 0,
            backdate_seconds: 49 * 3600,
            key_types: vec![KeyType::Ed25519],
            purposes: vec![],
            policies: vec![],
            names: NameRules { internal_names: true, special_addresses: true, ..tls.names },
            ..tls.clone()
        };
        assert_eq!(broken.contradictions().len(), 9);
        assert_eq!(SubscriberProfile { key_types: vec![], ..tls.clone() }.contradictions().len(), 1);
        let internal = SubscriberProfile { public: false, validity_days: 3, ..broken };
        assert_eq!(internal.contradictions(), ["at least one purpose is needed"]);
    }

    #[test]
    fn a_public_profile_has_one_reserved_policy_and_never_any_policy() {
        let with = |more: &[&str]| {
            let more = more.iter().map(|policy| policy.parse().unwrap());
            let policies = [PolicyId::DOMAIN_VALIDATED].into_iter().chain(more).collect();
            SubscriberProfile { policies, ..SubscriberProfile::tls(90) }
        };
        let none: &[&str] = &[];
        for fine in [none, &["1.3.6.1.4.1.99999.1"], &["2.23.140.2.1", "2.23.141.1"]] {
            assert_eq!(with(fine).contradictions(), [""; 0], "{fine:?}");
        }
        // Extended validation, organization and individual validated, code signing; then anyPolicy.
        for bad in ["2.23.140.1.1", "2.23.140.1.2.2", "2.23.140.1.2.3", "2.23.140.1.4.1", "2.5.29.32.0"] {
            assert_eq!(with(&[bad]).contradictions().len(), 1, "{bad}");
            let private = SubscriberProfile { public: false, ..with(&[bad]) };
            assert_eq!(private.contradictions(), [""; 0], "{bad}");
        }
    }

    #[test]
    fn policies_read_back() {
        assert_eq!("2.23.140.1.2.1".parse(), Ok(PolicyId::DOMAIN_VALIDATED));
        assert_eq!(PolicyId::DOMAIN_VALIDATED.to_string(), "2.23.140.1.2.1");
        assert_eq!("domain".parse::<PolicyId>(), Err(PolicyIdError));
    }
}
