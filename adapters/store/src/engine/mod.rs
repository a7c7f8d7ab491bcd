//! The two databases: threads that own connections and run units of work on them.

pub(crate) mod facts;
mod group_commit;
mod lost_log;
mod open_file;
mod postgres;
pub(crate) mod private_file;
mod sqlite;
pub(crate) mod sqlite_copy;
mod tls;
mod trouble;
mod url;

pub use facts::Facts;
pub(crate) use postgres::{Pool as PostgresPool, open as postgres_open};
pub(crate) use sqlite::{Pool as SqlitePool, open as sqlite_open};
pub(crate) use tls::Connector;
pub use url::DatabaseUrl;

use chancery_fair::{FairSender, SendError, Tenant};

use crate::error::StoreError;

/// Queues a unit for a tenant, or refuses it at once: waiting without end would only move the overload elsewhere.
fn enqueue<T>(queue: &FairSender<T>, tenant: Tenant, unit: T) -> Result<(), StoreError> {
    queue.send(tenant, unit).map_err(|error| match error {
        SendError::Full => StoreError::QueueFull,
        SendError::Closed => StoreError::Unavailable("the store is shutting down".to_owned()),
    })
}
