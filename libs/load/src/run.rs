//! So many accounts at once, until a time or a number is reached.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use chancery_pki::{KeyAlgorithm, PrivateKey};
use tokio::task::JoinSet;

use crate::account::{Account, Credential};
use crate::responder::Responder;
use crate::samples::Samples;
use crate::server::{LoadError, Server};

/// What to bring to a server.
#[derive(Clone)]
pub struct Load {
    /// The URL of the directory.
    pub directory: String,
    /// Trusted for its HTTPS; without it, what the system trusts.
    pub ca_pem: Option<Vec<u8>>,
    /// Binds every account, where the server wants that.
    pub credential: Option<Credential>,
    /// How many accounts order at the same time, each one certificate after the other.
    pub accounts: usize,
    /// Every name is a new one under this.
    pub suffix: String,
    /// When to stop.
    pub until: Until,
}

/// When enough was brought.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// After this time; what is in flight is finished.
    Time(Duration),
    /// After this many certificates.
    Certificates(u64),
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Outcome {
    /// From the order to the chain, for every certificate.
    pub latencies: Samples,
    /// From the first order to the last chain.
    pub took: Duration,
    /// How many orders came to nothing.
    pub failed: u64,
    /// Why the first of them did.
    pub first_failure: Option<LoadError>,
}

impl Outcome {
    /// Certificates a second.
    pub fn rate(&self) -> f64 {
        self.latencies.count() as f64 / self.took.as_secs_f64().max(f64::EPSILON)
    }
}

impl Load {
    /// Registers the accounts, lets each order one certificate to warm up, then runs and measures.
    pub fn run<'run>(
        &'run self,
        responder: &'run Responder,
    ) -> Pin<Box<dyn Future<Output = Result<Outcome, LoadError>> + Send + 'run>> {
        // As an object: so it is compiled here, and optimised, and not with whoever runs it.
        Box::pin(self.measure(responder))
    }

    async fn measure(&self, responder: &Responder) -> Result<Outcome, LoadError> {
        // Names must not meet those of an earlier run.
        let run = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
        let mut customers = Vec::new();
        for number in 0..self.accounts.max(1) {
            let server = Server::connect(&self.directory, self.ca_pem.as_deref()).await?;
            let account = Account::register(server, self.credential.as_ref()).await?;
            let key = PrivateKey::generate(KeyAlgorithm::EcP256).map_err(|error| LoadError::Key(error.to_string()))?;
            let label = format!("a{number}-{run:x}.{}", self.suffix);
            let customer = Customer { account, key, label, responder: responder.clone(), orders: 0 };
            customers.push(customer);
        }
        let mut warming = JoinSet::new();
        for mut customer in customers {
            warming.spawn(async move { customer.next().await.map(|_| customer) });
        }
        let customers = warming.join_all().await.into_iter().collect::<Result<Vec<_>, _>>()?;

        let enough = Arc::new(Enough::new(self.until));
        let began = Instant::now();
        let mut at_work = JoinSet::new();
        for customer in customers {
            at_work.spawn(customer.work(enough.clone()));
        }
        if let Until::Time(time) = self.until {
            tokio::time::sleep(time).await;
            enough.over.store(true, Ordering::Relaxed);
        }
        let mut outcome = Outcome::default();
        for done in at_work.join_all().await {
            outcome.latencies.extend(done.latencies);
            outcome.failed += done.failed;
            outcome.first_failure = outcome.first_failure.or(done.first_failure);
        }
        outcome.took = began.elapsed();
        Ok(outcome)
    }
}

/// Tells the accounts when to stop.
struct Enough {
    over: AtomicBool,
    /// How many may still be begun.
    left: Option<AtomicU64>,
}

impl Enough {
    fn new(until: Until) -> Self {
        let left = match until {
            Until::Time(_) => None,
            Until::Certificates(number) => Some(AtomicU64::new(number)),
        };
        Self { over: AtomicBool::new(false), left }
    }

    /// One that was begun came to nothing.
    fn again(&self) {
        if let Some(left) = &self.left {
            left.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether one more is to be ordered.
    fn one_more(&self) -> bool {
        let some_left = |left: &AtomicU64| {
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
        };
        !self.over.load(Ordering::Relaxed) && self.left.as_ref().is_none_or(some_left)
    }
}

struct Customer {
    account: Account,
    key: PrivateKey,
    /// Makes the names of this customer its own.
    label: String,
    responder: Responder,
    orders: u64,
}

#[derive(Default)]
struct Done {
    latencies: Vec<Duration>,
    failed: u64,
    first_failure: Option<LoadError>,
}

impl Customer {
    async fn next(&mut self) -> Result<Duration, LoadError> {
        self.orders += 1;
        let name = format!("n{}.{}", self.orders, self.label);
        self.account.issue(&name, &self.key, &self.responder).await
    }

    async fn work(mut self, enough: Arc<Enough>) -> Done {
        let mut done = Done::default();
        while enough.one_more() {
            match self.next().await {
                Ok(took) => done.latencies.push(took),
                Err(error) => {
                    enough.again();
                    done.failed += 1;
                    done.first_failure.get_or_insert(error);
                    // A server that refuses everything at once is not to be asked as fast as it refuses.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
        done
    }
}
