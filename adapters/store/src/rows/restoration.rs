//! What has to change in a database that was put back from an older copy of itself, before anybody is served from it.
//!
//! The copy remembers less than the world does. Whatever is given out once, and was given out again since the copy was
//! made, must not be given out a second time.

use chancery_domain::{OrderId, Timestamp};

use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::params;

/// How far the numbers of revocation lists go ahead of everything that the copy and the clock can tell. They are
/// milliseconds where all went well; they were ahead of the time where the clock once was.
const CRL_JUMP: i64 = 86_400_000;
/// How many numbers of accounts are left out: more than a night's worth, and short enough to be read out aloud.
const ACCOUNTS_JUMP: i64 = 10_000;
/// How many positions of the trail are left out at least.
const POSITIONS_JUMP: i64 = 1_000_000_000_000;
/// How many positions there are to a millisecond of the clock, which nobody fills: a copy that is put back a second time goes
/// on beyond all that was written after the first.
const POSITIONS_A_MILLISECOND: i64 = 1_000_000;

impl Tx<'_> {
    /// When the copy was made, where it was made by us.
    pub fn backup_made_at(&mut self) -> Result<Option<Timestamp>, StoreError> {
        self.query_one("SELECT value FROM epochs WHERE name = 'backup'", params![], |row| row.time())
    }

    /// When something was last written that bears a date.
    pub fn last_written_at(&mut self) -> Result<Option<Timestamp>, StoreError> {
        let noted = self.query_one("SELECT at FROM audit ORDER BY id DESC LIMIT 1", params![], |row| row.time())?;
        let listed =
            self.query_one("SELECT this_update FROM crls ORDER BY this_update DESC LIMIT 1", params![], |row| {
                row.time()
            })?;
        Ok(noted.max(listed))
    }

    /// The orders whose certificate is drafted and not signed: since the copy was made it may have been signed all the same.
    pub fn drafted_orders(&mut self) -> Result<Vec<OrderId>, StoreError> {
        let sql = "SELECT order_id FROM certificates WHERE state = 'pending' AND draft IS NOT NULL ORDER BY order_id";
        self.query(sql, params![], |row| row.parsed())
    }

    /// Lets every revocation list be made anew, with numbers beyond all that were ever used; says how many.
    ///
    /// Those in the copy are not served any more: relying parties may have had younger ones, and must not be shown older
    /// ones. They stay, as what tells the next where certificates from before look for it.
    /// `other` is the highest number that another database knows of.
    pub fn restart_crls(&mut self, now: Timestamp, other: i64) -> Result<u64, StoreError> {
        let sql = "UPDATE crls SET drawn = (CASE WHEN drawn > ?1 THEN drawn ELSE ?1 END) + ?2, claimed_until = 0,
                   changes = changes + 1, number = 0";
        self.execute(sql, params![now.as_millis().max(other), CRL_JUMP])
    }

    /// The highest number that a revocation list has had.
    pub fn highest_crl_number(&mut self) -> Result<i64, StoreError> {
        let highest = self.query_one("SELECT COALESCE(MAX(drawn), 0) FROM crls", params![], |row| row.int())?;
        Ok(highest.unwrap_or(0))
    }

    /// Leaves numbers of accounts out: those that were given since the copy was made are not given again.
    pub fn skip_account_numbers(&mut self) -> Result<(), StoreError> {
        self.skip_numbers("account_number", ACCOUNTS_JUMP)
    }

    /// Leaves positions of the trail out: whoever had come further than the copy goes on with what is written from now on.
    pub fn skip_positions(&mut self, now: Timestamp) -> Result<(), StoreError> {
        let from = now.as_millis().saturating_mul(POSITIONS_A_MILLISECOND);
        if self.is_postgres() {
            let sql = "SELECT setval('audit_base', GREATEST(nextval('audit_base') + ?1, ?2))";
            return self.query_one(sql, params![POSITIONS_JUMP, from], |row| row.int()).map(drop);
        }
        let base = self.claim_watermark("audit_base", 0)?;
        self.set_watermark("audit_base", from.max(base + POSITIONS_JUMP))
    }

    /// Makes every job anybody's at once; says how many there are. Whoever had them is gone.
    pub fn release_jobs(&mut self, now: Timestamp) -> Result<u64, StoreError> {
        self.execute("UPDATE jobs SET run_at = ?1, lease = NULL", params![now])
    }

    /// Makes every nonce that was ever given out worthless: which of them were used since the copy was made, nobody knows.
    /// The next node that starts draws another key for them.
    pub fn forget_nonce_key(&mut self) -> Result<(), StoreError> {
        self.execute("DELETE FROM service_secrets WHERE name = 'nonce'", params![])?;
        self.execute("DELETE FROM acme_nonces", params![]).map(drop)
    }

    /// Ends every session of the console: which of them were ended since the copy was made, nobody knows.
    pub fn end_console_sessions(&mut self) -> Result<u64, StoreError> {
        let external = self.execute("DELETE FROM console_external_sessions", params![])?;
        Ok(self.execute("DELETE FROM console_sessions", params![])? + external)
    }

    /// Takes the epochs beyond every value that a node may have seen, and drops the mark of the copy.
    pub fn restart_epochs(&mut self, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE epochs SET value = (CASE WHEN value > ?1 THEN value ELSE ?1 END) + 1 WHERE name IN ('identity', 'parties')";
        self.execute(sql, params![now])?;
        self.execute("DELETE FROM epochs WHERE name = 'backup'", params![]).map(drop)
    }
}
