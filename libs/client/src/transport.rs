//! One exchange: a request out, the whole answer in.

use std::error::Error as _;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Uri, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::connector::Connector;
use crate::error::{Error, TransportError, causes};
use crate::response::Response;

/// Shorter than the server keeps a connection with nothing in flight (75 s), so that no request meets a closing one.
const MAX_IDLE: Duration = Duration::from_secs(30);

/// Connections, kept open between exchanges. Redirects are not followed: the token is for one server.
pub(crate) struct Transport {
    pool: Pool<Connector, Full<Bytes>>,
    largest_body: usize,
}

impl Transport {
    pub(crate) fn new(connector: Connector, largest_body: usize) -> Self {
        let pool = Pool::builder(TokioExecutor::new())
            .pool_idle_timeout(MAX_IDLE)
            .pool_timer(TokioTimer::new())
            .build(connector);
        Self { pool, largest_body }
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        uri: Uri,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response, Error> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        let agent = HeaderValue::from_static(concat!("chancery-client/", env!("CARGO_PKG_VERSION")));
        request.headers_mut().entry(header::USER_AGENT).or_insert(agent);

        let answer = self.pool.request(request).await.map_err(|error| {
            // The outermost layer says no more than which of the two it is.
            let text = causes(error.source().unwrap_or(&error));
            if error.is_connect() { TransportError::Connect(text) } else { TransportError::Exchange(text) }
        })?;
        let (head, body) = answer.into_parts();
        let body = match Limited::new(body, self.largest_body).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return Err(TransportError::TooLarge(self.largest_body).into());
            }
            Err(error) => return Err(TransportError::Exchange(causes(&*error)).into()),
        };
        Ok(Response { status: head.status, headers: head.headers, body })
    }
}
