//! How an order ends for which nothing is issued, or is put back.

use chancery_domain::{AccountError, Action, Order, OrderId, ProblemKind, ValidationProblem, Via};
use chancery_store::Tx;
use serde_json::json;

use super::Issuance;
use crate::error::ServiceError;
use crate::issuance_rules::{Parties, as_problem, standing_authorizations};
use crate::kernel::Kernel;
use crate::orders::{describe_with, fail_order, put_back_order};
use crate::refused;

impl Issuance {
    /// Ends an order whose draft must not be signed: a mistake of ours.
    pub(super) async fn unsignable(&self, id: OrderId, reason: &ServiceError) -> Result<(), ServiceError> {
        tracing::error!(order = %id, %reason, "a draft could not be signed");
        let detail = "the certificate could not be signed; the operator has been told".to_owned();
        self.fail(id, ValidationProblem { kind: ProblemKind::ServerInternal, detail }).await
    }

    /// Ends an order that cannot be issued. A verdict that comes too late, because the order has ended or the job is
    /// another node's by now, changes nothing.
    pub async fn fail(&self, id: OrderId, problem: ValidationProblem) -> Result<(), ServiceError> {
        self.end(id, problem, None).await
    }

    /// Ends an order that cannot be issued. What a policy or a quota refuses, as the error says, is told as such, too.
    async fn end(
        &self,
        id: OrderId,
        problem: ValidationProblem,
        error: Option<ServiceError>,
    ) -> Result<(), ServiceError> {
        let (me, why) = (self.clone(), problem.clone());
        let failed = self
            .store()
            .write(move |tx| {
                let Some(order) = me.claim(tx, id)? else { return Ok(false) };
                error.iter().try_for_each(|error| refused::write_end(&me.kernel, tx, &order, error))?;
                let order = fail_order(tx, order, problem.clone(), me.kernel.now())?;
                let detail = describe_with(&order, "problem", problem.to_string());
                me.kernel.audit_own(tx, Some(order.reseller), Action::OrderFail, id, &detail)?;
                Ok::<_, ServiceError>(true)
            })
            .await;
        self.announce(id);
        if failed? {
            self.kernel.tell_failed(id, "issuance", &why).await;
        }
        Ok(())
    }

    /// What becomes of an order for which nothing was issued: an error that may pass is given back, and the job is tried
    /// again.
    pub(super) async fn settle(&self, id: OrderId, error: ServiceError) -> Result<(), ServiceError> {
        match &error {
            ServiceError::Account(AccountError::Suspended) => return self.put_back(id, "suspended", error).await,
            ServiceError::QuotaExceeded { .. } => return self.put_back(id, "quota", error).await,
            _ => {}
        }
        if let ServiceError::Internal(reason) = &error {
            tracing::error!(order = %id, %reason, "an order could not be issued");
        }
        match as_problem(&error) {
            Some(problem) => self.end(id, problem, Some(error)).await,
            None => Err(error),
        }
    }

    /// Puts an order back to where it can be finalized again, since account or reseller are suspended or others have used up
    /// a quota; unless the account has ended or a permission was given up since, which cancelled open orders and found this one at
    /// work. A quota ends
    /// orders of ACME: their clients wait for a certificate or for an end, and would finalize nothing twice.
    async fn put_back(&self, id: OrderId, because: &'static str, error: ServiceError) -> Result<(), ServiceError> {
        let (me, why) = (self.clone(), error.clone());
        let back = self
            .store()
            .write(move |tx| {
                let Some(order) = me.claim(tx, id)? else { return Ok(false) };
                Parties::hold(tx, &order)?.account.require_alive()?;
                require_standing(&me.kernel, tx, &order)?;
                if order.via == Via::Acme && matches!(error, ServiceError::QuotaExceeded { .. }) {
                    return Err(error.clone());
                }
                refused::write_end(&me.kernel, tx, &order, &error)?;
                let (reseller, mut detail) = (order.reseller, describe_with(&order, "because", because));
                let dropped = put_back_order(tx, order, me.kernel.now())?;
                detail["droppedSerial"] = json!(dropped);
                me.kernel.audit_own(tx, Some(reseller), Action::OrderPutBack, id, &detail)?;
                Ok::<_, ServiceError>(true)
            })
            .await;
        if let Err(
            end @ (ServiceError::Account(AccountError::Terminated(_))
            | ServiceError::QuotaExceeded { .. }
            | ServiceError::Unissuable(_)),
        ) = back
        {
            let problem = as_problem(&end).ok_or_else(|| end.clone())?;
            return self.end(id, problem, Some(end)).await;
        }
        self.announce(id);
        if back? {
            self.kernel.tell_put_back(id, &why).await;
        }
        Ok(())
    }

    /// Tells those who wait for the order that it has ended.
    pub(super) fn announce(&self, id: OrderId) {
        self.kernel.ended.tell(id);
    }
}

/// That every name is still authorized: whoever finds an order ready may finalize it.
fn require_standing(kernel: &Kernel, tx: &mut Tx<'_>, order: &Order) -> Result<(), ServiceError> {
    let standing = standing_authorizations(kernel, tx, order.id)?;
    if standing.len() == order.authorizations.len() && standing.iter().all(|each| each.validation().is_some()) {
        return Ok(());
    }
    let detail = "control of a name that it stands on was given up; order again".to_owned();
    Err(ServiceError::Unissuable(ValidationProblem { kind: ProblemKind::Unauthorized, detail }))
}
