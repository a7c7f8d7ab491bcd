//! Who speaks, and whether they still may: asked anew with every request.

use std::time::Duration;

use chancery_domain::{Account, AccountError, AcmeAccount, AcmeAccountId, Reseller, ScopeSet, Timestamp};
use chancery_store::Tx;

use super::{Acme, AcmeError};
use crate::caller::{Actor, Caller, Origin};
use crate::error::ServiceError;

/// How exact it is known when a credential was last in use.
const LAST_USED: Duration = Duration::from_secs(600);

/// Whose signature a request bears; it has been verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signature {
    /// That of an account, by the key with this thumbprint.
    Account(AcmeAccountId, String),
    /// That of a key which may be anybody's.
    Key,
}

/// An ACME account that may speak, with the customer it speaks for.
#[derive(Clone, Debug)]
pub struct AcmeCaller {
    pub account: AcmeAccount,
    pub customer: Account,
    pub caller: Caller,
}

impl AcmeCaller {
    /// A suspended customer may look and may revoke, and nothing else.
    pub fn require_active(&self) -> Result<(), ServiceError> {
        Ok(self.customer.require_active()?)
    }
}

impl Acme {
    /// The account with this id, to verify a signature with; whether it may do anything is told by [`Acme::admit`].
    pub async fn find(&self, id: AcmeAccountId) -> Result<AcmeAccount, ServiceError> {
        let found = self.kernel.store.read(move |tx| Ok::<_, ServiceError>(tx.acme_account(id)?)).await?;
        found.ok_or_else(|| no_such_account().into())
    }

    /// Whether a nonce could be taken, before anything is done that costs more.
    pub fn check_nonce(&self, nonce: &str) -> Result<(), ServiceError> {
        self.kernel.nonces.check(nonce, self.kernel.now())?;
        Ok(())
    }

    /// Takes the nonce of a request whose signature was verified, and finds out whether the account may still speak. The
    /// nonce is gone either way.
    pub async fn admit(
        &self,
        nonce: String,
        signature: Signature,
        origin: Origin,
    ) -> Result<Option<AcmeCaller>, ServiceError> {
        let now = self.kernel.now();
        let ends = self.kernel.nonces.check(&nonce, now)?;
        let unit = move |tx: &mut Tx<'_>| {
            if !tx.redeem_nonce(&nonce, ends)? {
                const USED: &str = "the nonce was used before; use the one in the header Replay-Nonce of this answer";
                return Ok(Err(AcmeError::BadNonce(USED).into()));
            }
            match &signature {
                Signature::Key => Ok(Ok(None)),
                Signature::Account(id, thumbprint) => match admit(tx, *id, thumbprint, &origin, now) {
                    Err(ServiceError::Store(error)) => Err(ServiceError::Store(error)),
                    other => Ok(other.map(Some)),
                },
            }
        };
        self.kernel.store.write(unit).await?
    }
}

pub(super) fn no_such_account() -> AcmeError {
    AcmeError::AccountDoesNotExist("there is no such account; register it with newAccount first".to_owned())
}

fn admit(
    tx: &mut Tx<'_>,
    id: AcmeAccountId,
    thumbprint: &str,
    origin: &Origin,
    now: Timestamp,
) -> Result<AcmeCaller, ServiceError> {
    let account = tx.acme_account(id)?.ok_or_else(no_such_account)?;
    if account.thumbprint != thumbprint {
        let message = "the account has another key since a moment ago; sign with the new one";
        return Err(AcmeError::Unauthorized(message.to_owned()).into());
    }
    let standing = standing(tx, account, origin)?;
    let credential = tx.credential(standing.account.reseller, standing.account.kid)?;
    if credential.and_then(|credential| credential.last_used_at).is_none_or(|at| now.since(at) >= LAST_USED) {
        tx.touch_credential(standing.account.kid, now)?;
    }
    Ok(standing)
}

/// That neither the account, nor the credential that bound it, nor the customer, nor the reseller has ended. What of
/// them it was is told.
pub(super) fn standing(tx: &mut Tx<'_>, account: AcmeAccount, origin: &Origin) -> Result<AcmeCaller, ServiceError> {
    let gone = |what: &str| ServiceError::internal(format!("an ACME account without its {what}"));
    let customer = tx.account(account.reseller, account.account)?.ok_or_else(|| gone("customer"))?;
    match customer.require_active() {
        // Told as the reason, before the credential and the ACME account that ended with it.
        Err(ended @ AccountError::Terminated(_)) => return Err(ended.into()),
        Ok(()) | Err(AccountError::Suspended) => {}
    }
    account.require_active()?;
    let credential = tx.credential(account.reseller, account.kid)?.ok_or_else(|| gone("credential"))?;
    if credential.revoked_at.is_some() {
        return Err(ServiceError::CredentialRevoked(account.kid));
    }
    let reseller = tx.reseller(account.reseller)?.ok_or_else(|| gone("reseller"))?;
    require_reseller(&reseller)?;
    let caller = Caller {
        reseller: reseller.id,
        code: reseller.code,
        actor: Actor::Acme(account.id.to_string()),
        scopes: ScopeSet::all(),
        acme_account: Some(account.id),
        origin: origin.clone(),
    };
    Ok(AcmeCaller { account, customer, caller })
}

pub(super) fn require_reseller(reseller: &Reseller) -> Result<(), ServiceError> {
    if reseller.suspended {
        let message = "your certificate provider is suspended; ask them";
        return Err(AcmeError::Unauthorized(message.to_owned()).into());
    }
    Ok(())
}
