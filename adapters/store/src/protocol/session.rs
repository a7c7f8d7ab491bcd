//! One connection: statements are gathered, sent together, and answered in order.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{BufMut, BytesMut};
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;

use super::socket::Socket;
use super::{Error, Row};
use crate::value::Value;

/// PostgreSQL's numbers for the types that our columns have.
pub(super) const INT: u32 = 20;
pub(super) const TEXT: u32 = 25;
pub(super) const BYTES: u32 = 17;

/// Both parameters and columns are sent as they are, and not as text.
const BINARY: i16 = 1;
/// How much is read at a time.
const CHUNK: usize = 16 * 1024;

pub(crate) struct Session {
    socket: Socket,
    chunk: Box<[u8]>,
    incoming: BytesMut,
    outgoing: BytesMut,
    /// The statements in `outgoing`, whose answers come in this order.
    asked: Vec<Statement>,
    state: State,
    /// By when everything must have been answered.
    deadline: Option<Instant>,
    heard: Instant,
    names: u32,
}

/// What the server was last known to be at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// In a transaction, which may have been refused.
    Busy,
    Closed,
}

/// A statement that the server knows by a name.
#[derive(Clone)]
pub(crate) struct Statement(pub(super) Arc<Prepared>);

pub(super) struct Prepared {
    name: String,
    params: Vec<u32>,
    pub(super) columns: Vec<u32>,
}

/// A statement was asked with parameters that do not fit it.
#[derive(Debug)]
pub(crate) struct Unsent;

/// What the server answered to a statement.
#[derive(Default)]
pub(crate) struct Answer {
    pub(crate) rows: Vec<Row>,
    /// How many rows it changed, or gave.
    pub(crate) count: u64,
    /// How many rows it changed.
    pub(crate) changed: u64,
    /// Whether the command tag is that of a commit.
    pub(crate) committed: bool,
}

/// The command tag of a COMMIT that took effect. PostgreSQL answers the COMMIT of a failed transaction with the tag
/// `ROLLBACK` and reports no error.
const COMMITTED: &str = "COMMIT";

impl Session {
    pub(super) fn over(socket: Socket) -> Self {
        Self {
            socket,
            chunk: vec![0; CHUNK].into(),
            incoming: BytesMut::new(),
            outgoing: BytesMut::new(),
            asked: Vec::new(),
            state: State::Idle,
            deadline: None,
            heard: Instant::now(),
            names: 0,
        }
    }

    /// From now on everything must be answered by this time; for ever where there is none.
    pub(crate) fn set_deadline(&mut self, by: Option<Instant>) {
        self.deadline = by;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Whether there is a transaction that has not ended.
    pub(crate) fn is_busy(&self) -> bool {
        self.state == State::Busy
    }

    /// How long nothing was heard from the server.
    pub(crate) fn silence(&self) -> Duration {
        self.heard.elapsed()
    }

    /// Runs statements that have no parameters, and whose rows nobody reads, one after the other.
    pub(crate) fn run(&mut self, sql: &str) -> Result<(), Error> {
        self.send(|out| frontend::query(sql, out))?;
        self.until_ready(|_| Ok(()))
    }

    /// Commits the transaction that was begun with [`Self::run`].
    pub(crate) fn commit(&mut self) -> Result<(), Error> {
        self.send(|out| frontend::query("COMMIT", out))?;
        let mut committed = false;
        self.until_ready(|message| {
            if let Message::CommandComplete(body) = message {
                committed = body.tag()? == COMMITTED;
            }
            Ok(())
        })?;
        if committed { Ok(()) } else { Err(Error::rolled_back()) }
    }

    /// Asks one question that has one row for an answer, and is not asked often.
    pub(crate) fn question(&mut self, sql: &str, params: &[Value]) -> Result<Row, Error> {
        let statement = self.prepare(sql)?;
        self.ask(&statement, params).map_err(|Unsent| Error::lost("parameters that do not fit"))?;
        let (answers, refused) = self.exchange();
        self.forget(&statement);
        match refused {
            Some(error) => Err(error),
            None => {
                let row = answers.into_iter().flat_map(|answer| answer.rows).next();
                row.ok_or_else(|| Error::lost("no row for an answer"))
            }
        }
    }

    pub(crate) fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        self.names = self.names.wrapping_add(1);
        let name = format!("s{}", self.names);
        self.send(|out| {
            frontend::parse(&name, sql, [], out)?;
            frontend::describe(b'S', &name, out)?;
            frontend::sync(out);
            Ok(())
        })?;
        let (mut params, mut columns) = (Vec::new(), Vec::new());
        self.until_ready(|message| {
            match message {
                Message::ParameterDescription(body) => params = body.parameters().collect()?,
                Message::RowDescription(body) => columns = body.fields().map(|field| Ok(field.type_oid())).collect()?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(Statement(Arc::new(Prepared { name, params, columns })))
    }

    /// Has the server forget a statement, with what is sent next.
    pub(crate) fn forget(&mut self, statement: &Statement) {
        // A name of ours can be written.
        let _ = frontend::close(b'S', &statement.0.name, &mut self.outgoing);
    }

    /// Adds a statement to what is sent next. Where that cannot be, nothing is sent of what was gathered.
    pub(crate) fn ask(&mut self, statement: &Statement, params: &[Value]) -> Result<(), Unsent> {
        let out = &mut self.outgoing;
        let written = statement.takes(params)
            && frontend::bind("", &statement.0.name, [BINARY], params, write, [BINARY], out).is_ok()
            && frontend::execute("", 0, out).is_ok();
        if !written {
            self.take_back();
            return Err(Unsent);
        }
        self.asked.push(statement.clone());
        Ok(())
    }

    /// Sends what was asked, and gives the answers in order. Where there is an error, too, it is that of the first statement
    /// without an answer, and nothing behind that was done; with all answers there, it is that of a commit which nobody asked
    /// for.
    pub(crate) fn exchange(&mut self) -> (Vec<Answer>, Option<Error>) {
        let asked = std::mem::take(&mut self.asked);
        let (mut answers, mut rows) = (Vec::with_capacity(asked.len()), Vec::new());
        let sent = self.send(|out| {
            frontend::sync(out);
            Ok(())
        });
        let read = sent.and_then(|()| {
            self.until_ready(|message| {
                match message {
                    Message::DataRow(body) => {
                        let statement =
                            asked.get(answers.len()).ok_or_else(|| Error::lost("a row that nobody asked for"))?;
                        rows.push(Row::new(statement.clone(), body.buffer_bytes().clone()));
                    }
                    Message::CommandComplete(body) => {
                        let tag = body.tag()?;
                        let count = tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0);
                        let writes = ["INSERT", "UPDATE", "DELETE"].iter().any(|verb| tag.starts_with(verb));
                        answers.push(Answer {
                            rows: std::mem::take(&mut rows),
                            count,
                            changed: if writes { count } else { 0 },
                            committed: tag == COMMITTED,
                        });
                    }
                    Message::EmptyQueryResponse => answers.push(Answer::default()),
                    _ => {}
                }
                Ok(())
            })
        });
        (answers, read.err())
    }

    /// Forgets what was asked and not sent.
    fn take_back(&mut self) {
        self.asked.clear();
        self.outgoing.clear();
    }

    /// Sends what was gathered, and what is added to it now.
    pub(super) fn send(&mut self, add: impl FnOnce(&mut BytesMut) -> io::Result<()>) -> Result<(), Error> {
        if self.is_closed() {
            return Err(Error::lost("the connection was given up"));
        }
        let added = add(&mut self.outgoing);
        let sent = added.and_then(|()| self.socket.write_by(&self.outgoing, self.deadline));
        self.outgoing.clear();
        sent.map_err(|error| self.lose(error.into()))
    }

    /// The next message that is an answer.
    pub(super) fn receive(&mut self) -> Result<Message, Error> {
        match self.next() {
            Ok(Message::ErrorResponse(body)) => Err(Error::read(&body)),
            Ok(message) => Ok(message),
            Err(error) => Err(self.lose(error.into())),
        }
    }

    /// Waits until the server is ready for more.
    pub(super) fn become_ready(&mut self) -> Result<(), Error> {
        self.until_ready(|_| Ok(()))
    }

    /// Has every message looked at until the server is ready for more. The first thing it refused is told.
    fn until_ready(&mut self, mut look: impl FnMut(Message) -> Result<(), Error>) -> Result<(), Error> {
        let mut refused = None;
        loop {
            match self.next() {
                Ok(Message::ReadyForQuery(body)) => {
                    self.state = if body.status() == b'I' { State::Idle } else { State::Busy };
                    self.heard = Instant::now();
                    return refused.map_or(Ok(()), Err);
                }
                Ok(Message::ErrorResponse(body)) => {
                    let error = Error::read(&body);
                    if let Error::Refused { fatal: true, .. } = error {
                        self.state = State::Closed;
                        return Err(refused.unwrap_or(error));
                    }
                    refused.get_or_insert(error);
                }
                Ok(message) if refused.is_none() => look(message).map_err(|error| self.lose(error))?,
                Ok(_) => {}
                Err(error) => {
                    let lost = self.lose(error.into());
                    return Err(refused.unwrap_or(lost));
                }
            }
        }
    }

    /// The next message, except for those that may come at any time and are no answers.
    fn next(&mut self) -> io::Result<Message> {
        loop {
            match Message::parse(&mut self.incoming)? {
                Some(Message::NoticeResponse(_) | Message::ParameterStatus(_) | Message::NotificationResponse(_)) => {}
                Some(message) => return Ok(message),
                None => {
                    let count = self.socket.read_by(&mut self.chunk, self.deadline)?;
                    self.incoming.extend_from_slice(&self.chunk[..count]);
                }
            }
        }
    }

    fn lose(&mut self, error: Error) -> Error {
        self.state = State::Closed;
        error
    }
}

impl Drop for Session {
    /// Says goodbye, so that the server does not have to wonder.
    fn drop(&mut self) {
        if !self.is_closed() {
            self.take_back();
            self.deadline = Some(Instant::now() + Duration::from_secs(1));
            let _ = self.send(|out| {
                frontend::terminate(out);
                Ok(())
            });
        }
    }
}

impl PartialEq for Statement {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Statement {
    /// Whether these can be its parameters: as many, and each of a type that it takes.
    pub(crate) fn takes(&self, params: &[Value]) -> bool {
        let fits = |(value, kind): (&Value, &u32)| match value {
            Value::Null => matches!(*kind, INT | TEXT | BYTES),
            Value::Int(_) => *kind == INT,
            Value::Text(_) => *kind == TEXT,
            Value::Bytes(_) => *kind == BYTES,
        };
        params.len() == self.0.params.len() && params.iter().zip(&self.0.params).all(fits)
    }
}

fn write(value: &Value, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
    match value {
        Value::Null => return Ok(IsNull::Yes),
        Value::Int(value) => out.put_i64(*value),
        Value::Text(value) => out.put_slice(value.as_bytes()),
        Value::Bytes(value) => out.put_slice(value),
    }
    Ok(IsNull::No)
}

#[cfg(test)]
mod tests {
    use crate::engine::{Connector, postgres_open};
    use crate::protocol::fake::{self, CommitAnswer, FakeServer};

    #[test]
    fn a_rollback_in_answer_to_a_commit_is_an_error() {
        for (tag, kept) in [("COMMIT", true), ("ROLLBACK", false)] {
            let server = FakeServer::on_tcp(fake::LET_IN, CommitAnswer::Tag(tag));
            let mut session = postgres_open(&server.url.parse().unwrap(), &Connector::new(None).unwrap()).unwrap();
            session.run("BEGIN").unwrap();
            assert_eq!(session.commit().is_ok(), kept, "{tag}");
        }
    }
}
