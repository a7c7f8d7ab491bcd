//! Statements that copy the rows of one order for many: what is its own in it changes, the rest stays as it was written.

use crate::database::{Cell, Database, Row};

/// A row of a table, to be copied.
pub(crate) struct Original {
    pub(crate) table: &'static str,
    pub(crate) row: Row,
}

/// What is replaced, wherever it stands in a text: by the column of the table of those that are to be.
pub(crate) type Keys = Vec<(String, &'static str)>;

impl Original {
    /// `INSERT … SELECT` for every row of a table, called `s`, under a condition. `own` are columns that do not
    /// depend on what the original has.
    pub(crate) fn copy(
        &self,
        database: &Database,
        keys: &Keys,
        own: &[(&str, String)],
        from: &str,
        condition: &str,
    ) -> String {
        let expression = |(column, cell): &(String, Cell)| match own.iter().find(|(name, _)| name == column) {
            Some((_, expression)) if *cell != Cell::Null => expression.clone(),
            _ => self.expression(database, keys, column, cell),
        };
        let mut columns: Vec<_> = self.row.iter().map(|(column, _)| column.as_str()).collect();
        let mut values: Vec<_> = self.row.iter().map(expression).collect();
        if let Some((_, rowid)) = own.iter().find(|(name, _)| *name == "rowid") {
            columns.push("rowid");
            values.push(rowid.clone());
        }
        let (table, columns, values) = (self.table, columns.join(", "), values.join(", "));
        format!("INSERT INTO {table} ({columns}) SELECT {values} FROM {from} AS s WHERE {condition}")
    }

    fn expression(&self, database: &Database, keys: &Keys, column: &str, cell: &Cell) -> String {
        match cell {
            Cell::Int(_) if is_time(column) => format!("{} + s.shift", database.literal(cell)),
            Cell::Text(text) => {
                if let Some((_, whole)) = keys.iter().find(|(key, _)| key == text) {
                    return format!("s.{whole}");
                }
                let inside = keys.iter().filter(|(key, _)| text.contains(key.as_str()));
                inside
                    .fold(database.literal(cell), |text, (key, column)| format!("replace({text}, '{key}', s.{column})"))
            }
            Cell::Null | Cell::Int(_) | Cell::Bytes(_) => database.literal(cell),
        }
    }
}

/// All times are in milliseconds.
fn is_time(column: &str) -> bool {
    column.ends_with("_at") || ["at", "not_before", "not_after", "pending_until"].contains(&column)
}

/// The text of a column.
pub(crate) fn text<'a>(row: &'a Row, column: &str) -> Option<&'a str> {
    row.iter().find_map(|(name, cell)| match cell {
        Cell::Text(text) if name == column => Some(text.as_str()),
        _ => None,
    })
}

/// The number in a column.
pub(crate) fn number(row: &Row, column: &str) -> Option<i64> {
    row.iter().find_map(|(name, cell)| match cell {
        Cell::Int(number) if name == column => Some(*number),
        _ => None,
    })
}
