//! A connection to PostgreSQL with its transactions, driven by the thread that owns it.
//!
//! A way to the server and back costs more than most statements do. So what needs no answer of its own is kept back and
//! sent along with what does: the beginning of a transaction with its first question, writes with the next question or
//! with the commit, and the end of a transaction that changed nothing with the beginning of the next. The server passes over
//! all that comes behind a statement it refuses: nothing is done outside of a transaction that did not begin, and nothing is
//! committed of one that went wrong.

use std::io;
use std::time::{Duration, Instant};

use crate::error::StoreError;
use crate::prepared::Prepared;
use crate::protocol::{Answer, Error, Row, Session, Statement, Unsent};
use crate::unit::Kind;
use crate::value::Value;

/// Writes that are kept back; more are sent, so that memory and what is under way stay bounded.
const MOST_KEPT: usize = 24;

/// Questions that are foreseen at a time.
const MOST_FORESEEN: usize = 128;

/// How long a server may take to begin a transaction, to drop it or to prepare a statement, which is no work. So a connection
/// that has died without a word is found out soon.
const BEGIN: Duration = Duration::from_secs(3);
/// How long it may say nothing to statements or a commit. Longer than the server itself allows a statement: what the server
/// says of it is better told.
const ANSWER: Duration = Duration::from_secs(10);
/// How long a server may say nothing to several questions at once, each of which may have to wait: no longer than a
/// unit of work may take.
const ANSWER_ALL: Duration = Duration::from_secs(15);
/// A connection that was silent for longer may have died: it is tried by what is no work.
const SILENT: Duration = Duration::from_millis(250);

/// The SQLSTATE by which a guarded update says that it changed nothing: it divides by the number of rows.
const DIVIDED_BY_ZERO: &str = "22012";

/// A connection with its prepared statements.
pub(crate) struct Connection {
    session: Session,
    control: Control,
    prepared: Prepared<Statement>,
    /// Statements that made room for others. The server forgets them when nothing is under way that may be one of them.
    obsolete: Vec<Statement>,
    /// When a unit of work must have ended, whatever it waits for.
    deadline: Option<Instant>,
}

/// What begins transactions and ends them.
struct Control {
    begin: Statement,
    begin_reading: Statement,
    commit: Statement,
    rollback: Statement,
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

impl From<Unsent> for Refusal {
    fn from(_: Unsent) -> Self {
        Self::Unsent(StoreError::Database("a statement with parameters that do not fit it".to_owned()))
    }
}

/// How a commit failed.
#[derive(Debug)]
pub(crate) enum NotCommitted {
    /// A statement was refused, and with it the whole transaction; or the server answered COMMIT with a rollback.
    Refused(Refusal),
    /// The statements went through, or nobody can tell: the commit's own answer is an error, or none came.
    Commit(Error),
}

impl Connection {
    pub(crate) fn new(mut session: Session) -> Result<Self, Error> {
        session.set_deadline(Some(Instant::now() + BEGIN));
        let control = Control {
            begin: session.prepare("BEGIN")?,
            begin_reading: session.prepare("BEGIN READ ONLY ISOLATION LEVEL REPEATABLE READ")?,
            commit: session.prepare("COMMIT")?,
            rollback: session.prepare("ROLLBACK")?,
        };
        Ok(Self { session, control, prepared: Prepared::default(), obsolete: Vec::new(), deadline: None })
    }

    /// From now on everything must have ended by this time.
    pub(crate) fn set_deadline(&mut self, deadline: Instant) {
        self.deadline = Some(deadline);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.session.is_closed()
    }

    /// Opens a transaction; the server hears of it with the first statement.
    pub(crate) fn begin(&mut self, kind: Kind) -> Transaction<'_> {
        for statement in std::mem::take(&mut self.obsolete) {
            self.session.forget(&statement);
        }
        Transaction {
            connection: self,
            kind,
            begun: false,
            refused: false,
            kept: Vec::new(),
            foreseen: Vec::new(),
            changed: 0,
        }
    }

    /// Ends a transaction that lingers, for want of a next one.
    pub(crate) fn rest(&mut self) -> Result<(), Refusal> {
        // It is part of no unit of work, and has its own time.
        self.deadline = None;
        self.end_lingering()
    }

    fn end_lingering(&mut self) -> Result<(), Refusal> {
        if !self.session.is_busy() {
            return Ok(());
        }
        let rollback = self.control.rollback.clone();
        match self.exchange(&[(&rollback, &[])], BEGIN) {
            Ok(_) => Ok(()),
            Err((_, refusal)) => Err(refusal),
        }
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement);
        }
        // Our texts have SQLite's way to name a parameter, and no question mark for anything else.
        let spelled = sql.replace('?', "$");
        self.wait_for(BEGIN);
        let statement = self.session.prepare(&spelled)?;
        self.obsolete.extend(self.prepared.keep(sql, statement.clone()));
        Ok(statement)
    }

    /// Asks, and has all answers or the refusal of one statement, with the answers that came before it.
    fn exchange(
        &mut self,
        asked: &[(&Statement, &[Value])],
        patience: Duration,
    ) -> Result<Vec<Answer>, (Vec<Answer>, Refusal)> {
        for (statement, params) in asked {
            self.session.ask(statement, params).map_err(|unsent| (Vec::new(), unsent.into()))?;
        }
        self.wait_for(patience);
        match self.session.exchange() {
            (answers, None) => Ok(answers),
            (answers, Some(error)) => {
                if matches!(&error, Error::Lost(lost) if lost.kind() == io::ErrorKind::TimedOut) {
                    tracing::warn!(seconds = patience.as_secs(), "the database did not answer; connection given up");
                }
                Err((answers, error.into()))
            }
        }
    }

    fn wait_for(&mut self, patience: Duration) {
        let by = Instant::now() + patience;
        self.session.set_deadline(Some(self.deadline.map_or(by, |deadline| by.min(deadline))));
    }
}

/// A transaction whose writes may still be on this side.
pub(crate) struct Transaction<'a> {
    connection: &'a mut Connection,
    kind: Kind,
    /// Whether the server has heard of it.
    begun: bool,
    /// Something was refused, so that nothing more can come of it.
    refused: bool,
    kept: Vec<Kept>,
    foreseen: Vec<Foreseen>,
    /// Rows that were inserted, changed and deleted so far.
    changed: u64,
}

/// A write that was kept back.
struct Kept {
    statement: Statement,
    params: Vec<Value>,
    /// What to say where it changed nothing.
    stale: Option<StoreError>,
}

/// A question that is about to be asked, and its answer where it has one already.
struct Foreseen {
    statement: Statement,
    params: Vec<Value>,
    answer: Option<Vec<Row>>,
}

impl Foreseen {
    fn is(&self, statement: &Statement, params: &[Value]) -> bool {
        self.statement == *statement && self.params == params
    }
}

impl Transaction<'_> {
    pub(crate) fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, Refusal> {
        let statement = self.prepare(sql)?;
        let foreseen = self.foreseen.iter().position(|foreseen| foreseen.is(&statement, params));
        if let Some(rows) = foreseen.and_then(|place| self.foreseen.remove(place).answer) {
            return Ok(rows);
        }
        Ok(self.send(&[(&statement, params)])?.pop().map_or_else(Vec::new, |answer| answer.rows))
    }

    /// A question that is about to be asked. It is answered on the same way as the next one, behind that.
    pub(crate) fn foresee(&mut self, sql: &str, params: &[Value]) -> Result<(), Refusal> {
        let statement = self.prepare(sql)?;
        let fits = statement.takes(params) && self.foreseen.len() < MOST_FORESEEN;
        if fits && !self.foreseen.iter().any(|foreseen| foreseen.is(&statement, params)) {
            self.foreseen.push(Foreseen { statement, params: params.to_vec(), answer: None });
        }
        Ok(())
    }

    /// How many rows the statement changed.
    pub(crate) fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, Refusal> {
        // Without a transaction around it nothing else would refuse it.
        if self.kind.only_reads() {
            return Err(Refusal::Unsent(StoreError::Database(format!("a write in a unit that reads: {sql}"))));
        }
        let statement = self.prepare(sql)?;
        Ok(self.send(&[(&statement, params)])?.pop().map_or(0, |answer| answer.count))
    }

    /// A write whose answer nobody waits for. It is done before anything that comes after it; where it is refused, that is
    /// told then.
    pub(crate) fn put(&mut self, sql: &str, params: &[Value]) -> Result<(), Refusal> {
        self.keep(sql, params, None)
    }

    /// An update that must change a row, and whose answer nobody waits for; if it changes none, `stale` is told later.
    pub(crate) fn put_guarded(&mut self, sql: &str, params: &[Value], stale: StoreError) -> Result<(), Refusal> {
        // An error within the statement drops the transaction, so that a commit can follow unseen.
        let guarded = format!("WITH changed AS ({sql} RETURNING 1) SELECT 1 / COUNT(*) FROM changed");
        self.keep(&guarded, params, Some(stale))
    }

    fn keep(&mut self, sql: &str, params: &[Value], stale: Option<StoreError>) -> Result<(), Refusal> {
        let statement = self.prepare(sql)?;
        // A write is not to be forgotten where nothing is committed.
        if !statement.takes(params) || self.kind != Kind::Write {
            return Err(Refusal::Unsent(StoreError::Database(format!("a write that cannot be sent: {sql}"))));
        }
        self.kept.push(Kept { statement, params: params.to_vec(), stale });
        if self.kept.len() < MOST_KEPT {
            return Ok(());
        }
        self.send(&[]).map(drop)
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, Refusal> {
        if !self.begun && self.connection.prepared.get(sql).is_none() {
            // Where the one that lingers was refused, the server prepares nothing before it has ended.
            self.connection.end_lingering()?;
        }
        Ok(self.connection.prepare(sql)?)
    }

    /// Sends what was kept back and, behind it, what is asked now: one way to the server and back for all.
    fn send(&mut self, last: &[(&Statement, &[Value])]) -> Result<Vec<Answer>, Refusal> {
        self.send_all(last).map_err(|(_, refusal)| refusal)
    }

    /// Sends what was kept back and, behind it, `last`; a refusal comes with those answers to `last` that came before
    /// it, if all that was kept back had been done.
    fn send_all(&mut self, last: &[(&Statement, &[Value])]) -> Result<Vec<Answer>, (Option<Vec<Answer>>, Refusal)> {
        // Where the beginning did not reach the server, a write would stand by itself.
        if self.refused {
            let dropped = StoreError::Database("the transaction was dropped by what was refused before".to_owned());
            return Err((None, Refusal::Unsent(dropped)));
        }
        if self.connection.session.silence() > SILENT {
            self.begin_alone().map_err(|refusal| (None, refusal))?;
        }
        let opening = self.opening();
        let mut kept = std::mem::take(&mut self.kept);
        let mut all: Vec<(&Statement, &[Value])> = opening.iter().map(|statement| (statement, [].as_slice())).collect();
        all.extend(kept.iter().map(|kept| (&kept.statement, kept.params.as_slice())));
        let before = all.len();
        all.extend_from_slice(last);
        let foreseen = self.foreseen.iter().filter(|foreseen| foreseen.answer.is_none());
        all.extend(foreseen.map(|foreseen| (&foreseen.statement, foreseen.params.as_slice())));
        // Each may wait for somebody else's lock, where there are any.
        let several = all.len() > before + last.len() && self.kind == Kind::Write;
        let patience = if several { ANSWER_ALL } else { ANSWER };
        match self.connection.exchange(&all, patience) {
            Ok(mut answers) => {
                // A guarded update answers as a question does, and has changed one row.
                let guarded = kept.iter().filter(|kept| kept.stale.is_some()).count() as u64;
                self.changed += guarded + answers.iter().map(|answer| answer.changed).sum::<u64>();
                let ahead = answers.split_off((before + last.len()).min(answers.len()));
                let foreseen = self.foreseen.iter_mut().filter(|foreseen| foreseen.answer.is_none());
                for (foreseen, answer) in foreseen.zip(ahead) {
                    foreseen.answer = Some(answer.rows);
                }
                Ok(answers.split_off(before.min(answers.len())))
            }
            Err((mut answers, refusal)) => {
                self.refused = !matches!(self.kind, Kind::Alone | Kind::Peek);
                let written = answers.len().checked_sub(opening.len()).and_then(|place| kept.get_mut(place));
                let stale = written.and_then(|kept| kept.stale.take());
                let refusal = match (refusal, stale) {
                    (Refusal::Database(error), Some(stale)) if error.code() == Some(DIVIDED_BY_ZERO) => {
                        Refusal::Stale(stale)
                    }
                    (refusal, _) => refusal,
                };
                let last = (answers.len() >= before).then(|| answers.split_off(before));
                Err((last, refusal))
            }
        }
    }

    /// What has to be said before anything else, once.
    fn opening(&mut self) -> Vec<Statement> {
        if std::mem::replace(&mut self.begun, true) {
            return Vec::new();
        }
        let Connection { session, control, .. } = &*self.connection;
        let lingering = session.is_busy().then(|| control.rollback.clone());
        let begin = match self.kind {
            Kind::Write => Some(control.begin.clone()),
            Kind::Read | Kind::Glance => Some(control.begin_reading.clone()),
            Kind::Alone | Kind::Peek => None,
        };
        lingering.into_iter().chain(begin).collect()
    }

    /// Sends what was kept back and the commit together; gives how many rows were changed.
    pub(crate) fn commit(mut self) -> Result<u64, NotCommitted> {
        if self.kind == Kind::Alone || (!self.begun && self.kept.is_empty()) {
            return Ok(self.changed);
        }
        // Where nothing was asked yet: should the connection have died while it was idle, then this fails and nothing is in
        // doubt, where a commit behind it would be.
        self.begin_alone().map_err(NotCommitted::Refused)?;
        self.foreseen.clear();
        let commit = self.connection.control.commit.clone();
        let (answers, refusal) = match self.send_all(&[(&commit, &[])]) {
            Ok(answers) => (Some(answers), None),
            Err((answers, refusal)) => (answers, Some(refusal)),
        };
        // The command tag decides, whatever came after it: an error, or the end of the connection.
        if let Some(answer) = answers.iter().flatten().next() {
            return match answer.committed {
                true => Ok(self.changed),
                false => Err(NotCommitted::Refused(Error::rolled_back().into())),
            };
        }
        Err(match (answers, refusal) {
            // The line went dead, or a proxy says that it did, with the commit perhaps already at the other end of it.
            (_, Some(Refusal::Database(error))) if error.is_of_the_line() => NotCommitted::Commit(error),
            (Some(_), Some(Refusal::Database(error))) => NotCommitted::Commit(error),
            // Refused by the server before the commit, which it then passed over.
            (_, Some(refusal)) => NotCommitted::Refused(refusal),
            (_, None) => NotCommitted::Commit(Error::lost("the server did not answer the commit")),
        })
    }

    fn begin_alone(&mut self) -> Result<(), Refusal> {
        let opening = self.opening();
        if opening.is_empty() {
            return Ok(());
        }
        let asked: Vec<_> = opening.iter().map(|statement| (statement, [].as_slice())).collect();
        let begun = self.connection.exchange(&asked, BEGIN);
        self.refused |= begun.is_err();
        begun.map(drop).map_err(|(_, refusal)| refusal)
    }

    /// Drops a transaction that changed nothing, or is not to. The server is told with the next one, or by
    /// [`Connection::rest`].
    pub(crate) fn abandon(self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Connector, postgres_open};
    use crate::protocol::fake::{self, CommitAnswer, FakeServer};

    /// A connection to the server that tests may use, if there is one.
    fn connection() -> Option<Connection> {
        let url = chancery_testkit::postgres::postgres_url()?;
        let session = postgres_open(&url.parse().unwrap(), &Connector::new(None).unwrap()).unwrap();
        Some(Connection::new(session).unwrap())
    }

    fn number(rows: &[Row]) -> i64 {
        rows[0].cursor().int().unwrap()
    }

    #[test]
    fn a_statement_that_makes_room_is_forgotten_when_nobody_needs_it() {
        let Some(mut connection) = connection() else { return };
        let mut next = 0..;
        let mut fresh = || format!("SELECT {}::bigint", next.next().unwrap());
        while connection.obsolete.is_empty() {
            connection.begin(Kind::Peek).query(&fresh(), &[]).unwrap();
        }
        // From now on each new text makes room. The next to go is the second, which is kept back.
        let second = "SELECT 1::bigint";
        let mut transaction = connection.begin(Kind::Write);
        transaction.put(second, &[]).unwrap();
        transaction.query(&fresh(), &[]).unwrap();
        transaction.commit().unwrap();
        let known = connection.begin(Kind::Peek).query("SELECT COUNT(*) FROM pg_prepared_statements", &[]).unwrap();
        assert!((500..=520).contains(&number(&known)), "{}", number(&known));
    }

    #[test]
    fn what_is_foreseen_is_answered_behind_the_next_question_and_once() {
        let Some(mut connection) = connection() else { return };
        let serial = "SELECT nextval('foreseen')";
        let mut transaction = connection.begin(Kind::Write);
        transaction.put("CREATE TEMPORARY SEQUENCE foreseen", &[]).unwrap();
        transaction.send(&[]).unwrap();
        transaction.foresee(serial, &[]).unwrap();
        transaction.foresee(serial, &[]).unwrap();
        let last = "SELECT last_value + is_called::int FROM foreseen";
        assert_eq!(number(&transaction.query(last, &[]).unwrap()), 1, "it comes first");
        assert_eq!(number(&transaction.query(last, &[]).unwrap()), 2, "and what is foreseen behind it");
        assert_eq!(number(&transaction.query(serial, &[]).unwrap()), 1, "which is the answer");
        assert_eq!(number(&transaction.query(serial, &[]).unwrap()), 2, "of one question");
        transaction.abandon();
    }

    #[test]
    fn nothing_is_done_behind_a_refusal() {
        let Some(mut connection) = connection() else { return };
        let make = "CREATE TEMPORARY TABLE made (id BIGINT)";
        let mut transaction = connection.begin(Kind::Write);
        transaction.put("SELECT 1 / 0", &[]).unwrap();
        transaction.put(make, &[]).unwrap();
        let refused = transaction.commit().unwrap_err();
        assert!(matches!(refused, NotCommitted::Refused(Refusal::Database(_))), "{refused:?}");
        // Nor where somebody goes on as if nothing had been.
        let mut transaction = connection.begin(Kind::Write);
        assert!(transaction.execute("SELECT 1 / 0", &[]).is_err());
        assert!(transaction.execute(make, &[]).is_err());
        assert!(transaction.commit().is_err());
        let made = "SELECT COUNT(*) FROM pg_class WHERE relname = 'made' AND relpersistence = 't'";
        assert_eq!(number(&connection.begin(Kind::Peek).query(made, &[]).unwrap()), 0);
    }

    /// A write and its commit, at a server that answers the commit so.
    fn commit_at(answer: CommitAnswer) -> Result<(), NotCommitted> {
        let server = FakeServer::on_tcp(fake::LET_IN, answer);
        let session = postgres_open(&server.url.parse().unwrap(), &Connector::new(None).unwrap()).unwrap();
        let mut connection = Connection::new(session).unwrap();
        let mut transaction = connection.begin(Kind::Write);
        assert_eq!(transaction.execute("INSERT INTO kept VALUES (1)", &[]).unwrap(), 1);
        transaction.commit().map(drop)
    }

    #[test]
    fn a_commit_that_the_server_answers_with_a_rollback_is_an_error() {
        for answer in [CommitAnswer::Tag, CommitAnswer::TagAndHangUp, CommitAnswer::TagAndError] {
            commit_at(answer("COMMIT")).unwrap();
            for tag in ["ROLLBACK", "COMMIT PREPARED", ""] {
                let refused = commit_at(answer(tag)).unwrap_err();
                assert!(matches!(&refused, NotCommitted::Refused(Refusal::Database(_))), "{tag}: {refused:?}");
            }
        }
    }
}
