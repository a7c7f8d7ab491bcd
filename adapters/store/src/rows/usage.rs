//! Certificates that were issued, counted by day, account and profile.
//!
//! Issuing writes nothing for it. What is old enough that no more can come is counted once, from an index, and kept; what
//! came since is counted when somebody asks. A mark says how far that is, and moves with what it speaks of. Once a day is
//! behind the mark it does not change any more: its accounts are counted together, for those who do not ask by them. Only a
//! mark that a wrong clock has set goes back, and what it went over is counted anew.

use std::ops::Range;

use chancery_domain::{AccountId, ResellerId, Timestamp};

use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::{Value, params};

const DAY: i64 = 86_400_000;

/// By what certificates are counted; where one is not asked for, all of it counts together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageBy {
    pub day: bool,
    pub account: bool,
    pub group: bool,
    pub profile: bool,
}

/// Which certificates are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageFilter {
    /// Days since 1970, both counted.
    pub days: (i64, i64),
    pub account: Option<AccountId>,
    pub profile: Option<String>,
    pub by: UsageBy,
    /// Most rows.
    pub most: u32,
}

/// How many were issued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageRow {
    pub day: Option<i64>,
    pub account: Option<String>,
    /// None where it is not asked for, and for accounts that are in no group.
    pub group: Option<String>,
    pub profile: Option<String>,
    pub issued: i64,
}

impl Tx<'_> {
    /// Counts the certificates of a reseller that were issued until then, a day of them at most; `false` when there is
    /// nothing left to count. A mark in `ahead` was set by a clock that was: the day of `until`, and all after it, are counted
    /// anew.
    pub fn roll_up_usage(
        &mut self,
        reseller: ResellerId,
        until: Timestamp,
        ahead: &Range<Timestamp>,
    ) -> Result<bool, StoreError> {
        let mark = "SELECT counted_until FROM usage_marks WHERE reseller_id = ?1";
        let begin = "INSERT INTO usage_marks (reseller_id, counted_until) VALUES (?1, 0) ON CONFLICT DO NOTHING";
        self.execute(begin, params![reseller])?;
        let mut mark = self.query_claimed(mark, params![reseller], |row| row.int())?.pop().unwrap_or(0);
        if ahead.contains(&Timestamp::from_millis(mark)) {
            tracing::warn!(%reseller, "what was issued is counted anew: a clock was ahead");
            mark = self.recount_usage(reseller, until.as_millis().div_euclid(DAY))?;
        }
        let first = "SELECT MIN(issued_at) FROM certificates
                     WHERE reseller_id = ?1 AND issued_at >= ?2 AND issued_at < ?3";
        let range = params![reseller, mark, until];
        let Some(first) = self.query_one(first, range, |row| row.int_or_none())?.flatten() else {
            return self.total_usage(reseller, mark.div_euclid(DAY));
        };
        let end = until.as_millis().min((first.div_euclid(DAY) + 1) * DAY);
        self.execute(
            "INSERT INTO usage_days (reseller_id, day, account_id, profile, issued)
             SELECT reseller_id, issued_at / 86400000, account_id, profile, COUNT(*) FROM certificates
             WHERE reseller_id = ?1 AND issued_at >= ?2 AND issued_at < ?3
             GROUP BY reseller_id, issued_at / 86400000, account_id, profile
             ON CONFLICT (reseller_id, day, account_id, profile) DO UPDATE SET issued = usage_days.issued + excluded.issued",
            params![reseller, mark, end],
        )?;
        let move_on = "UPDATE usage_marks SET counted_until = ?2 WHERE reseller_id = ?1";
        self.execute(move_on, params![reseller, end])?;
        Ok(true)
    }

    /// Forgets what was counted of a day and of those after it, and gives the mark from which they are counted anew: what
    /// is issued behind a mark is never counted. The certificates of that day must all be there still; whatever retention
    /// is set to, they are kept for a week after their end. The mark is claimed.
    fn recount_usage(&mut self, reseller: ResellerId, day: i64) -> Result<i64, StoreError> {
        for table in ["usage_days", "usage_totals"] {
            let forget = format!("DELETE FROM {table} WHERE reseller_id = ?1 AND day >= ?2");
            self.execute(&forget, params![reseller, day])?;
        }
        let totals = "UPDATE usage_marks SET totals_until = ?2 WHERE reseller_id = ?1 AND totals_until > ?2";
        self.execute(totals, params![reseller, day])?;
        let mark = day * DAY;
        let go_back = "UPDATE usage_marks SET counted_until = ?2 WHERE reseller_id = ?1";
        self.execute(go_back, params![reseller, mark])?;
        Ok(mark)
    }

    /// Counts the accounts of one day before `end` together; `false` when there is none left.
    fn total_usage(&mut self, reseller: ResellerId, end: i64) -> Result<bool, StoreError> {
        let from = "SELECT totals_until FROM usage_marks WHERE reseller_id = ?1";
        let from = self.query_one(from, params![reseller], |row| row.int())?.unwrap_or(0);
        if from >= end {
            return Ok(false);
        }
        let day = "SELECT MIN(day) FROM usage_days WHERE reseller_id = ?1 AND day >= ?2 AND day < ?3";
        let day = self.query_one(day, params![reseller, from, end], |row| row.int_or_none())?.flatten();
        if let Some(day) = day {
            self.execute(
                "INSERT INTO usage_totals (reseller_id, day, profile, issued)
                 SELECT reseller_id, day, profile, SUM(issued) FROM usage_days WHERE reseller_id = ?1 AND day = ?2
                 GROUP BY reseller_id, day, profile",
                params![reseller, day],
            )?;
        }
        let move_on = "UPDATE usage_marks SET totals_until = ?2 WHERE reseller_id = ?1";
        self.execute(move_on, params![reseller, day.map_or(end, |day| day + 1)])?;
        Ok(day.is_some())
    }

    /// How many certificates a reseller's customers got: what was counted before, and what has come since.
    pub fn usage(&mut self, reseller: ResellerId, filter: &UsageFilter) -> Result<Vec<UsageRow>, StoreError> {
        let marks = "SELECT counted_until, totals_until FROM usage_marks WHERE reseller_id = ?1";
        let marks = self.query_one(marks, params![reseller], |row| Ok((row.int()?, row.int()?)))?;
        let (mark, totals_until) = marks.unwrap_or((0, 0));
        let UsageFilter { days: (from, to), account, profile, by, most } = filter;
        let mut params: Vec<Value> = vec![reseller.into(), (*from).into(), (*to).into()];
        let mut place = |value: Value| {
            params.push(value);
            format!("?{}", params.len())
        };
        let since = place(mark.max(from.saturating_mul(DAY)).into());
        let end = place(to.saturating_add(1).saturating_mul(DAY).into());
        let mut narrow = String::new();
        if let Some(account) = account {
            narrow.push_str(&format!(" AND account_id = {}", place((*account).into())));
        }
        if let Some(profile) = profile {
            narrow.push_str(&format!(" AND profile = {}", place(profile.as_str().into())));
        }
        // Accounts are read one by one only where somebody asks by them.
        let by_account = by.account || by.group || account.is_some();
        let mut totals = String::new();
        let mut days_from = "?2".to_owned();
        if !by_account {
            let (end, later) = (place(totals_until.into()), place(totals_until.max(*from).into()));
            totals = format!(
                "SELECT day, CAST(NULL AS TEXT) AS account_id, profile, issued FROM usage_totals
                 WHERE reseller_id = ?1 AND day >= ?2 AND day <= ?3 AND day < {end}{narrow} UNION ALL "
            );
            days_from = later;
        }
        // One account is looked up day by day: of a span of days, those of all accounts would be read.
        let (each_day, days) = match account {
            Some(_) => (
                "WITH RECURSIVE span (day) AS (SELECT CAST(?2 AS BIGINT) UNION ALL SELECT day + 1 FROM span WHERE day < ?3) ",
                format!("span CROSS JOIN usage_days WHERE reseller_id = ?1 AND usage_days.day = span.day{narrow}"),
            ),
            None => ("", format!("usage_days WHERE reseller_id = ?1 AND day >= {days_from} AND day <= ?3{narrow}")),
        };
        // What is not asked for is not read either: days alone are in the index.
        let (of_account, by_of_account) = match by_account {
            true => ("account_id", ", account_id"),
            false => ("CAST(NULL AS TEXT)", ""),
        };
        let (of_profile, by_of_profile) = match by.profile || profile.is_some() {
            true => ("profile", ", profile"),
            false => ("CAST(NULL AS TEXT)", ""),
        };
        let most = place((*most).into());
        // A place for each, so that rows read alike; what nobody asks for is nothing.
        let column = |asked: bool, name: &str| if asked { name.to_owned() } else { "NULL".to_owned() };
        let day = if by.day { "counted.day" } else { "CAST(-1 AS BIGINT)" };
        let columns =
            [column(by.account, "counted.account_id"), column(by.group, "group_id"), column(by.profile, "profile")];
        let columns = columns.map(|column| format!("CAST({column} AS TEXT)"));
        let asked = [
            (by.day, "counted.day"),
            (by.account, "counted.account_id"),
            (by.group, "group_id"),
            (by.profile, "profile"),
        ];
        let asked: Vec<_> = asked.into_iter().filter(|(asked, _)| *asked).map(|(_, name)| name).collect();
        let grouped = match asked.is_empty() {
            true => String::new(),
            false => format!(" GROUP BY {0} ORDER BY {0}", asked.join(", ")),
        };
        let groups = match by.group {
            // What is left of a group that was deleted does not count.
            true => {
                " LEFT JOIN group_members ON group_members.account_id = counted.account_id
                 AND EXISTS (SELECT 1 FROM account_groups WHERE account_groups.id = group_members.group_id)"
            }
            false => "",
        };
        let sql = format!(
            "{each_day}SELECT {day}, {}, CAST(COALESCE(SUM(issued), 0) AS BIGINT) FROM (
                {totals}SELECT usage_days.day, account_id, profile, issued FROM {days}
                UNION ALL
                SELECT issued_at / 86400000, {of_account}, {of_profile}, COUNT(*) FROM certificates
                WHERE reseller_id = ?1 AND issued_at >= {since} AND issued_at < {end}{narrow}
                GROUP BY issued_at / 86400000{by_of_account}{by_of_profile}) AS counted{groups}{grouped} LIMIT {most}",
            columns.join(", ")
        );
        self.query(&sql, &params, |row| {
            let day = row.int()?;
            Ok(UsageRow {
                day: (day >= 0).then_some(day),
                account: row.text_or_none()?,
                group: row.text_or_none()?,
                profile: row.text_or_none()?,
                issued: row.int()?,
            })
        })
    }
}
