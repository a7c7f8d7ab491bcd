use chancery_domain::Timestamp;

use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::params;

impl Tx<'_> {
    /// A secret of the service itself, sealed.
    pub fn service_secret(&mut self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.query_one("SELECT sealed FROM service_secrets WHERE name = ?1", params![name], |row| row.bytes())
    }

    /// Keeps a secret under a name that is still free, and gives back the one that is kept: nodes that start at the
    /// same moment end up with the same.
    pub fn settle_service_secret(&mut self, name: &str, sealed: &[u8], now: Timestamp) -> Result<Vec<u8>, StoreError> {
        self.put(
            "INSERT INTO service_secrets (name, sealed, created_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
            params![name, sealed, now],
        )?;
        self.service_secret(name)?.ok_or_else(|| StoreError::corrupt("service_secrets"))
    }
}
