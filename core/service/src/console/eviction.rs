//! Sessions of those who are shut out. They end for good: who is let in again has to sign in again.

use chancery_domain::{ClientId, ResellerId, Timestamp};
use chancery_store::{SessionHolder, Tx};

use super::BATCH;
use crate::error::ServiceError;
use crate::kernel::Kernel;

/// Who is shut out.
#[derive(Clone, Copy)]
pub(crate) enum ShutOut {
    /// A client that was disabled.
    Client(ClientId),
    /// Everybody of a reseller that was suspended: by its clients, and through providers.
    Reseller(ResellerId),
}

impl ShutOut {
    /// Ends a batch of their sessions, and says whether there may be more. Somebody with very many of them must not be
    /// able to have the shutting out itself fail.
    pub(crate) fn end_some(self, tx: &mut Tx<'_>, now: Timestamp) -> Result<bool, ServiceError> {
        let ended = match self {
            Self::Client(client) => tx.delete_console_sessions(SessionHolder::Client(client), BATCH)?,
            Self::Reseller(reseller) => {
                let of_clients = tx.delete_console_sessions_of(reseller, BATCH)?;
                of_clients.max(tx.end_external_sessions_of(reseller, now, BATCH)?)
            }
        };
        Ok(ended >= u64::from(BATCH))
    }

    /// Ends what the first batch left. While they are shut out nobody is let in by it, so it is no reason to say that the
    /// shutting out has failed; and when they are let in again, what is left then ends.
    pub(crate) async fn end_rest(self, kernel: &Kernel, mut more: bool) {
        let now = kernel.now();
        while more {
            more = kernel.store.write(move |tx| self.end_some(tx, now)).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "could not end all sessions of somebody who is shut out");
                false
            });
        }
    }
}
