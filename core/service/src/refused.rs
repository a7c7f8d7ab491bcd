//! Orders that policies refuse. Their unit of work comes to nothing, so it is written down soon after, as every refusal is.

use std::sync::{Arc, Mutex, PoisonError};

use chancery_domain::{AccountId, AuditId, Identifier, Problem, Profile};
use chancery_store::{AuditRecord, Outcome};
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::kernel::Kernel;

/// What policies have said within a unit of work, which may run more than once.
#[derive(Clone, Default)]
pub(crate) struct Refused(Arc<Mutex<Option<(AccountId, Value)>>>);

impl Refused {
    /// Keeps a verdict that refuses, and passes it on.
    pub(crate) fn note<T>(
        &self,
        account: AccountId,
        profile: &Profile,
        names: &[Identifier],
        verdict: Result<T, ServiceError>,
    ) -> Result<T, ServiceError> {
        let of = |quota: bool, problems: &[Problem], retry_after: Option<u64>| {
            let names: Vec<_> = names.iter().map(ToString::to_string).collect();
            let problems: Vec<_> = problems.iter().map(describe).collect();
            let profile = profile.name.as_str();
            json!({"quota": quota, "profile": profile, "names": names, "problems": problems, "retryAfter": retry_after})
        };
        let refused = match &verdict {
            Err(ServiceError::PolicyViolation(problems)) => Some(of(false, problems, None)),
            Err(ServiceError::QuotaExceeded { problem, retry_after }) => {
                Some(of(true, std::slice::from_ref(problem), Some(*retry_after)))
            }
            Ok(_) | Err(_) => None,
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = refused.map(|detail| (account, detail));
        verdict
    }

    /// Writes down what was refused, if anything was.
    pub(crate) fn tell(&self, kernel: &Kernel, caller: &Caller) {
        let refused = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((account, detail)) = refused else { return };
        let now = kernel.now();
        kernel.write_later(AuditRecord {
            id: AuditId::new(now, kernel.entropy.as_ref()),
            at: now,
            reseller: Some(caller.reseller),
            actor_kind: caller.actor.kind().to_owned(),
            actor: caller.actor.name().to_owned(),
            address: caller.origin.address.clone(),
            request_id: caller.origin.request_id.clone(),
            action: "order.refuse".to_owned(),
            subject: account.to_string(),
            outcome: Outcome::Refused,
            detail: detail.to_string(),
        });
    }
}

fn describe(problem: &Problem) -> Value {
    json!({"field": problem.field, "code": problem.code, "message": problem.message, "policy": problem.policy})
}
