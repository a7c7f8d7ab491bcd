//! What the doors share of HTTP: the server with its limits, request ids, bodies and queries, refusals, rate limits,
//! metrics and the access log.

mod access;
mod begun;
mod body;
mod caller;
mod csv;
mod document;
mod door;
mod edge;
mod error;
mod exchange;
mod json;
mod list;
mod metrics;
mod once;
mod paging;
#[doc(hidden)]
pub mod parsers;
mod path;
mod proxies;
mod query;
mod rate;
mod request_id;
pub mod routing;
mod security;
mod server;
mod service_error;
mod shape;
pub mod tls;
mod unread;

pub use begun::Begun;
pub use body::{BodyLimits, is_encoded, read_bounded};
pub use caller::{Authenticated, origin};
pub use csv::{CsvFilter, CsvReader, Shown, csv_field};
pub use door::{Door, PublicUrls};
pub use edge::{Edge, Wording, finish};
pub use error::{ApiError, RefusedBy};
pub use exchange::{Exchange, RefusalNote, account_for};
pub use json::{BadJson, JsonBody, OptionalJsonBody, misfits, read_json};
pub use list::list_response;
pub use once::RequestKey;
pub use paging::list_request;
pub use path::{StrictPath, with_readable_path};
pub use proxies::{Network, ProxyHeader, TrustedProxies};
pub use query::{FilterQuery, StrictQuery};
pub use rate::apply_rate;
pub use request_id::{RequestId, RequestIdSource, X_REQUEST_ID};
pub use server::{Drained, Limits, OverTls, PeerAddr, Server};
pub use service_error::problem;
