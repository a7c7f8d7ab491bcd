//! A server for tests that speaks as much of PostgreSQL's protocol as a session needs, and says what no real server says on demand.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread::{self, JoinHandle};

/// AuthenticationOk: no password is needed.
pub(crate) const LET_IN: &[u8] = &0u32.to_be_bytes();
/// AuthenticationCleartextPassword.
pub(crate) const CLEARTEXT: &[u8] = &3u32.to_be_bytes();
/// AuthenticationMD5Password, with its salt.
pub(crate) const MD5: &[u8] = &[0, 0, 0, 5, 1, 2, 3, 4];

/// What the server sends in answer to COMMIT.
#[derive(Clone, Copy)]
pub(crate) enum CommitAnswer {
    Tag(&'static str),
    /// The command tag, and nothing more: the connection ends.
    TagAndHangUp(&'static str),
    /// The command tag, and an error behind it.
    TagAndError(&'static str),
}

/// A server for one connection.
pub(crate) struct FakeServer {
    pub(crate) url: String,
    served: JoinHandle<Vec<Vec<u8>>>,
}

impl FakeServer {
    pub(crate) fn on_tcp(authentication: &'static [u8], commit: CommitAnswer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("postgres://me:secret@127.0.0.1:{}/ca", listener.local_addr().unwrap().port());
        let served = thread::spawn(move || Peer::new(listener.accept().unwrap().0, commit).serve(authentication));
        Self { url, served }
    }

    /// On the socket of port 5432 in a folder.
    pub(crate) fn on_socket(folder: &Path, authentication: &'static [u8]) -> Self {
        let listener = UnixListener::bind(folder.join(".s.PGSQL.5432")).unwrap();
        let url = format!("postgres:///ca?host={}&user=me&password=secret", folder.display());
        let commit = CommitAnswer::Tag("COMMIT");
        let served = thread::spawn(move || Peer::new(listener.accept().unwrap().0, commit).serve(authentication));
        Self { url, served }
    }

    /// The password messages that the client sent, once it has gone.
    pub(crate) fn passwords(self) -> Vec<Vec<u8>> {
        self.served.join().unwrap()
    }
}

struct Peer<S> {
    stream: S,
    commit: CommitAnswer,
    statements: HashMap<String, String>,
    /// The statement that was bound last.
    bound: String,
    out: Vec<u8>,
    hangs_up: bool,
}

impl<S: Read + Write> Peer<S> {
    fn new(stream: S, commit: CommitAnswer) -> Self {
        Self { stream, commit, statements: HashMap::new(), bound: String::new(), out: Vec::new(), hangs_up: false }
    }

    /// Serves until the client or the script ends the connection; returns the password messages.
    fn serve(mut self, authentication: &[u8]) -> Vec<Vec<u8>> {
        let mut passwords = Vec::new();
        // A client that hangs up ends the script.
        let _ended = self.converse(authentication, &mut passwords);
        passwords
    }

    fn converse(&mut self, authentication: &[u8], passwords: &mut Vec<Vec<u8>>) -> io::Result<()> {
        const SSL_REQUEST: u32 = 80_877_103;
        while self.startup()? == SSL_REQUEST {
            self.stream.write_all(b"N")?;
        }
        self.message(b'R', authentication);
        match authentication == LET_IN {
            true => self.ready()?,
            false => self.flush()?,
        }
        loop {
            let (kind, body) = self.receive()?;
            match kind {
                b'p' => {
                    passwords.push(body);
                    self.message(b'R', LET_IN);
                    self.ready()?;
                }
                b'Q' => {
                    match body.starts_with(b"COMMIT") {
                        true => self.commit(),
                        false => self.complete("SET"),
                    }
                    self.ready()?;
                }
                b'P' => {
                    let [name, sql] = texts(&body);
                    self.statements.insert(name, sql);
                    self.message(b'1', b"");
                }
                b'D' => {
                    let [name] = texts(&body[1..]);
                    self.describe(&name);
                }
                b'B' => {
                    let [_portal, name] = texts(&body);
                    self.bound = self.statements[&name].clone();
                    self.message(b'2', b"");
                }
                b'E' => self.execute(),
                b'C' => self.message(b'3', b""),
                b'S' => self.ready()?,
                _ => return Ok(()),
            }
        }
    }

    /// A question has one column of text.
    fn describe(&mut self, statement: &str) {
        const TEXT: u32 = 25;
        self.message(b't', &0u16.to_be_bytes());
        if !self.statements[statement].starts_with("SELECT") {
            return self.message(b'n', b"");
        }
        let mut columns = 1u16.to_be_bytes().to_vec();
        columns.extend_from_slice(b"answer\0");
        columns.extend_from_slice(&[0; 6]);
        columns.extend_from_slice(&TEXT.to_be_bytes());
        columns.extend_from_slice(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 1]);
        self.message(b'T', &columns);
    }

    fn execute(&mut self) {
        match self.bound.split(' ').next() {
            Some("SELECT") => {
                self.message(b'D', b"\0\x01\0\0\0\x03off");
                self.complete("SELECT 1");
            }
            Some("COMMIT") => self.commit(),
            Some("BEGIN") => self.complete("BEGIN"),
            Some(_) | None => self.complete("INSERT 0 1"),
        }
    }

    fn commit(&mut self) {
        match self.commit {
            CommitAnswer::Tag(tag) => self.complete(tag),
            CommitAnswer::TagAndHangUp(tag) => {
                self.complete(tag);
                self.hangs_up = true;
            }
            CommitAnswer::TagAndError(tag) => {
                self.complete(tag);
                self.message(b'E', b"SERROR\0VERROR\0CXX000\0Mbroken\0\0");
            }
        }
    }

    fn complete(&mut self, tag: &str) {
        self.message(b'C', format!("{tag}\0").as_bytes());
    }

    /// Sends everything, unless the script ends here: the client has sent all that it has to say by now.
    fn ready(&mut self) -> io::Result<()> {
        if self.hangs_up {
            self.flush()?;
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        self.message(b'Z', b"I");
        self.flush()
    }

    fn message(&mut self, kind: u8, body: &[u8]) {
        let length = u32::try_from(body.len() + 4).unwrap();
        self.out.push(kind);
        self.out.extend_from_slice(&length.to_be_bytes());
        self.out.extend_from_slice(body);
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.write_all(&std::mem::take(&mut self.out))
    }

    /// The code of a message that has no kind: the first of a connection.
    fn startup(&mut self) -> io::Result<u32> {
        let body = self.body()?;
        Ok(u32::from_be_bytes(body[..4].try_into().unwrap()))
    }

    fn receive(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut kind = [0];
        self.stream.read_exact(&mut kind)?;
        Ok((kind[0], self.body()?))
    }

    fn body(&mut self) -> io::Result<Vec<u8>> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
        self.stream.read_exact(&mut body)?;
        Ok(body)
    }
}

/// The first texts of a message, which end with a zero byte each.
fn texts<const N: usize>(body: &[u8]) -> [String; N] {
    let mut texts = body.split(|byte| *byte == 0).map(|text| String::from_utf8(text.to_vec()).unwrap());
    std::array::from_fn(|_| texts.next().unwrap())
}
