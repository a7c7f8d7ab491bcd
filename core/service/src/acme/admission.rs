//! Who speaks, and whether they still may: asked anew with every request.

use std::time::Duration;

use chancery_domain::{
    Account, AccountError, AcmeAccount, AcmeAccountId, EabCredential, Reseller, ScopeSet, Timestamp,
};
use chancery_store::Tx;

use super::{Acme, AcmeError};
use crate::caller::{Actor, Caller, Origin};
use crate::error::ServiceError;

/// How exact it is known when a credential was last in use.
const LAST_USED: Duration = Duration::from_secs(600);

/// An ACME account that may speak, with the customer it speaks for.
#[derive(Clone, Debug)]
pub struct AcmeCaller {
    pub account: AcmeAccount,
    pub customer: Account,
    pub caller: Caller,
    credential_used_at: Option<Timestamp>,
}

impl AcmeCaller {
    /// A suspended customer may look and may revoke, and nothing else.
    pub fn require_active(&self) -> Result<(), ServiceError> {
        Ok(self.customer.require_active()?)
    }
}

/// An account as a request finds it: its key, and a verdict that is told only to whoever has that key.
pub struct Found {
    pub account: AcmeAccount,
    standing: Result<AcmeCaller, ServiceError>,
}

impl Acme {
    /// The account with this id, to verify a signature with.
    pub async fn find(&self, id: AcmeAccountId, origin: Origin) -> Result<Found, ServiceError> {
        let unit = move |tx: &mut Tx<'_>| {
            let account = tx.acme_account(id)?.ok_or_else(no_such_account)?;
            match standing(tx, account.clone(), &origin) {
                Err(ServiceError::Store(error)) => Err(ServiceError::Store(error)),
                standing => Ok(Found { account, standing }),
            }
        };
        self.kernel.store.glance(unit).await
    }

    /// Takes the nonce of a request that the account has signed, and tells whether it may still speak. The nonce is gone
    /// either way.
    pub async fn admit(&self, nonce: &str, found: Found) -> Result<AcmeCaller, ServiceError> {
        self.take_nonce(nonce).await?;
        let (admitted, now) = (found.standing?, self.kernel.now());
        if admitted.credential_used_at.is_none_or(|at| now.since(at) >= LAST_USED) {
            let kid = admitted.account.kid;
            let touch = move |tx: &mut Tx<'_>| Ok::<_, ServiceError>(tx.touch_credential(kid, now)?);
            // Good to know, and no reason to refuse anybody.
            if let Err(error) = self.kernel.store.write(touch).await {
                tracing::warn!(%error, %kid, "could not note that a credential is in use");
            }
        }
        Ok(admitted)
    }
}

pub(super) fn no_such_account() -> AcmeError {
    AcmeError::AccountDoesNotExist("there is no such account; register it with newAccount first".to_owned())
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
        acme_key: Some(account.thumbprint.clone()),
        origin: origin.clone(),
    };
    Ok(AcmeCaller { account, customer, caller, credential_used_at: credential.last_used_at })
}

/// That what an ACME account was admitted by is still so, and stays so until the unit of work ends: whoever ends the account
/// or its credential, or gives it another key, waits. Orders are locked before. Others than ACME accounts pass.
pub(crate) fn require_still(tx: &mut Tx<'_>, caller: &Caller) -> Result<(), ServiceError> {
    caller.acme_account.map_or(Ok(()), |id| hold_speaker(tx, caller, id).map(drop))
}

/// The same, of an ACME account; the account and the credential that bound it, as they stay.
pub(super) fn hold_speaker(
    tx: &mut Tx<'_>,
    caller: &Caller,
    id: AcmeAccountId,
) -> Result<(AcmeAccount, EabCredential), ServiceError> {
    let account = tx.hold_acme_account(id)?.ok_or_else(no_such_account)?;
    account.require_active()?;
    if caller.acme_key.as_ref() != Some(&account.thumbprint) {
        let message = "the account has another key since a moment ago; sign with the new one";
        return Err(AcmeError::Unauthorized(message.to_owned()).into());
    }
    let credential = tx.hold_credential(account.reseller, account.kid)?;
    let credential = credential.filter(|credential| credential.revoked_at.is_none());
    let credential = credential.ok_or(ServiceError::CredentialRevoked(account.kid))?;
    let reseller = tx.reseller(account.reseller)?;
    require_reseller(&reseller.ok_or_else(|| ServiceError::internal("an ACME account without its reseller"))?)?;
    Ok((account, credential))
}

pub(super) fn require_reseller(reseller: &Reseller) -> Result<(), ServiceError> {
    if reseller.suspended {
        let message = "your certificate provider is suspended; ask them";
        return Err(AcmeError::Unauthorized(message.to_owned()).into());
    }
    Ok(())
}
