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

    /// Ends before the items together weigh more than this, though not before the first of them: what is left comes with the
    /// next page.
    pub fn within(mut self, most: usize, weight: impl Fn(&T) -> usize, key: impl Fn(&T) -> String) -> Self {
        let mut sum = 0;
        let fits = self.items.iter().take_while(|item| {
            sum += weight(item);
            sum <= most
        });
        let fits = fits.count().max(1);
        if fits < self.items.len() {
            self.items.truncate(fits);
            self.next = self.items.last().map(key);
        }
        self
    }

    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(change).collect(), next: self.next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_too_heavy_ends_early_and_says_where_to_go_on() {
        let page = |items: &[usize], next: Option<&str>| Page { items: items.to_vec(), next: next.map(str::to_owned) };
        for (items, next, kept, then) in [
            (&[3, 3, 3][..], Some("x"), &[3, 3, 3][..], Some("x")),
            (&[3, 3, 4, 1], None, &[3, 3, 4], Some("4")),
            (&[3, 8, 1], Some("x"), &[3], Some("3")),
            (&[11, 1], None, &[11], Some("11")),
            (&[11], None, &[11], None),
            (&[], None, &[], None),
        ] {
            assert_eq!(page(items, next).within(10, |item| *item, ToString::to_string), page(kept, then), "{items:?}");
        }
    }
}
