//! One GET over one connection.

use bytes::Bytes;
use chancery_domain::ProblemKind;
use http::header::{ACCEPT, CONNECTION, HOST, LOCATION, USER_AGENT};
use http::{HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use url::{Position, Url};

use crate::refusal::Refusal;

/// The longest body, and the longest head, that is read.
pub(crate) const MAX_BODY: usize = 64 * 1024;

/// What a server answered. The body is read only of a page that was found.
pub(crate) struct Page {
    pub status: StatusCode,
    pub location: Option<Vec<u8>>,
    pub body: Vec<u8>,
}

/// Asks for the URL over a connection to its host.
pub(crate) async fn get(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    url: &Url,
    user_agent: &HeaderValue,
) -> Result<Page, Refusal> {
    let request = Request::get(&url[Position::BeforePath..Position::AfterQuery])
        .header(HOST, &url[Position::BeforeHost..Position::AfterPort])
        .header(USER_AGENT, user_agent)
        .header(ACCEPT, "*/*")
        .header(CONNECTION, "close")
        .body(Empty::<Bytes>::new())
        .map_err(|error| Refusal::wrong(ProblemKind::Connection, format!("{url} cannot be asked for: {error}")))?;
    let failed = |error: hyper::Error| failure(url, &error);
    let (mut sender, connection) =
        http1::Builder::new().max_buf_size(MAX_BODY).handshake(TokioIo::new(stream)).await.map_err(failed)?;
    let exchange = async {
        let response = sender.send_request(request).await.map_err(failed)?;
        let (head, body) = response.into_parts();
        let location = head.headers.get(LOCATION).map(|location| location.as_bytes().to_vec());
        let body = if head.status == StatusCode::OK { read(body, url).await? } else { Vec::new() };
        Ok(Page { status: head.status, location, body })
    };
    // The connection is driven here and not by a task of its own, so that it ends with us.
    let driven = async {
        let _ended = connection.await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        page = exchange => page,
        () = driven => unreachable!("it never ends"),
    }
}

async fn read(mut body: Incoming, url: &Url) -> Result<Vec<u8>, Refusal> {
    let mut read = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| failure(url, &error))?;
        let Ok(data) = frame.into_data() else { continue };
        if read.len() + data.len() > MAX_BODY {
            let detail = format!("the body of {url} is longer than {} KiB", MAX_BODY / 1024);
            return Err(Refusal::wrong(ProblemKind::IncorrectResponse, detail));
        }
        read.extend_from_slice(&data);
    }
    Ok(read)
}

/// What is not HTTP stays so; a connection that broke may hold the next time.
fn failure(url: &Url, error: &hyper::Error) -> Refusal {
    let detail = match std::error::Error::source(error) {
        Some(cause) => format!("asking for {url}: {error}: {cause}"),
        None => format!("asking for {url}: {error}"),
    };
    if error.is_parse() {
        Refusal::wrong(ProblemKind::Connection, detail)
    } else {
        Refusal::missing(ProblemKind::Connection, detail)
    }
}
