//! Connections: TCP, with TLS where the URL says `https`.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tower::Service;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Opens connections. Without `tls` it refuses `https`.
#[derive(Clone)]
pub(crate) struct Connector {
    tcp: HttpConnector,
    tls: Option<TlsConnector>,
}

impl Connector {
    pub(crate) fn new(tls: Option<TlsConnector>, timeout: Option<Duration>) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.set_connect_timeout(timeout);
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        Self { tcp, tls }
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, Failure>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let encrypted = uri.scheme() != Some(&Scheme::HTTP);
        let tls = self.tls.clone();
        let name = server_name(uri.host().unwrap_or_default());
        let tcp = self.tcp.call(uri);
        Box::pin(async move {
            if !encrypted {
                return Ok(Stream { io: Box::new(tcp.await?), http2: false });
            }
            let (tls, name) = (tls.ok_or("this client was built without TLS")?, name?);
            encrypt(tls, name, tcp.await?.into_inner()).await
        })
    }
}

async fn encrypt(tls: TlsConnector, name: ServerName<'static>, tcp: TcpStream) -> Result<Stream, Failure> {
    let stream = tls.connect(name, tcp).await?;
    let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    Ok(Stream { io: Box::new(TokioIo::new(stream)), http2 })
}

/// The name that the certificate must bear: without the brackets of an IPv6 address (RFC 3986 section 3.2.2).
fn server_name(host: &str) -> Result<ServerName<'static>, Failure> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    Ok(ServerName::try_from(bare)?.to_owned())
}

/// An open connection.
pub(crate) struct Stream {
    io: Box<dyn Io>,
    http2: bool,
}

trait Io: Read + Write + Send + Unpin {}
impl<T: Read + Write + Send + Unpin> Io for T {}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let connected = Connected::new();
        if self.http2 { connected.negotiated_h2() } else { connected }
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl Write for Stream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, buffers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_bears_addresses_without_brackets() {
        let name = |host: &str| server_name(host).unwrap().to_str().into_owned();
        assert_eq!(name("[::1]"), "::1");
        assert_eq!(name("192.0.2.1"), "192.0.2.1");
        assert_eq!(name("ca.example.com"), "ca.example.com");
        assert!(server_name("[ca.example.com").is_err());
    }
}
