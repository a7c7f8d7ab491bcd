//! Cursors that say where a list goes on, and that nobody but us can make.

use aws_lc_rs::hmac;
use chancery_domain::{Page, PageRequest, ResellerId};
use data_encoding::BASE64URL_NOPAD;

use crate::error::ServiceError;

/// Which part of a list is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRequest {
    pub limit: u32,
    pub cursor: Option<String>,
}

/// One page, and the cursor for the next where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed<T> {
    pub items: Vec<T>,
    pub next_cursor: Option<String>,
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
        let next_cursor = page.next.map(|after| {
            let mut bytes = self.tag(list, &after).as_ref()[..TAG].to_vec();
            bytes.extend_from_slice(after.as_bytes());
            BASE64URL_NOPAD.encode(&bytes)
        });
        Listed { items: page.items, next_cursor }
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
        let page = Page { items: vec![()], next: Some("acc_1".to_owned()) };
        cursors().close(list, page).next_cursor.unwrap()
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
