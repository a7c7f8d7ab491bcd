//! The names an account goes by: its lookup, its integer id, its root kid, its e-mail address, and to those who order
//! for it, any of its credentials.

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
    /// Any credential of the account that is not revoked, whether it still binds or has expired; never what a text is
    /// taken for.
    Credential(Kid),
    /// What was to be the key id of a credential, and cannot be one: it names no account.
    NoCredential,
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

    /// By an e-mail address alone; a text that is none is nobody's.
    pub fn by_email(text: &str) -> Self {
        EmailAddress::parse(text).map_or_else(|_| Self::Nothing(text.to_owned()), Self::Email)
    }

    /// By the key id of any of its credentials; a text that is none is nobody's.
    pub fn by_credential(text: &str) -> Self {
        text.parse().map_or(Self::NoCredential, Self::Credential)
    }

    /// The account of this reseller that goes by this name, terminated ones included.
    pub(crate) fn find(&self, tx: &mut Tx<'_>, reseller: ResellerId) -> Result<Account, ServiceError> {
        let found = match self {
            Self::Id(id) => tx.account(reseller, *id)?,
            Self::Number(number) => tx.account_by_number(reseller, *number)?,
            Self::Kid(kid) => tx.account_by_kid(reseller, *kid)?,
            Self::Email(email) => tx.account_by_email(reseller, email.key())?,
            Self::Credential(kid) => return of_credential(tx, reseller, *kid),
            Self::NoCredential => return Err(ServiceError::not_found(Noun::Credential)),
            Self::Nothing(_) => None,
        };
        found.ok_or_else(|| ServiceError::not_found(Noun::Account))
    }

    /// The account of this reseller that goes by this name. None where there is none: a filter then lets nothing pass.
    pub(crate) fn find_any(&self, tx: &mut Tx<'_>, reseller: ResellerId) -> Result<Option<Account>, ServiceError> {
        match self.find(tx, reseller) {
            Ok(account) => Ok(Some(account)),
            Err(ServiceError::NotFound(..)) => Ok(None),
            Err(other) => Err(other),
        }
    }
}

/// The end of an account is told before the end of the credential, which follows from it.
fn of_credential(tx: &mut Tx<'_>, reseller: ResellerId, kid: Kid) -> Result<Account, ServiceError> {
    let credential = tx.credential(reseller, kid)?.ok_or_else(|| ServiceError::not_found(Noun::Credential))?;
    let account = tx.account(reseller, credential.account)?;
    let account = account.ok_or_else(|| ServiceError::internal("a credential without its account"))?;
    match credential.revoked_at {
        Some(_) if !account.is_terminated() => Err(ServiceError::CredentialRevoked(kid)),
        _ => Ok(account),
    }
}
