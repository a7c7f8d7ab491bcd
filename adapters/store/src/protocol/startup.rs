//! How a connection comes to be: a server of those that are listed, TLS, who we are, and whether it can be written to.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{self, ScramSha256};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use super::address::{PostgresAddress, Server, Wanted};
use super::socket::{Socket, Stream};
use super::{Error, Session};
use crate::engine::Connector;

/// How long one server may take to let us in, unless the URL says otherwise.
const PATIENCE: Duration = Duration::from_secs(3);

impl Session {
    /// Connects to the first server that lets us in and can be written to: after a failover the old one may be there again, as a
    /// standby.
    pub(crate) fn open(address: &PostgresAddress, connector: &Connector) -> Result<Self, Error> {
        let mut last = Error::lost("there is no server");
        for server in in_turn(address) {
            let by = || Instant::now() + address.patience.unwrap_or(PATIENCE);
            let mut door = Door { address, connector, server, by: by() };
            match places(server, door.left()) {
                Ok(places) => {
                    for place in places {
                        // Each for itself: one that swallows everything must leave time for the next.
                        door.by = by();
                        match door.enter(&place) {
                            Ok(session) => return Ok(session),
                            Err(error) => last = error,
                        }
                    }
                }
                Err(error) => last = error.into(),
            }
        }
        Err(last)
    }
}

/// The servers in the order in which they are tried.
fn in_turn(address: &PostgresAddress) -> impl Iterator<Item = &Server> {
    let servers = address.servers();
    let random = RandomState::new().hash_one(()) as usize % servers.len().max(1);
    let first = if address.any_first { random } else { 0 };
    servers[first..].iter().chain(&servers[..first])
}

enum Place<'a> {
    Tcp(SocketAddr),
    Unix(&'a Path),
}

/// A server that is to let us in.
struct Door<'a> {
    address: &'a PostgresAddress,
    connector: &'a Connector,
    server: &'a Server,
    /// By when it has to.
    by: Instant,
}

impl Door<'_> {
    fn enter(&self, place: &Place<'_>) -> Result<Session, Error> {
        let socket = match place {
            Place::Tcp(address) => Socket::tcp(address, self.left())?,
            Place::Unix(folder) => Socket::unix(folder, self.server.port, self.left())?,
        };
        let (socket, binding) = self.secure(socket)?;
        let plain = matches!(socket.stream, Stream::Tcp(_));
        let mut session = Session::over(socket);
        session.set_deadline(Some(self.by));
        self.introduce(&mut session, binding, plain)?;
        let read_only = session.question("SELECT current_setting('transaction_read_only')", &[])?;
        if read_only.cursor().text().is_ok_and(|said| said == "on") {
            return Err(Error::Lost(io::Error::new(io::ErrorKind::PermissionDenied, "database does not allow writes")));
        }
        session.set_deadline(None);
        Ok(session)
    }

    /// The time that it still has; a little in any case.
    fn left(&self) -> Duration {
        self.by.saturating_duration_since(Instant::now()).max(Duration::from_millis(50))
    }

    /// TLS, as far as it was asked for; with what a password exchange can be bound to.
    fn secure(&self, mut socket: Socket) -> Result<(Socket, Option<Vec<u8>>), Error> {
        // Nobody listens in between on a socket in the file system, and PostgreSQL has no TLS there.
        let local = matches!(socket.stream, Stream::Unix(_));
        if local || self.address.tls == Wanted::No {
            return Ok((socket, None));
        }
        if !self.address.tls_at_once && !offers_tls(&mut socket, self.by)? {
            return match self.address.tls {
                Wanted::Yes => Err(Error::lost("the server does not support TLS")),
                Wanted::IfThere | Wanted::No => Ok((socket, None)),
            };
        }
        let Stream::Tcp(stream) = socket.stream else { return Err(Error::lost("TLS needs TCP")) };
        let stream = self.handshake(stream)?;
        let binding = stream.conn.peer_certificates().and_then(|chain| Connector::binding(chain.first()?));
        Ok((Socket::over(Stream::Tls(Box::new(stream))), binding))
    }

    fn handshake(&self, stream: TcpStream) -> Result<StreamOwned<ClientConnection, TcpStream>, Error> {
        let nameless = || Error::lost("TLS needs the server's name: add host= to the database URL");
        let name = self.server.name.clone().ok_or_else(nameless)?;
        let name = ServerName::try_from(name).map_err(io::Error::other)?;
        stream.set_read_timeout(Some(self.left()))?;
        stream.set_write_timeout(Some(self.left()))?;
        let session = ClientConnection::new(self.connector.config(), name).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(session, stream);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        // Whoever was not asked first must show that it is the right kind of server.
        if self.address.tls_at_once && stream.conn.alpn_protocol() != Some(b"postgresql") {
            return Err(Error::lost("the server does not take TLS at once (sslnegotiation=direct)"));
        }
        Ok(stream)
    }

    /// Says who we are, and shows it.
    fn introduce(&self, session: &mut Session, binding: Option<Vec<u8>>, plain: bool) -> Result<(), Error> {
        let user = match &self.address.user {
            Some(user) => user.clone(),
            None => whoami::username().map_err(|error| Error::lost(error.to_string()))?,
        };
        let mut told = vec![("client_encoding", "UTF8"), ("user", &*user), ("application_name", "chancery")];
        told.extend(self.address.database().map(|name| ("database", name)));
        told.extend(self.address.options.as_deref().map(|options| ("options", options)));
        session.send(|out| frontend::startup_message(told, out))?;
        match session.receive()? {
            Message::AuthenticationOk => self.without_binding()?,
            Message::AuthenticationCleartextPassword => {
                refuse_on_plain_tcp(plain, "in clear text")?;
                self.without_binding()?;
                session.send(|out| frontend::password_message(self.password()?, out))?;
                expect_in(session)?;
            }
            Message::AuthenticationMd5Password(body) => {
                refuse_on_plain_tcp(plain, "as an MD5 hash")?;
                self.without_binding()?;
                let hashed = md5_hash(user.as_bytes(), self.password()?, body.salt());
                session.send(|out| frontend::password_message(hashed.as_bytes(), out))?;
                expect_in(session)?;
            }
            Message::AuthenticationSasl(body) => self.scram(session, &body, binding)?,
            _ => return Err(Error::lost("the server asks for a proof that we do not have: use a password")),
        }
        session.become_ready()
    }

    /// A password that is shown without being told (RFC 5802), bound to the TLS connection where both sides can.
    fn scram(
        &self,
        session: &mut Session,
        offered: &AuthenticationSaslBody,
        binding: Option<Vec<u8>>,
    ) -> Result<(), Error> {
        let offered: Vec<_> = offered.mechanisms().map(|name| Ok(name.to_owned())).collect()?;
        let offers = |mechanism: &str| offered.iter().any(|offered| offered == mechanism);
        let binding = binding.filter(|_| self.address.binding != Wanted::No);
        let (mechanism, binding) = match (offers(sasl::SCRAM_SHA_256_PLUS), binding) {
            (true, Some(binding)) => (sasl::SCRAM_SHA_256_PLUS, sasl::ChannelBinding::tls_server_end_point(binding)),
            // Whoever cut the better one out of the offer is found out by this.
            (false, Some(_)) => (sasl::SCRAM_SHA_256, sasl::ChannelBinding::unrequested()),
            (_, None) => (sasl::SCRAM_SHA_256, sasl::ChannelBinding::unsupported()),
        };
        if mechanism == sasl::SCRAM_SHA_256 {
            self.without_binding()?;
            if !offers(mechanism) {
                return Err(Error::lost("the server offers no SCRAM-SHA-256"));
            }
        }
        let mut scram = ScramSha256::new(self.password()?, binding);
        session.send(|out| frontend::sasl_initial_response(mechanism, scram.message(), out))?;
        match session.receive()? {
            Message::AuthenticationSaslContinue(body) => scram.update(body.data())?,
            _ => return Err(Error::lost("the server broke off the password exchange")),
        }
        session.send(|out| frontend::sasl_response(scram.message(), out))?;
        match session.receive()? {
            Message::AuthenticationSaslFinal(body) => scram.finish(body.data())?,
            _ => return Err(Error::lost("the server broke off the password exchange")),
        }
        expect_in(session)
    }

    fn password(&self) -> io::Result<&[u8]> {
        let none = || io::Error::other("the server asks for a password, and the URL has none");
        self.address.password.as_deref().ok_or_else(none)
    }

    fn without_binding(&self) -> Result<(), Error> {
        match self.address.binding {
            Wanted::Yes => Err(Error::lost("the server did not bind the password to the TLS connection")),
            Wanted::IfThere | Wanted::No => Ok(()),
        }
    }
}

/// Whoever reads, or answers, a TCP connection without TLS learns a password that is sent in clear text, and enough of one
/// that is sent as an MD5 hash. Loopback is no exception: another user of the machine may have taken the port.
fn refuse_on_plain_tcp(plain: bool, how: &str) -> Result<(), Error> {
    if !plain {
        return Ok(());
    }
    Err(Error::lost(format!(
        "the server asks for the password {how} over a connection without TLS, where it is not sent: add sslmode=require to \
         the database URL, or use the server's Unix socket, or have it ask for scram-sha-256 in pg_hba.conf and set the \
         password again with password_encryption = 'scram-sha-256'"
    )))
}

fn expect_in(session: &mut Session) -> Result<(), Error> {
    match session.receive()? {
        Message::AuthenticationOk => Ok(()),
        _ => Err(Error::lost("the server neither let us in nor said why")),
    }
}

/// Where a server can be reached.
fn places(server: &Server, patience: Duration) -> io::Result<Vec<Place<'_>>> {
    match server {
        Server { address: Some(address), .. } => Ok(vec![Place::Tcp(SocketAddr::new(*address, server.port))]),
        Server { folder: Some(folder), .. } => Ok(vec![Place::Unix(folder)]),
        Server { name: Some(name), .. } => {
            Ok(look_up(name, server.port, patience)?.into_iter().map(Place::Tcp).collect())
        }
        Server { .. } => Ok(Vec::new()),
    }
}

/// The addresses of a name. The system may take its time, and is not waited for any longer than there is.
fn look_up(name: &str, port: u16, patience: Duration) -> io::Result<Vec<SocketAddr>> {
    let (found, answer) = mpsc::channel();
    let asked = (name.to_owned(), port);
    thread::Builder::new().name("store-names".to_owned()).spawn(move || {
        let _ = found.send(asked.to_socket_addrs().map(Vec::from_iter));
    })?;
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, "the server's address was not found in time");
    answer.recv_timeout(patience).map_err(late)?
}

/// Asks whether there is TLS.
fn offers_tls(socket: &mut Socket, by: Instant) -> Result<bool, Error> {
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    socket.write_by(&request, Some(by))?;
    // Not a byte more: what comes behind it is not of the server, or is encrypted.
    let mut answer = [0];
    socket.read_by(&mut answer, Some(by))?;
    Ok(answer == *b"S")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::fake::{self, CommitAnswer, FakeServer};

    fn open(server: &FakeServer) -> Result<Session, Error> {
        Session::open(&server.url.parse().unwrap(), &Connector::new(None).unwrap())
    }

    #[test]
    fn a_password_that_can_be_read_on_the_way_is_not_sent_over_tcp_without_tls() {
        for (authentication, how) in [(fake::CLEARTEXT, "in clear text"), (fake::MD5, "as an MD5 hash")] {
            let server = FakeServer::on_tcp(authentication, CommitAnswer::Tag("COMMIT"));
            let refused = open(&server).err().expect("no password is sent").to_string();
            assert!(refused.contains(how) && refused.contains("sslmode=require"), "{refused}");
            assert_eq!(server.passwords(), Vec::<Vec<u8>>::new());
        }
    }

    #[test]
    fn a_password_is_sent_over_the_socket_of_this_machine() {
        for (authentication, sent) in [(fake::CLEARTEXT, b"secret\0".as_slice()), (fake::MD5, b"md5")] {
            let folder = tempfile::tempdir().unwrap();
            let server = FakeServer::on_socket(folder.path(), authentication);
            drop(open(&server).unwrap());
            let [password] = &server.passwords()[..] else { panic!("one password message") };
            assert!(password.starts_with(sent), "{password:?}");
        }
    }
}
