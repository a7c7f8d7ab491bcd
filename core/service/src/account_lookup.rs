//! The names an account goes by: its lookup, its integer id, its root kid, its e-mail address.

use chancery_domain::{Account, AccountId, EmailAddress, Kid, ResellerId};
use chancery_store::Tx;

use crate::error::{Noun, ServiceError};

/// A text that may name an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountLookup {
    Id(AccountId),
    Number(i64),
    Kid(Kid),
    Email(EmailAddress),
    /// None of these: it names no account.
    Nothing(String),
}

impl AccountLookup {
    pub fn parse(text: &str) -> Self {
        if let Ok(id) = text.parse() {
            return Self::Id(id);
        }
        if let Ok(kid) = text.parse() {
            return Self::Kid(kid);
        }
        if let Ok(email) = EmailAddress::parse(text) {
            return Self::Email(email);
        }
        // Only the spelling we show ourselves: `+5` and `05` are not other names of 5.
        match text.parse::<i64>() {
            Ok(number) if number.to_string() == text => Self::Number(number),
            _ => Self::Nothing(text.to_owned()),
        }
    }

    /// The account of this reseller that goes by this name, terminated ones included.
    pub(crate) fn find(&self, tx: &mut Tx<'_>, reseller: ResellerId) -> Result<Account, ServiceError> {
        let found = match self {
            Self::Id(id) => tx.account(reseller, *id)?,
            Self::Number(number) => tx.account_by_number(reseller, *number)?,
            Self::Kid(kid) => tx.account_by_kid(reseller, *kid)?,
            Self::Email(email) => tx.account_by_email(reseller, email.key())?,
            Self::Nothing(_) => None,
        };
        found.ok_or_else(|| ServiceError::not_found(Noun::Account))
    }
}
