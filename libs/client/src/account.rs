//! `/v1/account`: root accounts.

use std::fmt::Display;

use chancery_wire::{
    Account, AccountList, AccountWithGroups, ResellerAccountRequest, ResellerUpdateAccountRequest, SuccessResponse,
};

use crate::client::Client;
use crate::error::Error;
use crate::page::Pages;
use crate::path::route;
use crate::query::Query;
use crate::request::RawRequest;
use crate::response::Replayable;

/// Root accounts of customers. A lookup is the account's `lookup`, its `id`, its `kid` or its e-mail address.
#[derive(Debug, Clone, Copy)]
pub struct Accounts<'a> {
    pub(crate) client: &'a Client,
}

/// Which accounts to list, and which page of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountQuery {
    /// Only the account with this e-mail address.
    pub customer_email: Option<String>,
    /// Only accounts that are, or are not, suspended.
    pub is_suspended: Option<bool>,
    /// Terminated accounts too.
    pub include_deleted: Option<bool>,
    /// Most items in a page: 1 to 1000, 100 where it is left out.
    pub limit: Option<u32>,
    /// The `next_cursor` of the page before; the first page where it is left out.
    pub cursor: Option<String>,
}

impl From<AccountQuery> for Query {
    fn from(query: AccountQuery) -> Self {
        Self::default()
            .with("customer_email", query.customer_email)
            .with("is_suspended", query.is_suspended)
            .with("include_deleted", query.include_deleted)
            .with("limit", query.limit)
            .with("cursor", query.cursor)
    }
}

impl Accounts<'_> {
    /// Creates a root account. The answer alone has the HMAC key of its first EAB credential.
    pub async fn create(&self, request: &ResellerAccountRequest) -> Result<Account, Error> {
        self.client.call(RawRequest::post(route!("/v1/account")).json(request)).await?.json()
    }

    /// As [`create`](Self::create), but the same request with the same key makes one account.
    pub async fn create_once(&self, request: &ResellerAccountRequest, key: &str) -> Result<Replayable<Account>, Error> {
        let request = RawRequest::post(route!("/v1/account")).json(request).idempotency_key(key);
        self.client.call(request).await?.replayable()
    }

    /// An account with its EAB credentials and groups; also a terminated one.
    pub async fn get(&self, lookup: impl Display) -> Result<AccountWithGroups, Error> {
        self.client.call(RawRequest::get(route!("/v1/account/{}", lookup))).await?.json()
    }

    /// One page, newest first.
    pub async fn list(&self, query: AccountQuery) -> Result<AccountList, Error> {
        self.client.call(RawRequest::get(route!("/v1/account")).query(&query.into())).await?.json()
    }

    /// All pages.
    pub fn list_all(&self, query: AccountQuery) -> Pages<Account> {
        Pages::new(self.client, route!("/v1/account"), query)
    }

    /// Changes what the request names and leaves the rest.
    pub async fn update(
        &self,
        lookup: impl Display,
        request: &ResellerUpdateAccountRequest,
    ) -> Result<SuccessResponse, Error> {
        self.client.call(RawRequest::patch(route!("/v1/account/{}", lookup)).json(request)).await?.json()
    }

    /// Terminates an account.
    pub async fn delete(&self, lookup: impl Display) -> Result<SuccessResponse, Error> {
        self.client.call(RawRequest::delete(route!("/v1/account/{}", lookup))).await?.json()
    }
}
