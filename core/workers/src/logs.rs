//! Shows logs what is going to be issued, until enough of them have promised to show it to everybody.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chancery_domain::Clock;
use chancery_pki::{Log, LogId, Sct};
use chancery_publish::{LogClient, LogError};
use chancery_service::{LogAssignment, SPANS, ServiceError};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument;

use crate::Workers;

#[cfg(test)]
mod tests;

/// Whoever has not answered after this is not waited for alone: another is shown it, too.
const SLOW: Duration = Duration::from_secs(2);
/// Whoever failed is asked after all others for so long.
const REST: Duration = Duration::from_secs(30);

const OUTCOMES: [&str; 3] = ["promised", "failed", "wrong"];
const GATHERED: [&str; 2] = ["enough", "too_few"];

/// What a log answers, when it does.
pub type Promised<'a> = Pin<Box<dyn Future<Output = Result<Sct, LogError>> + Send + 'a>>;

/// Keeps a log.
pub trait LogKeeper: Send + Sync {
    /// Shows it a chain of certificates in DER that begins with a precertificate.
    fn show<'a>(&'a self, chain: &'a [Vec<u8>]) -> Promised<'a>;
}

impl LogKeeper for LogClient {
    fn show<'a>(&'a self, chain: &'a [Vec<u8>]) -> Promised<'a> {
        Box::pin(async move {
            let answer = self.add_pre_chain(chain).await?;
            let (log, timestamp) = (LogId::from_bytes(answer.id), answer.timestamp);
            Ok(Sct { log, timestamp, extensions: answer.extensions, signature: answer.signature })
        })
    }
}

/// The logs that this process can ask.
pub struct Logs {
    keepers: Vec<Kept>,
    clock: Arc<dyn Clock>,
    /// How long one is waited for alone.
    patience: Duration,
    /// Where the next begins to ask, so that all have their share.
    turn: AtomicUsize,
}

/// One of them.
struct Kept {
    id: LogId,
    name: String,
    keeper: Arc<dyn LogKeeper>,
    /// Until when it is asked after all others.
    rests: Mutex<Option<Instant>>,
}

impl Logs {
    pub fn new(keepers: Vec<(Log, Arc<dyn LogKeeper>)>, clock: Arc<dyn Clock>) -> Self {
        let kept = |(log, keeper): (Log, _)| Kept { id: log.key.id(), name: log.name, keeper, rests: Mutex::default() };
        let keepers: Vec<_> = keepers.into_iter().map(kept).collect();
        // Whoever watches can tell nothing from not yet.
        keepers.iter().for_each(|kept| OUTCOMES.iter().for_each(|outcome| kept.count(outcome, 0)));
        if !keepers.is_empty() {
            GATHERED.iter().for_each(|outcome| gathered(outcome, 0));
        }
        Self { keepers, clock, patience: SLOW, turn: AtomicUsize::new(0) }
    }

    /// What enough logs have promised; or why they have not.
    pub async fn gather(&self, assignment: &LogAssignment) -> Result<Vec<Sct>, String> {
        let mut asking =
            Asking { assignment, left: self.in_turn(assignment), waited_for: Vec::new(), troubles: Vec::new() };
        let (mut asked, mut promised) = (FuturesUnordered::new(), Vec::<Sct>::new());
        let mut patience = Instant::now() + self.patience;
        loop {
            while let Some(kept) = asking.next(&promised) {
                asked.push(async move { (kept, kept.keeper.show(&assignment.chain).await) });
            }
            let (kept, answer) = match timeout_at(patience, asked.next()).await {
                Ok(Some(answered)) => answered,
                Ok(None) => {
                    gathered("too_few", 1);
                    return Err(asking.troubles.join("; "));
                }
                Err(_) => {
                    asking.waited_for.clear();
                    patience = Instant::now() + self.patience;
                    continue;
                }
            };
            asking.waited_for.retain(|id| *id != kept.id);
            match self.judge(kept, assignment, answer) {
                Ok(sct) => promised.push(sct),
                Err(trouble) => asking.troubles.push(trouble),
            }
            if assignment.logs.is_enough(assignment.validity, promised.iter().map(|sct| sct.log)) {
                gathered("enough", 1);
                return Ok(fewest(assignment, promised));
            }
        }
    }

    /// The promise that an answer is; or what is wrong with it.
    fn judge(&self, kept: &Kept, assignment: &LogAssignment, answer: Result<Sct, LogError>) -> Result<Sct, String> {
        let sct = answer.map_err(|error| kept.failed("failed", &error.to_string()))?;
        let log = assignment.logs.find(kept.id);
        if !log.is_some_and(|log| log.key.has_promised(&sct, &assignment.entry)) {
            return Err(kept.failed("wrong", "what it promised is not signed by its key, or about something else"));
        }
        if !sct.has_come(self.clock.now().as_secs()) {
            return Err(kept.failed("wrong", "its clock is ahead of ours"));
        }
        kept.count("promised", 1);
        Ok(sct)
    }

    /// Those that take such a certificate, each in its turn, and those that have failed lately at the end.
    fn in_turn(&self, assignment: &LogAssignment) -> Vec<&Kept> {
        let takes = |kept: &&Kept| assignment.logs.find(kept.id).is_some_and(|log| log.takes(assignment.validity));
        let mut all: Vec<_> = self.keepers.iter().filter(takes).collect();
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        if !all.is_empty() {
            let first = first % all.len();
            all.rotate_left(first);
        }
        all.sort_by_key(|kept| kept.rests());
        all
    }
}

/// Who is asked for one certificate.
struct Asking<'a> {
    assignment: &'a LogAssignment,
    /// Who was not asked yet.
    left: Vec<&'a Kept>,
    /// Who was asked, and may be expected to answer soon.
    waited_for: Vec<LogId>,
    troubles: Vec<String>,
}

impl<'a> Asking<'a> {
    /// Whom to ask as well, where those who are waited for could not be enough: one of an operator who has promised nothing
    /// yet, where there is one.
    fn next(&mut self, promised: &[Sct]) -> Option<&'a Kept> {
        let LogAssignment { logs, validity, .. } = self.assignment;
        let counted = || promised.iter().map(|sct| sct.log).chain(self.waited_for.iter().copied());
        if logs.is_enough(*validity, counted()) {
            return None;
        }
        let operator = |id: LogId| logs.find(id).map(|log| log.operator.as_str());
        let known: Vec<_> = counted().map(operator).collect();
        let place = self.left.iter().position(|kept| !known.contains(&operator(kept.id)));
        let place = place.or((!self.left.is_empty()).then_some(0))?;
        let kept = self.left.remove(place);
        self.waited_for.push(kept.id);
        Some(kept)
    }
}

impl Kept {
    fn rests(&self) -> bool {
        let rests = *self.rests.lock().unwrap_or_else(PoisonError::into_inner);
        rests.is_some_and(|until| until > Instant::now())
    }

    /// Notes it, and tells it in the log where it did not fail just before.
    fn failed(&self, outcome: &'static str, why: &str) -> String {
        self.count(outcome, 1);
        if self.rests() {
            tracing::debug!(log = self.name, why, "a certificate log did not take a precertificate");
        } else {
            tracing::warn!(log = self.name, why, "a certificate log did not take a precertificate");
        }
        *self.rests.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + REST);
        format!("{}: {why}", self.name)
    }

    fn count(&self, outcome: &'static str, answers: u64) {
        let labels = [("log", self.name.clone()), ("outcome", outcome.to_owned())];
        metrics::counter!("chancery_log_answers_total", &labels).increment(answers);
    }
}

fn gathered(outcome: &'static str, times: u64) {
    metrics::counter!("chancery_log_promises_total", "outcome" => outcome).increment(times);
}

/// Without those that are more than enough: each makes every certificate longer.
fn fewest(assignment: &LogAssignment, mut promised: Vec<Sct>) -> Vec<Sct> {
    let LogAssignment { logs, validity, .. } = assignment;
    for place in (0..promised.len()).rev() {
        let others = promised.iter().enumerate().filter(|(other, _)| *other != place);
        if logs.is_enough(*validity, others.map(|(_, sct)| sct.log)) {
            promised.remove(place);
        }
    }
    promised
}

impl Workers {
    /// Shows logs what is going to be issued, and has what they promise put into it.
    pub(crate) async fn show_logs(&self, assignment: &LogAssignment) -> Result<(), ServiceError> {
        let span = tracing::trace_span!(target: SPANS, "issuance.logs");
        let scts = self.logs.gather(assignment).instrument(span).await.map_err(ServiceError::Logs)?;
        self.services.issuance.note_promises(assignment, scts).await
    }
}
