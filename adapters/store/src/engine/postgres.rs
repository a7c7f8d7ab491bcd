//! PostgreSQL: threads with a connection each; a unit of work is a transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use tokio_postgres::{Config, Statement};

use crate::error::StoreError;
use crate::prepared::Prepared;
use crate::store::Options;
use crate::tx::{Session, Tx, is_conflict, is_cut, is_unknown};
use crate::unit::Unit;

use super::client::Client;
use super::enqueue;
use super::tls::Connector;

/// How long a unit may take once it has been begun, with all that it waits for.
const UNIT: Duration = Duration::from_secs(15);
/// How often a unit is run again after a conflict before its caller hears of it.
const ATTEMPTS: u32 = 12;

/// Threads that own connections, and make new ones when those break.
pub(crate) struct Pool {
    queue: Sender<(Box<dyn Unit>, bool)>,
    refusing: Arc<AtomicBool>,
}

impl Pool {
    pub(crate) fn open(config: &Config, options: &Options) -> Result<Self, StoreError> {
        let (queue, jobs) = bounded::<(Box<dyn Unit>, bool)>(options.queue);
        let connector = Connector::new(options.postgres_ca.as_deref())?;
        let refusing = Arc::new(AtomicBool::new(false));
        for _ in 0..options.connections.max(2) {
            let mut worker = Worker {
                config: config.clone(),
                connector: connector.clone(),
                connection: None,
                refusing: refusing.clone(),
            };
            let jobs: Receiver<_> = jobs.clone();
            let spawned = thread::Builder::new().name("store-postgres".to_owned()).spawn(move || {
                for (unit, write) in jobs {
                    worker.handle(unit, write);
                }
            });
            spawned.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        }
        Ok(Self { queue, refusing })
    }

    /// Whether the last thing that was to be written could not be, as when the server's disk is full.
    pub(crate) fn is_refusing(&self) -> bool {
        self.refusing.load(Ordering::Relaxed)
    }

    pub(crate) fn send(&self, unit: Box<dyn Unit>, write: bool) -> Result<(), StoreError> {
        enqueue(&self.queue, (unit, write))
    }
}

struct Connection {
    client: Client,
    prepared: Prepared<Statement>,
}

struct Worker {
    config: Config,
    connector: Connector,
    connection: Option<Connection>,
    refusing: Arc<AtomicBool>,
}

/// How one run of a unit ended.
enum Run {
    Done(Result<(), StoreError>),
    /// Nothing was kept, and running it again may help.
    Again(StoreError),
    /// The connection was lost before the commit, so nothing was kept.
    Cut(StoreError),
}

impl Worker {
    fn handle(&mut self, mut unit: Box<dyn Unit>, write: bool) {
        if !unit.begin() {
            return;
        }
        let started = Instant::now();
        let mut attempt = 0;
        let outcome = loop {
            attempt += 1;
            match self.run(unit.as_mut(), write, started + UNIT) {
                Run::Done(outcome) => break outcome,
                Run::Cut(error) => break Err(error),
                Run::Again(error) if attempt >= ATTEMPTS || started.elapsed() >= UNIT => break Err(error),
                Run::Again(_) => {
                    metrics::counter!("chancery_store_conflicts_total").increment(1);
                    // Two that keep meeting must not keep in step: the thread's own number sets them apart.
                    thread::sleep(Duration::from_micros(u64::from(attempt) * (200 + self.stagger())));
                }
            }
        };
        unit.settle(outcome);
        let kind = if write { "write" } else { "read" };
        metrics::histogram!("chancery_store_unit_seconds", "kind" => kind).record(started.elapsed());
    }

    fn run(&mut self, unit: &mut dyn Unit, write: bool, deadline: Instant) -> Run {
        let fresh = self.connection.is_none();
        let refusing = self.refusing.clone();
        let connection = match self.connection() {
            Ok(connection) => connection,
            Err(error) => return Run::Done(Err(error)),
        };
        connection.client.set_deadline(deadline);
        match run_once(connection, unit, write, &refusing) {
            Run::Cut(error) => {
                self.connection = None;
                // A connection that had been idle may have died long ago: that says nothing about the database now.
                if fresh { Run::Done(Err(error)) } else { Run::Again(error) }
            }
            run @ (Run::Done(_) | Run::Again(_)) => run,
        }
    }

    fn connection(&mut self) -> Result<&mut Connection, StoreError> {
        if self.connection.as_ref().is_some_and(|connection| connection.client.is_closed()) {
            self.connection = None;
        }
        match &mut self.connection {
            Some(connection) => Ok(connection),
            empty @ None => {
                let client = Client::connect(&self.config, &self.connector)?;
                Ok(empty.insert(Connection { client, prepared: Prepared::default() }))
            }
        }
    }

    fn stagger(&self) -> u64 {
        std::ptr::from_ref(self) as u64 / 64 % 13 * 100
    }
}

fn run_once(connection: &mut Connection, unit: &mut dyn Unit, write: bool, refusing: &AtomicBool) -> Run {
    let Connection { client, prepared } = connection;
    let transaction = match client.begin(write) {
        Ok(transaction) => transaction,
        Err(error) => return refused(error),
    };
    let mut tx = Tx::new(Session::Postgres { transaction, prepared });
    let keep = unit.run(&mut tx);
    let (conflicted, cut, failed) = (tx.conflicted(), tx.cut(), tx.failed());
    let Session::Postgres { transaction, .. } = tx.into_session() else {
        return Run::Done(Err(StoreError::Database("the session changed under the transaction".to_owned())));
    };
    if write && matches!(failed, Some(StoreError::Unavailable(_))) {
        refusing.store(true, Ordering::Relaxed);
    }
    if let (true, Some(error)) = (cut, failed) {
        return Run::Cut(error);
    }
    if !keep {
        let stale = StoreError::Stale { table: "rows", id: "of this unit".to_owned() };
        return match transaction.rollback() {
            Ok(()) if conflicted => Run::Again(stale),
            Ok(()) => Run::Done(Ok(())),
            Err(error) => refused(error),
        };
    }
    match transaction.commit() {
        Ok(()) => {
            if write {
                refusing.store(false, Ordering::Relaxed);
            }
            Run::Done(Ok(()))
        }
        Err(error) if error.code().is_some_and(is_conflict) => Run::Again(error.into()),
        Err(error) if !write => refused(error),
        Err(error) if error.code().is_some_and(is_unknown) => Run::Done(Err(StoreError::Unknown(error.to_string()))),
        Err(error) => Run::Done(Err(match StoreError::from(error) {
            // No answer, or one from a server that was going down, perhaps after the commit: nobody knows.
            StoreError::Unavailable(said) => StoreError::Unknown(said),
            answered => answered,
        })),
    }
}

/// How a run ended that the database did not let begin, or end.
fn refused(error: tokio_postgres::Error) -> Run {
    if is_cut(&error) { Run::Cut(error.into()) } else { Run::Done(Err(error.into())) }
}
