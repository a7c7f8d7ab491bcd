//! What policies and quotas refuse. Resellers are told of it, so it is durable before it is answered: in a unit of work of
//! its own, since the one that was refused comes to nothing, or in the one that ends an order.

use std::sync::Arc;

use chancery_domain::{AccountId, Action, Identifier, Order, OrderId, Problem, ProfileName, ResellerId};
use chancery_store::{AuditRecord, Outcome, Tx};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::acme::AcmeError;
use crate::caller::{Actor, Caller, Origin};
use crate::error::ServiceError;
use crate::kernel::Kernel;
use crate::telling::About;

/// What a verdict is about.
pub(crate) struct Asked<'a> {
    pub(crate) account: AccountId,
    /// None where it is about a new one.
    pub(crate) order: Option<OrderId>,
    pub(crate) profile: &'a ProfileName,
    pub(crate) names: &'a [Identifier],
}

impl<'a> Asked<'a> {
    pub(crate) fn of(order: &'a Order) -> Self {
        let Order { account, id, profile, identifiers, .. } = order;
        Self { account: *account, order: Some(*id), profile, names: identifiers }
    }

    /// What is written down of an error, if it is such a refusal.
    fn refused(&self, error: &ServiceError) -> Option<Value> {
        let (violations, retry_after) = if let ServiceError::PolicyViolation(violations) = error {
            (violations, None)
        } else if let ServiceError::QuotaExceeded { problems, retry_after } = error {
            (problems, Some(*retry_after))
        } else {
            return None;
        };
        Some(json!({
            "quota": retry_after.is_some(),
            "order": self.order.map(|order| order.to_string()),
            "profile": self.profile.as_str(),
            "names": self.names.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "problems": violations.described().iter().map(describe).collect::<Vec<_>>(),
            "omittedProblems": Some(violations.omitted()).filter(|omitted| *omitted > 0),
            "retryAfter": retry_after,
        }))
    }
}

/// What policies have said within a unit of work, which may run more than once.
#[derive(Clone, Default)]
pub(crate) struct Refused(Arc<Mutex<Option<(AccountId, Value)>>>);

impl Refused {
    /// Keeps a verdict that refuses, and passes it on.
    pub(crate) fn note<T>(&self, asked: &Asked<'_>, verdict: Result<T, ServiceError>) -> Result<T, ServiceError> {
        let refused = verdict.as_ref().err().and_then(|error| asked.refused(error));
        *self.0.lock() = refused.map(|detail| (asked.account, detail));
        verdict
    }

    /// Writes down what was refused, if it was that by which the unit of work has ended; and gives what is to be answered:
    /// where it cannot be written, nobody is told that it was refused.
    pub(crate) async fn settle(&self, kernel: &Kernel, caller: &Caller, error: ServiceError) -> ServiceError {
        let refused = self.0.lock().take();
        let (Some((account, detail)), true) = (refused, may_be_refusal(&error)) else { return error };
        let record = record(kernel, caller.reseller, &caller.actor, &caller.origin, account, &detail);
        let written = kernel.store_of(caller.reseller).write(move |tx| tx.append_audit(&record)).await;
        written.err().map_or(error, ServiceError::from)
    }

    /// Writes down what was refused, as `settle` does, and tells the log what is answered.
    pub(crate) async fn answer(
        &self,
        kernel: &Kernel,
        caller: &Caller,
        about: About,
        step: &'static str,
        error: ServiceError,
    ) -> ServiceError {
        let error = self.settle(kernel, caller, error).await;
        kernel.tell_refused(caller, about, step, error).await
    }
}

/// Writes down what ends an order, if it is such a refusal, in the unit of work that does.
pub(crate) fn write_end(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    order: &Order,
    error: &ServiceError,
) -> Result<(), ServiceError> {
    let Some(detail) = Asked::of(order).refused(error) else { return Ok(()) };
    let (actor, origin) = (Actor::Service, Origin::default());
    Ok(tx.append_audit(&record(kernel, order.reseller, &actor, &origin, order.account, &detail))?)
}

/// Whether policies or quotas can have said so, in the words of either door.
fn may_be_refusal(error: &ServiceError) -> bool {
    matches!(
        error,
        ServiceError::PolicyViolation(_)
            | ServiceError::QuotaExceeded { .. }
            | ServiceError::Acme(AcmeError::Rejected(..) | AcmeError::BadCsr(_))
    )
}

fn record(
    kernel: &Kernel,
    reseller: ResellerId,
    actor: &Actor,
    origin: &Origin,
    account: AccountId,
    detail: &Value,
) -> AuditRecord {
    let line =
        kernel.audit_line(Some(reseller), actor, origin, Action::OrderRefuse.as_str(), account.to_string(), detail);
    AuditRecord { outcome: Outcome::Refused, ..line }
}

fn describe(problem: &Problem) -> Value {
    json!({"field": problem.field, "code": problem.code, "message": problem.message, "policy": problem.policy})
}
