//! The processes that serve from this database.

use chancery_domain::Timestamp;

use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::params;

/// A process as it last said of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRow {
    /// Drawn when it started.
    pub id: String,
    /// What its machine is called.
    pub name: String,
    pub version: String,
    pub started_at: Timestamp,
    pub seen_at: Timestamp,
}

impl Tx<'_> {
    /// Says that a process is there.
    pub fn note_node(&mut self, node: &NodeRow) -> Result<(), StoreError> {
        self.execute(
            "INSERT INTO nodes (id, name, version, started_at, seen_at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at",
            params![node.id.as_str(), node.name.as_str(), node.version.as_str(), node.started_at, node.seen_at],
        )
        .map(drop)
    }

    /// Takes a process off the list: it stops.
    pub fn remove_node(&mut self, id: &str) -> Result<(), StoreError> {
        self.execute("DELETE FROM nodes WHERE id = ?1", params![id]).map(drop)
    }

    /// Those that were there last, first.
    pub fn nodes(&mut self, most: u32) -> Result<Vec<NodeRow>, StoreError> {
        let sql = "SELECT id, name, version, started_at, seen_at FROM nodes ORDER BY seen_at DESC, id LIMIT ?1";
        self.query(sql, params![most], |row| {
            Ok(NodeRow {
                id: row.text()?,
                name: row.text()?,
                version: row.text()?,
                started_at: row.time()?,
                seen_at: row.time()?,
            })
        })
    }

    /// Keeps programs that are older than a step of the schema from starting on this database from now on.
    pub(super) fn shut_out_older_than(&mut self, step: i64) -> Result<(), StoreError> {
        let sql = "UPDATE schema_migrations SET needs = ?1 WHERE version = ?1 AND needs < ?1";
        self.execute(sql, params![step]).map(drop)
    }

    /// Forgets those that were not seen since, and says how many.
    pub fn forget_nodes(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        self.execute("DELETE FROM nodes WHERE seen_at < ?1", params![before])
    }
}
