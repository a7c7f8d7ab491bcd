//! Authorizations and their challenges: codes are generated, one is chosen, or the permission is given up.

mod at_once;
mod choice;
mod codes;

use std::sync::Arc;

use chancery_domain::{
    Account, Action, Authorization, AuthorizationError, AuthorizationId, AuthorizationState, AuthorizationStatus,
    Challenge, ChallengeId, Order, OrderState, Profile, Scope,
};
use chancery_store::Tx;
use serde_json::json;

pub use self::at_once::Looker;
pub(crate) use self::at_once::Looking;
use crate::caller::Caller;
use crate::error::{Noun, ServiceError};
use crate::kernel::Kernel;
use crate::orders::{cancel_order, describe_with, thumbprint};
use crate::telling::{self, About};

/// An authorization, and the thumbprint that its key authorizations end in.
#[derive(Clone, Debug)]
pub struct AuthorizationDetails {
    pub authorization: Authorization,
    pub thumbprint: Option<String>,
}

/// A challenge within its authorization.
#[derive(Clone, Debug)]
pub struct ChallengeDetails {
    pub challenge: Challenge,
    pub authorization: Authorization,
    pub thumbprint: Option<String>,
}

#[derive(Clone)]
pub struct Authorizations {
    kernel: Arc<Kernel>,
}

impl Authorizations {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel }
    }

    pub async fn show(&self, caller: &Caller, id: AuthorizationId) -> Result<AuthorizationDetails, ServiceError> {
        caller.require_either(Scope::ReadAuthorization, Scope::WriteAuthorization)?;
        let (reseller, caller) = (caller.reseller, caller.clone());
        let read = move |tx: &mut Tx<'_>| {
            let authorization = own(tx, &caller, id)?;
            let thumbprint = shown_thumbprint(tx, &caller, &authorization)?;
            Ok(AuthorizationDetails { authorization, thumbprint })
        };
        self.kernel.store_of(reseller).peek(read).await
    }

    /// That an authorization was not given up, and its order neither cancelled nor left to expire.
    pub async fn require_alive(&self, caller: &Caller, id: AuthorizationId) -> Result<(), ServiceError> {
        caller.require_either(Scope::WriteAuthorization, Scope::WriteChallenge)?;
        let (kernel, reseller, caller) = (self.kernel.clone(), caller.reseller, caller.clone());
        let read = move |tx: &mut Tx<'_>| {
            let authorization = own(tx, &caller, id)?;
            let order = authorization.order.map(|order| tx.order(caller.reseller, order)).transpose()?.flatten();
            require_alive(&kernel, &authorization, order.as_ref())
        };
        self.kernel.store_of(reseller).read(read).await
    }

    pub async fn show_challenge(&self, caller: &Caller, id: ChallengeId) -> Result<ChallengeDetails, ServiceError> {
        caller.require_either(Scope::ReadChallenge, Scope::WriteChallenge)?;
        let caller = caller.clone();
        self.kernel.store_of(caller.reseller).peek(move |tx| challenge(tx, &caller, id)).await
    }

    /// Gives the permission up, and cancels the order it belongs to where that is still open.
    pub async fn deactivate(&self, caller: &Caller, id: ChallengeId) -> Result<AuthorizationDetails, ServiceError> {
        caller.require(Scope::WriteChallenge)?;
        let (kernel, by) = (self.kernel.clone(), caller.clone());
        let given_up = self.kernel.store_of(caller.reseller).write(move |tx| give_up(&kernel, tx, &by, id)).await;
        match given_up {
            Ok((given_up, cancelled)) => {
                telling::cancelled(caller, &cancelled, "a permission of it was given up");
                Ok(given_up)
            }
            Err(error) => {
                let about = About::Authorization(id.authorization());
                Err(self.kernel.tell_refused(caller, about, "challenge", error).await)
            }
        }
    }
}

/// The permission given up, and the order that was cancelled with it.
fn give_up(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    by: &Caller,
    id: ChallengeId,
) -> Result<(AuthorizationDetails, Option<Order>), ServiceError> {
    let (authorization, order) = lock_challenge(tx, by, id)?;
    let now = kernel.now();
    // Claimed, not held: an order that uses this permission as well is issued before, or not at all.
    if claim_account_of(tx, &authorization)?.is_terminated() {
        return Err(AuthorizationError::AccountTerminated.into());
    }
    if authorization.status(now) == AuthorizationStatus::Expired {
        return Err(AuthorizationError::Expired(authorization.expires_at).into());
    }
    let mut detail = json!({
        "name": authorization.identifier.to_string(),
        "account": authorization.account.to_string(),
        "order": order.as_ref().map(|order| order.id.to_string()),
    });
    // Asked before: what was given up already ends nothing more.
    let given_up = authorization.deactivate(now)?;
    let cancelled = match order.filter(|order| order.is_open(now)) {
        Some(open) => {
            detail["orderBecame"] = "cancelled".into();
            detail["orderDetail"] = describe_with(&open, "because", Action::ChallengeDeactivate.as_str());
            Some(cancel_order(tx, open, now)?)
        }
        None => {
            tx.save_authorization(&given_up)?;
            None
        }
    };
    kernel.audit(tx, by, Action::ChallengeDeactivate, id, &detail)?;
    let authorization = own(tx, by, id.authorization())?;
    let thumbprint = shown_thumbprint(tx, by, &authorization)?;
    Ok((AuthorizationDetails { authorization, thumbprint }, cancelled))
}

/// The caller's authorization.
pub(crate) fn own(tx: &mut Tx<'_>, caller: &Caller, id: AuthorizationId) -> Result<Authorization, ServiceError> {
    let found = tx.authorization(caller.reseller, id)?.filter(|found| caller.sees(found.acme_account));
    found.ok_or_else(|| ServiceError::not_found(Noun::Authorization))
}

/// The account of an authorization: it is there as long as that is.
fn claim_account_of(tx: &mut Tx<'_>, authorization: &Authorization) -> Result<Account, ServiceError> {
    let account = tx.claim_account(authorization.reseller, authorization.account)?;
    account.ok_or_else(|| ServiceError::internal("an authorization without its account"))
}

/// The authorization and its order, where it has one, the order locked first.
pub(crate) fn lock(
    tx: &mut Tx<'_>,
    caller: &Caller,
    id: AuthorizationId,
) -> Result<(Authorization, Option<Order>), ServiceError> {
    tx.foresee(|tx| drop(own(tx, caller, id)));
    let order = tx.lock_order_of(id)?;
    Ok((own(tx, caller, id)?, order))
}

/// The authorization of a challenge that is there, and its order, where it has one, the order locked first.
fn lock_challenge(
    tx: &mut Tx<'_>,
    caller: &Caller,
    id: ChallengeId,
) -> Result<(Authorization, Option<Order>), ServiceError> {
    let (authorization, order) = lock(tx, caller, id.authorization()).map_err(as_challenge)?;
    authorization.challenge(id).ok_or_else(no_such_challenge)?;
    Ok((authorization, order))
}

fn challenge(tx: &mut Tx<'_>, caller: &Caller, id: ChallengeId) -> Result<ChallengeDetails, ServiceError> {
    let authorization = own(tx, caller, id.authorization()).map_err(as_challenge)?;
    of_challenge(tx, caller, authorization, id)
}

fn of_challenge(
    tx: &mut Tx<'_>,
    caller: &Caller,
    authorization: Authorization,
    id: ChallengeId,
) -> Result<ChallengeDetails, ServiceError> {
    let challenge = authorization.challenge(id).cloned().ok_or_else(no_such_challenge)?;
    let thumbprint = shown_thumbprint(tx, caller, &authorization)?;
    Ok(ChallengeDetails { challenge, authorization, thumbprint })
}

/// The thumbprint that key authorizations end in. Whoever comes with that key has told it already.
fn shown_thumbprint(
    tx: &mut Tx<'_>,
    caller: &Caller,
    authorization: &Authorization,
) -> Result<Option<String>, ServiceError> {
    match (&caller.acme_key, authorization.acme_account) {
        (Some(key), Some(owner)) if caller.acme_account == Some(owner) => Ok(Some(key.clone())),
        (_, owner) => thumbprint(tx, authorization.account, owner),
    }
}

fn no_such_challenge() -> ServiceError {
    ServiceError::not_found(Noun::Challenge)
}

/// Who asks for a challenge is not told of authorizations.
fn as_challenge(error: ServiceError) -> ServiceError {
    match error {
        ServiceError::NotFound(Noun::Authorization, _) => no_such_challenge(),
        other => other,
    }
}

/// Nothing is told of a permission that was given up, nor of one whose order was cancelled or has expired.
fn require_alive(kernel: &Kernel, authorization: &Authorization, order: Option<&Order>) -> Result<(), ServiceError> {
    let Some(order) = order else { return Ok(()) };
    match (&authorization.state, &order.state) {
        (AuthorizationState::Deactivated { .. } | AuthorizationState::Revoked { .. }, _)
        | (_, OrderState::Cancelled { .. }) => Err(AuthorizationError::Deactivated.into()),
        _ if order.is_expired(kernel.now()) => Err(AuthorizationError::OrderExpired(order.expires_at).into()),
        _ => Ok(()),
    }
}

fn profile_of<'a>(kernel: &'a Kernel, order: &Order) -> Result<&'a Profile, ServiceError> {
    kernel.settings.profile(&order.profile).ok_or_else(|| ServiceError::internal("the profile is gone"))
}
