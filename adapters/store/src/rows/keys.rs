//! Keys: those nobody may use any more, and those that reseller orders are validated with.

use chancery_domain::{AccountId, IssuerId, Timestamp};

use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::{Value, params};

/// A CA, if it is revoked.
const REVOKED: &str = "SELECT 1 FROM issuers WHERE id = ?1 AND revoked_at IS NOT NULL";

/// Why nothing may be signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bar {
    BlockedKey,
    RevokedIssuer,
}

impl Tx<'_> {
    /// Blocks a public key for ever, by its hash, and says whether that is new. Waits for who keeps a certificate for it.
    pub fn block_key(&mut self, hash: &[u8], reason: &str, now: Timestamp) -> Result<bool, StoreError> {
        self.bar("encode(?1, 'hex')", params![hash])?;
        let sql = "INSERT INTO blocked_keys (key_hash, reason, created_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
        let new = self.execute(sql, params![hash, reason, now])? == 1;
        if new {
            self.blame_key_for_precertificates(hash)?;
            self.blame_key_for_recovered(hash)?;
        }
        Ok(new)
    }

    /// Why a public key is blocked, where it is.
    pub fn blocked_key(&mut self, hash: &[u8]) -> Result<Option<String>, StoreError> {
        self.query_one("SELECT reason FROM blocked_keys WHERE key_hash = ?1", params![hash], |row| row.text())
    }

    /// Nobody can block the key nor revoke the CA until this unit ends. Ask [`bar_to_signing`](Self::bar_to_signing) afterwards.
    pub fn hold_bars(&mut self, key_hash: &[u8], issuer: IssuerId) -> Result<(), StoreError> {
        // There is no row to hold, of what is not blocked. SQLite has one writer at a time.
        let sql = "SELECT pg_advisory_xact_lock_shared(hashtextextended(encode(?1, 'hex'), 0)),
                          pg_advisory_xact_lock_shared(hashtextextended(?2, 0))";
        match self.is_postgres() {
            true => self.query_one(sql, params![key_hash, issuer], |_| Ok(())).map(drop),
            false => Ok(()),
        }
    }

    /// Waits for those who hold a key or a CA, and keeps others from it.
    pub(super) fn bar(&mut self, what: &str, params: &[Value]) -> Result<(), StoreError> {
        match self.is_postgres() {
            true => self.put(&format!("SELECT pg_advisory_xact_lock(hashtextextended({what}, 0))"), params),
            false => Ok(()),
        }
    }

    /// What stands against signing for a key with these hashes by this CA, whatever else was found good.
    pub fn bar_to_signing(&mut self, key_hashes: &[&[u8]], issuer: IssuerId) -> Result<Option<Bar>, StoreError> {
        self.foresee(|tx| drop(tx.is_revoked_issuer(issuer)));
        let blocked = "SELECT 1 FROM blocked_keys WHERE key_hash = ?1";
        let ask = |tx: &mut Self, hash: &&[u8]| tx.query_one(blocked, params![*hash], |_| Ok(()));
        let blocked = self.ask_each(key_hashes, ask)?.iter().any(Option::is_some);
        let revoked = self.is_revoked_issuer(issuer)?;
        Ok(blocked.then_some(Bar::BlockedKey).or(revoked.then_some(Bar::RevokedIssuer)))
    }

    /// Whether a CA is revoked.
    pub fn is_revoked_issuer(&mut self, issuer: IssuerId) -> Result<bool, StoreError> {
        Ok(self.query_one(REVOKED, params![issuer], |_| Ok(()))?.is_some())
    }

    /// The thumbprint of the key that an account's reseller orders are validated with.
    pub fn account_thumbprint(&mut self, account: AccountId) -> Result<Option<String>, StoreError> {
        let sql = "SELECT thumbprint FROM account_keys WHERE account_id = ?1";
        self.query_one(sql, params![account], |row| row.text())
    }

    /// Keeps an account's key, unless it has one, and gives back the thumbprint of the one it has.
    pub fn settle_account_key(
        &mut self,
        account: AccountId,
        sealed: &[u8],
        thumbprint: &str,
        now: Timestamp,
    ) -> Result<String, StoreError> {
        self.put(
            "INSERT INTO account_keys (account_id, sealed, thumbprint, created_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO NOTHING",
            params![account, sealed, thumbprint, now],
        )?;
        self.account_thumbprint(account)?.ok_or_else(|| StoreError::corrupt("account_keys"))
    }
}
