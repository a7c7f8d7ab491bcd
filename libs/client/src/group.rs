//! `/v1/account-group`: named groups of accounts, and the policies assigned to them.

use std::fmt::Display;

use chancery_wire::{AccountGroupList, AccountGroupRecord, ResellerAccountGroupRequest, SuccessResponse};

use crate::client::Client;
use crate::error::Error;
use crate::page::{PageQuery, Pages};
use crate::path::route;
use crate::request::RawRequest;
use crate::response::Replayable;

/// Account groups, who is in them, and which policies they have. Groups and policies are named by their `lookup`.
#[derive(Debug, Clone, Copy)]
pub struct AccountGroups<'a> {
    pub(crate) client: &'a Client,
}

impl AccountGroups<'_> {
    /// Creates a group.
    pub async fn create(&self, request: &ResellerAccountGroupRequest) -> Result<AccountGroupRecord, Error> {
        self.client.call(RawRequest::post(route!("/v1/account-group")).json(request)).await?.json()
    }

    /// As [`create`](Self::create), but the same request with the same key makes one group.
    pub async fn create_once(
        &self,
        request: &ResellerAccountGroupRequest,
        key: &str,
    ) -> Result<Replayable<AccountGroupRecord>, Error> {
        let request = RawRequest::post(route!("/v1/account-group")).json(request).idempotency_key(key);
        self.client.call(request).await?.replayable()
    }

    /// A group.
    pub async fn get(&self, group: impl Display) -> Result<AccountGroupRecord, Error> {
        self.client.call(RawRequest::get(route!("/v1/account-group/{}", group))).await?.json()
    }

    /// One page, newest first.
    pub async fn list(&self, page: PageQuery) -> Result<AccountGroupList, Error> {
        self.client.call(RawRequest::get(route!("/v1/account-group")).query(&page.into())).await?.json()
    }

    /// All pages.
    pub fn list_all(&self, page: PageQuery) -> Pages<AccountGroupRecord> {
        Pages::new(self.client, route!("/v1/account-group"), page)
    }

    /// Replaces the name and description of a group.
    pub async fn update(
        &self,
        group: impl Display,
        request: &ResellerAccountGroupRequest,
    ) -> Result<AccountGroupRecord, Error> {
        self.client.call(RawRequest::put(route!("/v1/account-group/{}", group)).json(request)).await?.json()
    }

    /// Deletes a group; its accounts and policies stay.
    pub async fn delete(&self, group: impl Display) -> Result<SuccessResponse, Error> {
        self.client.call(RawRequest::delete(route!("/v1/account-group/{}", group))).await?.json()
    }

    /// Assigns a policy to a group.
    pub async fn assign_policy(&self, group: impl Display, policy: impl Display) -> Result<SuccessResponse, Error> {
        let path = route!("/v1/account-group/{}/policy/{}", group, policy);
        self.client.call(RawRequest::post(path)).await?.json()
    }

    /// Takes a policy off a group.
    pub async fn unassign_policy(&self, group: impl Display, policy: impl Display) -> Result<SuccessResponse, Error> {
        let path = route!("/v1/account-group/{}/policy/{}", group, policy);
        self.client.call(RawRequest::delete(path)).await?.json()
    }
}
