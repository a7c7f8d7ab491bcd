//! The readers of bodies and queries, without the requests around them: for the fuzz targets.

use std::net::SocketAddr;

use bytes::Bytes;
use chancery_service::ServiceError;
use http::HeaderMap;
use serde::de::DeserializeOwned;

use crate::body::BodyLimits;
use crate::error::ApiError;
use crate::json::JsonBody;
use crate::proxies::TrustedProxies;
pub use crate::server::{Announced, announced};

/// Reads a body as every operation does that takes one.
pub fn json_body<T: DeserializeOwned, U>(
    text: &[u8],
    rules: impl FnOnce(T) -> Result<U, ServiceError>,
) -> Result<U, ApiError> {
    JsonBody::of(Bytes::copy_from_slice(text), BodyLimits::default()).read(rules)
}

/// Reads a query as every operation does that takes one.
pub fn query<T: DeserializeOwned>(text: &str) -> Result<T, ApiError> {
    crate::query::read(text)
}

/// Whose request it is that proxies have passed on, by what their header says.
pub fn forwarded(proxies: &TrustedProxies, peer: SocketAddr, headers: &HeaderMap) -> SocketAddr {
    proxies.client(peer, headers)
}
