//! The choice of a challenge, of which an authorization has one.

use chancery_domain::{
    Action, Authorization, AuthorizationError, Challenge, ChallengeId, ChallengeType, Identifier, Order, OrderError,
    OrderState, Scope, Timestamp,
};
use chancery_store::{Job, JobKind, Tx};
use serde_json::json;

use super::{Authorizations, ChallengeDetails, challenge, lock_challenge, of_challenge, profile_of};
use crate::acme::hold_applicant;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::fault::{self, Step};
use crate::kernel::Kernel;
use crate::policies::{Decision, EffectivePolicies, PolicyEvaluation, require_none};
use crate::refused::{Asked, Refused};
use crate::telling::About;
use crate::to_the_end::to_the_end;

/// A challenge that was chosen, and how many names its order has.
pub(crate) struct Chosen {
    pub(crate) details: ChallengeDetails,
    pub(crate) names: usize,
}

impl Authorizations {
    /// Chooses a challenge: verification begins at once, behind the answer. Only the first choice counts.
    pub async fn choose(&self, caller: &Caller, id: ChallengeId) -> Result<ChallengeDetails, ServiceError> {
        self.choose_among(caller, id).await.map(|chosen| chosen.details)
    }

    pub(crate) async fn choose_among(&self, caller: &Caller, id: ChallengeId) -> Result<Chosen, ServiceError> {
        let (me, caller) = (self.clone(), caller.clone());
        to_the_end(async move {
            let chosen = me.choose_only(&caller, id).await?;
            let reseller = Some(caller.reseller);
            me.kernel.start(Job { kind: JobKind::Validate, subject: id.to_string(), attempts: 1, reseller });
            Ok(chosen)
        })
        .await
    }

    /// Records the choice without starting its job.
    pub(super) async fn choose_only(&self, caller: &Caller, id: ChallengeId) -> Result<Chosen, ServiceError> {
        caller.require(Scope::WriteChallenge)?;
        let (kernel, by, refused) = (self.kernel.clone(), caller.clone(), Refused::default());
        let noted = refused.clone();
        let chosen = self
            .kernel
            .write_decided(caller.reseller, &PolicyEvaluation::none(), move |tx, decision| {
                let (authorization, order) = choose(&kernel, tx, &by, id, decision, &noted)?;
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
}

/// The authorization with its challenge chosen, not saved yet, and its order, which is locked; all that stands against
/// the choice is told.
pub(super) fn choose(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    by: &Caller,
    id: ChallengeId,
    decision: &Decision<()>,
    refused: &Refused,
) -> Result<(Authorization, Option<Order>), ServiceError> {
    let (authorization, order) = lock_challenge(tx, by, id)?;
    tx.foresee(|tx| drop(tx.policy_versions(authorization.account)));
    let (account, still) = hold_applicant(tx, by, authorization.account)?;
    still?;
    let tried = authorization.tried().cloned();
    let now = kernel.now();
    if let Some(order) = order.as_ref().filter(|order| order.is_expired(now)) {
        require_open(order, now)?;
    }
    let authorization = match authorization.choose(id, now) {
        Err(AuthorizationError::AlreadyTried) => return Err(already_tried(tx, by, id, tried)?),
        other => other?,
    };
    if let Some(order) = &order {
        require_open(order, now)?;
    }
    // Only where a choice would still make a difference: what has ended does not go on when the account does.
    account.require_active()?;
    if let (Some(chosen), Some(order)) = (authorization.challenge(id), &order) {
        let policies = decision.policies(tx, order.reseller, order.account)?;
        let verdict = judge_method(kernel, &policies, order, &authorization.identifier, chosen.kind);
        let names = std::slice::from_ref(&authorization.identifier);
        refused.note(&Asked { names, ..Asked::of(order) }, verdict)?;
    }
    Ok((authorization, order))
}

/// Requires that profile and policies allow a challenge type for a name of an order.
pub(super) fn judge_method(
    kernel: &Kernel,
    policies: &EffectivePolicies,
    order: &Order,
    identifier: &Identifier,
    kind: ChallengeType,
) -> Result<(), ServiceError> {
    require_none(policies.check_methods(profile_of(kernel, order)?, [(identifier, kind)]))
}

pub(super) fn audit_choice(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    by: &Caller,
    id: ChallengeId,
    chosen: &Authorization,
) -> Result<(), ServiceError> {
    kernel.audit(tx, by, Action::ChallengeChoose, id, &json!({"name": chosen.identifier.to_string()}))
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

/// A choice can still make a difference; otherwise how the order ended is told.
pub(super) fn require_open(order: &Order, now: Timestamp) -> Result<(), ServiceError> {
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
