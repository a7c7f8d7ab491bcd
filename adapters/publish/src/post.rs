//! One POST, with a limit on everything: time, size, and where it may lead. Redirects are answers like any other.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chancery_domain::set_aside;
use http::{Request, Uri, header};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use rustls::RootCertStore;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use crate::dial::{Guard, Resolver, connect};
use crate::error::{PostError, causes, handshake_failure};
use crate::tls;

/// The most that a response's head may take. Its body is not read.
const HEAD_LIMIT: usize = 16 * 1024;

/// Of the time for a message, a connection to one address may take this part: four addresses can fail, and there is still
/// time to look the name up.
const CONNECT_SHARE: u32 = 5;

/// How messages are sent.
#[derive(Clone, Debug)]
pub struct PublisherConfig {
    /// Also to `http` URLs, for a test environment.
    pub plain_http: bool,
    /// Also to addresses that are set aside for special use, for a network of one's own.
    pub special_addresses: bool,
    /// For everything from looking up the name to the head of the answer.
    pub timeout: Duration,
    /// Certificates that vouch for servers; the system's where there are none.
    pub roots: Option<RootCertStore>,
}

impl PublisherConfig {
    pub fn new(plain_http: bool, special_addresses: bool) -> Self {
        Self { plain_http, special_addresses, timeout: Duration::from_secs(15), roots: None }
    }
}

/// A message.
#[derive(Clone)]
pub struct Post<'a> {
    pub url: &'a str,
    pub headers: &'a [(&'static str, String)],
    /// JSON.
    pub body: &'a [u8],
}

/// Sends messages.
#[derive(Clone)]
pub struct Publisher {
    resolver: Arc<dyn Resolver>,
    plain_http: bool,
    special_addresses: bool,
    timeout: Duration,
    tls: Option<TlsConnector>,
}

impl Publisher {
    pub fn new(config: PublisherConfig, resolver: Arc<dyn Resolver>) -> Self {
        let PublisherConfig { plain_http, special_addresses, timeout, roots } = config;
        Self { resolver, plain_http, special_addresses, timeout, tls: tls::connector(roots) }
    }

    /// Sends a message and gives the status of the answer.
    pub async fn post(&self, post: &Post<'_>) -> Result<u16, PostError> {
        let sent = tokio::time::timeout(self.timeout, self.send(post)).await;
        sent.unwrap_or(Err(PostError::Timeout(self.timeout)))
    }

    async fn send(&self, post: &Post<'_>) -> Result<u16, PostError> {
        let url: Uri = post.url.parse().map_err(|_| PostError::Url)?;
        let encrypted = match url.scheme_str() {
            Some("https") => true,
            Some("http") if self.plain_http => false,
            Some("http") => return Err(PostError::PlainHttp),
            Some(_) | None => return Err(PostError::Url),
        };
        let host = url.host().ok_or(PostError::Url)?;
        let port = url.port_u16().unwrap_or(if encrypted { 443 } else { 80 });
        let request = request(post, &url)?;
        let stream = self.connect(host, port).await?;
        if !encrypted {
            return exchange(TokioIo::new(stream), request).await;
        }
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let name = ServerName::try_from(bare.to_owned()).map_err(|_| PostError::Url)?;
        let connector = self.tls.as_ref().ok_or(PostError::NoRoots)?;
        let handshake: io::Result<_> = connector.connect(name, stream).await;
        let stream = handshake.map_err(|error| PostError::Handshake(handshake_failure(&error)))?;
        exchange(TokioIo::new(stream), request).await
    }

    async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, PostError> {
        let guard: Guard = if self.special_addresses { |_| None } else { set_aside };
        let connected = connect(self.resolver.as_ref(), host, port, guard, self.timeout / CONNECT_SHARE).await;
        connected.map_err(|error| if self.special_addresses { error } else { error.withheld() })
    }
}

fn request(post: &Post<'_>, url: &Uri) -> Result<Request<Full<Bytes>>, PostError> {
    let authority = url.authority().ok_or(PostError::Url)?.as_str();
    let mut request = Request::post(target(url))
        .header(header::HOST, authority)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::USER_AGENT, concat!("chancery/", env!("CARGO_PKG_VERSION")))
        .header(header::CONNECTION, "close");
    for (name, value) in post.headers {
        request = request.header(*name, value);
    }
    request.body(Full::new(Bytes::copy_from_slice(post.body))).map_err(|_| PostError::Url)
}

/// What is asked for. An empty path before a query is legal in a URL but not here (RFC 9112 section 3.2.1); it is given as "/".
fn target(url: &Uri) -> String {
    let path = url.path();
    url.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"))
}

fn exchange(
    stream: impl Read + Write + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> impl Future<Output = Result<u16, PostError>> {
    let failed = |error: hyper::Error| PostError::Exchange(causes(&error));
    async move {
        let (mut sender, connection) =
            http1::Builder::new().max_buf_size(HEAD_LIMIT).handshake(stream).await.map_err(failed)?;
        // In a set, so that the connection is closed when this is done or given up.
        let mut driver = JoinSet::new();
        driver.spawn(connection);
        let response = sender.send_request(request).await.map_err(failed)?;
        Ok(response.status().as_u16())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_a_path_whatever_the_url_has() {
        for (url, asked) in [
            ("https://a.test", "/"),
            ("https://a.test/", "/"),
            ("https://a.test?q=1", "/?q=1"),
            ("https://a.test:8443?q=/x?y", "/?q=/x?y"),
            ("https://a.test/?", "/?"),
            ("https://a.test/x/y?q=1", "/x/y?q=1"),
        ] {
            let post = Post { url, headers: &[], body: b"{}" };
            let request = request(&post, &url.parse::<Uri>().unwrap()).unwrap();
            assert_eq!(request.uri().to_string(), asked, "{url}");
        }
    }
}
