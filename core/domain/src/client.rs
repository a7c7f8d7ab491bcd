//! How a reseller's machine shows who it is: OAuth2 clients with rotating secrets, and plain API keys.

use std::time::Duration;

use subtle::ConstantTimeEq;

use crate::id::{ApiKeyId, ClientId, OperatorKeyId, ResellerId};
use crate::scope::ScopeSet;
use crate::text::Name;
use crate::time::Timestamp;

/// The SHA-256 of a secret. The secret itself has 256 random bits, so a slow hash would add nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretHash(pub [u8; 32]);

impl SecretHash {
    /// Takes the same time whether or not they match.
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

/// One secret of a client.
#[derive(Clone)]
pub struct ClientSecret {
    pub hash: SecretHash,
    pub created_at: Timestamp,
}

/// An OAuth2 client of a reseller.
#[derive(Clone)]
pub struct Client {
    pub id: ClientId,
    pub reseller: ResellerId,
    pub name: Name,
    pub scopes: ScopeSet,
    /// One secret, or two while they are being rotated: newest last.
    pub secrets: Vec<ClientSecret>,
    pub disabled: bool,
    pub expires_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub version: i64,
}

/// Why a client cannot change so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    #[error("this client already has two secrets; finish the rotation first (`client rotate CLIENT_ID --finish`)")]
    RotationUnderWay,
    #[error("this client has one secret; start a rotation first (`client rotate`)")]
    NothingToFinish,
}

impl Client {
    /// The longest that a client can be made to last, unless it does not end by itself.
    pub const MAX_DAYS: u32 = 3650;

    /// Whether it may get and use tokens now.
    pub fn is_live(&self, now: Timestamp) -> bool {
        !self.disabled && self.expires_at.is_none_or(|end| now < end)
    }

    /// Whether the secret is one of the live ones; looks at each, so that timing tells nothing.
    pub fn accepts(&self, secret: &SecretHash) -> bool {
        self.secrets.iter().fold(false, |found, known| known.hash.matches(secret) | found)
    }

    /// Adds a second secret; the first goes on working until the rotation is finished.
    pub fn begin_rotation(mut self, hash: SecretHash, now: Timestamp) -> Result<Self, ClientError> {
        if self.secrets.len() > 1 {
            return Err(ClientError::RotationUnderWay);
        }
        // Their times tell which is the newer one, also when a clock stood still or was put back in between.
        let after = self.secrets.last().map_or(now, |newest| newest.created_at.plus(Duration::from_millis(1)));
        self.secrets.push(ClientSecret { hash, created_at: now.max(after) });
        self.updated_at = now;
        Ok(self)
    }

    /// Drops every secret but the newest.
    pub fn finish_rotation(mut self, now: Timestamp) -> Result<Self, ClientError> {
        if self.secrets.len() < 2 {
            return Err(ClientError::NothingToFinish);
        }
        self.secrets.drain(..self.secrets.len() - 1);
        self.updated_at = now;
        Ok(self)
    }

    #[must_use]
    pub fn with_disabled(self, disabled: bool, now: Timestamp) -> Self {
        Self { disabled, updated_at: now, ..self }
    }
}

/// A key that is sent as it is, without a token: for test environments.
#[derive(Clone)]
pub struct ApiKey {
    pub id: ApiKeyId,
    pub reseller: ResellerId,
    pub name: Name,
    pub scopes: ScopeSet,
    pub hash: SecretHash,
    pub revoked_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

/// By which a person signs in to the console as the operator.
#[derive(Clone)]
pub struct OperatorKey {
    pub id: OperatorKeyId,
    /// Who has it: stands in the audit trail.
    pub name: Name,
    pub hash: SecretHash,
    pub revoked_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn client() -> Client {
        let at = Timestamp::from_secs(0);
        Client {
            id: ClientId::from_uuid(Uuid::nil()),
            reseller: ResellerId::from_uuid(Uuid::nil()),
            name: Name::parse("test").unwrap(),
            scopes: ScopeSet::all(),
            secrets: vec![ClientSecret { hash: SecretHash([1; 32]), created_at: at }],
            disabled: false,
            expires_at: None,
            created_at: at,
            updated_at: at,
            version: 1,
        }
    }

    #[test]
    fn both_secrets_work_while_they_are_rotated_and_the_old_one_not_after() {
        let (old, new) = (SecretHash([1; 32]), SecretHash([2; 32]));
        let client = client().begin_rotation(new.clone(), Timestamp::from_secs(1)).unwrap();
        assert!(client.accepts(&old) && client.accepts(&new));
        let client = client.finish_rotation(Timestamp::from_secs(2)).unwrap();
        assert!(!client.accepts(&old) && client.accepts(&new));
    }

    #[test]
    fn a_new_secret_is_the_newer_one_whatever_the_clock_says() {
        for now in [-5000, 0, 5000] {
            let client = client().begin_rotation(SecretHash([2; 32]), Timestamp::from_millis(now)).unwrap();
            assert!(client.secrets[0].created_at < client.secrets[1].created_at, "{now}");
        }
    }

    #[test]
    fn never_has_three_secrets() {
        let rotating = client().begin_rotation(SecretHash([2; 32]), Timestamp::from_secs(1)).unwrap();
        let third = rotating.begin_rotation(SecretHash([3; 32]), Timestamp::from_secs(2));
        assert_eq!(third.err(), Some(ClientError::RotationUnderWay));
    }
}
