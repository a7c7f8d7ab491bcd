//! Lists with conditions that no index serves: a page looks through so many rows and not more.
//!
//! A page is walked by one index that ends in the key. Every other condition is written so that no index fits it, and
//! the rows that are looked through are bounded by a key below which the page does not go. Where that is reached, the
//! page may be short or empty, and says where to go on.

use chancery_domain::{Page, PageRequest, ResellerId};

use super::NEWEST_FIRST;
use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::Value;

/// Rows that a page looks through.
pub(super) const LOOKED_THROUGH: i64 = 10_000;

/// What a list is walked by, besides the key: the column of an index that ends in the key. None is the reseller's.
pub(super) struct Walk {
    pub(super) table: &'static str,
    pub(super) key: &'static str,
    pub(super) by: Option<(&'static str, Value)>,
    /// Whether the index leads with the reseller.
    pub(super) of_reseller: bool,
}

impl Walk {
    /// The key at which a page ends that begins below `after`, if there are more rows than it looks through.
    pub(super) fn end(&self, tx: &mut Tx<'_>, reseller: ResellerId, after: &str) -> Result<Option<String>, StoreError> {
        let Self { table, key, by, of_reseller } = self;
        let mut params = vec![Value::from(after), Value::from(LOOKED_THROUGH - 1)];
        let mut sql = format!("SELECT {key} FROM {table} WHERE {key} < $1");
        let mut narrow = |column: &str, value: Value| {
            params.push(value);
            sql.push_str(&format!(" AND {column} = ${}", params.len()));
        };
        if *of_reseller {
            narrow("reseller_id", reseller.into());
        }
        if let Some((column, value)) = by {
            narrow(column, value.clone());
        }
        sql.push_str(&format!(" ORDER BY {key} {NEWEST_FIRST} LIMIT 1 OFFSET $2"));
        tx.query_one(&sql, &params, |row| row.text())
    }
}

/// The page of these rows, which goes on at `end` if it has no key of its own to go on from.
pub(super) fn page<T>(rows: Vec<T>, end: Option<String>, page: &PageRequest, key: impl Fn(&T) -> String) -> Page<T> {
    let found = Page::from_rows(rows, page.limit, key);
    Page { next: found.next.or(end), items: found.items }
}

/// A query that grows by conditions.
pub(super) struct Narrowed {
    pub(super) sql: String,
    pub(super) params: Vec<Value>,
}

impl Narrowed {
    pub(super) fn by(&mut self, condition: &str, value: Option<Value>) {
        if let Some(value) = value {
            self.params.push(value);
            self.sql.push_str(&format!(" AND {condition} ${}", self.params.len()));
        }
    }
}
