//! External-account-binding credentials: what a customer's ACME client shows to be let in.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::account::AccountNumber;
use crate::id::{AccountId, EabId, ResellerId};
use crate::text::Label;
use crate::time::Timestamp;

/// The key id of a credential, a random UUID in its usual spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kid(Uuid);

impl Kid {
    pub const fn from_uuid(uuid: Uuid) -> Self {
        Self(uuid)
    }
}

impl fmt::Display for Kid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

/// A text that is not a UUID of 36 characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key id is a UUID such as 0d8f1c4e-6a1b-4c3d-9e2f-7a5b3c1d9e8f")]
pub struct KidError;

impl FromStr for Kid {
    type Err = KidError;

    fn from_str(text: &str) -> Result<Self, KidError> {
        if text.len() != 36 {
            return Err(KidError);
        }
        Uuid::try_parse(text).map(Self).map_err(|_| KidError)
    }
}

/// What the reseller may say of a credential when it is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EabTerms {
    pub label: Option<Label>,
    pub expires_at: Option<Timestamp>,
    pub max_bindings: Option<u32>,
}

impl EabTerms {
    /// The longest that a credential can be made to bind, unless it does not end by itself.
    pub const MAX_DAYS: u32 = 3650;
    pub const MAX_BINDINGS: u32 = 1_000_000;
}

/// An EAB credential. The HMAC key is not here: it stays sealed until it is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EabCredential {
    pub id: EabId,
    pub number: AccountNumber,
    pub reseller: ResellerId,
    pub account: AccountId,
    pub kid: Kid,
    /// The credential that was made with its account.
    pub is_root: bool,
    pub terms: EabTerms,
    /// How many ACME accounts were bound by it.
    pub bindings: i64,
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub version: i64,
}

/// Where a credential stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialStatus {
    Unused,
    Bound,
    Revoked,
}

impl CredentialStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unused => "unused",
            Self::Bound => "bound",
            Self::Revoked => "revoked",
        }
    }
}

impl EabCredential {
    pub fn status(&self) -> CredentialStatus {
        match (self.revoked_at, self.bindings) {
            (Some(_), _) => CredentialStatus::Revoked,
            (None, 0) => CredentialStatus::Unused,
            (None, _) => CredentialStatus::Bound,
        }
    }

    /// Revokes it; `None` when it is revoked already.
    pub fn revoke(self, now: Timestamp) -> Option<Self> {
        match self.revoked_at {
            Some(_) => None,
            None => Some(Self { revoked_at: Some(now), updated_at: now, ..self }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kid_has_one_spelling() {
        let text = "0d8f1c4e-6a1b-4c3d-9e2f-7a5b3c1d9e8f";
        assert_eq!(text.parse::<Kid>().unwrap().to_string(), text);
        for bad in ["", "0d8f1c4e6a1b4c3d9e2f7a5b3c1d9e8f", "{0d8f1c4e-6a1b-4c3d-9e2f-7a5b3c1d9e8f}", "acc_1"] {
            assert!(bad.parse::<Kid>().is_err());
        }
    }
}
