//! A customer of a reseller: the root account that orders, credentials and certificates hang from.

use std::fmt;

use crate::credential::Kid;
use crate::email::EmailAddress;
use crate::id::{AccountId, ResellerId};
use crate::metadata::Metadata;
use crate::text::ExternalId;
use crate::time::Timestamp;

/// The integer `id` of an account or a credential: one sequence for the whole service, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountNumber(pub i64);

impl fmt::Display for AccountNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A root account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub id: AccountId,
    pub number: AccountNumber,
    pub reseller: ResellerId,
    /// The key id of its first credential.
    pub kid: Kid,
    /// Whether that credential is revoked: a projection, never written through the account.
    pub root_revoked: bool,
    pub email: EmailAddress,
    pub external_id: Option<ExternalId>,
    pub metadata: Metadata,
    pub suspended: bool,
    pub terminated_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub version: i64,
}

/// Where an account stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountStatus {
    Active,
    Suspended,
    Terminated,
}

impl AccountStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Terminated => "terminated",
        }
    }
}

/// Why an account cannot do this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccountError {
    #[error("the account was terminated at {0}")]
    Terminated(Timestamp),
    #[error("the account is suspended; resume it first (PATCH `suspended: false`)")]
    Suspended,
}

/// What a partial update asks for; `None` leaves a thing as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountChange {
    pub email: Option<EmailAddress>,
    pub suspended: Option<bool>,
    /// `Some(None)` takes it away.
    pub external_id: Option<Option<ExternalId>>,
    pub metadata: Option<Metadata>,
}

impl AccountChange {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Account {
    pub fn status(&self) -> AccountStatus {
        match (self.terminated_at, self.suspended) {
            (Some(_), _) => AccountStatus::Terminated,
            (None, true) => AccountStatus::Suspended,
            (None, false) => AccountStatus::Active,
        }
    }

    pub fn is_terminated(&self) -> bool {
        self.terminated_at.is_some()
    }

    /// That it has not ended; it may be suspended.
    pub fn require_alive(&self) -> Result<(), AccountError> {
        self.terminated_at.map_or(Ok(()), |at| Err(AccountError::Terminated(at)))
    }

    /// That something may be ordered or signed for it now.
    pub fn require_active(&self) -> Result<(), AccountError> {
        self.require_alive()?;
        if self.suspended { Err(AccountError::Suspended) } else { Ok(()) }
    }

    pub fn change(mut self, change: AccountChange, now: Timestamp) -> Result<Self, AccountError> {
        self.require_alive()?;
        let AccountChange { email, suspended, external_id, metadata } = change;
        self.email = email.unwrap_or(self.email);
        self.suspended = suspended.unwrap_or(self.suspended);
        self.external_id = external_id.unwrap_or(self.external_id);
        self.metadata = metadata.unwrap_or(self.metadata);
        self.updated_at = now;
        Ok(self)
    }

    /// Ends the account for good.
    pub fn terminate(self, now: Timestamp) -> Result<Self, AccountError> {
        self.require_alive()?;
        Ok(Self { terminated_at: Some(now), updated_at: now, ..self })
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn account() -> Account {
        let at = Timestamp::from_secs(0);
        Account {
            id: AccountId::from_uuid(Uuid::nil()),
            number: AccountNumber(1),
            reseller: ResellerId::from_uuid(Uuid::nil()),
            kid: Kid::from_uuid(Uuid::nil()),
            root_revoked: false,
            email: EmailAddress::parse("a@example.com").unwrap(),
            external_id: None,
            metadata: Metadata::default(),
            suspended: false,
            terminated_at: None,
            created_at: at,
            updated_at: at,
            version: 1,
        }
    }

    #[test]
    fn a_terminated_account_stays_as_it_is() {
        let ended = account().terminate(Timestamp::from_secs(5)).unwrap();
        assert_eq!(ended.status(), AccountStatus::Terminated);
        let change = AccountChange { suspended: Some(true), ..AccountChange::default() };
        assert!(ended.clone().change(change, Timestamp::from_secs(6)).is_err());
        assert!(ended.terminate(Timestamp::from_secs(6)).is_err());
    }

    #[test]
    fn a_suspended_account_may_not_order_until_it_is_resumed() {
        let set = |account: Account, suspended| {
            let change = AccountChange { suspended: Some(suspended), ..AccountChange::default() };
            account.change(change, Timestamp::from_secs(1)).unwrap()
        };
        let suspended = set(account(), true);
        assert_eq!(suspended.require_active(), Err(AccountError::Suspended));
        assert_eq!(set(suspended, false).require_active(), Ok(()));
    }

    #[test]
    fn a_reference_is_set_left_and_taken_away() {
        let reference = |text: &str| ExternalId::parse(text).unwrap();
        let change = |external_id| AccountChange { external_id, ..AccountChange::default() };
        let now = Timestamp::from_secs(2);
        let account = account().change(change(Some(Some(reference("C-1")))), now).unwrap();
        let account = account.change(change(None), now).unwrap();
        assert_eq!(account.external_id, Some(reference("C-1")));
        assert_eq!(account.change(change(Some(None)), now).unwrap().external_id, None);
    }
}
