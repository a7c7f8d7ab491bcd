//! Pages of lists, bounded in rows and in bytes.
//!
//! A page is read in parts. After each part the bytes of all rows that the unit of work has read so far are compared with
//! [`PAGE_BYTES`], and the page ends once it has read that many. So a page reads at most that and one part, however many
//! rows were asked for and however long they are. What belongs to the items of a page ([`Tx::complete`]) has the same bound by
//! itself.

use chancery_domain::{PAGE_BYTES, Page, PageRequest};

use super::END;
use crate::error::StoreError;
use crate::tx::Tx;

/// Rows of one part. The longest rows that callers can have written are orders, with about 110 KiB.
pub(super) const PART: u32 = 100;

/// The sum of weights of items that are completed together. An item of weight 1 has up to 12 KiB, so a part reads 6 MiB at most.
const WEIGHT: usize = 500;

impl Tx<'_> {
    /// Whether this unit of work has read as many bytes of rows as a page may.
    pub fn has_read_a_page(&self) -> bool {
        self.bytes_read() >= PAGE_BYTES as u64
    }

    /// Reads a page part by part. A part that is not full though there are more rows (`read` has looked through enough of
    /// them) ends the page too.
    pub(super) fn in_parts<T>(
        &mut self,
        request: &PageRequest,
        mut read: impl FnMut(&mut Self, &PageRequest) -> Result<Page<T>, StoreError>,
    ) -> Result<Page<T>, StoreError> {
        let mut page = Page::empty(request.after.clone());
        let mut left = request.limit;
        loop {
            let part = PageRequest { limit: left.min(PART), after: page.next.take() };
            let found = read(self, &part)?;
            let is_full = found.items.len() >= part.limit as usize;
            page.append(found);
            left -= part.limit;
            if !is_full || page.next.is_none() || left == 0 || self.has_read_a_page() {
                return Ok(page);
            }
        }
    }

    /// Reads a page of a list that one index serves. `rows` reads the rows below a key, and at most as many as it is told.
    pub(super) fn page<T>(
        &mut self,
        request: &PageRequest,
        rows: impl Fn(&mut Self, String, i64) -> Result<Vec<T>, StoreError>,
        key: impl Fn(&T) -> String,
    ) -> Result<Page<T>, StoreError> {
        self.in_parts(request, |tx, part| {
            let (after, limit) = bounds(part);
            Ok(Page::from_rows(rows(tx, after, limit)?, part.limit, &key))
        })
    }

    /// Reads what belongs to the items of a page, for some of them at a time, until that is as many bytes as a page may have; the
    /// page ends there. `weight` says how much belongs to an item, in rows of up to 12 KiB.
    pub fn complete<T, U, E>(
        &mut self,
        mut page: Page<T>,
        weight: impl Fn(&T) -> usize,
        mut read: impl FnMut(&mut Self, Vec<T>) -> Result<Vec<U>, E>,
    ) -> Result<Page<U>, E> {
        let mut rest = std::mem::take(&mut page.items);
        let mut done = Vec::with_capacity(rest.len());
        // The rows of the items do not count here: long ones would leave room for the first few of them only.
        let enough = self.bytes_read() + PAGE_BYTES as u64;
        while !rest.is_empty() && self.bytes_read() < enough {
            let mut sum = 0;
            let mut fits = |item: &T| {
                sum += weight(item).max(1);
                sum <= WEIGHT
            };
            let count = rest.iter().take_while(|item| fits(item)).count().max(1);
            let later = rest.split_off(count);
            done.extend(read(self, std::mem::replace(&mut rest, later))?);
        }
        Ok(page.with_items(done))
    }
}

/// The key to go on below, and how many rows to fetch: one more than asked for, to know whether there are more.
pub(super) fn bounds(page: &PageRequest) -> (String, i64) {
    (page.after.clone().unwrap_or_else(|| END.to_owned()), i64::from(page.limit) + 1)
}
