//! Names of things: a prefix that says the kind, then a UUIDv7 in Crockford's base 32.
//!
//! They sort by creation as text, cannot be guessed, and one kind cannot be passed for another.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::entropy::Entropy;
use crate::kinds::ChallengeType;
use crate::time::Timestamp;

/// A text that is not an id of the kind that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a lookup of this kind: expected `{0}_` and 26 characters")]
pub struct IdError(pub &'static str);

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            pub fn new(now: Timestamp, entropy: &dyn Entropy) -> Self {
                Self(entropy.uuid_v7(now))
            }

            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            pub const fn as_u128(self) -> u128 {
                self.0.as_u128()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                // In one piece: what becomes a string on its own then needs memory once.
                const PREFIX: &[u8] = concat!($prefix, "_").as_bytes();
                let mut text = [0_u8; PREFIX.len() + LENGTH];
                let (prefix, digits) = text.split_at_mut(PREFIX.len());
                prefix.copy_from_slice(PREFIX);
                write_base32(self.0, digits);
                f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                text.strip_prefix(concat!($prefix, "_")).and_then(read_base32).map(Self).ok_or(IdError($prefix))
            }
        }
    )*};
}

ids! {
    ResellerId = "rsl";
    ClientId = "cli";
    ApiKeyId = "key";
    TokenKeyId = "tok";
    AccountId = "acc";
    EabId = "eab";
    GroupId = "grp";
    PolicyId = "pol";
    OrderId = "ord";
    AuthorizationId = "authz";
    ChallengeId = "chal";
    CertificateId = "cert";
    AcmeAccountId = "acme";
    IssuerId = "iss";
    AuditId = "aud";
    WebhookId = "whk";
    WebhookSecretId = "whs";
    DeliveryId = "dlv";
    OperatorKeyId = "opk";
    /// A name that is paused for a customer.
    PauseId = "pau";
}

impl IssuerId {
    /// When it was given, as it says itself: whoever makes one up may say anything.
    pub fn given_at(self) -> Option<Timestamp> {
        let (seconds, nanoseconds) = self.0.get_timestamp()?.to_unix();
        Some(Timestamp::from_millis(i64::try_from(seconds).ok()? * 1000 + i64::from(nanoseconds / 1_000_000)))
    }
}

/// The low bits of an authorization's id are free: they number its challenges. The first kinds have the lowest two;
/// the later ones have a bit each, which authorizations from before there were any do not leave free, nor need.
const FIRST_CHALLENGES: u128 = 0b11;
const CHALLENGES: u128 = 0b1111;

impl AuthorizationId {
    /// A new id that leaves room for those of its challenges.
    pub fn with_challenges(now: Timestamp, entropy: &dyn Entropy) -> Self {
        Self(Uuid::from_u128(entropy.uuid_v7(now).as_u128() & !CHALLENGES))
    }
}

/// A challenge is named after its authorization and its kind, so that either is found from the other without a search.
impl ChallengeId {
    pub fn of(authorization: AuthorizationId, kind: ChallengeType) -> Self {
        let place = match kind {
            ChallengeType::Http01 => 1,
            ChallengeType::Dns01 => 2,
            ChallengeType::TlsAlpn01 => 3,
            ChallengeType::DnsAccount01 => 0b100,
            ChallengeType::DnsPersist01 => 0b1000,
        };
        Self(Uuid::from_u128(authorization.0.as_u128() & !FIRST_CHALLENGES | place))
    }

    pub fn authorization(self) -> AuthorizationId {
        let bits = self.0.as_u128();
        let mask = if bits & FIRST_CHALLENGES == 0 { CHALLENGES } else { FIRST_CHALLENGES };
        AuthorizationId(Uuid::from_u128(bits & !mask))
    }
}

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LENGTH: usize = 26;

fn write_base32(uuid: Uuid, text: &mut [u8]) {
    let mut bits = uuid.as_u128();
    // The last digits first, out of pieces that fit into a register.
    for twelve in text.rchunks_mut(12) {
        let mut low = bits as u64;
        bits >>= 60;
        for character in twelve.iter_mut().rev() {
            *character = ALPHABET[(low & 31) as usize];
            low >>= 5;
        }
    }
}

const NO_DIGIT: u8 = u8::MAX;

/// What each byte stands for. Every row that is read has several of these names in it.
const DIGITS: [u8; 256] = {
    let mut digits = [NO_DIGIT; 256];
    let mut digit = 0;
    while digit < ALPHABET.len() {
        digits[ALPHABET[digit] as usize] = digit as u8;
        digit += 1;
    }
    digits
};

/// One spelling only: another one would be a second name for the same thing.
fn read_base32(text: &str) -> Option<Uuid> {
    if text.len() != LENGTH || text.as_bytes()[0] > b'7' {
        return None;
    }
    let mut bits = 0_u128;
    for byte in text.bytes() {
        let digit = DIGITS[usize::from(byte)];
        if digit == NO_DIGIT {
            return None;
        }
        bits = bits << 5 | u128::from(digit);
    }
    Some(Uuid::from_u128(bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_from_its_text() {
        for bits in [0, 1, u128::MAX, 0x0192_3456_789a_7bcd_8ef0_1234_5678_9abc] {
            let id = AccountId::from_uuid(Uuid::from_u128(bits));
            assert_eq!(id.to_string().parse(), Ok(id));
            assert_eq!(id.to_string().len(), 30);
        }
    }

    #[test]
    fn a_challenge_leads_back_to_its_authorization() {
        struct Ones;
        impl Entropy for Ones {
            fn fill(&self, bytes: &mut [u8]) {
                bytes.fill(0xff);
            }
        }
        let authorization = AuthorizationId::with_challenges(Timestamp::from_secs(1), &Ones);
        let ids = ChallengeType::ALL.iter().map(|kind| ChallengeId::of(authorization, *kind));
        let ids: std::collections::HashSet<_> =
            ids.inspect(|id| assert_eq!(id.authorization(), authorization)).collect();
        assert_eq!(ids.len(), ChallengeType::ALL.len());
        // One from before there were more kinds.
        let early = AuthorizationId::from_uuid(Uuid::from_u128(u128::MAX - 3));
        for kind in ChallengeType::USUAL {
            assert_eq!(ChallengeId::of(early, *kind).authorization(), early);
        }
    }

    #[test]
    fn sorts_as_text_like_it_sorts_by_time() {
        let early = AccountId::from_uuid(Uuid::from_u128(1 << 90)).to_string();
        let late = AccountId::from_uuid(Uuid::from_u128(1 << 91)).to_string();
        assert!(early < late);
    }

    #[test]
    fn refuses_other_kinds_and_other_spellings() {
        let id = AccountId::from_uuid(Uuid::from_u128(12345)).to_string();
        assert!(id.parse::<GroupId>().is_err());
        assert!(id.to_uppercase().parse::<AccountId>().is_err());
        assert!(id[..29].parse::<AccountId>().is_err());
        assert!("acc_80000000000000000000000000".parse::<AccountId>().is_err());
        assert!("acc_é0000000000000000000000000".parse::<AccountId>().is_err());
    }
}
