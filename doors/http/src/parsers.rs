//! The readers of bodies and queries, without the requests around them: for the fuzz targets.

use bytes::Bytes;
use chancery_service::ServiceError;
use serde::de::DeserializeOwned;

use crate::body::BodyLimits;
use crate::error::ApiError;
use crate::json::JsonBody;
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
