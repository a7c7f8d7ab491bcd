//! Lists: a page at a time, or all of them.

use std::collections::VecDeque;
use std::fmt;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::client::Client;
use crate::error::Error;
use crate::path::Path;
use crate::query::Query;
use crate::request::RawRequest;

/// Which page of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageQuery {
    /// Most items in the page: 1 to 1000, 100 where it is left out.
    pub limit: Option<u32>,
    /// The `next_cursor` of the page before; the first page where it is left out.
    pub cursor: Option<String>,
}

impl From<PageQuery> for Query {
    fn from(page: PageQuery) -> Self {
        Self::default().with("limit", page.limit).with("cursor", page.cursor)
    }
}

/// All items of a list, fetched page by page as they are asked for. A `limit` in the query is the size of a page.
///
/// After an error it stands where it stood: asking again fetches the same page again.
#[must_use = "nothing is fetched before it is asked for"]
pub struct Pages<T> {
    client: Client,
    path: Path,
    query: Query,
    cursor: Option<String>,
    finished: bool,
    waiting: VecDeque<T>,
}

/// What all lists have in common.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound = "T: DeserializeOwned")]
struct Page<T> {
    items: Vec<T>,
    next_cursor: Option<String>,
}

impl<T: DeserializeOwned> Pages<T> {
    pub(crate) fn new(client: &Client, path: Path, query: impl Into<Query>) -> Self {
        Self {
            client: client.clone(),
            path,
            query: query.into(),
            cursor: None,
            finished: false,
            waiting: VecDeque::new(),
        }
    }

    /// The next item; none after the last.
    pub async fn next(&mut self) -> Result<Option<T>, Error> {
        while self.waiting.is_empty() {
            match self.fetch().await? {
                Some(page) => self.waiting.extend(page),
                None => return Ok(None),
            }
        }
        Ok(self.waiting.pop_front())
    }

    /// What is left of the current page, or else the next page; none after the last. A page may be empty.
    pub async fn next_page(&mut self) -> Result<Option<Vec<T>>, Error> {
        if self.waiting.is_empty() { self.fetch().await } else { Ok(Some(self.waiting.drain(..).collect())) }
    }

    /// From here on, pages of another size.
    pub fn page_size(&mut self, limit: u32) {
        self.query.set("limit", limit.to_string());
    }

    /// The cursor of the page after the last one that was fetched; none where that was the last.
    pub fn next_cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    /// All items that are left. Everything is in memory at once.
    pub async fn collect(mut self) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        while let Some(page) = self.next_page().await? {
            all.extend(page);
        }
        Ok(all)
    }

    async fn fetch(&mut self) -> Result<Option<Vec<T>>, Error> {
        if self.finished {
            return Ok(None);
        }
        let mut query = self.query.clone();
        if let Some(cursor) = &self.cursor {
            query.set("cursor", cursor.clone());
        }
        let response = self.client.call(RawRequest::get(self.path.clone()).query(&query)).await?;
        let page: Page<T> = response.json()?;
        if page.next_cursor.is_some() && page.next_cursor == self.cursor {
            return Err(response.unexpected("the page names itself as the next one"));
        }
        self.finished = page.next_cursor.is_none();
        self.cursor = page.next_cursor;
        Ok(Some(page.items))
    }
}

impl<T> fmt::Debug for Pages<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages").field("waiting", &self.waiting.len()).field("finished", &self.finished).finish()
    }
}
