//! Names whose validation fails again and again: held to a rate, and paused in the end.

use chancery_domain::{
    AccountId, Action, Authorization, Failure, Identifier, PauseId, Problem, ProblemKind, ValidationProblem, Violations,
};
use chancery_overload::Limit;
use chancery_store::{FailuresInRow, Tx};
use serde_json::json;

use crate::error::ServiceError;
use crate::kernel::Kernel;
use crate::orders::Reuse;
use crate::pauses::{IN_A_ROW, describe};
use crate::policies::EffectivePolicies;

/// That nothing stands against validating what these authorizations still have to show.
pub(crate) fn require_worth_trying(kernel: &Kernel, authorizations: &[Authorization]) -> Result<(), ServiceError> {
    let unshown = || authorizations.iter().filter(|authorization| authorization.validation().is_none());
    let paused = unshown().filter_map(|authorization| {
        let name = &authorization.identifier;
        kernel.pauses.of(authorization.account, name).map(|pause| (name.clone(), pause))
    });
    let paused: Vec<_> = paused.collect();
    if !paused.is_empty() {
        return Err(ServiceError::Paused(paused));
    }
    let failing = unshown().filter_map(|authorization| {
        let name = &authorization.identifier;
        let refusal = kernel.limits.refusal(Limit::FailedValidations, &whom(authorization.account, name));
        refusal.map(|refusal| (name.clone(), refusal))
    });
    let names: Vec<_> = failing.collect();
    match names.iter().map(|(_, failed)| *failed).max_by_key(|failed| failed.retry_after) {
        Some(last) => Err(ServiceError::Failing { names, last }),
        None => Ok(()),
    }
}

/// The pauses that stand against a new order for these names: against those of them that it would have to show.
pub(crate) fn paused(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    reuse: &Reuse<'_>,
    policies: &EffectivePolicies,
    names: &[Identifier],
) -> Result<Violations, ServiceError> {
    let mut paused = Violations::default();
    for (place, name) in names.iter().enumerate() {
        if let Some(pause) = kernel.pauses.of(reuse.account, name)
            && !reuse.has_shown(tx, policies, name)?
        {
            paused.add("paused", || {
                let message = format!("new orders for {name} are paused until {pause} is lifted");
                Problem::of_name(place, "paused", message)
            });
        }
    }
    Ok(paused)
}

/// A validation that has failed, for what is to be done once that is durable.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    account: AccountId,
    name: Identifier,
    paused: Option<PauseId>,
}

impl Failed {
    pub(crate) fn note(&self, kernel: &Kernel) {
        kernel.limits.charge(Limit::FailedValidations, &whom(self.account, &self.name));
        if let Some(pause) = self.paused {
            kernel.pauses.add(self.account, &self.name, pause);
        }
    }
}

/// Counts a failure that is the applicant's, and pauses the name where it is one too many.
pub(crate) fn count(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    authorization: &Authorization,
    problem: &ValidationProblem,
) -> Result<Option<Failed>, ServiceError> {
    if problem.kind == ProblemKind::ServerInternal {
        return Ok(None);
    }
    let (account, name, now) = (authorization.account, authorization.identifier.clone(), kernel.now());
    let most = i64::from(kernel.limits.settings().caps.failures_to_pause);
    if most == 0 {
        return Ok(Some(Failed { account, name, paused: None }));
    }
    let failure = Failure {
        id: PauseId::new(now, kernel.entropy.as_ref()),
        reseller: authorization.reseller,
        account,
        name: name.clone(),
        problem: problem.to_string(),
        at: now,
    };
    let FailuresInRow { pause: id, number, is_paused } = tx.count_failure(&failure, IN_A_ROW)?;
    let paused = number >= most;
    if paused && !is_paused {
        tx.pause(id, now)?;
        let detail = json!({"account": account.to_string(), "name": name.to_string(), "failures": number});
        kernel.audit_own(tx, Some(authorization.reseller), Action::PauseBegin, id, &detail)?;
    }
    Ok(Some(Failed { account, name, paused: paused.then_some(id) }))
}

/// A success ends what is paused. Where nothing is, it costs nothing: the next failure finds it.
pub(crate) fn forgive(kernel: &Kernel, tx: &mut Tx<'_>, authorization: &Authorization) -> Result<(), ServiceError> {
    let Some(id) = kernel.pauses.of(authorization.account, &authorization.identifier) else { return Ok(()) };
    let Some(pause) = tx.any_pause(id)? else { return Ok(()) };
    // Somebody else may have lifted it meanwhile: that is as good.
    if tx.lift_pause(id)? {
        kernel.audit_own(tx, Some(pause.reseller), Action::PauseLift, id, &describe(&pause))?;
    }
    Ok(())
}

/// Whose bucket a failed validation is taken from.
fn whom(account: AccountId, identifier: &Identifier) -> String {
    format!("{account} {identifier}")
}
