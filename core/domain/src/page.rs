//! One page of a list that is walked by key, newest first.

pub const PAGE_LIMIT_DEFAULT: u32 = 100;
pub const PAGE_LIMIT_MAX: u32 = 1000;

/// How many items are read at a time where a page may have to end early.
const PART: u32 = 250;

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

    /// A page that ends before its items weigh more than `most` together, though not before the first of them; what is left comes
    /// with the next one. It is read in parts, so that what is read and not shown is less than one of them.
    pub fn gather<E>(
        request: &PageRequest,
        most: usize,
        weight: impl Fn(&T) -> usize,
        key: impl Fn(&T) -> String,
        mut read: impl FnMut(&PageRequest) -> Result<Self, E>,
    ) -> Result<Self, E> {
        let (mut page, mut sum) = (Self { items: Vec::new(), next: request.after.clone() }, 0);
        let mut left = request.limit;
        loop {
            let part = PageRequest { limit: left.min(PART), after: page.next.take() };
            let Self { items, next } = read(&part)?;
            // Where there is more behind a part that is not full, so much was looked through and no more is to be.
            let is_full = items.len() >= part.limit as usize;
            for item in items {
                sum += weight(&item);
                if sum > most && !page.items.is_empty() {
                    page.next = page.items.last().map(key);
                    return Ok(page);
                }
                page.items.push(item);
            }
            page.next = next;
            left -= part.limit;
            if !is_full || page.next.is_none() || left == 0 || sum >= most {
                return Ok(page);
            }
        }
    }

    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(change).collect(), next: self.next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of these weights, the keys of which are their places, and how many were read for it.
    fn gathered(weights: &[usize], limit: u32, after: Option<&str>) -> (Vec<usize>, Option<String>, usize) {
        let mut looked_at = 0;
        let request = PageRequest { limit, after: after.map(str::to_owned) };
        let read = |part: &PageRequest| {
            let first = part.after.as_ref().map_or(0, |after| after.parse::<usize>().unwrap() + 1);
            let rows: Vec<_> = (first..weights.len()).take(part.limit as usize + 1).collect();
            looked_at += rows.len();
            Ok::<_, ()>(Page::from_rows(rows, part.limit, ToString::to_string))
        };
        let page = Page::gather(&request, 200, |place| weights[*place], ToString::to_string, read).unwrap();
        (page.items, page.next, looked_at)
    }

    #[test]
    fn a_page_that_is_too_heavy_ends_early_and_says_where_to_go_on() {
        for (weights, limit, kept, next) in [
            (vec![1; 50], 1000, 50, None),
            (vec![1; 150], 1000, 150, None),
            (vec![1; 150], 120, 120, Some("119")),
            (vec![1; 500], 1000, 200, Some("199")),
            (vec![50; 150], 1000, 4, Some("3")),
            (vec![70; 150], 1000, 2, Some("1")),
            (vec![300, 1], 1000, 1, Some("0")),
            (vec![300], 1000, 1, None),
            (vec![], 1000, 0, None),
        ] {
            let (items, then, _) = gathered(&weights, limit, None);
            assert_eq!(items, (0..kept).collect::<Vec<_>>(), "{weights:?}");
            assert_eq!(then.as_deref(), next, "{weights:?}");
        }
        let (items, next, _) = gathered(&[50; 150], 1000, Some("3"));
        assert_eq!((items, next.as_deref()), (vec![4, 5, 6, 7], Some("7")));
    }

    #[test]
    fn less_than_a_part_is_read_and_not_shown() {
        let light_then_heavy: Vec<_> = (0..5000).map(|place| if place < 100 { 1 } else { 100 }).collect();
        let heavy_then_light: Vec<_> = (0..5000).map(|place| if place < 3 { 50 } else { 0 }).collect();
        for weights in [vec![50; 5000], vec![1; 5000], light_then_heavy, heavy_then_light] {
            let (items, _, looked_at) = gathered(&weights, 1000, None);
            // One more of each part tells that there is more.
            let parts = looked_at.div_ceil(PART as usize + 1);
            assert!(looked_at <= items.len() + PART as usize + parts, "{} of {looked_at}", items.len());
            assert!(parts <= 4);
        }
    }

    #[test]
    fn a_part_that_was_cut_short_ends_the_page() {
        let (request, mut asked) = (PageRequest { limit: 1000, after: None }, 0);
        let read = |_: &PageRequest| {
            asked += 1;
            Ok::<_, ()>(Page { items: vec![1, 2], next: Some("2".to_owned()) })
        };
        let page = Page::gather(&request, 200, |_| 1, ToString::to_string, read).unwrap();
        assert_eq!((page.items, page.next.as_deref(), asked), (vec![1, 2], Some("2"), 1));
    }
}
