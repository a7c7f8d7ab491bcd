//! `/v1/pause`: names whose validation failed too often.

use std::fmt::Display;

use chancery_wire::{PauseList, PauseRecord, SuccessResponse};

use crate::client::Client;
use crate::error::Error;
use crate::page::{PageQuery, Pages};
use crate::path::route;
use crate::request::RawRequest;

/// Names that an account gets no new orders for. Pauses are named by their `lookup`.
#[derive(Debug, Clone, Copy)]
pub struct Pauses<'a> {
    pub(crate) client: &'a Client,
}

impl Pauses<'_> {
    /// One page, newest first.
    pub async fn list(&self, page: PageQuery) -> Result<PauseList, Error> {
        self.client.call(RawRequest::get(route!("/v1/pause")).query(&page.into())).await?.json()
    }

    /// All pages.
    pub fn list_all(&self, page: PageQuery) -> Pages<PauseRecord> {
        Pages::new(self.client, route!("/v1/pause"), page)
    }

    /// Lifts a pause: new orders for the name are taken again.
    pub async fn lift(&self, pause: impl Display) -> Result<SuccessResponse, Error> {
        self.client.call(RawRequest::delete(route!("/v1/pause/{}", pause))).await?.json()
    }
}
