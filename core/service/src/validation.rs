//! What the validation worker asks and tells: what to look for, and what was seen.

use std::sync::{Arc, Weak};
use std::time::Duration;

use chancery_domain::{
    Action, Attempt, Authorization, AuthorizationStatus, CaaEvidence, Challenge, ChallengeId, ChallengeState,
    ChallengeType, Identifier, Order, OrderId, OrderState, OrderStatus, ResellerId, Timestamp, ValidationProblem,
    Verification,
};
use chancery_store::{JobKind, Tx};
use serde_json::{Value, json};

use crate::authorizations::Looker;
use crate::error::ServiceError;
use crate::failures::{self, Failed};
use crate::fault::{self, Step};
use crate::kernel::Kernel;
use crate::orders::{describe, describe_with, fail_order, hopeless, thumbprint};

/// How long a record that persists is relied on, whatever its TTL, for the order it was looked at for
/// (Baseline Requirements section 3.2.2.4.22).
const PERSISTENT_RECORDS_HOLD: Duration = Duration::from_secs(8 * 3600);

/// What has to be looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub challenge: ChallengeId,
    pub identifier: Identifier,
    /// Where: at the identifier itself, or at a name above it.
    pub place: Identifier,
    pub kind: ChallengeType,
    pub token: String,
    pub key_authorization: String,
    /// How CAA records may name the account (RFC 8657).
    pub account_uri: String,
}

/// What was seen: every look, and then either what CAA said or why it failed.
#[derive(Clone, Debug)]
pub struct Report {
    pub attempts: Vec<Attempt>,
    pub outcome: Result<CaaEvidence, ValidationProblem>,
    /// When what was seen says that it ends, where it does.
    pub until: Option<Timestamp>,
    /// The remote perspectives that saw it as well.
    pub agreed: Vec<String>,
}

impl Report {
    /// What was seen by nobody else, without looks that would be worth keeping.
    pub fn new(outcome: Result<CaaEvidence, ValidationProblem>) -> Self {
        Self { attempts: Vec::new(), outcome, until: None, agreed: Vec::new() }
    }

    /// Cut to what is kept of a report.
    pub(crate) fn bounded(self) -> Self {
        let outcome = self.outcome.map_err(ValidationProblem::bounded);
        Self { attempts: Attempt::kept(self.attempts), outcome, ..self }
    }
}

#[derive(Clone)]
pub struct Validations {
    kernel: Arc<Kernel>,
    /// Charged for the units of work.
    reseller: Option<ResellerId>,
}

impl Validations {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel, reseller: None }
    }

    /// Validations whose units of work are charged to a reseller.
    #[must_use]
    pub fn for_reseller(&self, reseller: Option<ResellerId>) -> Self {
        Self { kernel: self.kernel.clone(), reseller }
    }

    /// Names who looks in this process where that is to be done at once.
    pub fn look_with(&self, looker: Weak<dyn Looker>) {
        self.kernel.looking.be_done_by(looker);
    }

    /// What to look for, or nothing where the challenge has been decided or given up; then its job is done. Where it has only
    /// lapsed, by this node's clock, there is nothing to look for either, and the job is tried again: another's may be right.
    pub async fn begin(&self, id: ChallengeId) -> Result<Option<Assignment>, ServiceError> {
        let kernel = self.kernel.clone();
        let begun = self.kernel.store_of(self.reseller).glance(move |tx| begun(&kernel, tx, id)).await?;
        if let Begun::Decided = begun {
            // For ever: nothing can happen in between that would need the job.
            self.kernel.store_of(self.reseller).write(move |tx| tx.finish_job(JobKind::Validate, id)).await?;
        }
        fault::reached(Step::ToLook);
        match begun {
            Begun::ToLook(assignment) => Ok(Some(*assignment)),
            Begun::Decided | Begun::Lapsed => Ok(None),
        }
    }

    /// Gives the job of a look up that has lapsed by every clock that it was tried by.
    pub async fn forget(&self, id: ChallengeId) -> Result<(), ServiceError> {
        Ok(self.kernel.store_of(self.reseller).write(move |tx| tx.finish_job(JobKind::Validate, id)).await?)
    }

    /// Keeps the looks so far at a challenge that is still being looked at, for those who wonder why it takes so long.
    pub async fn note_looks(&self, id: ChallengeId, so_far: Vec<Attempt>) -> Result<(), ServiceError> {
        let so_far = Attempt::kept(so_far);
        let unit = move |tx: &mut Tx<'_>| {
            tx.lock_order_of(id.authorization())?;
            let authorization = tx.any_authorization(id.authorization())?;
            match authorization.and_then(|found| found.note_attempts(id, so_far.clone())) {
                Some(noted) => Ok(tx.save_authorization(&noted)?),
                None => Ok(()),
            }
        };
        self.kernel.store_of(self.reseller).write(unit).await
    }

    /// Takes note of what was seen. Authorization and order change together: a name that is shown may make the order
    /// ready, one that is not ends it. A report that comes too late, because the job is another node's by now or the
    /// order has ended, changes nothing.
    pub async fn conclude(&self, id: ChallengeId, report: Report) -> Result<(), ServiceError> {
        let kernel = self.kernel.clone();
        let report = report.bounded();
        let problem = report.outcome.as_ref().err().cloned();
        let concluded = self
            .kernel
            .store_of(self.reseller)
            .write(move |tx| {
                // Orders are locked before jobs.
                let order = tx.lock_order_of(id.authorization())?;
                if !tx.conclude_job(JobKind::Validate, id, &kernel.node)? {
                    return Ok(None);
                }
                let Some(authorization) = tx.any_authorization(id.authorization())? else { return Ok(None) };
                let decided = conclude(&kernel, tx, id, authorization, order, &report)?;
                fault::reached(Step::Concluding);
                Ok::<_, ServiceError>(decided)
            })
            .await;
        fault::reached(Step::Concluded);
        self.kernel.decided.tell(id);
        if let Some(decided) = concluded? {
            decided.announce(&self.kernel, problem).await;
        }
        Ok(())
    }
}

/// How a look begins.
enum Begun {
    ToLook(Box<Assignment>),
    Decided,
    Lapsed,
}

fn begun(kernel: &Kernel, tx: &mut Tx<'_>, id: ChallengeId) -> Result<Begun, ServiceError> {
    let Some(authorization) = tx.any_authorization(id.authorization())? else { return Ok(Begun::Decided) };
    let Some(challenge) = authorization.challenge(id) else { return Ok(Begun::Decided) };
    if !matches!(challenge.state, ChallengeState::Processing { .. }) {
        return Ok(Begun::Decided);
    }
    match authorization.status(kernel.now()) {
        AuthorizationStatus::Pending => {}
        AuthorizationStatus::Expired => return Ok(Begun::Lapsed),
        AuthorizationStatus::Valid
        | AuthorizationStatus::Invalid
        | AuthorizationStatus::Deactivated
        | AuthorizationStatus::Revoked => return Ok(Begun::Decided),
    }
    let thumbprint = thumbprint(tx, authorization.account, authorization.acme_account)?;
    let thumbprint = thumbprint.ok_or_else(|| ServiceError::internal("a challenge without an account key"))?;
    Ok(Begun::ToLook(Box::new(Assignment::of(kernel, &authorization, challenge, &thumbprint))))
}

impl Assignment {
    pub(crate) fn of(kernel: &Kernel, of: &Authorization, challenge: &Challenge, thumbprint: &str) -> Self {
        Self {
            challenge: challenge.id,
            identifier: of.identifier.clone(),
            place: of.shown_at(),
            kind: challenge.kind,
            token: challenge.token.clone(),
            key_authorization: format!("{}.{thumbprint}", challenge.token),
            account_uri: kernel.settings.applicant_uri(of.account, of.acme_account),
        }
    }
}

/// A challenge that has its verdict.
pub(crate) struct Decided {
    pub(crate) authorization: Authorization,
    method: ChallengeType,
    /// Its order has failed with it.
    ends_order: bool,
    /// Its order, where that has failed by another of its names, which was given up.
    given_up: Option<(OrderId, ValidationProblem)>,
    /// What has failed, if it has by the applicant's fault.
    failed: Option<Failed>,
}

impl Decided {
    /// Tells of it, once it is durable.
    pub(crate) async fn announce(&self, kernel: &Kernel, problem: Option<ValidationProblem>) {
        let outcome = problem.as_ref().map_or("valid", |problem| problem.kind.as_str());
        metrics::counter!("chancery_validations_total", "method" => self.method.as_str(), "outcome" => outcome)
            .increment(1);
        self.failed.iter().for_each(|failed| failed.note(kernel));
        if let Some(problem) = &problem {
            kernel.tell_not_shown(self.authorization.id, self.ends_order, problem).await;
        }
        if let Some((order, problem)) = &self.given_up {
            kernel.tell_failed(*order, "authorization", problem).await;
        }
    }
}

/// Writes down what was seen, with the order locked. None where the verdict comes too late to change anything.
pub(crate) fn conclude(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    id: ChallengeId,
    authorization: Authorization,
    order: Option<Order>,
    report: &Report,
) -> Result<Option<Decided>, ServiceError> {
    let now = kernel.now();
    let issuing = &kernel.settings.issuing;
    let mut others = match &order {
        Some(order) if order.identifiers.len() > 1 => tx.authorizations(order.id)?,
        Some(_) | None => Vec::new(),
    };
    others.retain(|other| other.id != authorization.id);
    let verification = match &report.outcome {
        Ok(caa) => Verification::Shown {
            agreed: report.agreed.clone(),
            fit_for_public: issuing.fit_for_public,
            caa: caa.clone(),
        },
        Err(problem) => Verification::Failed(problem.clone()),
    };
    let keep = match authorization.challenge(id) {
        Some(challenge) if !challenge.kind.counts_later() => issuing.order_lifetime.min(PERSISTENT_RECORDS_HOLD),
        Some(_) | None => issuing.reuse.max(issuing.order_lifetime),
    };
    let until = report.until.map_or(now.plus(keep), |until| until.min(now.plus(keep)));
    let Ok(authorization) = authorization.conclude(id, report.attempts.clone(), verification, until, now) else {
        return Ok(None);
    };
    let ends_order = order.as_ref().is_some_and(|order| is_under_way(order, now)) && report.outcome.is_err();
    tx.save_authorization(&authorization)?;
    let mut detail = match &report.outcome {
        Ok(_) => json!({"name": authorization.identifier.to_string(), "shown": true}),
        Err(problem) => json!({"name": authorization.identifier.to_string(), "problem": problem.to_string()}),
    };
    if !report.agreed.is_empty() {
        detail["agreed"] = report.agreed.clone().into();
        if let Ok(caa) = &report.outcome {
            detail["agreedToCaa"] = caa.agreed.clone().into();
        }
    }
    detail["account"] = authorization.account.to_string().into();
    let failed = match &report.outcome {
        Ok(_) => {
            failures::forgive(kernel, tx, &authorization)?;
            None
        }
        Err(problem) => failures::count(kernel, tx, &authorization, problem)?,
    };
    let given_up = match order {
        Some(order) => tell_order(tx, order, &authorization, &others, report, &mut detail, now)?,
        None => None,
    };
    kernel.audit_own(tx, Some(authorization.reseller), Action::ChallengeValidate, id, &detail)?;
    let method = authorization.challenge(id).map(|challenge| challenge.kind);
    Ok(method.map(|method| Decided { authorization, method, ends_order, given_up, failed }))
}

/// Whether anything can still become of an order.
fn is_under_way(order: &Order, now: Timestamp) -> bool {
    match order.status(now) {
        OrderStatus::Pending | OrderStatus::Ready | OrderStatus::Processing => true,
        OrderStatus::Valid | OrderStatus::Invalid | OrderStatus::Cancelled | OrderStatus::Expired => false,
    }
}

/// Applies what was seen of one name to its order, and notes in the detail what became of it. Gives the order back where it
/// fails although this name was shown.
fn tell_order(
    tx: &mut Tx<'_>,
    order: Order,
    authorization: &Authorization,
    others: &[Authorization],
    report: &Report,
    detail: &mut Value,
    now: Timestamp,
) -> Result<Option<(OrderId, ValidationProblem)>, ServiceError> {
    detail["order"] = order.id.to_string().into();
    if !is_under_way(&order, now) {
        return Ok(None);
    }
    match &report.outcome {
        Err(problem) => {
            let why = format!("{}: {}", authorization.identifier, problem.detail);
            let problem = ValidationProblem { kind: problem.kind, detail: why };
            fail(tx, order, problem, detail, now)?;
        }
        Ok(_) if order.state == OrderState::Pending => {
            // A node that does not fail the orders of what is given up may run beside this one, and an order may come
            // while that is written.
            if let Some(problem) = hopeless(others, now) {
                let id = order.id;
                fail(tx, order, problem.clone(), detail, now)?;
                return Ok(Some((id, problem)));
            }
            let is_valid = |each: &Authorization| each.status(now) == AuthorizationStatus::Valid;
            let all = is_valid(authorization) && others.iter().all(is_valid);
            let shortened = authorization.expires_at < order.expires_at;
            let order = order.end_by(authorization.expires_at, now);
            if shortened {
                tx.lapse_earlier(order.certificate, order.expires_at)?;
            }
            match all {
                true => {
                    detail["orderBecame"] = "ready".into();
                    detail["orderDetail"] = describe(&order);
                    tx.save_order(&order.make_ready(now))?;
                }
                false if shortened => tx.save_order(&order)?,
                false => {}
            }
        }
        Ok(_) => {}
    }
    Ok(None)
}

fn fail(
    tx: &mut Tx<'_>,
    order: Order,
    problem: ValidationProblem,
    detail: &mut Value,
    now: Timestamp,
) -> Result<(), ServiceError> {
    detail["orderBecame"] = "invalid".into();
    detail["orderDetail"] = describe_with(&order, "problem", problem.to_string());
    fail_order(tx, order, problem, now)?;
    Ok(())
}
