//! Lists with conditions that no index serves: a page looks through so many rows and not more.
//!
//! A page is walked by one index that ends in the key, and every other condition is asked of the rows that this gives, so
//! many at most. Where that many are looked through, the page may be short or empty, and says where to go on.

use chancery_domain::{Page, PageRequest, ResellerId};

use super::bounds;
use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::Value;

/// Rows that a page looks through.
pub(super) const LOOKED_THROUGH: i64 = 1_000;

/// What a list is walked by, besides the key: the column of an index that ends in the key. None is the reseller's.
pub(super) struct Walk {
    pub(super) table: &'static str,
    /// The columns of the rows that are looked through.
    pub(super) columns: &'static str,
    pub(super) key: &'static str,
    pub(super) by: Option<(&'static str, Value)>,
    /// Whether the index leads with the reseller.
    pub(super) of_reseller: bool,
    /// The order of the index.
    pub(super) order: &'static str,
}

impl Walk {
    /// The rows that are looked through, for a query whose first parameters are the reseller and the key to go on below.
    /// Both databases take the limit as a wall: no condition from outside changes how the rows are found.
    pub(super) fn rows(&self, params: &mut Vec<Value>) -> String {
        let Self { table, columns, key, by, of_reseller, order } = self;
        let reseller = if *of_reseller { " AND reseller_id = ?1" } else { "" };
        let by = by.as_ref().map(|(column, value)| {
            params.push(value.clone());
            format!(" AND {column} = ?{}", params.len())
        });
        let by = by.unwrap_or_default();
        format!(
            "SELECT {columns} FROM {table} WHERE {key} < ?2{reseller}{by} ORDER BY {key} {order} LIMIT {LOOKED_THROUGH}"
        )
    }

    /// The key at which a page ends that begins below `after`, if there are more rows than it looks through.
    pub(super) fn end(&self, tx: &mut Tx<'_>, reseller: ResellerId, after: &str) -> Result<Option<String>, StoreError> {
        let Self { table, columns: _, key, by, of_reseller, order } = self;
        let mut params = vec![Value::from(after), Value::from(LOOKED_THROUGH - 1)];
        let mut sql = format!("SELECT {key} FROM {table} WHERE {key} < ?1");
        let mut narrow = |column: &str, value: Value| {
            params.push(value);
            sql.push_str(&format!(" AND {column} = ?{}", params.len()));
        };
        if *of_reseller {
            narrow("reseller_id", reseller.into());
        }
        if let Some((column, value)) = by {
            narrow(column, value.clone());
        }
        sql.push_str(&format!(" ORDER BY {key} {order} LIMIT 1 OFFSET ?2"));
        tx.query_one(&sql, &params, |row| row.text())
    }
}

/// The page of these rows. One that is not full goes on where the walk has ended.
pub(super) fn page<T>(
    tx: &mut Tx<'_>,
    walk: Option<&Walk>,
    reseller: ResellerId,
    request: &PageRequest,
    rows: Vec<T>,
    key: impl Fn(&T) -> String,
) -> Result<Page<T>, StoreError> {
    let mut found = Page::from_rows(rows, request.limit, key);
    if let (None, Some(walk)) = (&found.next, walk) {
        found.next = walk.end(tx, reseller, &bounds(request).0)?;
    }
    Ok(found)
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
            self.sql.push_str(&format!(" AND {condition} ?{}", self.params.len()));
        }
    }
}
