//! Which CA signs a certificate: a rule over what there is, the same for every node.

use std::fmt;
use std::str::FromStr;

use chancery_domain::{IssuerId, KeyType, OrderId, ProfileName};
use chancery_pki::{KeyAlgorithm, SubscriberProfile};

use crate::settings::Issuing;

/// Which CAs a profile's certificates come from, and what they say about revocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerRules {
    /// The CAs that may sign; all of them where none is named.
    pub allowed: Vec<IssuerRef>,
    /// Whether the certificates name the OCSP responder.
    pub ocsp: bool,
    /// Whether the certificates name a revocation list.
    pub crl: bool,
}

impl Default for IssuerRules {
    fn default() -> Self {
        Self { allowed: Vec::new(), ocsp: true, crl: true }
    }
}

/// A CA as a profile names it: by its key, or by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IssuerRef {
    /// Any with such a key.
    Key(KeyAlgorithm),
    /// Any with an RSA key, however long.
    Rsa,
    /// The one with this name.
    Name(String),
}

/// Why a text names no CA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an issuer is named by its key (ec-p256, ec-p384, rsa, rsa-3072, …) or by its own name, up to 64 characters")]
pub struct IssuerRefError;

impl FromStr for IssuerRef {
    type Err = IssuerRefError;

    fn from_str(text: &str) -> Result<Self, IssuerRefError> {
        let key = text.parse::<KeyType>().ok().and_then(|kind| KeyAlgorithm::try_from(kind).ok());
        match (text, key) {
            ("rsa", _) => Ok(Self::Rsa),
            (_, Some(key)) => Ok(Self::Key(key)),
            (name, None) if (1..=64).contains(&name.chars().count()) && name.trim() == name => {
                Ok(Self::Name(name.to_owned()))
            }
            (_, None) => Err(IssuerRefError),
        }
    }
}

impl fmt::Display for IssuerRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => KeyType::from(*key).fmt(f),
            Self::Rsa => f.write_str("rsa"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// What of a CA the choice depends on.
pub(crate) trait Candidate {
    fn id(&self) -> IssuerId;
    fn name(&self) -> &str;
    fn key(&self) -> KeyAlgorithm;
    /// Whether it is active and can sign for the purposes and under the policies of this profile.
    fn can_sign(&self, profile: &SubscriberProfile) -> bool;
}

/// Those that may sign a certificate for such a key, oldest first; any of them may.
///
/// Of the CAs that the profile allows, those with a key like the subscriber's: a client that can verify the one
/// signature can verify the other. Where there is none, those with the first kind of P-256, P-384 and RSA that there
/// is.
pub(crate) fn suitable<'a, C: Candidate>(
    candidates: &'a [C],
    rules: &IssuerRules,
    profile: &SubscriberProfile,
    key: KeyType,
) -> Vec<&'a C> {
    let mut allowed: Vec<_> =
        candidates.iter().filter(|candidate| candidate.can_sign(profile) && rules.allow(*candidate)).collect();
    allowed.sort_by_key(|candidate| candidate.id());
    let order = [Family::like(key), Family::EcP256, Family::EcP384, Family::Rsa];
    let family = order.into_iter().find(|family| allowed.iter().any(|each| Family::of(each.key()) == *family));
    allowed.retain(|candidate| Some(Family::of(candidate.key())) == family);
    allowed
}

/// Which of several signs: they take turns, and for one order it is always the same.
pub(crate) fn turn<T: Copy>(suitable: &[T], order: OrderId) -> Option<T> {
    let sum = order.to_string().bytes().fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    suitable.get(sum.checked_rem(suitable.len())?).copied()
}

/// The profiles, with the kind of key, for which none of these may sign.
pub(crate) fn gaps<C: Candidate>(candidates: &[C], issuing: &Issuing) -> Vec<(ProfileName, KeyType)> {
    let mut gaps = Vec::new();
    for (name, profile) in &issuing.certificates {
        let rules = issuing.issuer_rules(name);
        let lacks = |key: &&KeyType| suitable(candidates, &rules, profile, **key).is_empty();
        gaps.extend(profile.key_types.iter().filter(lacks).map(|key| (name.clone(), *key)));
    }
    gaps
}

/// The profiles whose certificates this one signs, all of them or those for some kind of key.
pub(crate) fn users<C: Candidate>(candidates: &[C], issuing: &Issuing, id: IssuerId) -> Vec<ProfileName> {
    let signs = |(name, profile): &(&ProfileName, &SubscriberProfile)| {
        let rules = issuing.issuer_rules(name);
        let for_key =
            |key: &KeyType| suitable(candidates, &rules, profile, *key).iter().any(|candidate| candidate.id() == id);
        profile.key_types.iter().any(for_key)
    };
    issuing.certificates.iter().filter(signs).map(|(name, _)| name.clone()).collect()
}

impl IssuerRules {
    fn allow<C: Candidate>(&self, candidate: &C) -> bool {
        let matches = |named: &IssuerRef| match named {
            IssuerRef::Key(key) => candidate.key() == *key,
            IssuerRef::Rsa => Family::of(candidate.key()) == Family::Rsa,
            IssuerRef::Name(name) => candidate.name() == name,
        };
        self.allowed.is_empty() || self.allowed.iter().any(matches)
    }
}

/// Keys whose signatures are verified in the same way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    EcP256,
    EcP384,
    Rsa,
}

impl Family {
    pub(crate) fn of(key: KeyAlgorithm) -> Self {
        match key {
            KeyAlgorithm::EcP256 => Self::EcP256,
            KeyAlgorithm::EcP384 => Self::EcP384,
            KeyAlgorithm::Rsa2048 | KeyAlgorithm::Rsa3072 | KeyAlgorithm::Rsa4096 => Self::Rsa,
        }
    }

    /// No CA has an Ed25519 key; who has one can surely verify P-256.
    fn like(key: KeyType) -> Self {
        KeyAlgorithm::try_from(key).map_or(Self::EcP256, Self::of)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use chancery_domain::{Entropy, Timestamp};
    use uuid::Uuid;

    use super::*;

    struct Ca(u128, &'static str, KeyAlgorithm, bool);

    impl Candidate for Ca {
        fn id(&self) -> IssuerId {
            IssuerId::from_uuid(Uuid::from_u128(self.0))
        }
        fn name(&self) -> &str {
            self.1
        }
        fn key(&self) -> KeyAlgorithm {
            self.2
        }
        fn can_sign(&self, _: &SubscriberProfile) -> bool {
            self.3
        }
    }

    use KeyAlgorithm::{EcP256, EcP384, Rsa2048, Rsa3072};

    const ALL: [Ca; 6] = [
        Ca(6, "E6", EcP256, true),
        Ca(1, "E1", EcP256, true),
        Ca(2, "E2", EcP384, true),
        Ca(3, "R1", Rsa3072, true),
        Ca(4, "R2", Rsa2048, true),
        Ca(5, "E3", EcP256, false),
    ];

    fn chosen(cas: &[Ca], allowed: &[&str], key: KeyType) -> Vec<&'static str> {
        let allowed = allowed.iter().map(|text| text.parse().unwrap()).collect();
        let rules = IssuerRules { allowed, ..IssuerRules::default() };
        suitable(cas, &rules, &SubscriberProfile::tls(90), key).into_iter().map(|ca| ca.1).collect()
    }

    #[test]
    fn a_key_gets_an_issuer_like_it() {
        assert_eq!(chosen(&ALL, &[], KeyType::EcP256), ["E1", "E6"]);
        assert_eq!(chosen(&ALL, &[], KeyType::EcP384), ["E2"]);
        assert_eq!(chosen(&ALL, &[], KeyType::Rsa4096), ["R1", "R2"]);
        assert_eq!(chosen(&ALL, &[], KeyType::Ed25519), ["E1", "E6"]);
    }

    #[test]
    fn where_there_is_none_like_it_the_next_kind_signs() {
        let old = [Ca(1, "Issuing CA 1", EcP256, true)];
        for key in KeyType::ALL {
            assert_eq!(chosen(&old, &[], *key), ["Issuing CA 1"]);
        }
        assert_eq!(chosen(&ALL[2..], &[], KeyType::EcP256), ["E2"]);
        assert_eq!(chosen(&ALL[3..], &[], KeyType::EcP256), ["R1", "R2"]);
        assert_eq!(chosen(&ALL[5..], &[], KeyType::EcP256), [""; 0]);
    }

    #[test]
    fn a_profile_gets_none_but_those_it_names() {
        assert_eq!(chosen(&ALL, &["rsa"], KeyType::EcP256), ["R1", "R2"]);
        assert_eq!(chosen(&ALL, &["rsa-2048"], KeyType::EcP384), ["R2"]);
        assert_eq!(chosen(&ALL, &["E2", "R1"], KeyType::Rsa2048), ["R1"]);
        assert_eq!(chosen(&ALL, &["E2", "R1"], KeyType::EcP256), ["E2"]);
        assert_eq!(chosen(&ALL, &["E3"], KeyType::EcP256), [""; 0]);
        assert_eq!(chosen(&ALL, &["nobody"], KeyType::EcP256), [""; 0]);
    }

    #[test]
    fn names_of_issuers_read_back() {
        for text in ["ec-p256", "ec-p384", "rsa", "rsa-2048", "rsa-3072", "rsa-4096", "Example Issuing CA E1"] {
            assert_eq!(text.parse::<IssuerRef>().unwrap().to_string(), text);
        }
        assert_eq!("rsa-3072".parse(), Ok(IssuerRef::Key(Rsa3072)));
        for bad in ["", " E1", &"x".repeat(65)] {
            assert_eq!(bad.parse::<IssuerRef>(), Err(IssuerRefError));
        }
    }

    #[test]
    fn several_take_turns_and_an_order_keeps_its_own() {
        struct Counting(std::sync::atomic::AtomicU8);
        impl Entropy for Counting {
            fn fill(&self, bytes: &mut [u8]) {
                bytes.fill(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
            }
        }
        let entropy = Counting(0.into());
        let mut counts = BTreeMap::new();
        for second in 0..250 {
            let order = OrderId::new(Timestamp::from_secs(second), &entropy);
            let one = turn(&["a", "b", "c"], order).unwrap();
            assert_eq!(turn(&["a", "b", "c"], order), Some(one));
            *counts.entry(one).or_insert(0) += 1;
        }
        assert!(counts.len() == 3 && counts.values().all(|count| *count > 40), "{counts:?}");
        assert_eq!(turn::<u8>(&[], OrderId::new(Timestamp::from_secs(0), &entropy)), None);
    }
}
