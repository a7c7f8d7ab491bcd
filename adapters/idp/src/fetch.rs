//! One request to a provider, with a limit on everything: time, size, and where it may lead.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use chancery_jose::JwkSet;
use http::{HeaderValue, Request, StatusCode, header, request};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::rt::{Read, Write};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tower::{ServiceExt, service_fn};

use crate::endpoint::{Endpoint, is_localhost};
use crate::error::{FetchError, causes};
use crate::{FetcherError, tls};

/// The most that a response's head may take.
const HEAD_LIMIT: usize = 64 * 1024;

/// How to fetch from one endpoint.
pub(crate) struct Fetch {
    pub(crate) endpoint: Endpoint,
    /// How to encrypt, and the name that the server's certificate must bear; none for plain HTTP.
    pub(crate) tls: Option<(TlsConnector, ServerName<'static>)>,
    /// For everything from looking up the name to the last byte.
    pub(crate) timeout: Duration,
    pub(crate) body_limit: usize,
}

impl Fetch {
    /// Checks the settings. The URL is `https`, verified by the certificates in the PEM file `ca` alone or else by the
    /// system's, or `http` to a loopback address.
    pub(crate) fn new(
        url: &str,
        ca: Option<&Path>,
        timeout: Duration,
        body_limit: usize,
    ) -> Result<Self, FetcherError> {
        let endpoint = Endpoint::parse(url)?;
        let tls = match endpoint.tls_name() {
            Some(name) => Some((tls::connector(ca)?, name.clone())),
            None => None,
        };
        Ok(Self { endpoint, tls, timeout, body_limit })
    }

    /// Fetches the set that the endpoint has now.
    pub(crate) async fn keys(&self) -> Result<JwkSet, FetchError> {
        let request = Request::get(self.endpoint.target());
        let request = request.header(header::ACCEPT, "application/jwk-set+json, application/json");
        match self.ask(request, Bytes::new()).await? {
            (StatusCode::OK, document) => Ok(JwkSet::parse(&document)?),
            (status, _) => Err(FetchError::Status(status)),
        }
    }

    /// Sends a form, and reads the status and the document that answer it.
    pub(crate) async fn post(
        &self,
        form: String,
        authorization: Option<HeaderValue>,
    ) -> Result<(StatusCode, Bytes), FetchError> {
        let mut request = Request::post(self.endpoint.target())
            .header(header::ACCEPT, "application/json")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(authorization) = authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        self.ask(request, Bytes::from(form)).await
    }

    async fn ask(&self, request: request::Builder, body: Bytes) -> Result<(StatusCode, Bytes), FetchError> {
        let request = request
            .header(header::HOST, self.endpoint.authority())
            .header(header::USER_AGENT, concat!("chancery/", env!("CARGO_PKG_VERSION")))
            .header(header::CONNECTION, "close")
            .body(Full::new(body))
            .expect("the parts of a parsed URL are valid in a request");
        within(self.timeout, self.document(request)).await
    }

    async fn document(&self, request: Request<Full<Bytes>>) -> Result<(StatusCode, Bytes), FetchError> {
        let stream = self.connect().await?;
        let Some((connector, name)) = &self.tls else {
            return self.exchange(TokioIo::new(stream), request).await;
        };
        let handshake = connector.connect(name.clone(), stream).await;
        let stream = handshake.map_err(|error| FetchError::Handshake(causes(&error)))?;
        self.exchange(TokioIo::new(stream), request).await
    }

    /// Tries the host's addresses, of both families side by side, until one answers.
    async fn connect(&self) -> Result<TcpStream, FetchError> {
        let mut connector = HttpConnector::new_with_resolver(service_fn(resolve));
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(self.timeout));
        let stream = connector.oneshot(self.endpoint.uri().clone()).await;
        Ok(stream.map_err(|error| FetchError::Connect(causes(&error)))?.into_inner())
    }

    async fn exchange(
        &self,
        stream: impl Read + Write + Unpin + Send + 'static,
        request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, Bytes), FetchError> {
        let failed = |error: hyper::Error| FetchError::Exchange(causes(&error));
        let (mut sender, connection) =
            http1::Builder::new().max_buf_size(HEAD_LIMIT).handshake(stream).await.map_err(failed)?;
        // In a set, so that the connection is closed when this is done or given up.
        let mut driver = JoinSet::new();
        driver.spawn(connection);

        let response = sender.send_request(request).await.map_err(failed)?;
        match response.status() {
            status if status.is_redirection() => Err(FetchError::Redirect(status)),
            status => Ok((status, self.read(response.into_body()).await?)),
        }
    }

    async fn read(&self, body: Incoming) -> Result<Bytes, FetchError> {
        match Limited::new(body, self.body_limit).collect().await {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => Err(FetchError::TooLarge(self.body_limit)),
            Err(error) => Err(FetchError::Exchange(causes(&*error))),
        }
    }
}

async fn within<T>(limit: Duration, work: impl Future<Output = Result<T, FetchError>>) -> Result<T, FetchError> {
    tokio::time::timeout(limit, work).await.unwrap_or(Err(FetchError::Timeout(limit)))
}

/// Asks the system, save for the name of this machine: plain HTTP to it must not leave the machine because
/// a resolver says otherwise.
async fn resolve(name: Name) -> io::Result<std::vec::IntoIter<SocketAddr>> {
    let addresses: Vec<SocketAddr> = if is_localhost(name.as_str()) {
        vec![(Ipv6Addr::LOCALHOST, 0).into(), (Ipv4Addr::LOCALHOST, 0).into()]
    } else {
        tokio::net::lookup_host((name.as_str(), 0)).await?.collect()
    };
    Ok(addresses.into_iter())
}
