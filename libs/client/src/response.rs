//! Answers, as they came and as what they mean.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use chancery_wire::ErrorResponse;
use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;

use crate::error::Error;

/// An answer as it came. Its `Debug` leaves out the body, which may hold a key.
#[derive(Clone)]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// All header fields.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

/// What was created, and whether it was so by an earlier request with the same idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayable<T> {
    /// The answer.
    pub value: T,
    /// Whether it repeats the answer of an earlier request.
    pub replayed: bool,
}

impl Response {
    /// The first value of a header field, where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as text; what is not UTF-8 in it is replaced.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// The body as JSON of this type; [`Error::Unexpected`] where it is not.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| self.unexpected(error.to_string()))
    }

    /// The id that names this exchange in the server's logs.
    pub fn request_id(&self) -> Option<&str> {
        self.header("x-request-id")
    }

    /// How long to wait before asking again, where the server says so in seconds.
    pub fn retry_after(&self) -> Option<Duration> {
        self.headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok().map(Duration::from_secs)
    }

    /// The answer where its status is 2xx, else the error that it tells of.
    pub fn success(self) -> Result<Self, Error> {
        let status = self.status;
        if status.is_success() {
            return Ok(self);
        }
        let request_id = self.request_id().map(str::to_owned);
        if status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN {
            return Err(Error::Refused { status, message: self.text().trim().to_owned(), request_id });
        }
        Err(match serde_json::from_slice::<ErrorResponse>(&self.body) {
            Ok(body) => Error::Api { status, body: Box::new(body), retry_after: self.retry_after(), request_id },
            Err(_) => self.unexpected(self.excerpt()),
        })
    }

    pub(crate) fn replayable<T: DeserializeOwned>(&self) -> Result<Replayable<T>, Error> {
        let replayed = self.header("idempotency-replayed") == Some("true");
        Ok(Replayable { value: self.json()?, replayed })
    }

    pub(crate) fn unexpected(&self, reason: impl Into<String>) -> Error {
        Error::Unexpected { response: Box::new(self.clone()), reason: reason.into() }
    }

    /// Enough of a foreign body to recognise who answered.
    fn excerpt(&self) -> String {
        let text: String = self.text().chars().filter(|c| !c.is_control()).take(200).collect();
        if text.is_empty() { "no body".to_owned() } else { text }
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = format_args!("{} bytes", self.body.len());
        f.debug_struct("Response").field("status", &self.status).field("body", &length).finish_non_exhaustive()
    }
}
