//! Certificates counted per account as they come and go.

use std::collections::BTreeMap;

use chancery_domain::{AccountId, Timestamp};

use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::params;

const DAY: i64 = 86_400;

/// Certificates that count together until the same midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    pub until: Timestamp,
    pub certificates: i64,
}

pub(super) fn day(at: Timestamp) -> i64 {
    at.as_secs().div_euclid(DAY)
}

impl Tx<'_> {
    /// The certificates that the account got in the last `days` days, today included, each day by when they do not
    /// count any more.
    pub fn issued_lately(&mut self, account: AccountId, days: i64, now: Timestamp) -> Result<Vec<Counted>, StoreError> {
        let sql =
            "SELECT day, issued FROM issued_per_day WHERE account_id = ?1 AND day > ?2 AND day <= ?3 ORDER BY day";
        self.query(sql, params![account, day(now) - days, day(now)], |row| {
            Ok(Counted { until: Timestamp::from_secs((row.int()? + days) * DAY), certificates: row.int()? })
        })
    }

    /// The certificates of the account that are neither expired nor revoked, each day by when they do not count any
    /// more.
    pub fn active_certificates(&mut self, account: AccountId, now: Timestamp) -> Result<Vec<Counted>, StoreError> {
        let sql = "SELECT day, active FROM active_until_day WHERE account_id = ?1 AND day >= ?2 ORDER BY day";
        self.query(sql, params![account, day(now)], |row| {
            Ok(Counted { until: Timestamp::from_secs((row.int()? + 1) * DAY), certificates: row.int()? })
        })
    }

    /// Counts a certificate that was just issued.
    pub fn count_issued(&mut self, account: AccountId, not_after: Timestamp, now: Timestamp) -> Result<(), StoreError> {
        self.put(
            "INSERT INTO issued_per_day (account_id, day, issued) VALUES (?1, ?2, 1)
             ON CONFLICT (account_id, day) DO UPDATE SET issued = issued_per_day.issued + 1",
            params![account, day(now)],
        )?;
        self.put(
            "INSERT INTO active_until_day (account_id, day, active) VALUES (?1, ?2, 1)
             ON CONFLICT (account_id, day) DO UPDATE SET active = active_until_day.active + 1",
            params![account, day(not_after)],
        )?;
        Ok(())
    }

    /// Takes back what was counted for a certificate that came to nothing.
    pub fn uncount_issued(
        &mut self,
        account: AccountId,
        not_after: Timestamp,
        counted_at: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE issued_per_day SET issued = issued - 1 WHERE account_id = ?1 AND day = ?2 AND issued > 0";
        self.put(sql, params![account, day(counted_at)])?;
        self.count_revoked(account, not_after)
    }

    /// Counts off a certificate that was revoked before its end.
    pub fn count_revoked(&mut self, account: AccountId, not_after: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE active_until_day SET active = active - 1 WHERE account_id = ?1 AND day = ?2 AND active > 0";
        self.put(sql, params![account, day(not_after)])
    }

    /// Counts off several certificates that were revoked, by when they would have ended.
    pub(super) fn count_all_revoked(
        &mut self,
        account: AccountId,
        ends: impl IntoIterator<Item = Timestamp>,
    ) -> Result<(), StoreError> {
        let mut days: BTreeMap<i64, i64> = BTreeMap::new();
        for end in ends {
            *days.entry(day(end)).or_default() += 1;
        }
        let sql = "UPDATE active_until_day SET active = CASE WHEN active > ?3 THEN active - ?3 ELSE 0 END
                   WHERE account_id = ?1 AND day = ?2";
        // Sorted, so that no two units wait for each other.
        for (day, revoked) in days {
            self.put(sql, params![account, day, revoked])?;
        }
        Ok(())
    }
}
