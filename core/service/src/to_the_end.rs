//! What goes on though nobody waits for it any more.

use tracing::Instrument;

use crate::error::ServiceError;

/// Does all of it, also where the client hangs up meanwhile: what has to follow a unit of work must not be lost with whoever asked for it.
pub(crate) async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, ServiceError>> + Send + 'static,
) -> Result<T, ServiceError> {
    tokio::spawn(work.in_current_span()).await.map_err(ServiceError::internal)?
}
