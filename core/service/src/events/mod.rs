//! What has happened to a reseller's things, newest first to look at, or in the order of commits to follow.

mod derive;
mod expiring;

use std::sync::Arc;

use chancery_domain::{EventId, EventType, Page, PageRequest, ResellerId, Scope, Timestamp};
use chancery_store::{AuditFilter, Place, Tx};

pub use derive::Event;
pub(crate) use derive::events;
pub use expiring::Expiry;

use crate::account_lookup::AccountLookup;
use crate::caller::Caller;
use crate::cursor::{ListName, ListRequest, Listed};
use crate::error::{Noun, ServiceError};
use crate::kernel::Kernel;

/// Records that are read at once, and how often for one page. A page that looked through them all, or has read
/// [`PAGE_BYTES`](chancery_domain::PAGE_BYTES), may be short and says where to go on.
const CHUNK: u32 = 100;
const CHUNKS: usize = 10;

/// Which events to show.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    /// All, where there is none.
    pub types: Vec<EventType>,
    pub account: Option<AccountLookup>,
    /// Not before this.
    pub created_after: Option<Timestamp>,
    /// Before this.
    pub created_before: Option<Timestamp>,
    /// In the order of commits, to be followed: the last page has a cursor too, which leads on to what is still to come.
    pub oldest_first: bool,
}

impl EventFilter {
    /// Where somebody who follows goes on.
    fn beginning(&self, tx: &mut Tx<'_>, reseller: ResellerId, page: &PageRequest) -> Result<Followed, ServiceError> {
        match (&page.after, self.created_after) {
            (Some(cursor), _) => Followed::parse(cursor).ok_or(ServiceError::BadCursor),
            (None, Some(from)) => Ok(Followed { position: tx.place_at(reseller, from)?.position, last: None }),
            (None, None) => Ok(Followed { position: 0, last: None }),
        }
    }
}

#[derive(Clone)]
pub struct Events {
    kernel: Arc<Kernel>,
}

impl Events {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel }
    }

    /// A page of the reseller's events. An account that does not exist has none.
    pub async fn list(
        &self,
        caller: &Caller,
        filter: EventFilter,
        request: &ListRequest,
    ) -> Result<Listed<Event>, ServiceError> {
        caller.require(Scope::ReadEvent)?;
        let reseller = caller.reseller;
        let list = ListName::new("event", reseller, &filter);
        let page = self.kernel.cursors.open(&list, request)?;
        let below = match filter.oldest_first {
            true => self.kernel.event_horizon(reseller).await?,
            false => 0,
        };
        let read = move |tx: &mut Tx<'_>| {
            let account = match &filter.account {
                None => None,
                Some(lookup) => match lookup.find_any(tx, reseller)? {
                    Some(account) => Some(account.id.to_string()),
                    None => {
                        // Whoever follows goes on from here: the account may be still to come.
                        let next = filter.oldest_first.then(|| filter.beginning(tx, reseller, &page)).transpose()?;
                        return Ok(Page::empty(next.map(|at| at.to_string())));
                    }
                },
            };
            let look = Look { reseller, filter: &filter, account, limit: page.limit as usize };
            match filter.oldest_first {
                true => look.oldest(tx, &page, below),
                false => look.newest(tx, &page),
            }
        };
        self.kernel.read_list(&list, read).await
    }

    pub async fn show(&self, caller: &Caller, id: EventId) -> Result<Event, ServiceError> {
        caller.require(Scope::ReadEvent)?;
        let reseller = caller.reseller;
        self.kernel.store_of(reseller).read(move |tx| event(tx, reseller, id)).await
    }
}

impl Kernel {
    /// Up to where the trail is complete. Asked for by itself, before what is read up to there.
    pub(crate) async fn event_horizon(&self, reseller: impl Into<Option<ResellerId>>) -> Result<i64, ServiceError> {
        self.store_of(reseller).read(|tx| Ok(tx.event_horizon()?)).await
    }
}

/// One event of a reseller.
pub(crate) fn event(tx: &mut Tx<'_>, reseller: ResellerId, id: EventId) -> Result<Event, ServiceError> {
    let record = tx.audit_record(reseller, id.record)?;
    let found = record.and_then(|record| events(&record).into_iter().find(|event| event.id == id));
    found.ok_or_else(|| ServiceError::not_found(Noun::Event))
}

/// One look for a page.
struct Look<'a> {
    reseller: ResellerId,
    filter: &'a EventFilter,
    account: Option<String>,
    limit: usize,
}

impl Look<'_> {
    fn newest(&self, tx: &mut Tx<'_>, page: &PageRequest) -> Result<Page<Event>, ServiceError> {
        let before = page.after.as_deref().map(str::parse::<EventId>).transpose();
        let before = before.map_err(|_| ServiceError::BadCursor)?;
        let trail = AuditFilter {
            reseller: Some(self.reseller),
            since: self.filter.created_after,
            until: self.filter.created_before,
            ..AuditFilter::default()
        };
        // The record of the last event may have more of them.
        let mut after = before.map(|id| format!("{}~", id.record));
        let mut found = Page::empty(None);
        for _ in 0..CHUNKS {
            let records = tx.audit(&trail, &PageRequest { limit: CHUNK, after })?;
            for event in records.items.iter().flat_map(|record| events(record).into_iter().rev()) {
                if before.is_some_and(|before| event.id >= before) || !self.fits(&event) {
                    continue;
                }
                let key = event.id.to_string();
                found.push(event, key);
                // One more than fits says that there are more.
                if found.items.len() > self.limit {
                    found.cut(self.limit);
                    return Ok(found);
                }
            }
            after = records.next;
            if after.is_none() {
                return Ok(found);
            }
            if tx.has_read_a_page() {
                break;
            }
        }
        let looked = after.and_then(|record| record.parse().ok()).map(|record| EventId { record, place: 0 });
        found.next = looked.map(|id| id.to_string());
        Ok(found)
    }

    fn oldest(&self, tx: &mut Tx<'_>, page: &PageRequest, below: i64) -> Result<Page<Event>, ServiceError> {
        let mut at = self.filter.beginning(tx, self.reseller, page)?;
        let mut found = Page::empty(None);
        let mut after = at.place();
        for _ in 0..CHUNKS {
            let records = tx.records_after(self.reseller, &after, below, CHUNK)?;
            for placed in &records {
                let position = placed.place.position;
                for event in events(&placed.record) {
                    let seen = position == at.position && at.last.is_some_and(|last| event.id <= last);
                    if seen || !self.fits(&event) {
                        continue;
                    }
                    if found.items.len() == self.limit {
                        found.next = Some(at.to_string());
                        return Ok(found);
                    }
                    at = Followed { position, last: Some(event.id) };
                    found.push(event, at.to_string());
                }
                // Also what told of nothing is behind us.
                at = Followed { position, last: Some(EventId { record: placed.record.id, place: u32::MAX }) };
                after = placed.place.clone();
            }
            if records.len() < CHUNK as usize || tx.has_read_a_page() {
                break;
            }
        }
        found.next = Some(at.to_string());
        Ok(found)
    }

    fn fits(&self, event: &Event) -> bool {
        let EventFilter { types, created_after, created_before, .. } = self.filter;
        (types.is_empty() || types.contains(&event.kind))
            && (self.account.is_none() || self.account == event.account)
            && created_after.is_none_or(|after| event.at >= after)
            && created_before.is_none_or(|before| event.at < before)
    }
}

/// Where somebody stands who follows: a position, and the last event of it.
struct Followed {
    position: i64,
    last: Option<EventId>,
}

impl Followed {
    fn parse(text: &str) -> Option<Self> {
        let (position, last) = text.split_once(':')?;
        let last = match last {
            "" => None,
            last => Some(last.parse().ok()?),
        };
        Some(Self { position: position.parse().ok()?, last })
    }

    /// From where to read: the record of the last event comes once more, as it may have more events.
    fn place(&self) -> Place {
        let id = self.last.map(|last| last.record.to_string());
        let id = id.map(|id| id[..id.len() - 1].to_owned()).unwrap_or_default();
        Place { position: self.position, id }
    }
}

impl std::fmt::Display for Followed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.position, self.last.map(|last| last.to_string()).unwrap_or_default())
    }
}
