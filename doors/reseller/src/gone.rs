//! What is gone is told with its last state.

use chancery_http::ApiError;
use chancery_service::ServiceError;
use http::StatusCode;
use serde::Serialize;

/// A refusal; where it says that something is gone, with how that was last, as its member `name`.
pub(crate) async fn with_last_state<T: Serialize>(
    refused: ServiceError,
    name: &str,
    last: impl Future<Output = Result<T, ServiceError>>,
) -> ApiError {
    let refusal = ApiError::from(refused);
    if refusal.status() != StatusCode::GONE {
        return refusal;
    }
    match last.await.ok().and_then(|last| serde_json::to_value(last).ok()) {
        Some(last) => refusal.with_extra(name, last),
        None => refusal,
    }
}
