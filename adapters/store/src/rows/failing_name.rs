//! Names whose validation fails again and again, and those that are paused for it.

use std::time::Duration;

use chancery_domain::{AccountId, Failure, Identifier, Page, PageRequest, Pause, PauseId, ResellerId, Timestamp};

use super::NEWEST_FIRST;
use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

const COLUMNS: &str =
    "id, reseller_id, account_id, name, failures, problem, first_failed_at, last_failed_at, paused_at";

/// Pauses that a node keeps in mind.
const MOST_REMEMBERED: i64 = 100_000;

/// How often a name has failed in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailuresInRow {
    /// The pause that it has, or is going to have.
    pub pause: PauseId,
    pub number: i64,
    pub is_paused: bool,
}

impl Tx<'_> {
    /// Counts a failure. A success in between, or so long a time without a failure, begins a new row: nothing is written
    /// where all goes well.
    pub fn count_failure(&mut self, failure: &Failure, forgotten: Duration) -> Result<FailuresInRow, StoreError> {
        let anew = "(failing_names.paused_at IS NULL AND (failing_names.last_failed_at < ?8 OR EXISTS (
            SELECT 1 FROM authorizations WHERE authorizations.account_id = ?3 AND identifier = ?4 AND state = 'valid'
                AND state_at > failing_names.last_failed_at)))";
        let sql = format!(
            "INSERT INTO failing_names (id, reseller_id, account_id, name, failures, problem, first_failed_at, last_failed_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)
             ON CONFLICT (account_id, name) DO UPDATE SET
                 failures = CASE WHEN {anew} THEN 1 ELSE failing_names.failures + 1 END,
                 first_failed_at = CASE WHEN {anew} THEN ?7 ELSE failing_names.first_failed_at END,
                 last_failed_at = ?7, problem = ?6
             RETURNING id, failures, paused_at"
        );
        let Failure { id, reseller, account, name, problem, at } = failure;
        let params =
            params![*id, *reseller, *account, name.to_string(), 1_i64, problem.as_str(), *at, at.minus(forgotten)];
        let counted = self.query_one(&sql, params, |row| {
            Ok(FailuresInRow { pause: row.parsed()?, number: row.int()?, is_paused: row.int_or_none()?.is_some() })
        })?;
        counted.ok_or_else(|| StoreError::corrupt("failing_names"))
    }

    /// Pauses a name, and tells every node.
    pub fn pause(&mut self, id: PauseId, now: Timestamp) -> Result<(), StoreError> {
        self.execute("UPDATE failing_names SET paused_at = ?2 WHERE id = ?1", params![id, now])?;
        self.advance_pauses_epoch()
    }

    /// A pause, whosesoever it is.
    pub fn any_pause(&mut self, id: PauseId) -> Result<Option<Pause>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM failing_names WHERE id = ?1 AND paused_at IS NOT NULL");
        self.query_one(&sql, params![id], read)
    }

    /// Lifts a pause and forgets the failures, and tells every node; `false` when there is none.
    pub fn lift_pause(&mut self, id: PauseId) -> Result<bool, StoreError> {
        let sql = "DELETE FROM failing_names WHERE id = ?1 AND paused_at IS NOT NULL";
        let lifted = self.execute(sql, params![id])? == 1;
        if lifted {
            self.advance_pauses_epoch()?;
        }
        Ok(lifted)
    }

    /// Forgets up to `most` failures of an account that has ended, and tells every node if something was paused; gives how
    /// many there were.
    pub fn forget_failures_of(&mut self, account: AccountId, most: u32) -> Result<u64, StoreError> {
        let sql = "DELETE FROM failing_names WHERE account_id = ?1 AND name IN (
                   SELECT name FROM failing_names WHERE account_id = ?1 LIMIT ?2) RETURNING paused_at";
        let paused = self.query(sql, params![account, most], |row| row.int_or_none())?;
        if paused.iter().any(Option::is_some) {
            self.advance_pauses_epoch()?;
        }
        Ok(paused.len() as u64)
    }

    /// A page of a reseller's pauses, newest first.
    pub fn pauses(&mut self, reseller: ResellerId, page: &PageRequest) -> Result<Page<Pause>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM failing_names WHERE reseller_id = ?1 AND paused_at IS NOT NULL AND id < ?2
             ORDER BY id {NEWEST_FIRST} LIMIT ?3"
        );
        let rows = |tx: &mut Self, after, limit| tx.query(&sql, params![reseller, after, limit], read);
        self.page(page, rows, |pause| pause.id.to_string())
    }

    /// Every pause there is, for a node to keep in mind.
    pub fn all_pauses(&mut self) -> Result<Vec<(AccountId, Identifier, PauseId)>, StoreError> {
        let sql = format!(
            "SELECT account_id, name, id FROM failing_names WHERE paused_at IS NOT NULL LIMIT {MOST_REMEMBERED}"
        );
        self.query(&sql, params![], |row| Ok((row.parsed()?, row.through(Identifier::from_stored)?, row.parsed()?)))
    }

    /// A number that grows whenever a name is paused or its pause is lifted.
    pub fn pauses_epoch(&mut self) -> Result<i64, StoreError> {
        let found = self.query_one("SELECT value FROM epochs WHERE name = ?1", params!["pauses"], |row| row.int())?;
        found.ok_or_else(|| StoreError::corrupt("epochs"))
    }

    /// Forgets up to `most` failures that led to nothing and are too old to.
    pub fn forget_failures(&mut self, before: Timestamp, most: u32) -> Result<u64, StoreError> {
        // Asked twice: a name may fail again while this waits for its row.
        self.execute(
            "DELETE FROM failing_names WHERE last_failed_at < ?1 AND paused_at IS NULL AND id IN (SELECT id FROM failing_names
                WHERE last_failed_at < ?1 AND paused_at IS NULL ORDER BY last_failed_at LIMIT ?2)",
            params![before, most],
        )
    }

    fn advance_pauses_epoch(&mut self) -> Result<(), StoreError> {
        self.execute("UPDATE epochs SET value = value + 1 WHERE name = ?1", params!["pauses"]).map(drop)
    }
}

fn read(row: &mut Columns<'_>) -> Result<Pause, StoreError> {
    Ok(Pause {
        id: row.parsed()?,
        reseller: row.parsed()?,
        account: row.parsed()?,
        name: row.through(Identifier::from_stored)?,
        failures: row.int()?,
        problem: row.text()?,
        first_failed_at: row.time()?,
        last_failed_at: row.time()?,
        paused_at: row.time()?,
    })
}
