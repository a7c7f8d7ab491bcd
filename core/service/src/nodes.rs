//! The processes that serve from one database, as they say of themselves.

use std::sync::Arc;
use std::time::Duration;

use chancery_domain::Timestamp;
use chancery_store::{NodeRow, Tx};

use crate::error::ServiceError;
use crate::kernel::Kernel;

/// How often a process says that it is there.
const EVERY: Duration = Duration::from_secs(10);
/// One that has said nothing for so long is told to be silent.
const SILENT: Duration = Duration::from_secs(35);
/// One that has said nothing for so long is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(86_400);
/// So many are listed.
const MOST: u32 = 500;

/// A process, and whether it still speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSeen {
    pub name: String,
    pub version: String,
    pub started_at: Timestamp,
    pub seen_at: Timestamp,
    pub silent: bool,
    /// Whether it is this process.
    pub this: bool,
}

#[derive(Clone)]
pub struct Nodes {
    kernel: Arc<Kernel>,
}

impl Nodes {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel }
    }

    /// Says every so often that this process is there, for ever.
    pub async fn watch(&self, name: &str, version: &str) {
        let started_at = self.kernel.now();
        loop {
            if let Err(error) = self.announce(name, version, started_at).await {
                tracing::warn!(%error, "could not say that this node is there");
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Says once that this process is there, and forgets those that have long been gone.
    pub async fn announce(&self, name: &str, version: &str, started_at: Timestamp) -> Result<(), ServiceError> {
        let now = self.kernel.now();
        let (id, name, version) = (self.kernel.node.clone(), name.to_owned(), version.to_owned());
        let row = NodeRow { id, name, version, started_at, seen_at: now };
        let unit = move |tx: &mut Tx<'_>| {
            tx.note_node(&row)?;
            tx.forget_nodes(now.minus(FORGOTTEN))
        };
        self.kernel.store.write(unit).await.map(drop).map_err(ServiceError::from)
    }

    /// Takes this process off the list.
    pub async fn leave(&self) -> Result<(), ServiceError> {
        let id = self.kernel.node.clone();
        self.kernel.store.write(move |tx| tx.remove_node(&id)).await.map_err(ServiceError::from)
    }

    /// Those that were there last, first.
    pub async fn list(&self) -> Result<Vec<NodeSeen>, ServiceError> {
        let rows = self.kernel.store.read(|tx| tx.nodes(MOST)).await?;
        let (now, own) = (self.kernel.now(), &self.kernel.node);
        let seen = |row: NodeRow| {
            let (silent, this) = (now.since(row.seen_at) >= SILENT, row.id == *own);
            let NodeRow { name, version, started_at, seen_at, .. } = row;
            NodeSeen { name, version, started_at, seen_at, silent, this }
        };
        Ok(rows.into_iter().map(seen).collect())
    }
}
