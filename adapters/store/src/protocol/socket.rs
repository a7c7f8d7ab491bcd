//! What carries the messages: TCP, TLS over it, or a socket in the file system.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustls::{ClientConnection, StreamOwned};
use socket2::{Domain, SockAddr, SockRef, TcpKeepalive, Type};

/// How long the system tries to deliver something before it gives the connection up.
const UNHEARD: Duration = Duration::from_secs(15);

pub(super) struct Socket {
    pub(super) stream: Stream,
    /// How long the system was told to wait for what is read and what is written.
    waits: Waits,
}

pub(super) enum Stream {
    Tcp(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
    Unix(UnixStream),
}

#[derive(Default)]
struct Waits {
    to_read: Option<Duration>,
    to_write: Option<Duration>,
}

impl Socket {
    pub(super) fn over(stream: Stream) -> Self {
        Self { stream, waits: Waits::default() }
    }

    pub(super) fn tcp(address: &SocketAddr, patience: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(address, patience)?;
        stream.set_nodelay(true)?;
        let socket = SockRef::from(&stream);
        socket.set_tcp_user_timeout(Some(UNHEARD))?;
        // A connection whose other end has gone is noticed while it is idle, too.
        let alive = TcpKeepalive::new().with_time(UNHEARD).with_interval(UNHEARD / 3).with_retries(3);
        socket.set_tcp_keepalive(&alive)?;
        Ok(Self::over(Stream::Tcp(stream)))
    }

    /// The socket of a server in its folder.
    pub(super) fn unix(folder: &Path, port: u16, patience: Duration) -> io::Result<Self> {
        let socket = socket2::Socket::new(Domain::UNIX, Type::STREAM, None)?;
        // A server that takes nobody in must not be waited for without end.
        socket.set_write_timeout(Some(patience))?;
        socket.connect(&SockAddr::unix(folder.join(format!(".s.PGSQL.{port}")))?).map_err(told)?;
        Ok(Self::over(Stream::Unix(socket.into())))
    }

    /// Writes all of it by a time.
    pub(super) fn write_by(&mut self, bytes: &[u8], by: Option<Instant>) -> io::Result<()> {
        let left = left(by)?;
        if self.waits.to_write != left {
            self.stream.socket().set_write_timeout(left)?;
            self.waits.to_write = left;
        }
        let written = match &mut self.stream {
            Stream::Tcp(stream) => stream.write_all(bytes),
            Stream::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
            Stream::Unix(stream) => stream.write_all(bytes),
        };
        written.map_err(told)
    }

    /// Reads what has come, or comes by a time; at least one byte.
    pub(super) fn read_by(&mut self, into: &mut [u8], by: Option<Instant>) -> io::Result<usize> {
        let left = left(by)?;
        if self.waits.to_read != left {
            self.stream.socket().set_read_timeout(left)?;
            self.waits.to_read = left;
        }
        loop {
            let read = match &mut self.stream {
                Stream::Tcp(stream) => stream.read(into),
                Stream::Tls(stream) => stream.read(into),
                Stream::Unix(stream) => stream.read(into),
            };
            match read {
                Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server hung up")),
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(told(error)),
            }
        }
    }
}

impl Stream {
    fn socket(&self) -> SockRef<'_> {
        match self {
            Self::Tcp(stream) => SockRef::from(stream),
            Self::Tls(stream) => SockRef::from(&stream.sock),
            Self::Unix(stream) => SockRef::from(stream),
        }
    }
}

/// The time that is left, where it is limited; in whole seconds, so that the system need not be told anew each time.
fn left(by: Option<Instant>) -> io::Result<Option<Duration>> {
    let Some(by) = by else { return Ok(None) };
    match by.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(told(io::ErrorKind::TimedOut.into())),
        left => Ok(Some(Duration::from_secs(left.as_secs() + 1))),
    }
}

/// The system's word for a time that is over helps nobody.
fn told(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            io::Error::new(io::ErrorKind::TimedOut, "the server said nothing in time")
        }
        _ => error,
    }
}
