//! One page of a list that is walked by key.

pub const PAGE_LIMIT_DEFAULT: u32 = 100;
pub const PAGE_LIMIT_MAX: u32 = 1000;

/// Bytes of one page. The limit applies twice: to the rows that are read for a page, and to the text of its answer. A page
/// that would be longer ends early and says where the next one begins.
pub const PAGE_BYTES: usize = 4 * 1024 * 1024;

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
    /// The key of each item: a page that is cut behind the item goes on there.
    keys: Vec<String>,
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// A page without items, and where to go on.
    pub fn empty(next: Option<String>) -> Self {
        Self { items: Vec::new(), keys: Vec::new(), next }
    }

    /// From up to `limit + 1` rows: the extra one only says that there is more.
    pub fn from_rows(mut rows: Vec<T>, limit: u32, key: impl Fn(&T) -> String) -> Self {
        let limit = limit as usize;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let keys: Vec<_> = rows.iter().map(key).collect();
        let next = keys.last().filter(|_| more).cloned();
        Self { items: rows, keys, next }
    }

    /// Adds an item; `key` is where a page goes on that ends with it.
    pub fn push(&mut self, item: T, key: String) {
        self.items.push(item);
        self.keys.push(key);
    }

    /// Adds the page that follows this one.
    pub fn append(&mut self, later: Self) {
        self.items.extend(later.items);
        self.keys.extend(later.keys);
        self.next = later.next;
    }

    /// Ends the page after its first `len` items, if it has more.
    pub fn cut(&mut self, len: usize) {
        if len < self.items.len() {
            self.items.truncate(len);
            self.keys.truncate(len);
            self.next = self.keys.last().cloned();
        }
    }

    /// The same page with other items in place of its own, one for each. If there are fewer, the page ends with the last of
    /// them.
    pub fn with_items<U>(self, items: Vec<U>) -> Page<U> {
        let Self { mut keys, mut next, .. } = self;
        if items.len() < keys.len() {
            keys.truncate(items.len());
            next = keys.last().cloned();
        }
        Page { items, keys, next }
    }

    /// Drops the items that do not meet a condition; the next page begins where it did before.
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        let items = std::mem::take(&mut self.items).into_iter().zip(std::mem::take(&mut self.keys));
        (self.items, self.keys) = items.filter(|(item, _)| keep(item)).unzip();
    }

    pub fn map<U>(mut self, change: impl FnMut(T) -> U) -> Page<U> {
        let items = std::mem::take(&mut self.items).into_iter().map(change).collect();
        self.with_items(items)
    }

    /// The items, the key of each, and the key to go on from.
    pub fn into_parts(self) -> (Vec<T>, Vec<String>, Option<String>) {
        (self.items, self.keys, self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(rows: std::ops::Range<u32>, limit: u32) -> Page<u32> {
        Page::from_rows(rows.collect(), limit, ToString::to_string)
    }

    #[test]
    fn the_extra_row_says_that_there_is_more() {
        assert_eq!((page(0..3, 2).items, page(0..3, 2).next.as_deref()), (vec![0, 1], Some("1")));
        assert_eq!((page(0..2, 2).items, page(0..2, 2).next), (vec![0, 1], None));
    }

    #[test]
    fn a_page_that_is_cut_goes_on_behind_its_last_item() {
        let mut whole = page(0..2, 2);
        whole.append(page(2..5, 2));
        assert_eq!((whole.items.as_slice(), whole.next.as_deref()), ([0, 1, 2, 3].as_slice(), Some("3")));
        whole.cut(4);
        assert_eq!(whole.next.as_deref(), Some("3"));
        whole.cut(1);
        assert_eq!((whole.items.as_slice(), whole.next.as_deref()), ([0].as_slice(), Some("0")));
    }

    #[test]
    fn fewer_items_end_the_page_with_the_last_of_them() {
        let shorter = page(0..5, 5).with_items(vec!["a", "b"]);
        assert_eq!((shorter.items.as_slice(), shorter.next.as_deref()), (["a", "b"].as_slice(), Some("1")));
        assert_eq!(page(0..2, 2).map(|row| row + 1).next, None);
    }

    #[test]
    fn a_page_without_some_of_its_items_leads_on_as_before() {
        let mut rest = page(0..5, 4);
        rest.retain(|row| row % 2 == 1);
        assert_eq!((rest.items.as_slice(), rest.next.as_deref()), ([1, 3].as_slice(), Some("3")));
        rest.cut(1);
        assert_eq!(rest.next.as_deref(), Some("1"));
    }
}
