//! Challenges that ACME clients answer, and authorizations they give up.

use chancery_domain::{
    Action, Authorization, AuthorizationId, AuthorizationState, ChallengeId, Order, ProblemKind, Timestamp,
    ValidationProblem,
};
use chancery_store::Tx;
use serde_json::json;
use tokio::time::Instant;

use super::{Acme, AcmeCaller, AcmeError, require_still};
use crate::authorizations::{AuthorizationDetails, ChallengeDetails, own};
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::orders::{describe_with, fail_if_hopeless, fail_order};
use crate::telling::About;

/// Clients answer the challenges of an order one after the other: where there are more, they are not kept waiting.
const FEW: usize = 3;

impl Acme {
    pub async fn challenge(&self, by: &AcmeCaller, id: ChallengeId) -> Result<ChallengeDetails, ServiceError> {
        self.authorizations.show_challenge(&by.caller, id).await
    }

    /// Says that a challenge can be verified (RFC 8555 section 7.5.1), and waits a little for the verdict: a client that
    /// sees it at once need not ask for it. Saying it again changes nothing.
    pub async fn answer_challenge(&self, by: &AcmeCaller, id: ChallengeId) -> Result<ChallengeDetails, ServiceError> {
        by.require_active()?;
        let tried = match self.choose_and_wait(by, id).await {
            Err(ServiceError::AlreadyTried(tried)) => tried,
            told => return told,
        };
        if tried.challenge.id == id || tried.authorization.validation().is_some() {
            return self.challenge(by, id).await;
        }
        let (kind, status) = (tried.challenge.kind, tried.challenge.state.as_str());
        let message = format!(
            "{kind} was chosen for {} before, and is {status}; one challenge of an authorization is tried, so order \
             again to try another",
            tried.authorization.identifier
        );
        let (about, refused) = (About::Authorization(id.authorization()), AcmeError::Malformed(message).into());
        Err(self.kernel.tell_refused(&by.caller, about, "challenge", refused).await)
    }

    async fn choose_and_wait(&self, by: &AcmeCaller, id: ChallengeId) -> Result<ChallengeDetails, ServiceError> {
        let wait = self.kernel.settings.acme.challenge_wait;
        if wait.is_zero() {
            return Ok(self.authorizations.choose_among(&by.caller, id).await?.details);
        }
        let until = Instant::now() + wait;
        if let Some(details) = self.authorizations.choose_at_once(&by.caller, id, FEW, wait).await? {
            return Ok(details);
        }
        let decided = self.kernel.decided.watch(id);
        let chosen = self.authorizations.choose_among(&by.caller, id).await?;
        if chosen.names > FEW {
            return Ok(chosen.details);
        }
        decided.at_most(until - Instant::now()).await;
        self.challenge(by, id).await
    }

    /// Gives a permission up, with all there are for the same name: the account cannot get certificates for it without
    /// showing control anew (RFC 8555 section 7.5.2). Every open order that needs one of them has failed.
    pub async fn deactivate_authorization(
        &self,
        by: &AcmeCaller,
        id: AuthorizationId,
    ) -> Result<AuthorizationDetails, ServiceError> {
        by.require_active()?;
        let (kernel, caller) = (self.kernel.clone(), by.caller.clone());
        let (acme_account, thumbprint) = (by.account.id, by.account.thumbprint.clone());
        let given_up = self
            .kernel
            .store
            .write(move |tx| {
                // Orders before accounts, as everybody does; and once more when no order can come to stand on it any more.
                Locked::of(tx, &caller, id, kernel.now())?;
                // Claimed, not held: an order that uses this permission as well is issued before, or not at all.
                tx.claim_acme_account(acme_account)?;
                require_still(tx, &caller)?;
                let Locked { authorization, order, others } = Locked::of(tx, &caller, id, kernel.now())?;
                let (now, thumbprint) = (kernel.now(), Some(thumbprint.clone()));
                let was_valid = match &authorization.state {
                    AuthorizationState::Pending => false,
                    AuthorizationState::Valid(_) => true,
                    // It is what the client wants it to be, or can never be anything again.
                    AuthorizationState::Invalid { .. }
                    | AuthorizationState::Deactivated { .. }
                    | AuthorizationState::Revoked { .. } => {
                        return Ok((AuthorizationDetails { authorization, thumbprint }, Vec::new()));
                    }
                };
                let given_up = authorization.deactivate(now)?;
                tx.save_authorization(&given_up)?;
                if was_valid {
                    tx.deactivate_valid(given_up.account, acme_account, &given_up.identifier, now)?;
                    if let Some(namespace) = &given_up.namespace {
                        tx.deactivate_namespace(given_up.account, acme_account, namespace, now)?;
                    }
                }
                let mut detail = json!({
                    "name": given_up.identifier.to_string(),
                    "account": given_up.account.to_string(),
                    "order": order.as_ref().map(|order| order.id.to_string()),
                });
                let mut failed = Vec::new();
                if let Some(order) = order.filter(|order| order.is_open(now)) {
                    let why = format!("the authorization for {} was deactivated", given_up.identifier);
                    let problem = ValidationProblem { kind: ProblemKind::Unauthorized, detail: why };
                    detail["orderBecame"] = "invalid".into();
                    detail["orderDetail"] = describe_with(&order, "problem", problem.to_string());
                    failed.push((order.id, problem.clone()));
                    fail_order(tx, order, problem, now)?;
                }
                kernel.audit(tx, &caller, Action::AuthorizationDeactivate, id, &detail)?;
                for order in others {
                    let other = order.id;
                    failed.extend(fail_if_hopeless(&kernel, tx, &caller, order, now)?.map(|problem| (other, problem)));
                }
                Ok((AuthorizationDetails { authorization: given_up, thumbprint }, failed))
            })
            .await;
        match given_up {
            Err(error) => {
                Err(self.kernel.tell_refused(&by.caller, About::Authorization(id), "authorization", error).await)
            }
            Ok((given_up, failed)) => {
                for (order, problem) in &failed {
                    self.kernel.tell_failed(*order, "authorization", problem).await;
                }
                Ok(given_up)
            }
        }
    }
}

/// An authorization that is to be given up, and all that may end with it. The orders are locked, one after the other as
/// everybody locks them.
struct Locked {
    authorization: Authorization,
    order: Option<Order>,
    /// Open orders that stand on what was shown of the same name.
    others: Vec<Order>,
}

impl Locked {
    fn of(tx: &mut Tx<'_>, caller: &Caller, id: AuthorizationId, now: Timestamp) -> Result<Self, ServiceError> {
        let known = own(tx, caller, id)?;
        let (order, others): (Vec<_>, Vec<_>) =
            tx.lock_orders_standing_on(&known, now)?.into_iter().partition(|order| Some(order.id) == known.order);
        Ok(Self { authorization: own(tx, caller, id)?, order: order.into_iter().next(), others })
    }
}
