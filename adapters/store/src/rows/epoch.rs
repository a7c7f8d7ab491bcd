use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::params;

impl Tx<'_> {
    /// A number that grows whenever clients, keys or resellers change: what was read at another number may be old.
    pub fn identity_epoch(&mut self) -> Result<i64, StoreError> {
        self.epoch("identity")
    }

    pub(super) fn epoch(&mut self, name: &str) -> Result<i64, StoreError> {
        let found = self.query_one("SELECT value FROM epochs WHERE name = ?1", params![name], |row| row.int())?;
        found.ok_or_else(|| StoreError::corrupt("epochs"))
    }

    /// Until this unit ends no other one can do the same, nor change clients, keys or resellers: for what only one node
    /// is to do, however many notice at once that it is due.
    pub fn claim_identity(&mut self) -> Result<(), StoreError> {
        let sql = "SELECT value FROM epochs WHERE name = ?1";
        self.query_claimed(sql, params!["identity"], |row| row.int()).map(drop)
    }

    /// Tells every node that clients, keys or resellers have changed.
    pub fn advance_identity_epoch(&mut self) -> Result<(), StoreError> {
        self.put("UPDATE epochs SET value = value + 1 WHERE name = ?1", params!["identity"])
    }
}
