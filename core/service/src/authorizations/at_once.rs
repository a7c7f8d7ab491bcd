//! A challenge that is looked at before its choice is written down: where the answer is there in a moment, choice and
//! verdict are one unit of work. Nobody is told of a choice that is not durable, so a crash in between loses nothing; and
//! nobody looks for a choice that would not stand.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use async_trait::async_trait;
use chancery_domain::{
    AuthorizationId, AuthorizationState, AuthorizationStatus, ChallengeId, ChallengeState, ResellerId,
};
use chancery_overload::InFlightGuard;
use chancery_store::{Job, JobKind, Tx};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::Instrument;

use super::choice::{audit_choice, choose, judge_method, require_open};
use super::{Authorizations, ChallengeDetails, of_challenge, own};
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::fault::{self, Step};
use crate::kernel::Kernel;
use crate::policies::{Decision, PolicyEvaluation, Subject};
use crate::refused::Refused;
use crate::telling::About;
use crate::validation::{Assignment, Report, Validations, conclude};

/// Looks for what shows control of a name.
#[async_trait]
pub trait Looker: Send + Sync {
    async fn look(&self, whose: ResellerId, assignment: &Assignment) -> Report;

    /// Holds on to the job of a look that goes on, and gives it to others where this process stops.
    fn hold(&self, _: &Job) {}

    /// That look has ended.
    fn let_go(&self, _: &Job) {}
}

/// Who looks at challenges in this process, and the authorizations that are being looked at, each by one request.
#[derive(Default)]
pub(crate) struct Looking {
    looker: OnceLock<Weak<dyn Looker>>,
    at: Mutex<HashSet<AuthorizationId>>,
}

impl Looking {
    /// Names who looks, for as long as they are there.
    pub(crate) fn be_done_by(&self, looker: Weak<dyn Looker>) {
        if self.looker.set(looker).is_err() {
            tracing::warn!("somebody else looks already in this process");
        }
    }
}

/// An authorization in hand.
struct Taken {
    kernel: Arc<Kernel>,
    id: AuthorizationId,
    _in_flight: InFlightGuard,
}

impl Taken {
    /// Marks an authorization as looked at in this process; none where it is already.
    fn take(kernel: &Arc<Kernel>, whose: ResellerId, id: AuthorizationId) -> Option<Self> {
        let fresh = kernel.looking.at.lock().insert(id);
        // Made only where the mark is ours: to drop it takes the mark away.
        fresh.then(|| Self { kernel: kernel.clone(), id, _in_flight: kernel.in_flight.start(whose) })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.kernel.looking.at.lock().remove(&self.id);
    }
}

/// Lets go of a job whose look panics: its lease ends, and it is tried again.
struct Holding<'a> {
    looker: &'a dyn Looker,
    job: &'a Job,
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.looker.let_go(self.job);
        }
    }
}

type Told = Result<Option<ChallengeDetails>, ServiceError>;

impl Authorizations {
    /// Looks, and then chooses and concludes; where it takes longer than that, chooses and goes on looking. None where
    /// nobody looks here, where the order has more than so many names, or where anything is unusual: then the challenge is
    /// to be chosen first.
    pub(crate) async fn choose_at_once(
        &self,
        caller: &Caller,
        id: ChallengeId,
        most_names: usize,
        wait: Duration,
    ) -> Told {
        let Some(looker) = self.kernel.looking.looker.get().and_then(Weak::upgrade) else { return Ok(None) };
        // From before it is asked who looks: the other one may be done a moment later.
        let decided = self.kernel.decided.watch(id);
        let Some(taken) = Taken::take(&self.kernel, caller.reseller, id.authorization()) else {
            // What the other look comes to is as good.
            decided.at_most(wait).await;
            return Ok(None);
        };
        let Some(assignment) = self.foresee(caller, id, most_names).await? else { return Ok(None) };
        fault::reached(Step::ToLook);
        let (tell, told) = oneshot::channel();
        let (me, caller) = (self.clone(), caller.clone());
        let work = async move {
            me.look_and_conclude(looker.as_ref(), &caller, &assignment, wait, tell).await;
            drop(taken);
            // Who found it taken a moment ago waits for this.
            me.kernel.decided.tell(id);
        };
        // A client that goes away takes nothing with it.
        tokio::spawn(work.in_current_span());
        told.await.map_err(ServiceError::internal)?
    }

    async fn look_and_conclude(
        &self,
        looker: &dyn Looker,
        caller: &Caller,
        assignment: &Assignment,
        wait: Duration,
        tell: oneshot::Sender<Told>,
    ) {
        let id = assignment.challenge;
        let mut look = looker.look(caller.reseller, assignment);
        if let Ok(report) = timeout(wait, &mut look).await {
            // Nobody hears it where the client has gone.
            let _ = tell.send(self.choose_and_conclude(caller, id, report).await.map(Some));
            return;
        }
        let chosen = self.choose_only(caller, id).await;
        let stands = chosen.is_ok();
        let _ = tell.send(chosen.map(|chosen| Some(chosen.details)));
        if !stands {
            return;
        }
        let (subject, reseller) = (id.to_string(), Some(caller.reseller));
        let job = Job { kind: JobKind::Validate, subject, attempts: 1, reseller };
        looker.hold(&job);
        let concluded = {
            let _holding = Holding { looker, job: &job };
            Validations::new(self.kernel.clone()).for_reseller(job.reseller).conclude(id, look.await).await
        };
        looker.let_go(&job);
        if let Err(error) = concluded {
            tracing::debug!(%error, challenge = %id, "what was seen could not be written; the job looks again");
            self.kernel.start(job);
        }
    }

    /// Choice and verdict in one unit of work.
    async fn choose_and_conclude(
        &self,
        caller: &Caller,
        id: ChallengeId,
        report: Report,
    ) -> Result<ChallengeDetails, ServiceError> {
        let (kernel, by, report) = (self.kernel.clone(), caller.clone(), report.bounded());
        let problem = report.outcome.as_ref().err().cloned();
        let refused = Refused::default();
        let noted = refused.clone();
        let unit = move |tx: &mut Tx<'_>, decision: &Decision<()>| {
            let (authorization, order) = choose(&kernel, tx, &by, id, decision, &noted)?;
            audit_choice(&kernel, tx, &by, id, &authorization)?;
            let decided = conclude(&kernel, tx, id, authorization, order, &report)?;
            let decided = decided.ok_or_else(|| ServiceError::internal("a choice without a verdict"))?;
            fault::reached(Step::Concluding);
            let details = of_challenge(tx, &by, decided.authorization.clone(), id)?;
            Ok::<_, ServiceError>((decided, details))
        };
        match self.kernel.write_decided(caller.reseller, &PolicyEvaluation::none(), unit).await {
            Ok((decided, details)) => {
                fault::reached(Step::Concluded);
                self.kernel.decided.tell(id);
                decided.announce(&self.kernel, problem).await;
                Ok(details)
            }
            // Another was quicker: what it has come to is told as if this had come later.
            Err(tried @ ServiceError::AlreadyTried(_)) => Err(tried),
            Err(error) => {
                let about = About::Authorization(id.authorization());
                Err(refused.answer(&self.kernel, caller, about, "challenge", error).await)
            }
        }
    }

    /// What there is to look for, if the choice is going to stand.
    async fn foresee(
        &self,
        caller: &Caller,
        id: ChallengeId,
        most_names: usize,
    ) -> Result<Option<Assignment>, ServiceError> {
        let (kernel, by) = (self.kernel.clone(), caller.clone());
        let read = move |tx: &mut Tx<'_>| {
            let authorization = match own(tx, &by, id.authorization()) {
                Ok(authorization) => authorization,
                Err(ServiceError::NotFound(..)) => return Ok(None),
                Err(other) => return Err(other),
            };
            let now = kernel.now();
            let fresh = authorization.state == AuthorizationState::Pending
                && authorization.status(now) == AuthorizationStatus::Pending
                && authorization.tried().is_none();
            let challenge = authorization.challenge(id).filter(|challenge| challenge.state == ChallengeState::Pending);
            let (Some(challenge), Some(thumbprint), true) = (challenge, by.acme_key.as_deref(), fresh) else {
                return Ok(None);
            };
            if let Some(order) = authorization.order {
                let Some(order) = tx.any_order(order)?.filter(|order| order.identifiers.len() <= most_names) else {
                    return Ok(None);
                };
                let policies = kernel.policies.guess(&Subject::new(order.reseller, order.account));
                let stands = require_open(&order, now)
                    .and_then(|()| judge_method(&kernel, &policies, &order, &authorization.identifier, challenge.kind));
                if stands.is_err() {
                    return Ok(None);
                }
            }
            Ok(Some(Assignment::of(&kernel, &authorization, challenge, thumbprint)))
        };
        // A forecast: all of it is asked again, and held, when the choice is made.
        self.kernel.store_of(caller.reseller).peek(read).await
    }
}
