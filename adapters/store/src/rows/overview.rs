//! Counts for people to look at. Each counts so many rows of an index and not more: no answer takes longer because a
//! reseller has more certificates.

use chancery_domain::{Account, CertificateRecord, Page, PageRequest, ResellerId, Timestamp};

use super::account;
use super::certificate::{SELECT, read};
use super::{END, NEWEST_FIRST};
use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::{Value, params};

/// From a time on, until before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub from: Timestamp,
    pub until: Timestamp,
}

/// The states that certificates are kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedState {
    Pending,
    Issued,
    Revoked,
    Cancelled,
}

impl CountedState {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Issued => "issued",
            Self::Revoked => "revoked",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Tx<'_> {
    /// How many certificates are in this state at all, counted up to `most`.
    pub fn count_all_certificates(
        &mut self,
        reseller: ResellerId,
        state: CountedState,
        most: i64,
    ) -> Result<i64, StoreError> {
        let one = format!(
            "SELECT 1 FROM certificates WHERE reseller_id = ?1 AND state = ?2 AND id >= $FROM AND id < $UNTIL
             ORDER BY id {NEWEST_FIRST} LIMIT ?3"
        );
        let params = vec![reseller.into(), state.as_str().into(), most.into()];
        let counts = self.count_each(&one, params, std::iter::once([Value::from(""), Value::from(END)]))?;
        Ok(counts.into_iter().sum())
    }

    /// How many certificates that are not revoked end in each span, counted up to `most` each.
    pub fn count_expiring(&mut self, reseller: ResellerId, spans: &[Span], most: i64) -> Result<Vec<i64>, StoreError> {
        let one = "SELECT 1 FROM certificates WHERE reseller_id = ?1 AND state = 'issued' AND not_after >= $FROM
             AND not_after < $UNTIL ORDER BY not_after LIMIT ?2";
        let params = vec![reseller.into(), most.into()];
        self.count_each(one, params, spans.iter().map(|span| [Value::from(span.from), Value::from(span.until)]))
    }

    /// The certificates that end in a span and are not revoked, those that end first first.
    pub fn certificates_expiring(
        &mut self,
        reseller: ResellerId,
        span: Span,
        most: u32,
    ) -> Result<Vec<CertificateRecord>, StoreError> {
        let sql = format!(
            "{SELECT} WHERE certificates.reseller_id = ?1 AND state = 'issued' AND not_after >= ?2 AND not_after < ?3
             ORDER BY not_after LIMIT ?4"
        );
        self.query(&sql, &[reseller.into(), span.from.into(), span.until.into(), most.into()], read)
    }

    /// The live accounts whose e-mail address begins like this, in the order of their addresses.
    pub fn accounts_by_email_prefix(
        &mut self,
        reseller: ResellerId,
        prefix: &str,
        most: u32,
    ) -> Result<Page<Account>, StoreError> {
        let end = format!("{prefix}\u{10ffff}");
        self.in_parts(&PageRequest { limit: most, after: None }, |tx, part| {
            let (from, beyond) = part.after.as_deref().map_or((prefix, ">="), |after| (after, ">"));
            let sql = format!(
                "{} WHERE reseller_id = ?1 AND email_key {beyond} ?2 AND email_key < ?3 AND deleted_at IS NULL
                 ORDER BY email_key LIMIT ?4",
                account::SELECT
            );
            let params = params![reseller, from, end.as_str(), i64::from(part.limit) + 1];
            let found = tx.query(&sql, params, account::read)?;
            Ok(Page::from_rows(found, part.limit, |account| account.email.key().to_owned()))
        })
    }

    /// Asks one question for many pairs of bounds, in one statement.
    fn count_each(
        &mut self,
        one: &str,
        mut params: Vec<Value>,
        bounds: impl Iterator<Item = [Value; 2]>,
    ) -> Result<Vec<i64>, StoreError> {
        let mut columns = Vec::new();
        for (place, pair) in bounds.enumerate() {
            let first = params.len() + 1;
            params.extend(pair);
            let bound = one.replace("$FROM", &format!("?{first}")).replace("$UNTIL", &format!("?{}", first + 1));
            columns.push(format!("(SELECT COUNT(*) FROM ({bound}) AS span{place})"));
        }
        let count = columns.len();
        let sql = format!("SELECT {}", columns.join(", "));
        let rows = self.query(&sql, &params, |row| (0..count).map(|_| row.int()).collect::<Result<Vec<_>, _>>())?;
        Ok(rows.into_iter().next().unwrap_or_default())
    }
}
