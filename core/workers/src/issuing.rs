//! Issues certificates, with what others have to do for it: CAA is asked again, and logs are shown it.

use std::time::{Duration, Instant};

use chancery_domain::OrderId;
use chancery_fair::Place;
use chancery_pki::Sct;
use chancery_service::{Issuance, Job, LogAssignment, Next, SPANS, ServiceError};
use tracing::Instrument;

use crate::{MOST_ATTEMPTS, Workers, gave_up};

/// How soon logs are shown something again that too few of them took; then after twice as long each time.
const PAUSE_FOR_LOGS: Duration = Duration::from_secs(1);
/// A job that a token or logs kept from its end is begun so often: with every lease, for about an hour.
const MOST_FOR_OTHERS: i64 = 240;

impl Workers {
    /// Issues an order. `place` is its slot among those that are issued at a time, which others get while logs are asked.
    pub(crate) async fn issue(&self, whose: &str, job: &Job, mut place: Option<Place>) -> Result<(), ServiceError> {
        let Ok(id) = job.subject.parse::<OrderId>() else { return self.services.jobs.drop_unreadable(job).await };
        let issuance = self.services.issuance.for_reseller(job.reseller);
        let tried_often = job.attempts > MOST_ATTEMPTS;
        if tried_often && (job.attempts > MOST_FOR_OTHERS || !issuance.needs_others(id).await?) {
            return issuance.fail(id, gave_up()).await;
        }
        let mut began = Instant::now();
        loop {
            let issued = match issuance.issue(id).await {
                Ok(Next::Done) => return Ok(()),
                Ok(Next::AskCaa(names)) => self.ask_caa(whose, &issuance, id, names).await,
                Ok(Next::ShowLogs(assignment)) => {
                    // Logs may take their time, in which others can be issued.
                    let had_place = place.take().is_some();
                    let shown = self.show_logs_in_turn(whose, job, &issuance, &assignment, had_place).await;
                    if had_place {
                        place = Some(self.places.issuing.acquire(whose).await);
                    }
                    began = Instant::now();
                    shown
                }
                Err(error) => Err(error),
            };
            match issued {
                Err(error) if self.may_try_again(job, began, &error).await => {}
                Err(away @ (ServiceError::Signer(_) | ServiceError::Logs(_))) => return Err(away),
                Err(passing) if passing.is_transient() => return Err(passing),
                Err(_) if tried_often => return issuance.fail(id, gave_up()).await,
                issued => issued?,
            }
        }
    }

    /// What logs have promised is kept until it can be written: they are not asked anew for our sake. Where they fail for a
    /// moment, and `patiently`, whoever waits for it need not wait for the lease to end, too.
    async fn show_logs_in_turn(
        &self,
        whose: &str,
        job: &Job,
        issuance: &Issuance,
        assignment: &LogAssignment,
        patiently: bool,
    ) -> Result<(), ServiceError> {
        let (began, mut pause) = (Instant::now(), PAUSE_FOR_LOGS);
        let scts = loop {
            let place = self.places.showing.acquire(whose).await;
            match self.show_logs(assignment).await {
                Err(ServiceError::Logs(_))
                    if patiently && began.elapsed() + pause < self.services.jobs.lease_time() =>
                {
                    drop(place);
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                shown => break shown?,
            }
        };
        self.persistently(job, || issuance.note_promises(assignment, scts.clone())).await
    }

    async fn show_logs(&self, assignment: &LogAssignment) -> Result<Vec<Sct>, ServiceError> {
        let span = tracing::trace_span!(target: SPANS, "issuance.logs");
        self.logs.gather(assignment).instrument(span).await.map_err(ServiceError::Logs)
    }
}
