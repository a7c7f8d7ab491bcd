//! A challenge that is looked at before its choice is written down: where the answer is there in a moment, choice and
//! verdict are one unit of work. Nobody is told of a choice that is not durable, so a crash in between loses nothing.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use chancery_domain::{AuthorizationState, ChallengeId, ChallengeState, ResellerId};
use chancery_store::Tx;

use super::{Authorizations, ChallengeDetails, audit_choice, choose, of_challenge, own};
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::fault::{self, Step};
use crate::telling::About;
use crate::validation::{Assignment, Report, conclude};

/// Looks for what shows control of a name.
#[async_trait]
pub trait Looker: Send + Sync {
    async fn look(&self, whose: ResellerId, assignment: &Assignment) -> Report;
}

/// Who looks in this process, and for what in this moment: for each challenge once.
#[derive(Default)]
pub(crate) struct Looking {
    looker: OnceLock<Weak<dyn Looker>>,
    at: Mutex<HashSet<ChallengeId>>,
}

impl Looking {
    /// Names who looks, for as long as they are there.
    pub(crate) fn be_done_by(&self, looker: Weak<dyn Looker>) {
        if self.looker.set(looker).is_err() {
            tracing::warn!("somebody else looks already in this process");
        }
    }

    /// Takes a challenge in hand, unless it is.
    fn take(&self, id: ChallengeId) -> Option<Taken<'_>> {
        let fresh = self.at().insert(id);
        // Only where it is: dropped, it would give up what another has in hand.
        fresh.then(|| Taken { looking: self, id })
    }

    fn at(&self) -> MutexGuard<'_, HashSet<ChallengeId>> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Taken<'a> {
    looking: &'a Looking,
    id: ChallengeId,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.looking.at().remove(&self.id);
    }
}

impl Authorizations {
    /// Looks, and then chooses and concludes. None where nobody looks here, where the order has more than so many names,
    /// where it takes longer than that, or where anything is unusual: then the challenge is to be chosen first.
    pub(crate) async fn choose_at_once(
        &self,
        caller: &Caller,
        id: ChallengeId,
        most_names: usize,
        wait: Duration,
    ) -> Result<Option<ChallengeDetails>, ServiceError> {
        let looking = &self.kernel.looking;
        let Some(looker) = looking.looker.get().and_then(Weak::upgrade) else { return Ok(None) };
        let Some(_taken) = looking.take(id) else { return Ok(None) };
        let Some(assignment) = self.foresee(caller, id, most_names).await? else { return Ok(None) };
        fault::reached(Step::ToLook);
        let looked = tokio::time::timeout(wait, looker.look(caller.reseller, &assignment)).await;
        let Ok(report) = looked else { return Ok(None) };
        let (kernel, by, report) = (self.kernel.clone(), caller.clone(), report.bounded());
        let problem = report.outcome.as_ref().err().cloned();
        let unit = move |tx: &mut Tx<'_>| {
            let (authorization, order) = choose(&kernel, tx, &by, id)?;
            audit_choice(&kernel, tx, &by, id, &authorization)?;
            let decided = conclude(&kernel, tx, id, authorization, order, &report)?;
            let decided = decided.ok_or_else(|| ServiceError::internal("a choice without a verdict"))?;
            fault::reached(Step::Concluding);
            let details = of_challenge(tx, &by, decided.authorization.clone(), id)?;
            Ok::<_, ServiceError>((decided, details))
        };
        match self.kernel.store.write(unit).await {
            Ok((decided, details)) => {
                fault::reached(Step::Concluded);
                self.kernel.decided.tell(id);
                decided.announce(&self.kernel, problem).await;
                Ok(Some(details))
            }
            // Another was quicker: what it has come to is told as if this had come later.
            Err(tried @ ServiceError::AlreadyTried(_)) => Err(tried),
            Err(error) => {
                let about = About::Authorization(id.authorization());
                Err(self.kernel.tell_refused(caller, about, "challenge", error).await)
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
            let fresh = authorization.state == AuthorizationState::Pending && authorization.tried().is_none();
            let (Some(challenge), true) = (authorization.challenge(id), fresh) else { return Ok(None) };
            let few = match authorization.order {
                Some(order) => tx.count_names(order)? <= most_names,
                None => true,
            };
            let Some(thumbprint) = by.acme_key.as_deref().filter(|_| few) else { return Ok(None) };
            let lasts = authorization.status(kernel.now()) == "pending" && challenge.state == ChallengeState::Pending;
            Ok(lasts.then(|| Assignment::of(&kernel, &authorization, challenge, thumbprint)))
        };
        self.kernel.store.glance(read).await
    }
}
