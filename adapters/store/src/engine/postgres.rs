//! PostgreSQL: threads with a connection each; a unit of work is a transaction.

use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use postgres::{Client, Config, IsolationLevel, Statement};

use crate::error::StoreError;
use crate::prepared::Prepared;
use crate::store::Options;
use crate::tx::{Session, Tx, is_conflict, is_cut, is_unknown};
use crate::unit::Unit;

use super::enqueue;
use super::tls::Connector;

/// How often a unit is run again after a conflict before its caller hears of it.
const ATTEMPTS: u32 = 12;

/// Threads that own connections, and make new ones when those break.
pub(crate) struct Pool {
    queue: Sender<(Box<dyn Unit>, bool)>,
}

impl Pool {
    pub(crate) fn open(config: &Config, options: &Options) -> Result<Self, StoreError> {
        let (queue, jobs) = bounded::<(Box<dyn Unit>, bool)>(options.queue);
        let connector = Connector::new(options.postgres_ca.as_deref())?;
        for _ in 0..options.connections.max(2) {
            let mut worker = Worker { config: config.clone(), connector: connector.clone(), connection: None };
            let jobs: Receiver<_> = jobs.clone();
            let spawned = thread::Builder::new().name("store-postgres".to_owned()).spawn(move || {
                for (unit, write) in jobs {
                    worker.handle(unit, write);
                }
            });
            spawned.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        }
        Ok(Self { queue })
    }

    pub(crate) fn send(&self, unit: Box<dyn Unit>, write: bool) -> Result<(), StoreError> {
        enqueue(&self.queue, (unit, write))
    }
}

/// Opens one connection; the attempt is given up after a few seconds.
pub(crate) fn connect(config: &Config, connector: &Connector) -> Result<Client, StoreError> {
    let mut config = config.clone();
    let patience = config.get_connect_timeout().copied().unwrap_or(Duration::from_secs(3));
    config.application_name("chancery").connect_timeout(patience);
    config.keepalives_idle(Duration::from_secs(15)).tcp_user_timeout(Duration::from_secs(15));
    let mut client = config.connect(connector.clone())?;
    // One plan for each statement, made once: with our indexes the values make no difference to it, and planning a list
    // anew each time takes longer than reading it. Compiling it to machine code, which the server does when it expects
    // a long list and not a page of one, takes a hundred times as long.
    client.batch_execute(
        "SET lock_timeout = '10s'; SET statement_timeout = '30s'; SET synchronous_commit = on;
         SET plan_cache_mode = force_generic_plan; SET jit = off",
    )?;
    Ok(client)
}

struct Connection {
    client: Client,
    prepared: Prepared<Statement>,
}

struct Worker {
    config: Config,
    connector: Connector,
    connection: Option<Connection>,
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
        let started = Instant::now();
        let mut attempt = 0;
        let outcome = loop {
            attempt += 1;
            match self.run(unit.as_mut(), write) {
                Run::Done(outcome) => break outcome,
                Run::Cut(error) => break Err(error),
                Run::Again(error) if attempt >= ATTEMPTS => break Err(error),
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

    fn run(&mut self, unit: &mut dyn Unit, write: bool) -> Run {
        let fresh = self.connection.is_none();
        let connection = match self.connection() {
            Ok(connection) => connection,
            Err(error) => return Run::Done(Err(error)),
        };
        match run_once(connection, unit, write) {
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
                let client = connect(&self.config, &self.connector)?;
                Ok(empty.insert(Connection { client, prepared: Prepared::default() }))
            }
        }
    }

    fn stagger(&self) -> u64 {
        std::ptr::from_ref(self) as u64 / 64 % 13 * 100
    }
}

fn run_once(connection: &mut Connection, unit: &mut dyn Unit, write: bool) -> Run {
    let Connection { client, prepared } = connection;
    let mut builder = client.build_transaction();
    if !write {
        builder = builder.read_only(true).isolation_level(IsolationLevel::RepeatableRead);
    }
    let transaction = match builder.start() {
        Ok(transaction) => transaction,
        Err(error) => return refused(error),
    };
    let mut tx = Tx::new(Session::Postgres { transaction, prepared });
    let keep = unit.run(&mut tx);
    let (conflicted, cut, failed) = (tx.conflicted(), tx.cut(), tx.failed());
    let Session::Postgres { transaction, .. } = tx.into_session() else {
        return Run::Done(Err(StoreError::Database("the session changed under the transaction".to_owned())));
    };
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
        Ok(()) => Run::Done(Ok(())),
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
fn refused(error: postgres::Error) -> Run {
    if is_cut(&error) { Run::Cut(error.into()) } else { Run::Done(Err(error.into())) }
}
