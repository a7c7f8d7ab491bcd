use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::params;

impl Tx<'_> {
    /// A number that grows whenever clients, keys or resellers change: what was read at another number may be old.
    pub fn identity_epoch(&mut self) -> Result<i64, StoreError> {
        let found = self.query_one("SELECT value FROM epochs WHERE name = $1", params!["identity"], |row| row.int())?;
        found.ok_or_else(|| StoreError::corrupt("epochs"))
    }

    /// Tells every node that clients, keys or resellers have changed.
    pub fn advance_identity_epoch(&mut self) -> Result<(), StoreError> {
        self.execute("UPDATE epochs SET value = value + 1 WHERE name = $1", params!["identity"]).map(drop)
    }
}
