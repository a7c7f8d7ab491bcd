//! Shows logs what is going to be issued, until enough of them have promised to show it to everybody.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chancery_domain::Clock;
use chancery_pki::{Lacks, Log, LogId, Sct};
use chancery_publish::{LogClient, LogError};
use chancery_service::LogAssignment;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::{Mutex, RwLock};
use tokio::time::{Instant, timeout_at};

#[cfg(test)]
mod tests;

/// After this long another log is asked beside one that has not answered, whose answer still counts.
const SLOW: Duration = Duration::from_secs(2);
/// Whoever failed is not asked for so long, and twice as long after each time that it fails again, up to a limit.
const FIRST_REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(30);
/// A log that says when to come again is not asked until then, but for no longer than this.
const LONGEST_WISH: Duration = Duration::from_secs(300);
/// How far the clock of a log may be behind ours.
const BEHIND: Duration = Duration::from_secs(300);

const OUTCOMES: [&str; 4] = ["promised", "failed", "slow", "wrong"];

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
    keepers: RwLock<Arc<[Kept]>>,
    clock: Arc<dyn Clock>,
    /// How long one is waited for alone.
    patience: Duration,
    /// Where the next begins to ask, so that all have their share.
    turn: AtomicUsize,
}

impl Logs {
    pub fn new(keepers: Vec<(Log, Arc<dyn LogKeeper>)>, clock: Arc<dyn Clock>) -> Self {
        Self { keepers: RwLock::new(all(keepers)), clock, patience: SLOW, turn: AtomicUsize::new(0) }
    }

    /// Asks these from now on; what is under way ends with those there were.
    pub fn replace(&self, keepers: Vec<(Log, Arc<dyn LogKeeper>)>) {
        *self.keepers.write() = all(keepers);
    }

    fn keepers(&self) -> Arc<[Kept]> {
        self.keepers.read().clone()
    }

    /// What enough logs have promised; or why they have not.
    pub async fn gather(&self, assignment: &LogAssignment) -> Result<Vec<Sct>, String> {
        let gathered = self.ask_for(assignment).await;
        let outcome = if gathered.is_ok() { "enough" } else { "too_few" };
        metrics::counter!("chancery_log_promises_total", "outcome" => outcome).increment(1);
        gathered
    }

    async fn ask_for(&self, assignment: &LogAssignment) -> Result<Vec<Sct>, String> {
        let keepers = self.keepers();
        let mut asking = Asking::of(&keepers, self.turn.fetch_add(1, Ordering::Relaxed), assignment);
        let mut answers = FuturesUnordered::new();
        let mut patience = Instant::now() + self.patience;
        loop {
            if !asking.could_be_enough() {
                return Err(asking.troubles.join("; "));
            }
            while let Some(kept) = asking.next() {
                patience = Instant::now() + self.patience;
                answers.push(async move { (kept, kept.show(&assignment.chains).await) });
            }
            match timeout_at(patience, answers.next()).await {
                Ok(Some((kept, answer))) => asking.hear(kept, self.judge(kept, assignment, answer)),
                // Then nobody is left, and it could not be enough.
                Ok(None) => return Err(asking.troubles.join("; ")),
                Err(_) => {
                    asking.wait_no_longer();
                    patience = Instant::now() + self.patience;
                }
            }
            if asking.is_enough() {
                return Ok(fewest(assignment, asking.promised));
            }
        }
    }

    /// The promise that an answer is; or what is wrong with it.
    fn judge(&self, kept: &Kept, assignment: &LogAssignment, answer: Result<Sct, LogError>) -> Result<Sct, String> {
        let sct = match answer {
            Ok(sct) => sct,
            Err(error) => return Err(kept.fails("failed", &error.to_string(), error.retry_after())),
        };
        let log = assignment.logs.find(kept.id);
        let oldest = assignment.signed_at.minus(BEHIND).as_millis();
        let wrong = if !log.is_some_and(|log| log.key.has_promised(&sct, &assignment.entry)) {
            "what it promised is not signed by its key, or about something else"
        } else if !sct.has_come(self.clock.now().as_secs()) {
            "its clock is ahead of ours"
        } else if i64::try_from(sct.timestamp).is_ok_and(|at| at < oldest) {
            "its clock is behind ours"
        } else {
            kept.succeeds();
            return Ok(sct);
        };
        Err(kept.fails("wrong", wrong, None))
    }
}

/// Who is asked for one certificate, and what they have said.
struct Asking<'a> {
    assignment: &'a LogAssignment,
    /// Who was not asked yet, each in its turn.
    left: Vec<&'a Kept>,
    /// Who was asked and has not answered.
    silent: Vec<&'a Kept>,
    /// Those of them who may be expected to answer soon.
    waited_for: Vec<LogId>,
    promised: Vec<Sct>,
    troubles: Vec<String>,
}

impl<'a> Asking<'a> {
    fn of(keepers: &'a [Kept], turn: usize, assignment: &'a LogAssignment) -> Self {
        let takes = |kept: &&Kept| assignment.logs.find(kept.id).is_some_and(|log| log.takes(assignment.validity));
        let mut left: Vec<_> = keepers.iter().filter(takes).collect();
        let first = turn % left.len().max(1);
        left.rotate_left(first);
        let resting = left.extract_if(.., |kept| kept.rests());
        let troubles = resting.map(|kept| kept.failing.lock().told(&kept.name)).collect();
        Self { assignment, left, silent: Vec::new(), waited_for: Vec::new(), promised: Vec::new(), troubles }
    }

    /// Whom to ask as well, where those who are waited for would not be enough.
    fn next(&mut self) -> Option<&'a Kept> {
        let lacks = self.lacks(self.waited_for.iter().copied());
        let operator = |id: LogId| self.assignment.logs.find(id).map(|log| log.operator.as_str());
        let known: Vec<_> = self.counted(self.waited_for.iter().copied()).map(operator).collect();
        let other = || self.left.iter().position(|kept| !known.contains(&operator(kept.id)));
        let place = match lacks {
            Lacks::NOTHING => None,
            Lacks { logs: false, operators: true } => other(),
            Lacks { logs: true, operators: true } => other().or((!self.left.is_empty()).then_some(0)),
            Lacks { logs: true, operators: false } => (!self.left.is_empty()).then_some(0),
        };
        let kept = self.left.remove(place?);
        self.silent.push(kept);
        self.waited_for.push(kept.id);
        Some(kept)
    }

    fn hear(&mut self, kept: &Kept, answer: Result<Sct, String>) {
        self.waited_for.retain(|id| *id != kept.id);
        self.silent.retain(|silent| silent.id != kept.id);
        match answer {
            Ok(sct) => self.promised.push(sct),
            Err(trouble) => self.troubles.push(trouble),
        }
    }

    /// Others are asked as well; those who are slow may still be the ones.
    fn wait_no_longer(&mut self) {
        for slow in self.silent.iter().filter(|kept| self.waited_for.contains(&kept.id)) {
            self.troubles.push(slow.fails("slow", "it does not answer in time", None));
        }
        self.waited_for.clear();
    }

    fn is_enough(&self) -> bool {
        self.lacks([]) == Lacks::NOTHING
    }

    /// Whether it would be, if all promised who may.
    fn could_be_enough(&self) -> bool {
        self.lacks(self.silent.iter().chain(&self.left).map(|kept| kept.id)) == Lacks::NOTHING
    }

    /// What is lacking if these promise as well.
    fn lacks(&self, more: impl IntoIterator<Item = LogId>) -> Lacks {
        self.assignment.logs.lacks(self.assignment.validity, self.counted(more))
    }

    fn counted(&self, more: impl IntoIterator<Item = LogId>) -> impl Iterator<Item = LogId> {
        self.promised.iter().map(|sct| sct.log).chain(more)
    }
}

/// One of the logs.
struct Kept {
    id: LogId,
    name: String,
    keeper: Arc<dyn LogKeeper>,
    /// Which of the ways up from a CA it took last.
    way: AtomicUsize,
    failing: Mutex<Failing>,
}

/// How it has failed of late.
#[derive(Default)]
struct Failing {
    /// So often in a row.
    times: u32,
    /// Until when it is not asked.
    rests: Option<Instant>,
    /// Why, the last time.
    why: String,
}

impl Failing {
    fn told(&self, name: &str) -> String {
        let left = self.rests.map_or(Duration::ZERO, |until| until.duration_since(Instant::now()));
        format!("{name}: {}, and is left alone for {} s more", self.why, left.as_secs() + 1)
    }
}

impl Kept {
    fn new(log: Log, keeper: Arc<dyn LogKeeper>) -> Self {
        let (way, failing) = (AtomicUsize::new(0), Mutex::default());
        let kept = Self { id: log.key.id(), name: log.name, keeper, way, failing };
        // Counters begin at zero, so that those who watch can tell "none" from "no data".
        OUTCOMES.iter().for_each(|outcome| kept.count(outcome, 0));
        kept
    }

    /// Shows it the way up that it took last, and then the others, until one leads to a root that it knows.
    async fn show(&self, chains: &[Vec<Vec<u8>>]) -> Result<Sct, LogError> {
        let first = self.way.load(Ordering::Relaxed);
        let mut refused = LogError::away("there is nothing to show it");
        for place in 0..chains.len() {
            let way = (first + place) % chains.len();
            match self.keeper.show(&chains[way]).await {
                Err(error @ LogError::Refused(_)) => refused = error,
                answer => {
                    self.way.store(way, Ordering::Relaxed);
                    return answer;
                }
            }
        }
        Err(refused)
    }

    fn rests(&self) -> bool {
        self.failing.lock().rests.is_some_and(|until| until > Instant::now())
    }

    fn succeeds(&self) {
        self.count("promised", 1);
        *self.failing.lock() = Failing::default();
    }

    /// Notes it, and tells the first of several in the log.
    fn fails(&self, outcome: &'static str, why: &str, retry_after: Option<Duration>) -> String {
        self.count(outcome, 1);
        let mut failing = self.failing.lock();
        let rest = (FIRST_REST * 2_u32.pow(failing.times.min(8))).min(LONGEST_REST);
        failing.rests = Some(Instant::now() + rest.max(retry_after.unwrap_or_default().min(LONGEST_WISH)));
        failing.times += 1;
        why.clone_into(&mut failing.why);
        match failing.times {
            1 => tracing::warn!(log = self.name, why, "a certificate log has promised nothing that counts"),
            times => tracing::debug!(log = self.name, why, times, "a certificate log has promised nothing that counts"),
        }
        format!("{}: {why}", self.name)
    }

    fn count(&self, outcome: &'static str, answers: u64) {
        let labels = [("log", self.name.clone()), ("outcome", outcome.to_owned())];
        metrics::counter!("chancery_log_answers_total", &labels).increment(answers);
    }
}

fn all(keepers: Vec<(Log, Arc<dyn LogKeeper>)>) -> Arc<[Kept]> {
    keepers.into_iter().map(|(log, keeper)| Kept::new(log, keeper)).collect()
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
