//! A connection to PostgreSQL that a thread can wait on, though never for long: a server, or a network, that says nothing
//! must not keep the thread.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Config, Connection, Error, IsolationLevel, Row, Socket, Statement};

use crate::error::StoreError;

use super::tls::{Connector, Stream};

/// How long connecting may take, the exchange with the server included, unless the URL says otherwise.
const CONNECT: Duration = Duration::from_secs(3);
/// How long a server may take to begin a transaction or to drop it, which is no work. So a connection that has died
/// without a word is found out soon.
const BEGIN: Duration = Duration::from_secs(3);
/// How long it may say nothing to a statement or a commit. Longer than the server itself allows a statement (below): what
/// the server says of it is better told.
const STATEMENT: Duration = Duration::from_secs(10);

/// One plan for each statement, made once: with our indexes the values make no difference to it, and planning a list
/// anew each time takes longer than reading it. Compiling it to machine code, which the server does when it expects
/// a long list and not a page of one, takes a hundred times as long. And no disk of today is four times slower where it
/// jumps: the planner would read a whole table in order rather than a page of it by its index.
///
/// A process that is stopped, or cut off, in the middle of a transaction must not keep its locks: the server ends it.
const SESSION: &str = "SET lock_timeout = '5s'; SET statement_timeout = '8s';
     SET idle_in_transaction_session_timeout = '10s'; SET synchronous_commit = on;
     SET plan_cache_mode = force_generic_plan; SET jit = off; SET random_page_cost = 1.1";

pub(crate) struct Client {
    inner: tokio_postgres::Client,
    line: Line,
}

/// What carries a client's messages, on the thread that waits for the answers.
struct Line {
    runtime: Runtime,
    /// None once it is cut.
    connection: Option<Connection<Socket, Stream<Socket>>>,
    /// When a unit of work must have ended, whatever it waits for.
    deadline: Option<Instant>,
}

/// How long a server may be silent before its connection is given up.
#[derive(Clone, Copy)]
enum Patience {
    Usual,
    /// For steps that may take any time.
    Endless,
}

/// A transaction that has begun. It must be ended by `commit` or `rollback`, or its client dropped.
pub(crate) struct Transaction<'a> {
    inner: tokio_postgres::Transaction<'a>,
    line: &'a mut Line,
    patience: Patience,
}

impl Client {
    /// Opens a connection to a server that can be written to, of those that the configuration lists.
    pub(crate) fn connect(config: &Config, connector: &Connector) -> Result<Self, StoreError> {
        let mut config = config.clone();
        let patience = config.get_connect_timeout().copied().unwrap_or(CONNECT);
        config.application_name("chancery").connect_timeout(patience);
        // A connection whose other end has gone is noticed while it is idle, too.
        config
            .keepalives_idle(Duration::from_secs(15))
            .keepalives_interval(Duration::from_secs(5))
            .keepalives_retries(3);
        config.tcp_user_timeout(Duration::from_secs(15));
        // After a failover the old server may be there again, as a standby.
        config.target_session_attrs(tokio_postgres::config::TargetSessionAttrs::ReadWrite);
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        let servers = config.get_hosts().len().max(config.get_hostaddrs().len()).max(1);
        let (inner, connection) = runtime.block_on(async {
            let patience = patience.saturating_mul(u32::try_from(servers).unwrap_or(u32::MAX));
            match tokio::time::timeout(patience, config.connect(connector.clone())).await {
                Ok(connected) => connected.map_err(StoreError::from),
                Err(_) => Err(StoreError::Unavailable(format!("no server let us in within {} s", patience.as_secs()))),
            }
        })?;
        let mut client = Self { inner, line: Line { runtime, connection: Some(connection), deadline: None } };
        client.line.wait(Some(patience), client.inner.batch_execute(SESSION))?;
        Ok(client)
    }

    /// Whether it is known to be of no more use.
    pub(crate) fn is_closed(&self) -> bool {
        self.inner.is_closed() || self.line.connection.is_none()
    }

    /// From now on everything must have ended by this time.
    pub(crate) fn set_deadline(&mut self, deadline: Instant) {
        self.line.deadline = Some(deadline);
    }

    /// Begins a transaction; one that only reads sees one snapshot throughout.
    pub(crate) fn begin(&mut self, write: bool) -> Result<Transaction<'_>, Error> {
        let mut builder = self.inner.build_transaction();
        if !write {
            builder = builder.read_only(true).isolation_level(IsolationLevel::RepeatableRead);
        }
        let inner = self.line.wait(Some(BEGIN), builder.start())?;
        Ok(Transaction { inner, line: &mut self.line, patience: Patience::Usual })
    }

    /// Begins a transaction whose statements may take as long as they like.
    pub(crate) fn begin_patiently(&mut self) -> Result<Transaction<'_>, Error> {
        Ok(Transaction { patience: Patience::Endless, ..self.begin(true)? })
    }

    pub(crate) fn query_one(&mut self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Row, Error> {
        self.line.wait(Some(STATEMENT), self.inner.query_one(sql, params))
    }
}

impl Transaction<'_> {
    pub(crate) fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        self.line.wait(self.patience.of_statements(), self.inner.prepare(sql))
    }

    pub(crate) fn execute(&mut self, sql: &Statement, params: &[&(dyn ToSql + Sync)]) -> Result<u64, Error> {
        self.line.wait(self.patience.of_statements(), self.inner.execute(sql, params))
    }

    pub(crate) fn query(&mut self, sql: &Statement, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Error> {
        self.line.wait(self.patience.of_statements(), self.inner.query(sql, params))
    }

    pub(crate) fn query_one(&mut self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Row, Error> {
        self.line.wait(self.patience.of_statements(), self.inner.query_one(sql, params))
    }

    pub(crate) fn execute_text(&mut self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<u64, Error> {
        self.line.wait(self.patience.of_statements(), self.inner.execute(sql, params))
    }

    pub(crate) fn batch_execute(&mut self, sql: &str) -> Result<(), Error> {
        self.line.wait(self.patience.of_statements(), self.inner.batch_execute(sql))
    }

    pub(crate) fn commit(self) -> Result<(), Error> {
        self.line.wait(self.patience.of_statements(), self.inner.commit())
    }

    pub(crate) fn rollback(self) -> Result<(), Error> {
        self.line.wait(Some(BEGIN), self.inner.rollback())
    }
}

impl Patience {
    fn of_statements(self) -> Option<Duration> {
        match self {
            Self::Usual => Some(STATEMENT),
            Self::Endless => None,
        }
    }
}

impl Line {
    /// Waits for an answer. Where none comes in time the line is cut, and the answer is that it is closed.
    fn wait<T>(
        &mut self,
        patience: Option<Duration>,
        asked: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let Self { runtime, connection, deadline } = self;
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let patience = patience.map(|patience| left.map_or(patience, |left| patience.min(left)));
        runtime.block_on(async {
            let mut asked = pin!(asked);
            let answered = poll_fn(|cx| match carry(connection, cx) {
                Err(error) => Poll::Ready(Err(error)),
                Ok(()) => asked.as_mut().poll(cx),
            });
            let Some(patience) = patience else { return answered.await };
            match tokio::time::timeout(patience, answered).await {
                Ok(answer) => answer,
                Err(_) => {
                    tracing::warn!(seconds = patience.as_secs(), "the database did not answer; connection given up");
                    *connection = None;
                    asked.await
                }
            }
        })
    }
}

/// Sends what is to be sent, and takes what has come.
fn carry(connection: &mut Option<Connection<Socket, Stream<Socket>>>, cx: &mut Context<'_>) -> Result<(), Error> {
    while let Some(open) = connection {
        match open.poll_message(cx) {
            Poll::Ready(Some(Ok(AsyncMessage::Notice(notice)))) => {
                tracing::debug!(message = notice.message(), "the database has something to say");
            }
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(Some(Err(error))) => {
                *connection = None;
                return Err(error);
            }
            Poll::Ready(None) => *connection = None,
            Poll::Pending => break,
        }
    }
    Ok(())
}
