//! What the doors share of HTTP: the server with its limits, request ids, bodies and queries, refusals, rate limits,
//! metrics and the access log.

mod access;
mod body;
mod document;
mod edge;
mod error;
mod metrics;
mod path;
mod query;
mod rate;
mod request_id;
mod security;
mod server;
pub mod tls;

pub use body::{BodyLimits, JsonBody, OptionalJsonBody, read_bounded};
pub use edge::{Edge, finish};
pub use error::ApiError;
pub use metrics::describe_metrics;
pub use path::StrictPath;
pub use query::StrictQuery;
pub use rate::{Decision, RateLimiter};
pub use request_id::{RequestId, RequestIdSource, X_REQUEST_ID};
pub use server::{Drained, Limits, OverTls, PeerAddr, Server};
