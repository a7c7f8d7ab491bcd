//! Challenges that ACME clients answer, and authorizations they give up.

use chancery_domain::{Action, Authorization, AuthorizationId, AuthorizationState, ChallengeId};
use chancery_store::{GivenUp, Tx};
use serde_json::json;
use tokio::time::Instant;

use super::{Acme, AcmeCaller, AcmeError, require_still};
use crate::authorizations::{AuthorizationDetails, ChallengeDetails, lock, own};
use crate::cascades::{self, Cascade, deactivated};
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

    /// Deactivates an authorization (RFC 8555 section 7.5.2). One that was valid gives up all that the account had earned for
    /// the same name until then: nothing more is issued by it, and the account has to show control again. Open orders that need
    /// it fail, in batches: most have failed by the time this returns.
    pub async fn deactivate_authorization(
        &self,
        by: &AcmeCaller,
        id: AuthorizationId,
    ) -> Result<AuthorizationDetails, ServiceError> {
        by.require_active()?;
        let (kernel, caller) = (self.kernel.clone(), by.caller.clone());
        let (acme_account, thumbprint) = (by.account.id, by.account.thumbprint.clone());
        let deactivate = move |tx: &mut Tx<'_>| {
            // Orders before accounts, as everybody does.
            let (_, order) = lock(tx, &caller, id)?;
            // Claimed, not held: an order that uses this permission as well is issued before, or not at all.
            tx.claim_acme_account(acme_account)?;
            require_still(tx, &caller)?;
            let authorization = own(tx, &caller, id)?;
            let (now, thumbprint) = (kernel.now(), Some(thumbprint.clone()));
            let earned_at = match &authorization.state {
                AuthorizationState::Pending => None,
                AuthorizationState::Valid(validation) => Some(validation.at),
                // It is what the client wants it to be, or can never be anything again.
                AuthorizationState::Invalid { .. }
                | AuthorizationState::Deactivated { .. }
                | AuthorizationState::Revoked { .. } => {
                    return Ok((AuthorizationDetails { authorization, thumbprint }, None, Vec::new()));
                }
            };
            let authorization = authorization.deactivate(now)?;
            tx.save_authorization(&authorization)?;
            let mut detail = json!({
                "name": authorization.identifier.to_string(),
                "account": authorization.account.to_string(),
                "order": order.as_ref().map(|order| order.id.to_string()),
            });
            let mut failed = None;
            if let Some(order) = order.filter(|order| order.is_open(now)) {
                let problem = deactivated(&authorization.identifier);
                detail["orderBecame"] = "invalid".into();
                detail["orderDetail"] = describe_with(&order, "problem", problem.to_string());
                failed = Some((order.id, problem.clone()));
                fail_order(tx, order, problem, now)?;
            }
            kernel.audit(tx, &caller, Action::AuthorizationDeactivate, id, &detail)?;
            let mut cascades = Vec::new();
            if let Some(earned_at) = earned_at {
                // By a clock that is a little ahead it may have been earned only now.
                let since = now.max(earned_at);
                let account = authorization.account;
                for given_up in given_up(&authorization) {
                    let cascade = Cascade::GiveUp { account, acme_account, given_up };
                    cascades.push(kernel.enqueue_cascade(tx, &caller, &cascade, since)?);
                }
            }
            Ok((AuthorizationDetails { authorization, thumbprint }, failed, cascades))
        };
        match self.kernel.store_of(by.caller.reseller).write(deactivate).await {
            Err(error) => {
                Err(self.kernel.tell_refused(&by.caller, About::Authorization(id), "authorization", error).await)
            }
            Ok((details, failed, cascades)) => {
                if let Some((order, problem)) = failed {
                    self.kernel.tell_failed(order, "authorization", &problem).await;
                }
                if !cascades.is_empty() {
                    cascades::begin(&self.kernel, by.caller.reseller, cascades).await;
                }
                Ok(details)
            }
        }
    }
}

/// What is given up with a permission: its name and, if it is for all names below one, those.
fn given_up(authorization: &Authorization) -> Vec<GivenUp> {
    let below = authorization.namespace.clone().map(GivenUp::Below);
    std::iter::once(GivenUp::Name(authorization.identifier.clone())).chain(below).collect()
}
