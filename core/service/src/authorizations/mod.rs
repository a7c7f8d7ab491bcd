//! Authorizations and their challenges: codes are generated, one is chosen, or the permission is given up.

mod at_once;

use std::sync::Arc;

use chancery_domain::policy::Request;
use chancery_domain::{
    Account, Action, Authorization, AuthorizationError, AuthorizationId, AuthorizationState, AuthorizationStatus,
    Challenge, ChallengeId, ChallengeState, ChallengeType, Identifier, Order, OrderError, OrderState, Profile, Scope,
    Timestamp,
};
use chancery_jose::SigningKey;
use chancery_store::{Job, JobKind, Tx};
use data_encoding::BASE64URL_NOPAD;
use serde_json::json;

pub use self::at_once::Looker;
pub(crate) use self::at_once::Looking;
use crate::acme::hold_applicant;
use crate::caller::Caller;
use crate::error::{Noun, ServiceError};
use crate::fault::{self, Step};
use crate::kernel::{Kernel, sealed_column};
use crate::orders::{Standing, cancel_order, describe_with, has_room, offered, thumbprint};
use crate::refused::{Asked, Refused};
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

/// A challenge that was chosen, and how many names its order has.
pub(crate) struct Chosen {
    pub(crate) details: ChallengeDetails,
    pub(crate) names: usize,
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
        let caller = caller.clone();
        let read = move |tx: &mut Tx<'_>| {
            let authorization = own(tx, &caller, id)?;
            let thumbprint = shown_thumbprint(tx, &caller, &authorization)?;
            Ok(AuthorizationDetails { authorization, thumbprint })
        };
        self.kernel.store.peek(read).await
    }

    /// That an authorization was not given up, and its order neither cancelled nor left to expire.
    pub async fn require_alive(&self, caller: &Caller, id: AuthorizationId) -> Result<(), ServiceError> {
        caller.require_either(Scope::WriteAuthorization, Scope::WriteChallenge)?;
        let (kernel, caller) = (self.kernel.clone(), caller.clone());
        let read = move |tx: &mut Tx<'_>| {
            let authorization = own(tx, &caller, id)?;
            let order = authorization.order.map(|order| tx.order(caller.reseller, order)).transpose()?.flatten();
            require_alive(&kernel, &authorization, order.as_ref())
        };
        self.kernel.store.read(read).await
    }

    /// Generates the codes of an authorization, or gives back those it has.
    pub async fn generate_challenges(
        &self,
        caller: &Caller,
        id: AuthorizationId,
    ) -> Result<AuthorizationDetails, ServiceError> {
        caller.require(Scope::WriteAuthorization)?;
        let (kernel, by) = (self.kernel.clone(), caller.clone());
        let generated = self
            .kernel
            .store
            .write(move |tx| {
                let (authorization, order) = lock(tx, &by, id)?;
                require_alive(&kernel, &authorization, order.as_ref())?;
                let thumbprint = Some(account_thumbprint(&kernel, tx, &authorization)?);
                // Those of an order that has failed still tell what became of them.
                let lacks_codes = |order: &Order| {
                    authorization.challenges.is_empty() && !matches!(order.state, OrderState::Invalid { .. })
                };
                let Some(order) = order.filter(lacks_codes) else {
                    return Ok(AuthorizationDetails { authorization, thumbprint });
                };
                let authorization = with_codes(&kernel, tx, authorization, &order)?;
                tx.save_authorization(&authorization)?;
                let count = authorization.challenges.len();
                kernel.audit(tx, &by, Action::AuthorizationGenerateChallenges, id, &json!({"challenges": count}))?;
                Ok(AuthorizationDetails { authorization, thumbprint })
            })
            .await;
        match generated {
            Ok(generated) => Ok(generated),
            Err(error) => Err(self.kernel.tell_refused(caller, About::Authorization(id), "authorization", error).await),
        }
    }

    pub async fn show_challenge(&self, caller: &Caller, id: ChallengeId) -> Result<ChallengeDetails, ServiceError> {
        caller.require_either(Scope::ReadChallenge, Scope::WriteChallenge)?;
        let caller = caller.clone();
        self.kernel.store.peek(move |tx| challenge(tx, &caller, id)).await
    }

    /// Chooses a challenge: verification begins at once, behind the answer. Only the first choice counts.
    pub async fn choose(&self, caller: &Caller, id: ChallengeId) -> Result<ChallengeDetails, ServiceError> {
        self.choose_among(caller, id).await.map(|chosen| chosen.details)
    }

    pub(crate) async fn choose_among(&self, caller: &Caller, id: ChallengeId) -> Result<Chosen, ServiceError> {
        let chosen = self.choose_only(caller, id).await?;
        let reseller = Some(caller.reseller);
        self.kernel.start(Job { kind: JobKind::Validate, subject: id.to_string(), attempts: 1, reseller });
        Ok(chosen)
    }

    /// Records the choice without starting its job.
    async fn choose_only(&self, caller: &Caller, id: ChallengeId) -> Result<Chosen, ServiceError> {
        caller.require(Scope::WriteChallenge)?;
        let (kernel, by, refused) = (self.kernel.clone(), caller.clone(), Refused::default());
        let noted = refused.clone();
        let chosen = self
            .kernel
            .store
            .write(move |tx| {
                let (authorization, order) = choose(&kernel, tx, &by, id, &noted)?;
                tx.save_authorization(&authorization)?;
                kernel.enqueue(tx, JobKind::Validate, id)?;
                audit_choice(&kernel, tx, &by, id, &authorization)?;
                let names = order.map_or(1, |order| order.identifiers.len());
                Ok::<_, ServiceError>(Chosen { details: of_challenge(tx, &by, authorization, id)?, names })
            })
            .await;
        let chosen = match chosen {
            Ok(chosen) => chosen,
            Err(error) => {
                let about = About::Authorization(id.authorization());
                return Err(refused.answer(&self.kernel, caller, about, "challenge", error).await);
            }
        };
        fault::reached(Step::Chosen);
        Ok(chosen)
    }

    /// Gives the permission up, and cancels the order it belongs to where that is still open.
    pub async fn deactivate(&self, caller: &Caller, id: ChallengeId) -> Result<AuthorizationDetails, ServiceError> {
        caller.require(Scope::WriteChallenge)?;
        let (kernel, by) = (self.kernel.clone(), caller.clone());
        let given_up = self
            .kernel
            .store
            .write(move |tx| {
                let (authorization, order) = lock_challenge(tx, &by, id)?;
                let now = kernel.now();
                // Claimed, not held: an order that uses this permission as well is issued before, or not at all.
                if claim_account_of(tx, &authorization)?.deleted_at.is_some() {
                    return Err(AuthorizationError::Deactivated.into());
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
                kernel.audit(tx, &by, Action::ChallengeDeactivate, id, &detail)?;
                let authorization = own(tx, &by, id.authorization())?;
                let thumbprint = shown_thumbprint(tx, &by, &authorization)?;
                Ok((AuthorizationDetails { authorization, thumbprint }, cancelled))
            })
            .await;
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
fn lock(tx: &mut Tx<'_>, caller: &Caller, id: AuthorizationId) -> Result<(Authorization, Option<Order>), ServiceError> {
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

/// The authorization with its challenge chosen, not saved yet, and its order, which is locked; all that stands against
/// the choice is told.
fn choose(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    by: &Caller,
    id: ChallengeId,
    refused: &Refused,
) -> Result<(Authorization, Option<Order>), ServiceError> {
    let (authorization, order) = lock_challenge(tx, by, id)?;
    tx.foresee(|tx| drop(Standing::of(tx, authorization.account)));
    let (account, still) = hold_applicant(tx, by, authorization.account)?;
    account.require_active()?;
    still?;
    let tried = authorization.tried().cloned();
    let now = kernel.now();
    let authorization = match authorization.choose(id, now) {
        Err(AuthorizationError::AlreadyTried) => return Err(already_tried(tx, by, id, tried)?),
        other => other?,
    };
    if let Some(order) = &order {
        require_open(order, now)?;
    }
    if let (Some(chosen), Some(order)) = (authorization.challenge(id), &order) {
        let verdict = judge_method(kernel, tx, order, &authorization.identifier, chosen.kind);
        let names = std::slice::from_ref(&authorization.identifier);
        refused.note(&Asked { names, ..Asked::of(order) }, verdict)?;
    }
    Ok((authorization, order))
}

/// That the policies of an order's account allow control of a name to be shown in this way by now.
fn judge_method(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    order: &Order,
    identifier: &Identifier,
    kind: ChallengeType,
) -> Result<(), ServiceError> {
    let standing = Standing::of(tx, order.account)?;
    standing.judge_methods(&kernel.settings, profile_of(kernel, order)?, [(identifier, kind)])
}

fn audit_choice(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    by: &Caller,
    id: ChallengeId,
    chosen: &Authorization,
) -> Result<(), ServiceError> {
    kernel.audit(tx, by, Action::ChallengeChoose, id, &json!({"name": chosen.identifier.to_string()}))
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

/// The second choice is refused with the state of the first.
fn already_tried(
    tx: &mut Tx<'_>,
    caller: &Caller,
    id: ChallengeId,
    tried: Option<Challenge>,
) -> Result<ServiceError, ServiceError> {
    let details = challenge(tx, caller, tried.map_or(id, |tried| tried.id))?;
    Ok(ServiceError::AlreadyTried(Box::new(details)))
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

/// A choice can still make a difference; otherwise how the order ended is told.
fn require_open(order: &Order, now: Timestamp) -> Result<(), ServiceError> {
    match &order.state {
        OrderState::Invalid { problem, .. } => Err(OrderError::Failed(problem.clone()).into()),
        _ if order.is_expired(now) => Err(AuthorizationError::OrderExpired(order.expires_at).into()),
        _ if order.is_open(now) => Ok(()),
        OrderState::Pending
        | OrderState::Ready
        | OrderState::Processing { .. }
        | OrderState::Valid { .. }
        | OrderState::Cancelled { .. } => Err(AuthorizationError::Deactivated.into()),
    }
}

fn profile_of<'a>(kernel: &'a Kernel, order: &Order) -> Result<&'a Profile, ServiceError> {
    kernel.settings.profile(&order.profile).ok_or_else(|| ServiceError::internal("the profile is gone"))
}

fn with_codes(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    authorization: Authorization,
    order: &Order,
) -> Result<Authorization, ServiceError> {
    let now = kernel.now();
    let standing = Standing::of(tx, order.account)?;
    let profile = profile_of(kernel, order)?;
    let kinds = offered(&authorization.identifier, profile, &standing.applied(&kernel.settings));
    let has_account = authorization.acme_account.is_some();
    let place = authorization.shown_at();
    let possible = |kind: &ChallengeType| (has_account || !kind.needs_acme_account()) && has_room(*kind, &place);
    let kinds: Vec<_> = kinds.into_iter().filter(possible).collect();
    if kinds.is_empty() {
        // A policy came after the order.
        let identifiers = std::slice::from_ref(&authorization.identifier);
        let asked = Request { profile, identifiers, key_type: None, challenge_type: None, validity_days: None };
        standing.require_ways(&kernel.settings, &asked)?;
        standing.require_ways_without_acme(&kernel.settings, &asked)?;
    }
    let challenges = kinds.into_iter().map(|kind| Challenge {
        id: ChallengeId::of(authorization.id, kind),
        kind,
        token: BASE64URL_NOPAD.encode(&kernel.entropy.bytes::<32>()),
        state: ChallengeState::Pending,
        attempts: Vec::new(),
        created_at: now,
        updated_at: now,
    });
    Ok(Authorization { challenges: challenges.collect(), updated_at: now, ..authorization })
}

/// A reseller order has no ACME account key: the service keeps one for the account.
fn account_thumbprint(kernel: &Kernel, tx: &mut Tx<'_>, authorization: &Authorization) -> Result<String, ServiceError> {
    if let Some(known) = thumbprint(tx, authorization.account, authorization.acme_account)? {
        return Ok(known);
    }
    let key = SigningKey::generate().map_err(ServiceError::internal)?;
    let context = sealed_column("account_keys").context(authorization.account);
    let sealed = kernel.keyring.seal(&context, &key.to_pkcs8().map_err(ServiceError::internal)?);
    Ok(tx.settle_account_key(authorization.account, &sealed, &key.public().thumbprint(), kernel.now())?)
}
