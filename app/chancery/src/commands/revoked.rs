use std::fmt::Display;

use chancery_service::ServiceError;
use chancery_store::{StoreError, Tx};

use super::context::Context;
use crate::failure::Failure;
use crate::print::record;

/// Says that a key is revoked, and what comes of it; or that it was before. To the use cases a revoked key is as good as none,
/// but people see it in the list.
pub(super) fn say<T: Send + 'static>(
    context: &Context,
    id: impl Display,
    revoked: Result<(), ServiceError>,
    find: impl FnMut(&mut Tx<'_>) -> Result<Option<T>, StoreError> + Send + 'static,
    so: &str,
) -> Result<(), Failure> {
    let already =
        matches!(revoked, Err(ServiceError::NotFound(..))) && context.wait(context.kernel.store.read(find))?.is_some();
    if !already {
        revoked?;
    }
    let sentence = if already { format!("{id} was revoked already.") } else { format!("{id} is revoked{so}") };
    let record = record! { "key_id" => id.to_string(), "status" => "revoked", "already" => already };
    context.printer.say(&sentence, &record)
}
