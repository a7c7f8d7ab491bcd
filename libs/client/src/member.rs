//! `/v1/account-group/…/member`: who is in a group.

use std::fmt::Display;

use chancery_wire::{Account, AccountGroupMemberList, ResellerAccountGroupMembersRequest, SuccessResponse};

use crate::error::Error;
use crate::group::AccountGroups;
use crate::page::{PageQuery, Pages};
use crate::path::route;
use crate::request::RawRequest;

/// Members are named by their account's `lookup`. What is done to several is done to all of them or to none.
impl AccountGroups<'_> {
    /// One page of the accounts in a group, newest first.
    pub async fn list_members(&self, group: impl Display, page: PageQuery) -> Result<AccountGroupMemberList, Error> {
        let path = route!("/v1/account-group/{}/member", group);
        self.client.call(RawRequest::get(path).query(&page.into())).await?.json()
    }

    /// All accounts in a group.
    pub fn list_all_members(&self, group: impl Display, page: PageQuery) -> Pages<Account> {
        Pages::new(self.client, route!("/v1/account-group/{}/member", group), page)
    }

    /// Adds accounts to a group; one that is in it already stays.
    pub async fn add_members<I>(&self, group: impl Display, accounts: I) -> Result<SuccessResponse, Error>
    where
        I: IntoIterator<Item: Into<String>>,
    {
        let path = route!("/v1/account-group/{}/member", group);
        self.client.call(RawRequest::post(path).json(&members(accounts))).await?.json()
    }

    /// Removes accounts from a group.
    pub async fn remove_members<I>(&self, group: impl Display, accounts: I) -> Result<SuccessResponse, Error>
    where
        I: IntoIterator<Item: Into<String>>,
    {
        let path = route!("/v1/account-group/{}/member", group);
        self.client.call(RawRequest::delete(path).json(&members(accounts))).await?.json()
    }

    /// Moves accounts from one group to another.
    pub async fn move_members<I>(
        &self,
        origin: impl Display,
        destination: impl Display,
        accounts: I,
    ) -> Result<SuccessResponse, Error>
    where
        I: IntoIterator<Item: Into<String>>,
    {
        let path = route!("/v1/account-group/{}/{}/member", origin, destination);
        self.client.call(RawRequest::patch(path).json(&members(accounts))).await?.json()
    }
}

fn members(accounts: impl IntoIterator<Item: Into<String>>) -> ResellerAccountGroupMembersRequest {
    ResellerAccountGroupMembersRequest { accounts: accounts.into_iter().map(Into::into).collect() }
}
