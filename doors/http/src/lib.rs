//! What the doors share of HTTP: the server with its limits, request ids, bodies and queries, refusals, rate limits,
//! metrics and the access log.

mod body;
mod document;
mod error;
mod path;
mod query;
mod request_id;

pub use body::{BodyLimits, JsonBody, OptionalJsonBody, read_bounded};
pub use error::ApiError;
pub use path::StrictPath;
pub use query::StrictQuery;
pub use request_id::{RequestId, RequestIdSource, X_REQUEST_ID};
