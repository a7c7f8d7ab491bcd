//! `/v1/event`: what has happened.

use std::fmt::Display;

use chancery_wire::{Event, EventList};

use crate::client::Client;
use crate::error::Error;
use crate::page::Pages;
use crate::path::route;
use crate::query::Query;
use crate::request::RawRequest;

/// What has happened to accounts, credentials, orders, authorizations and certificates.
#[derive(Debug, Clone, Copy)]
pub struct Events<'a> {
    pub(crate) client: &'a Client,
}

/// Which events to list, and which page of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventQuery {
    /// One type, or several with commas between.
    pub kind: Option<String>,
    /// Only events of this root account.
    pub account_lookup: Option<String>,
    /// Only events from this time on (RFC 3339).
    pub created_after: Option<String>,
    /// Only events before this time (RFC 3339).
    pub created_before: Option<String>,
    /// Most items in a page: 1 to 1000, 100 where it is left out.
    pub limit: Option<u32>,
    /// The `next_cursor` of the page before; the first page where it is left out.
    pub cursor: Option<String>,
}

impl From<EventQuery> for Query {
    fn from(query: EventQuery) -> Self {
        Self::default()
            .with("type", query.kind)
            .with("account_lookup", query.account_lookup)
            .with("created_after", query.created_after)
            .with("created_before", query.created_before)
            .with("limit", query.limit)
            .with("cursor", query.cursor)
    }
}

impl Events<'_> {
    /// One page, newest first.
    pub async fn list(&self, query: EventQuery) -> Result<EventList, Error> {
        self.client.call(RawRequest::get(route!("/v1/event")).query(&query.into())).await?.json()
    }

    /// All pages, newest first.
    pub fn list_all(&self, query: EventQuery) -> Pages<Event> {
        Pages::new(self.client, route!("/v1/event"), query)
    }

    /// One page in the order of commits. Its cursor is always there, and leads on to what is still to come.
    pub async fn follow(&self, query: EventQuery) -> Result<EventList, Error> {
        let query = Query::from(query).with("order", Some("oldest"));
        self.client.call(RawRequest::get(route!("/v1/event")).query(&query)).await?.json()
    }

    pub async fn get(&self, event: impl Display) -> Result<Event, Error> {
        self.client.call(RawRequest::get(route!("/v1/event/{}", event))).await?.json()
    }
}
