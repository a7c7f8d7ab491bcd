//! Whoever speaks ACME: a key, bound to a customer by an EAB credential.

use std::fmt;

use crate::credential::Kid;
use crate::email::EmailAddress;
use crate::id::{AccountId, AcmeAccountId, ResellerId};
use crate::text::cut;
use crate::time::Timestamp;

/// An ACME account (RFC 8555 section 7.1.2). It belongs to the service, not to one directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcmeAccount {
    pub id: AcmeAccountId,
    pub reseller: ResellerId,
    /// The customer it orders for.
    pub account: AccountId,
    /// The EAB credential that bound it, and that it stands and falls with.
    pub kid: Kid,
    /// The public key, as canonical JSON (RFC 7638 section 3.3).
    pub jwk: String,
    /// The key's thumbprint: no two accounts have the same.
    pub thumbprint: String,
    pub contacts: Vec<Contact>,
    pub terms_agreed_at: Option<Timestamp>,
    pub state: AcmeAccountState,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub version: i64,
}

/// Where an ACME account stands. Neither end is ever undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcmeAccountState {
    Active,
    /// By its owner.
    Deactivated {
        at: Timestamp,
    },
    /// By us, with the customer's account.
    Revoked {
        at: Timestamp,
    },
}

/// Why an ACME account cannot do this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcmeAccountError {
    #[error("the ACME account was deactivated at {0}; register a new one with another key")]
    Deactivated(Timestamp),
    #[error("the ACME account ended at {0} with the customer's account it belonged to")]
    Revoked(Timestamp),
}

impl AcmeAccount {
    /// The status as RFC 8555 section 7.1.6 names it.
    pub const fn status(&self) -> &'static str {
        match self.state {
            AcmeAccountState::Active => "valid",
            AcmeAccountState::Deactivated { .. } => "deactivated",
            AcmeAccountState::Revoked { .. } => "revoked",
        }
    }

    pub fn require_active(&self) -> Result<(), AcmeAccountError> {
        match self.state {
            AcmeAccountState::Active => Ok(()),
            AcmeAccountState::Deactivated { at } => Err(AcmeAccountError::Deactivated(at)),
            AcmeAccountState::Revoked { at } => Err(AcmeAccountError::Revoked(at)),
        }
    }

    /// Ends the account at the wish of its owner.
    pub fn deactivate(self, now: Timestamp) -> Result<Self, AcmeAccountError> {
        self.require_active()?;
        Ok(Self { state: AcmeAccountState::Deactivated { at: now }, updated_at: now, ..self })
    }

    /// Puts another key in the place of the old one.
    pub fn roll_over(self, jwk: String, thumbprint: String, now: Timestamp) -> Result<Self, AcmeAccountError> {
        self.require_active()?;
        Ok(Self { jwk, thumbprint, updated_at: now, ..self })
    }
}

/// Where the owner of an ACME account can be reached: a mail URL (RFC 6068) with one address and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact(EmailAddress);

/// Why a text is not a contact we take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContactError {
    #[error("{0:?} is not supported: a contact is a URL such as mailto:admin@example.com")]
    Unsupported(String),
    #[error("{0:?}: {1}")]
    Invalid(String, String),
}

impl Contact {
    pub fn parse(text: &str) -> Result<Self, ContactError> {
        let shown = || cut(text, 100).to_owned();
        let scheme = text.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("mailto:"));
        let address = scheme.and_then(|_| text.get(7..)).ok_or_else(|| ContactError::Unsupported(shown()))?;
        // RFC 8555 section 7.3: no header fields, and one address.
        if address.contains(['?', ',', '%']) {
            let why = "must be one plain address, without header fields".to_owned();
            return Err(ContactError::Invalid(shown(), why));
        }
        EmailAddress::parse(address).map(Self).map_err(|error| ContactError::Invalid(shown(), error.to_string()))
    }
}

impl fmt::Display for Contact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mailto:{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contact_is_one_mail_address() {
        assert_eq!(Contact::parse("MAILTO:a@example.com").unwrap().to_string(), "mailto:a@example.com");
        for unsupported in ["tel:+49301234", "a@example.com", "https://example.com", "", "mailt"] {
            assert!(matches!(Contact::parse(unsupported), Err(ContactError::Unsupported(_))), "{unsupported}");
        }
        for bad in ["mailto:", "mailto:a@example.com,b@example.com", "mailto:a@example.com?subject=x", "mailto:a"] {
            assert!(matches!(Contact::parse(bad), Err(ContactError::Invalid(..))), "{bad}");
        }
    }
}
