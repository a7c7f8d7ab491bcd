//! What can be chosen from on a page: by lookup and name, newest first.

use chancery_http::Door;
use chancery_service::{Caller, ListRequest, ServiceError};
use maud::{Markup, html};

/// As many are offered on one page, which is as many policies as a reseller has by default.
const MOST: usize = 1000;

/// Lookups and names, and whether there are more.
#[derive(Default)]
pub(crate) struct Choices {
    pub(crate) items: Vec<(String, String)>,
    more: bool,
}

impl Choices {
    pub(crate) async fn groups(door: &Door, caller: &Caller) -> Result<Self, ServiceError> {
        let mut found = Self::default();
        let mut next = ListRequest { limit: 1000, cursor: None };
        loop {
            let page = door.services.groups.list(caller, &next).await?;
            let named = page.items.into_iter().map(|of| (of.group.id.to_string(), of.group.name.to_string()));
            found.items.extend(named);
            match found.goes_on(page.next_cursor) {
                Some(cursor) => next.cursor = Some(cursor),
                None => return Ok(found),
            }
        }
    }

    pub(crate) async fn policies(door: &Door, caller: &Caller) -> Result<Self, ServiceError> {
        let mut found = Self::default();
        let mut next = ListRequest { limit: 1000, cursor: None };
        loop {
            let page = door.services.policies.list(caller, &next).await?;
            let named = page.items.into_iter().map(|of| (of.policy.id.to_string(), of.policy.name.to_string()));
            found.items.extend(named);
            match found.goes_on(page.next_cursor) {
                Some(cursor) => next.cursor = Some(cursor),
                None => return Ok(found),
            }
        }
    }

    /// Without those that are no choice here.
    pub(crate) fn but(mut self, known: impl Fn(&str) -> bool) -> Self {
        self.items.retain(|(id, _)| !known(id));
        self
    }

    /// Said below a choice that lacks some.
    pub(crate) fn note(&self) -> Markup {
        html! { @if self.more { p.hint { "Only the newest " (MOST) " are offered here; the API takes any." } } }
    }

    /// Pages may end early: they are bounded by more than the number of what is on them.
    fn goes_on(&mut self, cursor: Option<String>) -> Option<String> {
        self.more = self.items.len() > MOST || self.items.len() == MOST && cursor.is_some();
        self.items.truncate(MOST);
        cursor.filter(|_| self.items.len() < MOST)
    }
}
