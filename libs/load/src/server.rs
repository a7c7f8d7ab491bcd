//! An ACME server as a client sees it: a directory, and URLs below the same origin.

use std::time::Duration;

use chancery_client::{BuildError, Client, ClientBuilder, Error, RawRequest, Response};
use chancery_jose::KeyError;
use http::Method;
use serde_json::Value;

/// Why the load could not be brought.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The directory's URL or the CA certificates cannot be used.
    #[error(transparent)]
    Settings(#[from] BuildError),
    /// The server was not reached.
    #[error("{url}: {source}")]
    Exchange {
        /// Whom was spoken to.
        url: String,
        /// What happened.
        source: Error,
    },
    /// The server refused.
    #[error("{url}: {status}: {problem}")]
    Refused {
        /// What was asked.
        url: String,
        /// The status of the answer.
        status: u16,
        /// The problem document, or whatever was said in its place.
        problem: String,
        /// When to come again, where the server said so.
        retry_after: Option<Duration>,
    },
    /// The server's answer lacks what RFC 8555 has in it.
    #[error("{url}: the answer has no {what}")]
    Lacking {
        /// What was asked.
        url: String,
        /// What is not there.
        what: &'static str,
    },
    /// A URL that leads to another server.
    #[error("{0} is not at the server of the directory")]
    Elsewhere(String),
    /// An order or authorization ended without a certificate.
    #[error("{url} is {status}: {detail}")]
    Ended {
        /// The order or authorization.
        url: String,
        /// Its status.
        status: String,
        /// All that is said of it.
        detail: String,
    },
    /// Something is `pending` or `processing` for too long.
    #[error("{0} has not come to an end for a minute")]
    Stuck(String),
    /// The cryptographic library refuses.
    #[error("a key cannot be made or used: {0}")]
    Key(String),
}

impl From<KeyError> for LoadError {
    fn from(error: KeyError) -> Self {
        Self::Key(error.to_string())
    }
}

/// A way to a server. Every account has its own, as customers' machines do.
pub struct Server {
    origin: String,
    client: Client,
    /// The directory object.
    pub directory: Value,
}

impl Server {
    /// Reads the directory. Trusts the given certificates, or else those of the system. Speaks HTTP/1.1, as most clients do.
    pub async fn connect(directory: &str, ca_pem: Option<&[u8]>) -> Result<Self, LoadError> {
        Self::speaking(directory, ca_pem, ClientBuilder::http1_only).await
    }

    /// Reads the directory for an account that asks for many things at a time: HTTP/2, so that all share a connection.
    pub async fn connect_for_many(directory: &str, ca_pem: Option<&[u8]>) -> Result<Self, LoadError> {
        Self::speaking(directory, ca_pem, |builder| builder).await
    }

    async fn speaking(
        directory: &str,
        ca_pem: Option<&[u8]>,
        version: impl FnOnce(ClientBuilder) -> ClientBuilder,
    ) -> Result<Self, LoadError> {
        let after_scheme = directory.find("://").map_or(0, |at| at + 3);
        let end = directory[after_scheme..].find('/').map_or(directory.len(), |at| after_scheme + at);
        let (origin, path) = directory.split_at(end);
        let mut builder = version(Client::builder(origin));
        if let Some(pem) = ca_pem {
            builder = builder.ca_pem(pem.to_vec());
        }
        let mut server = Self { origin: origin.to_owned(), client: builder.build()?, directory: Value::Null };
        let response = server.send(directory, RawRequest::new(Method::GET, path)).await?;
        server.directory = json(directory, &accepted(directory, response)?)?;
        Ok(server)
    }

    /// The URL of a resource of the directory.
    pub fn resource(&self, name: &'static str) -> Result<&str, LoadError> {
        let lacking = || LoadError::Lacking { url: self.origin.clone(), what: name };
        self.directory[name].as_str().ok_or_else(lacking)
    }

    pub(crate) async fn head(&self, url: &str) -> Result<Response, LoadError> {
        self.send(url, RawRequest::new(Method::HEAD, self.path(url)?)).await
    }

    pub(crate) async fn post(&self, url: &str, jws: String) -> Result<Response, LoadError> {
        let request = RawRequest::new(Method::POST, self.path(url)?).header("content-type", "application/jose+json");
        self.send(url, request.body(jws)).await
    }

    async fn send(&self, url: &str, request: RawRequest) -> Result<Response, LoadError> {
        let sent = self.client.raw(request.without_token()).await;
        sent.map_err(|source| LoadError::Exchange { url: url.to_owned(), source })
    }

    fn path<'a>(&self, url: &'a str) -> Result<&'a str, LoadError> {
        url.strip_prefix(&self.origin).ok_or_else(|| LoadError::Elsewhere(url.to_owned()))
    }
}

/// The answer where its status is 2xx.
pub(crate) fn accepted(url: &str, response: Response) -> Result<Response, LoadError> {
    if response.status.is_success() {
        return Ok(response);
    }
    let problem = response.text().trim().to_owned();
    let retry_after = response.header("retry-after").and_then(|text| text.parse().ok()).map(Duration::from_secs);
    Err(LoadError::Refused { url: url.to_owned(), status: response.status.as_u16(), problem, retry_after })
}

pub(crate) fn json(url: &str, response: &Response) -> Result<Value, LoadError> {
    response.json().map_err(|_| LoadError::Lacking { url: url.to_owned(), what: "JSON" })
}

pub(crate) fn text<'a>(url: &str, object: &'a Value, name: &'static str) -> Result<&'a str, LoadError> {
    object[name].as_str().ok_or_else(|| LoadError::Lacking { url: url.to_owned(), what: name })
}
