//! Cursors that say where a list goes on, and that nobody but us can make.

use aws_lc_rs::hmac;
use chancery_domain::{PAGE_BYTES, Page, PageRequest, ResellerId};
use data_encoding::BASE64URL_NOPAD;

use crate::error::ServiceError;

/// Which part of a list is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRequest {
    pub limit: u32,
    pub cursor: Option<String>,
}

/// One page, and the cursor for the next where there is one.
#[derive(Clone, Debug)]
pub struct Listed<T> {
    pub items: Vec<T>,
    pub next_cursor: Option<String>,
    /// Where a page goes on that ends earlier; none for a list that has no other pages.
    places: Option<Places>,
}

/// The key of each item of a page, and what makes cursors of them.
#[derive(Clone, Debug)]
struct Places {
    cursors: Cursors,
    list: ListName,
    keys: Vec<String>,
}

/// A page as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenPage {
    pub items: Vec<Vec<u8>>,
    pub next_cursor: Option<String>,
}

/// What a page may have besides its items: the cursor, separators and the names of two members.
const FRAME: usize = 4096;

impl<T> Listed<T> {
    /// All there is, on one page.
    pub fn whole(items: Vec<T>) -> Self {
        Self { items, next_cursor: None, places: None }
    }

    /// Writes the items one by one. A page that would be longer than [`PAGE_BYTES`] ends before the item by which it would
    /// be, though not before its first item, and its cursor leads on from there.
    pub fn write(self, write: impl Fn(&T) -> Vec<u8>) -> WrittenPage {
        let Self { items, mut next_cursor, places } = self;
        let (mut written, mut length) = (Vec::with_capacity(items.len()), FRAME);
        for item in &items {
            let text = write(item);
            length += text.len() + 1;
            let before = written.len().checked_sub(1);
            if let (Some(last), Some(places), true) = (before, &places, length > PAGE_BYTES) {
                next_cursor = places.keys.get(last).map(|key| places.cursors.cursor(&places.list, key));
                break;
            }
            written.push(text);
        }
        WrittenPage { items: written, next_cursor }
    }
}

/// A list as a cursor is bound to it: its name, whose it is, and every filter.
#[derive(Clone, Debug)]
pub(crate) struct ListName {
    text: String,
    pub(crate) reseller: ResellerId,
}

impl ListName {
    pub(crate) fn new(list: &str, reseller: ResellerId, filter: &impl std::fmt::Debug) -> Self {
        Self { text: format!("{list}\0{reseller}\0{filter:?}"), reseller }
    }
}

const TAG: usize = 16;

#[derive(Clone, Debug)]
pub(crate) struct Cursors {
    key: hmac::Key,
}

impl Cursors {
    pub(crate) fn new(key: hmac::Key) -> Self {
        Self { key }
    }

    /// The page that a request means, once its cursor has shown to be ours and of this very list.
    pub(crate) fn open(&self, list: &ListName, request: &ListRequest) -> Result<PageRequest, ServiceError> {
        let after = match &request.cursor {
            None => None,
            Some(cursor) => Some(self.after(list, cursor).ok_or(ServiceError::BadCursor)?),
        };
        Ok(PageRequest { limit: request.limit, after })
    }

    pub(crate) fn close<T>(&self, list: &ListName, page: Page<T>) -> Listed<T> {
        let (items, keys, next) = page.into_parts();
        let next_cursor = next.map(|after| self.cursor(list, &after));
        let places = Some(Places { cursors: self.clone(), list: list.clone(), keys });
        Listed { items, next_cursor, places }
    }

    fn cursor(&self, list: &ListName, after: &str) -> String {
        let mut bytes = self.tag(list, after).as_ref()[..TAG].to_vec();
        bytes.extend_from_slice(after.as_bytes());
        BASE64URL_NOPAD.encode(&bytes)
    }

    fn after(&self, list: &ListName, cursor: &str) -> Option<String> {
        let bytes = BASE64URL_NOPAD.decode(cursor.as_bytes()).ok()?;
        let (tag, after) = bytes.split_at_checked(TAG)?;
        let after = String::from_utf8(after.to_vec()).ok()?;
        aws_lc_rs::constant_time::verify_slices_are_equal(tag, &self.tag(list, &after).as_ref()[..TAG]).ok()?;
        Some(after)
    }

    fn tag(&self, list: &ListName, after: &str) -> hmac::Tag {
        hmac::sign(&self.key, format!("{}\0{after}", list.text).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reseller(number: u128) -> ResellerId {
        format!("rsl_{number:026}").parse().unwrap()
    }

    fn cursors() -> Cursors {
        Cursors::new(hmac::Key::new(hmac::HMAC_SHA256, &[7; 32]))
    }

    fn next(list: &ListName) -> String {
        cursors().close(list, Page::<()>::empty(Some("acc_1".to_owned()))).next_cursor.unwrap()
    }

    fn open(list: &ListName, cursor: &str) -> Option<String> {
        let request = ListRequest { limit: 10, cursor: Some(cursor.to_owned()) };
        cursors().open(list, &request).ok().and_then(|page| page.after)
    }

    #[test]
    fn leads_on_in_its_own_list_only() {
        let mine = ListName::new("account", reseller(1), &Some(true));
        let cursor = next(&mine);
        assert_eq!(open(&mine, &cursor).as_deref(), Some("acc_1"));
        assert_eq!(open(&ListName::new("group", reseller(1), &Some(true)), &cursor), None);
        assert_eq!(open(&ListName::new("account", reseller(2), &Some(true)), &cursor), None);
        assert_eq!(open(&ListName::new("account", reseller(1), &Some(false)), &cursor), None);
    }

    /// What is written of a page of so many items, each so long, and after which of them the next page begins.
    fn written(items: usize, length: usize, more: bool) -> (usize, Option<String>) {
        let (mine, rows) = (ListName::new("account", reseller(1), &()), items + usize::from(more));
        let limit = u32::try_from(items).unwrap();
        let page = Page::from_rows((0..rows).collect(), limit, |place| format!("acc_{place}"));
        let page = cursors().close(&mine, page).write(|_| vec![b'x'; length]);
        let whole = page.items.iter().map(|text| text.len() + 1).sum::<usize>();
        assert!(whole <= PAGE_BYTES || page.items.len() == 1, "{whole}");
        (page.items.len(), page.next_cursor.and_then(|cursor| open(&mine, &cursor)))
    }

    #[test]
    fn a_page_that_would_be_too_long_ends_early_and_its_cursor_leads_on() {
        assert_eq!(written(0, 0, false), (0, None));
        assert_eq!(written(1000, 1000, false), (1000, None));
        assert_eq!(written(1000, 1000, true), (1000, Some("acc_999".to_owned())));
        for more in [false, true] {
            assert_eq!(written(1000, PAGE_BYTES / 4, more), (3, Some("acc_2".to_owned())));
            assert_eq!(written(1000, 2 * PAGE_BYTES, more), (1, Some("acc_0".to_owned())));
        }
        assert_eq!(written(1, 2 * PAGE_BYTES, false), (1, None));
    }

    #[test]
    fn an_altered_or_cut_one_is_refused() {
        let mine = ListName::new("account", reseller(1), &());
        let cursor = next(&mine);
        for place in 0..cursor.len() {
            let mut altered = cursor.clone().into_bytes();
            altered[place] = if altered[place] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            assert_eq!(open(&mine, &altered), None, "{altered}");
            assert_eq!(open(&mine, &cursor[..place]), None);
        }
    }
}
