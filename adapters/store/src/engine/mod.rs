//! The two databases: threads that own connections and run units of work on them.

pub(crate) mod facts;
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

use crossbeam_channel::{Sender, TrySendError};

use crate::error::StoreError;

/// Queues a unit, or refuses it at once: waiting without end would only move the overload elsewhere.
fn enqueue<T>(queue: &Sender<T>, unit: T) -> Result<(), StoreError> {
    queue.try_send(unit).map_err(|error| {
        StoreError::Unavailable(match error {
            TrySendError::Full(_) => "too many units of work are waiting".to_owned(),
            TrySendError::Disconnected(_) => "the store is shutting down".to_owned(),
        })
    })
}
