//! The codes of an authorization: one for each way in which control of its name may be shown.

use chancery_domain::policy::Request;
use chancery_domain::{
    Action, Authorization, AuthorizationId, Challenge, ChallengeId, ChallengeState, ChallengeType, Order, OrderError,
    OrderState, Scope,
};
use chancery_jose::SigningKey;
use chancery_store::Tx;
use data_encoding::BASE64URL_NOPAD;
use serde_json::json;

use super::{AuthorizationDetails, Authorizations, lock, profile_of, require_alive};
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::kernel::{Kernel, sealed_column};
use crate::orders::thumbprint;
use crate::policies::{Decision, PolicyEvaluation, has_room, require_none};
use crate::telling::About;

impl Authorizations {
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
            .write_decided(caller.reseller, &PolicyEvaluation::none(), move |tx, decision| {
                let (authorization, order) = lock(tx, &by, id)?;
                require_alive(&kernel, &authorization, order.as_ref())?;
                let thumbprint = Some(account_thumbprint(&kernel, tx, &authorization)?);
                // Those of an order that has failed still tell what became of them, where there are any.
                let Some(order) = order.filter(|_| authorization.challenges.is_empty()) else {
                    return Ok(AuthorizationDetails { authorization, thumbprint });
                };
                if let OrderState::Invalid { problem, .. } = &order.state {
                    return Err(OrderError::Failed(problem.clone()).into());
                }
                let authorization = with_codes(&kernel, tx, authorization, &order, decision)?;
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
}

fn with_codes(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    authorization: Authorization,
    order: &Order,
    decision: &Decision<()>,
) -> Result<Authorization, ServiceError> {
    let now = kernel.now();
    let policies = decision.policies(tx, order.reseller, order.account)?;
    let profile = profile_of(kernel, order)?;
    let kinds = policies.methods(&authorization.identifier, profile);
    let has_account = authorization.acme_account.is_some();
    let place = authorization.shown_at();
    let possible = |kind: &ChallengeType| (has_account || !kind.needs_acme_account()) && has_room(*kind, &place);
    let kinds: Vec<_> = kinds.into_iter().filter(possible).collect();
    if kinds.is_empty() {
        // A policy came after the order.
        let asked = Request::of(profile, std::slice::from_ref(&authorization.identifier));
        require_none(policies.names_without_method(&asked))?;
        require_none(policies.names_without_method_outside_acme(&asked))?;
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
