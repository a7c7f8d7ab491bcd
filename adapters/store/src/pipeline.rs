//! A connection to PostgreSQL, driven by the thread that owns it.
//!
//! A way to the server and back costs more than most statements do. So what needs no answer of its own is kept back and
//! sent along with what does: the beginning of a transaction with its first question, writes with the next question or
//! with the commit, and the end of a transaction that changed nothing with the beginning of the next.

use std::pin::{Pin, pin};
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use tokio::runtime::Runtime;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::{Client, Error, Row, Statement};

use crate::error::StoreError;
use crate::prepared::Prepared;
use crate::unit::Kind;
use crate::value::Value;

/// Writes that are kept back; more are sent, so that memory and the order of polling stay bounded.
const MOST_KEPT: usize = 24;

/// How long a server may take to begin a transaction or to drop it, which is no work. So a connection that has died
/// without a word is found out soon.
const BEGIN: Duration = Duration::from_secs(3);
/// How long it may say nothing to statements or a commit. Longer than the server itself allows a statement: what the server
/// says of it is better told.
const ANSWER: Duration = Duration::from_secs(10);

/// A connection with its prepared statements.
pub(crate) struct Connection {
    runtime: Runtime,
    client: Client,
    line: Line,
    prepared: Prepared<Statement>,
    /// A transaction that changed nothing is still to be ended.
    lingers: bool,
}

/// Why a statement, or one that was kept back before it, was not done.
#[derive(Debug)]
pub(crate) enum Refusal {
    Database(Error),
    /// A guarded update changed nothing.
    Stale(StoreError),
    /// It was never sent.
    Unsent(StoreError),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

/// How a commit failed.
#[derive(Debug)]
pub(crate) enum NotCommitted {
    /// A statement was refused, and with it the whole transaction.
    Refused(Refusal),
    /// The statements went through, or nobody can tell: the commit's own answer is an error, or none came.
    Commit(Error),
}

impl Connection {
    pub(crate) fn new(runtime: Runtime, client: Client, line: AbortHandle) -> Self {
        let line = Line { open: line, deadline: None };
        Self { runtime, client, line, prepared: Prepared::default(), lingers: false }
    }

    /// From now on everything must have ended by this time.
    pub(crate) fn set_deadline(&mut self, deadline: Instant) {
        self.line.deadline = Some(deadline);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Opens a transaction; the server hears of it with the first statement.
    pub(crate) fn begin(&mut self, kind: Kind) -> Transaction<'_> {
        let begin = match (self.lingers, kind) {
            (false, Kind::Write) => Some("BEGIN"),
            (true, Kind::Write) => Some("ROLLBACK; BEGIN"),
            (false, Kind::Alone | Kind::Peek) => None,
            (true, Kind::Alone | Kind::Peek) => Some("ROLLBACK"),
            (false, Kind::Read | Kind::Glance) => Some("BEGIN READ ONLY ISOLATION LEVEL REPEATABLE READ"),
            (true, Kind::Read | Kind::Glance) => Some("ROLLBACK; BEGIN READ ONLY ISOLATION LEVEL REPEATABLE READ"),
        };
        Transaction { connection: self, kind, begin, kept: Vec::new() }
    }

    /// Ends a transaction that lingers, for want of a next one.
    pub(crate) fn rest(&mut self) -> Result<(), Error> {
        // It is part of no unit of work, and has its own time.
        self.line.deadline = None;
        self.end_lingering()
    }

    fn end_lingering(&mut self) -> Result<(), Error> {
        if !self.lingers {
            return Ok(());
        }
        wait(&self.runtime, self.line.answer(BEGIN, self.client.batch_execute("ROLLBACK")))?;
        self.lingers = false;
        Ok(())
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement);
        }
        // Where the one that lingers was refused, the server prepares nothing before it has ended.
        self.end_lingering()?;
        // Our texts have SQLite's way to name a parameter, and no question mark for anything else.
        let spelled = sql.replace('?', "$");
        let statement = wait(&self.runtime, self.line.answer(BEGIN, self.client.prepare(&spelled)))?;
        self.prepared.keep(sql, statement.clone());
        Ok(statement)
    }
}

/// What carries the messages of a connection.
struct Line {
    open: AbortHandle,
    /// When a unit of work must have ended, whatever it waits for.
    deadline: Option<Instant>,
}

impl Line {
    /// Waits for an answer. Where none comes in time we hang up, and the answer is that the connection is closed.
    async fn answer<T>(&self, patience: Duration, asked: impl Future<Output = T>) -> T {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let patience = left.map_or(patience, |left| patience.min(left));
        let mut asked = pin!(asked);
        match timeout(patience, &mut asked).await {
            Ok(answer) => answer,
            Err(_) => {
                tracing::warn!(seconds = patience.as_secs(), "the database did not answer; connection given up");
                self.open.abort();
                asked.await
            }
        }
    }
}

/// A transaction whose writes may still be on this side.
pub(crate) struct Transaction<'a> {
    connection: &'a mut Connection,
    kind: Kind,
    begin: Option<&'static str>,
    kept: Vec<Kept>,
}

/// A write that was kept back.
struct Kept {
    statement: Statement,
    params: Vec<Value>,
    /// What to say where it changed nothing.
    stale: Option<StoreError>,
}

impl Kept {
    async fn send(self, client: &Client) -> Result<(), Refusal> {
        match (client.query(&self.statement, &refs(&self.params)).await, self.stale) {
            (Err(error), Some(stale)) if divided_by_zero(&error) => Err(Refusal::Stale(stale)),
            (Err(error), _) => Err(Refusal::Database(error)),
            (Ok(_), _) => Ok(()),
        }
    }
}

impl Transaction<'_> {
    pub(crate) fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, Refusal> {
        let statement = self.connection.prepare(sql)?;
        if !self.kept.is_empty() {
            self.begin_alone()?;
        }
        self.send(async |client| client.query(&statement, &refs(params)).await)
    }

    /// Two questions on one way to the server. The second is answered after the first, with all that was true by then.
    pub(crate) fn query_both(&mut self, asked: [(&str, &[Value]); 2]) -> Result<[Vec<Row>; 2], Refusal> {
        let [first, second] = [self.connection.prepare(asked[0].0)?, self.connection.prepare(asked[1].0)?];
        if !self.kept.is_empty() {
            self.begin_alone()?;
        }
        let ask = async |client: &Client| {
            let (first, second) = join(async { client.query(&first, &refs(asked[0].1)).await }, async {
                client.query(&second, &refs(asked[1].1)).await
            })
            .await;
            Ok([first?, second?])
        };
        self.send(ask)
    }

    /// How many rows the statement changed.
    pub(crate) fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, Refusal> {
        // Without a transaction around it nothing else would refuse it.
        if self.kind.only_reads() {
            return Err(Refusal::Unsent(StoreError::Database(format!("a write in a unit that reads: {sql}"))));
        }
        let statement = self.connection.prepare(sql)?;
        // Should the beginning be refused, then a write behind it would stand by itself.
        self.begin_alone()?;
        self.send(async |client| client.execute(&statement, &refs(params)).await)
    }

    /// A write whose answer nobody waits for. It is done before anything that comes after it; where it is refused, that is
    /// told then.
    pub(crate) fn put(&mut self, sql: &str, params: &[Value]) -> Result<(), Refusal> {
        self.keep(sql, params, None)
    }

    /// The same of an update that has to change a row.
    pub(crate) fn put_guarded(&mut self, sql: &str, params: &[Value], stale: StoreError) -> Result<(), Refusal> {
        // An error within the statement drops the transaction, so that a commit can follow unseen.
        let guarded = format!("WITH changed AS ({sql} RETURNING 1) SELECT 1 / COUNT(*) FROM changed");
        self.keep(&guarded, params, Some(stale))
    }

    fn keep(&mut self, sql: &str, params: &[Value], stale: Option<StoreError>) -> Result<(), Refusal> {
        let statement = self.connection.prepare(sql)?;
        // What the driver would not even send must not be missing from what is committed; nor is a write to be forgotten
        // where nothing is.
        let fits = params.len() == statement.params().len() && statement.params().iter().all(Value::fits);
        if !fits || self.kind != Kind::Write {
            return Err(Refusal::Unsent(StoreError::Database(format!("a write that cannot be sent: {sql}"))));
        }
        self.kept.push(Kept { statement, params: params.to_vec(), stale });
        if self.kept.len() < MOST_KEPT {
            return Ok(());
        }
        self.begin_alone()?;
        self.send(async |_| Ok(()))
    }

    /// Sends what was kept back and, behind it, what `last` sends: one way to the server and back for all.
    fn send<T>(&mut self, last: impl AsyncFnOnce(&Client) -> Result<T, Error>) -> Result<T, Refusal> {
        let (before, last) = self.send_all(last);
        before?;
        Ok(last?)
    }

    fn send_all<T>(
        &mut self,
        last: impl AsyncFnOnce(&Client) -> Result<T, Error>,
    ) -> (Result<(), Refusal>, Result<T, Error>) {
        let begin = self.begin.take();
        let kept = std::mem::take(&mut self.kept);
        let Connection { runtime, client, line, lingers, .. } = &mut *self.connection;
        *lingers = false;
        let (client, line) = (&*client, &*line);
        // Each is polled once in turn before any is polled again, and a statement is on its way once it was polled.
        let all = join(
            async {
                match begin {
                    Some(sql) => line.answer(BEGIN, client.batch_execute(sql)).await,
                    None => Ok(()),
                }
            },
            join(join_all(kept.into_iter().map(|kept| kept.send(client))), last(client)),
        );
        let (begun, (kept, last)) = wait(runtime, line.answer(ANSWER, all));
        // The first refusal is the cause of those behind it.
        let before = begun.map_err(Refusal::Database).and_then(|()| kept.into_iter().collect());
        (before, last)
    }

    /// Sends what was kept back and the commit together.
    pub(crate) fn commit(mut self) -> Result<(), NotCommitted> {
        if self.kind == Kind::Alone {
            return Ok(());
        }
        if self.begin.is_some() {
            if self.kept.is_empty() {
                return Ok(());
            }
            // Nothing was asked yet. Should the connection have died while it was idle, then this fails and nothing is in
            // doubt, where a commit behind it would be.
            self.begin_alone().map_err(|error| NotCommitted::Refused(error.into()))?;
        }
        let (before, committed) = self.send_all(async |client| client.batch_execute("COMMIT").await);
        match before {
            // Refused by the server, and so never committed.
            Err(refusal @ (Refusal::Stale(_) | Refusal::Unsent(_))) => Err(NotCommitted::Refused(refusal)),
            Err(Refusal::Database(error)) if error.as_db_error().is_some() => {
                Err(NotCommitted::Refused(Refusal::Database(error)))
            }
            // The line went dead, with the commit perhaps already at the other end of it.
            Err(Refusal::Database(error)) => Err(NotCommitted::Commit(error)),
            Ok(()) => committed.map_err(NotCommitted::Commit),
        }
    }

    fn begin_alone(&mut self) -> Result<(), Error> {
        let Some(begin) = self.begin.take() else { return Ok(()) };
        self.connection.lingers = false;
        let Connection { runtime, client, line, .. } = &*self.connection;
        wait(runtime, line.answer(BEGIN, client.batch_execute(begin)))
    }

    /// Drops a transaction that changed nothing, or is not to. The server is told with the next one, or by
    /// [`Connection::rest`].
    pub(crate) fn abandon(self) {
        let lingers = matches!(self.kind, Kind::Read | Kind::Glance | Kind::Write);
        if lingers && self.begin.is_none() {
            self.connection.lingers = true;
        }
    }
}

/// Drives a runtime until something is done. The runtime sees the same type whatever that is: each would have it compiled anew.
pub(crate) fn wait<T>(runtime: &Runtime, asked: impl Future<Output = T>) -> T {
    let mut answer = None;
    {
        let asked: Pin<&mut dyn Future<Output = ()>> = pin!(async { answer = Some(asked.await) });
        runtime.block_on(asked);
    }
    answer.expect("what is waited for ends with an answer")
}

fn refs(params: &[Value]) -> Vec<&(dyn tokio_postgres::types::ToSql + Sync)> {
    params.iter().map(|value| value as _).collect()
}

fn divided_by_zero(error: &Error) -> bool {
    error.code().is_some_and(|code| code.code() == "22012")
}
