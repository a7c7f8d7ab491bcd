//! Who speaks, and whether they still may: asked anew with every request.

use std::time::Duration;

use chancery_domain::{Account, AccountId, AcmeAccount, AcmeAccountId, Reseller, ResellerId, ScopeSet, Timestamp};
use chancery_jose::Jwk;
use chancery_store::{Party, Tx};

use super::nonce::Nonce;
use super::{Acme, AcmeError};
use crate::caller::{Actor, Caller, Origin};
use crate::error::ServiceError;

/// A credential's `last_used_at` is written no more often than this.
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

/// The key of an account, to verify a signature with.
pub struct SpeakersKey {
    pub key: Jwk,
    /// Whose customer the account is of.
    pub reseller: ResellerId,
    /// It is what was seen last, and the account may have another by now.
    pub remembered: bool,
}

impl Acme {
    /// The key of the account with this id, as it was last seen.
    pub async fn key_of(&self, id: AcmeAccountId) -> Result<SpeakersKey, ServiceError> {
        match self.keys.get(id) {
            Some((key, reseller)) => Ok(SpeakersKey { key, reseller, remembered: true }),
            None => self.read_key_of(id).await,
        }
    }

    /// Reads the key of the account with this id from the database, as it is now. Who sent the request is not known yet.
    pub async fn read_key_of(&self, id: AcmeAccountId) -> Result<SpeakersKey, ServiceError> {
        let found = self.kernel.anonymous_store().peek(move |tx| tx.acme_account(id)).await?;
        let account = found.ok_or_else(no_such_account)?;
        let key = Jwk::parse(account.jwk.as_bytes()).map_err(ServiceError::internal)?;
        self.keys.keep(id, key.clone(), account.reseller);
        Ok(SpeakersKey { key, reseller: account.reseller, remembered: false })
    }

    /// Takes the nonce of a request that was signed with this key, and tells whether the account may still speak, and with
    /// that key. The nonce is gone either way.
    pub async fn admit(
        &self,
        id: AcmeAccountId,
        nonce: Nonce,
        speaker: &SpeakersKey,
        origin: &Origin,
    ) -> Result<AcmeCaller, ServiceError> {
        let party = self.take_nonce_and_find(nonce, id, speaker.reseller).await?.ok_or_else(no_such_account)?;
        if party.acme_account.thumbprint != speaker.key.thumbprint() {
            self.keys.forget(id);
            let message =
                "the signature does not verify: it is by a key that the account had before; sign with its new one";
            return Err(AcmeError::Malformed(message.to_owned()).into());
        }
        let (admitted, now) = (standing(party, origin)?, self.kernel.now());
        if admitted.credential_used_at.is_none_or(|at| now.since(at) >= LAST_USED) {
            let kid = admitted.account.kid;
            // Good to know, and no reason to refuse anybody.
            if let Err(error) =
                self.kernel.store_of(admitted.caller.reseller).write(move |tx| tx.touch_credential(kid, now)).await
            {
                tracing::warn!(%error, %kid, "could not note that a credential is in use");
            }
        }
        Ok(admitted)
    }
}

fn other_key() -> ServiceError {
    let message = "the account has another key since a moment ago; sign with the new one";
    AcmeError::Unauthorized(message.to_owned()).into()
}

pub(super) fn no_such_account() -> AcmeError {
    AcmeError::AccountDoesNotExist("there is no such account; register it with newAccount first".to_owned())
}

/// That neither the account, nor the credential that bound it, nor the customer, nor the reseller has ended; the error says
/// which of them has.
pub(super) fn standing(party: Party, origin: &Origin) -> Result<AcmeCaller, ServiceError> {
    let Party { acme_account: account, account: customer, credential, reseller } = party;
    // Told as the reason, before the credential and the ACME account that ended with it.
    customer.require_alive()?;
    account.require_active()?;
    if credential.revoked_at.is_some() {
        return Err(ServiceError::CredentialRevoked(account.kid));
    }
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
    let Some(id) = caller.acme_account else { return Ok(()) };
    require_admitted(&tx.hold_speaker(id)?.ok_or_else(no_such_account)?, caller)
}

/// Locks the customer for whom a caller acts until the unit of work ends. Where it is an ACME account that acts, whether it
/// is still admitted is given back beside, for the caller of this to report in its turn.
pub(crate) fn hold_applicant(
    tx: &mut Tx<'_>,
    caller: &Caller,
    customer: AccountId,
) -> Result<(Account, Result<(), ServiceError>), ServiceError> {
    let gone = || ServiceError::internal("an order or authorization without its account");
    match caller.acme_account {
        Some(id) => {
            let party = tx.hold_party(id)?.filter(|party| party.account.id == customer).ok_or_else(gone)?;
            let still = require_admitted(&party, caller);
            Ok((party.account, still))
        }
        None => Ok((tx.hold_account(caller.reseller, customer)?.ok_or_else(gone)?, Ok(()))),
    }
}

/// That an ACME account may act as the one that was admitted.
pub(super) fn require_admitted(party: &Party, caller: &Caller) -> Result<(), ServiceError> {
    party.acme_account.require_active()?;
    if caller.acme_key.as_ref() != Some(&party.acme_account.thumbprint) {
        return Err(other_key());
    }
    if party.credential.revoked_at.is_some() {
        return Err(ServiceError::CredentialRevoked(party.credential.kid));
    }
    require_reseller(&party.reseller)
}

pub(super) fn require_reseller(reseller: &Reseller) -> Result<(), ServiceError> {
    if reseller.suspended {
        let message = "your certificate provider is suspended; ask them";
        return Err(AcmeError::Unauthorized(message.to_owned()).into());
    }
    Ok(())
}
