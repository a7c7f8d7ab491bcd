//! One page of a list that is walked by key, newest first.

pub const PAGE_LIMIT_DEFAULT: u32 = 100;
pub const PAGE_LIMIT_MAX: u32 = 1000;

/// How much of a list, and after which key: everything with a smaller key, or the beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    pub limit: u32,
    pub after: Option<String>,
}

impl Default for PageRequest {
    fn default() -> Self {
        Self { limit: PAGE_LIMIT_DEFAULT, after: None }
    }
}

/// The items of one page, and the key to go on from where there is more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// From up to `limit + 1` rows: the extra one only says that there is more.
    pub fn from_rows(mut rows: Vec<T>, limit: u32, key: impl Fn(&T) -> String) -> Self {
        let limit = limit as usize;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = if more { rows.last().map(key) } else { None };
        Self { items: rows, next }
    }

    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(change).collect(), next: self.next }
    }
}
