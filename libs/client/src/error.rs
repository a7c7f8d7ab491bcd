//! What can come of a call but the answer that was asked for.

use std::error::Error as StdError;
use std::fmt::Write;
use std::time::Duration;

use chancery_wire::{ErrorCode, ErrorResponse, TokenErrorResponse};
use http::StatusCode;

use crate::response::Response;

/// Why a call brought no answer of its type.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server understood and refused, and says why.
    #[error("{}", api_text(*status, body))]
    Api {
        /// The status of the answer.
        status: StatusCode,
        /// The body of the answer.
        body: Box<ErrorResponse>,
        /// How long to wait before asking again, where the server says so.
        retry_after: Option<Duration>,
        /// Names the exchange in the server's logs.
        request_id: Option<String>,
    },
    /// The credentials are missing or not valid (401), or do not suffice (403).
    #[error("{status}: {message}")]
    Refused {
        /// 401 or 403.
        status: StatusCode,
        /// What the server says to it.
        message: String,
        /// Names the exchange in the server's logs.
        request_id: Option<String>,
    },
    /// The client id and secret brought no token.
    #[error("no access token: {} ({})", .0.error_description, .0.error)]
    Token(TokenErrorResponse),
    /// There was no answer, or not all of it. Whether the server acted on the request is not known.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// An answer that this API does not give: another server answers, or one of another version.
    #[error("unexpected answer: {}: {reason}", response.status)]
    Unexpected {
        /// The answer.
        response: Box<Response>,
        /// What is wrong with it.
        reason: String,
    },
    /// The request cannot be written, and nothing was sent.
    #[error("the request cannot be sent: {0}")]
    Unsendable(String),
}

impl Error {
    /// The HTTP status behind the error, where there was an answer from the API.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Api { status, .. } | Self::Refused { status, .. } => Some(*status),
            Self::Unexpected { response, .. } => Some(response.status),
            Self::Token(_) | Self::Transport(_) | Self::Unsendable(_) => None,
        }
    }

    /// The server's code for what went wrong; 401 and 403 have none.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Api { body, .. } => Some(body.code),
            Self::Refused { .. }
            | Self::Unexpected { .. }
            | Self::Token(_)
            | Self::Transport(_)
            | Self::Unsendable(_) => None,
        }
    }
}

/// Why there was no complete answer.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The call took longer than the client's timeout.
    #[error("no complete answer within {0:?}")]
    Timeout(Duration),
    /// No connection: the name, the address, or the server's certificate.
    #[error("cannot connect: {0}")]
    Connect(String),
    /// The connection failed during the exchange.
    #[error("the exchange failed: {0}")]
    Exchange(String),
    /// The answer is longer than this client reads.
    #[error("the answer is longer than {0} bytes")]
    TooLarge(usize),
}

/// An error with everything that caused it: libraries often name only the outermost layer.
pub(crate) fn causes(error: &dyn StdError) -> String {
    let chain = std::iter::successors(Some(error), |error| (*error).source());
    let mut texts: Vec<_> = chain.map(ToString::to_string).collect();
    texts.dedup();
    texts.join(": ")
}

fn api_text(status: StatusCode, body: &ErrorResponse) -> String {
    let mut text = format!("{status}: {} ({})", body.message, body.code.as_str());
    for problem in &body.errors {
        // Writing to a string does not fail.
        let _ = write!(text, "; {}: {} ({})", problem.field, problem.message, problem.code);
    }
    if body.omitted_errors > 0 {
        let _ = write!(text, "; and {} more", body.omitted_errors);
    }
    text
}
