//! The keys in use, and who may fetch them anew and when.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use chancery_jose::JwkSet;
use chancery_service::identity::KeySource;
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use crate::FetcherError;
use crate::fetch::Fetch;

/// How long, how much and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// For one fetch, from looking up the name to the last byte.
    pub timeout: Duration,
    /// The longest document that is read, in bytes.
    pub body: usize,
    /// How long the outcome of a fetch, good or bad, answers for further calls of `refresh`.
    pub min_interval: Duration,
    /// How long [`JwksFetcher::run`] waits between two fetches; not shorter than `min_interval`.
    pub interval: Duration,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(5),
            body: 512 * 1024,
            min_interval: Duration::from_secs(10),
            interval: Duration::from_secs(5 * 60),
        }
    }
}

/// The signing keys of one provider.
///
/// Keys that were fetched stay until others are: a provider that cannot be reached takes no key away. At most one
/// fetch is under way at a time, and it is finished even if everyone who waited for it has gone.
pub struct JwksFetcher {
    shared: Arc<Shared>,
    interval: Duration,
}

impl JwksFetcher {
    /// Checks the settings; nothing is fetched yet. The URL is `https`, verified by the certificates in the PEM file
    /// `ca` alone or else by the system's, or `http` to a loopback address.
    pub fn new(url: &str, ca: Option<&Path>, limits: FetchLimits) -> Result<Self, FetcherError> {
        let fetch = Fetch::new(url, ca, limits.timeout, limits.body)?;
        let shared = Shared {
            fetch,
            min_interval: limits.min_interval,
            keys: RwLock::new(None),
            progress: Mutex::new(Progress::default()),
        };
        Ok(Self { shared: Arc::new(shared), interval: limits.interval.max(limits.min_interval) })
    }

    /// Fetches the keys at once and then every so often, for ever; drop or abort it to stop. Failures are logged.
    pub async fn run(self: Arc<Self>) {
        loop {
            if let Err(error) = self.refresh().await {
                tracing::warn!(%error, known = self.keys().is_some(), "could not refresh the provider's keys");
            }
            tokio::time::sleep(self.interval).await;
        }
    }
}

#[async_trait]
impl KeySource for JwksFetcher {
    fn keys(&self) -> Option<Arc<JwkSet>> {
        self.shared.keys.read().clone()
    }

    async fn refresh(&self) -> Outcome {
        let next = self.shared.progress.lock().next(self.shared.min_interval);
        let mut outcome = match next {
            Next::Known(outcome) => return outcome,
            Next::Wait(outcome) => outcome,
            Next::Fetch(announce, outcome) => {
                // Apart from the caller: one who hangs up must not make the next one fetch again.
                tokio::spawn(self.shared.clone().fetch(announce));
                outcome
            }
        };
        let outcome = outcome.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
        outcome.unwrap_or_else(|| Err(self.shared.failure("the fetch was given up")))
    }
}

/// What came of a fetch; the keys themselves are in their place by then.
type Outcome = Result<(), String>;

struct Shared {
    fetch: Fetch,
    min_interval: Duration,
    keys: RwLock<Option<Arc<JwkSet>>>,
    progress: Mutex<Progress>,
}

impl Shared {
    async fn fetch(self: Arc<Self>, announce: watch::Sender<Option<Outcome>>) {
        let outcome = match self.fetch.keys().await {
            Ok(keys) => {
                self.replace(keys);
                Ok(())
            }
            Err(error) => Err(self.failure(&error.to_string())),
        };
        let mut progress = self.progress.lock();
        *progress = Progress { last: Some((Instant::now(), outcome.clone())), under_way: None };
        announce.send_replace(Some(outcome));
    }

    /// An empty set replaces the old one as well: the provider says that none of its keys is to be trusted.
    fn replace(&self, keys: JwkSet) {
        if keys.keys.is_empty() {
            tracing::warn!(url = %self.fetch.endpoint, "the provider publishes no key that can be used");
        }
        *self.keys.write() = Some(Arc::new(keys));
    }

    fn failure(&self, reason: &str) -> String {
        format!("fetching keys from {}: {reason}", self.fetch.endpoint)
    }
}

/// The fetch that is under way and the one that was finished last.
#[derive(Default)]
struct Progress {
    last: Option<(Instant, Outcome)>,
    under_way: Option<watch::Receiver<Option<Outcome>>>,
}

/// What a caller of `refresh` has to do.
enum Next {
    Known(Outcome),
    Wait(watch::Receiver<Option<Outcome>>),
    Fetch(watch::Sender<Option<Outcome>>, watch::Receiver<Option<Outcome>>),
}

impl Progress {
    fn next(&mut self, min_interval: Duration) -> Next {
        // A fetch whose announcer is gone was cut short with its runtime and will never announce anything.
        if let Some(under_way) = self.under_way.as_ref().filter(|outcome| outcome.has_changed().is_ok()) {
            return Next::Wait(under_way.clone());
        }
        if let Some((at, outcome)) = &self.last
            && at.elapsed() < min_interval
        {
            return Next::Known(outcome.clone());
        }
        let (announce, outcome) = watch::channel(None);
        self.under_way = Some(outcome.clone());
        Next::Fetch(announce, outcome)
    }
}
