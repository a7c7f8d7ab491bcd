//! Challenges that ACME clients answer, and authorizations they give up.

use chancery_domain::{AuthorizationId, AuthorizationState, ChallengeId, ProblemKind, ValidationProblem};
use serde_json::json;
use tokio::time::Instant;

use super::{Acme, AcmeCaller, AcmeError, require_still};
use crate::authorizations::{AuthorizationDetails, ChallengeDetails, lock};
use crate::error::ServiceError;
use crate::orders::{describe_with, fail_order};
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
    /// showing control anew (RFC 8555 section 7.5.2). An open order that needs it has failed.
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
                let (authorization, order) = lock(tx, &caller, id)?;
                // Claimed, not held: an order that uses this permission as well is issued before, or not at all.
                tx.claim_acme_account(acme_account)?;
                require_still(tx, &caller)?;
                let (now, thumbprint) = (kernel.now(), Some(thumbprint.clone()));
                let was_valid = match &authorization.state {
                    AuthorizationState::Pending => false,
                    AuthorizationState::Valid(_) => true,
                    // It is what the client wants it to be, or can never be anything again.
                    AuthorizationState::Invalid { .. }
                    | AuthorizationState::Deactivated { .. }
                    | AuthorizationState::Revoked { .. } => {
                        return Ok((AuthorizationDetails { authorization, thumbprint }, None));
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
                let mut failed = None;
                if let Some(order) = order.filter(|order| order.is_open(now)) {
                    let why = format!("the authorization for {} was deactivated", given_up.identifier);
                    let problem = ValidationProblem { kind: ProblemKind::Unauthorized, detail: why };
                    detail["orderBecame"] = "invalid".into();
                    detail["orderDetail"] = describe_with(&order, "problem", problem.to_string());
                    failed = Some((order.id, problem.clone()));
                    fail_order(tx, order, problem, now)?;
                }
                kernel.audit(tx, &caller, "authorization.deactivate", id, &detail)?;
                Ok((AuthorizationDetails { authorization: given_up, thumbprint }, failed))
            })
            .await;
        match given_up {
            Err(error) => {
                Err(self.kernel.tell_refused(&by.caller, About::Authorization(id), "authorization", error).await)
            }
            Ok((given_up, failed)) => {
                if let Some((order, problem)) = &failed {
                    self.kernel.tell_failed(*order, "authorization", problem).await;
                }
                Ok(given_up)
            }
        }
    }
}
