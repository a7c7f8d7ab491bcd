//! `/v1/order`, `/v1/authz` and `/v1/challenge`: from an order to a certificate that can be fetched.

use std::fmt::Display;

use chancery_wire::{Authorization, Challenge, Challenges, Order, OrderList, ResellerOrderRequest};

use crate::client::Client;
use crate::error::Error;
use crate::page::Pages;
use crate::path::route;
use crate::query::Query;
use crate::request::RawRequest;
use crate::response::Replayable;

/// Certificate orders, with their authorizations and challenges, each named by its `lookup`.
#[derive(Debug, Clone, Copy)]
pub struct Orders<'a> {
    pub(crate) client: &'a Client,
}

/// Which orders to list, and which page of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrderQuery {
    /// Only orders of this account.
    pub account_lookup: Option<String>,
    /// Only orders with this status.
    pub status: Option<String>,
    /// Only the order with this reference of the reseller's own.
    pub external_id: Option<String>,
    /// Most items in a page: 1 to 1000, 100 where it is left out.
    pub limit: Option<u32>,
    /// The `next_cursor` of the page before; the first page where it is left out.
    pub cursor: Option<String>,
}

impl From<OrderQuery> for Query {
    fn from(query: OrderQuery) -> Self {
        Self::default()
            .with("account_lookup", query.account_lookup)
            .with("status", query.status)
            .with("external_id", query.external_id)
            .with("limit", query.limit)
            .with("cursor", query.cursor)
    }
}

impl Orders<'_> {
    /// Orders a certificate.
    pub async fn create(&self, request: &ResellerOrderRequest) -> Result<Order, Error> {
        self.client.call(RawRequest::post(route!("/v1/order")).json(request)).await?.json()
    }

    /// As [`create`](Self::create), but the same request with the same key makes one order.
    pub async fn create_once(&self, request: &ResellerOrderRequest, key: &str) -> Result<Replayable<Order>, Error> {
        let request = RawRequest::post(route!("/v1/order")).json(request).idempotency_key(key);
        self.client.call(request).await?.replayable()
    }

    /// An order. One that has expired is an error of status 410, with the order inside.
    pub async fn get(&self, order: impl Display) -> Result<Order, Error> {
        self.client.call(RawRequest::get(route!("/v1/order/{}", order))).await?.json()
    }

    /// One page, newest first.
    pub async fn list(&self, query: OrderQuery) -> Result<OrderList, Error> {
        self.client.call(RawRequest::get(route!("/v1/order")).query(&query.into())).await?.json()
    }

    /// All pages.
    pub fn list_all(&self, query: OrderQuery) -> Pages<Order> {
        Pages::new(self.client, route!("/v1/order"), query)
    }

    /// Asks for the certificate, once every name is authorized. Asking again is fine.
    pub async fn finalize(&self, order: impl Display) -> Result<Order, Error> {
        self.client.call(RawRequest::post(route!("/v1/order/{}/finalize", order))).await?.json()
    }

    /// Cancels an order and deactivates its authorizations.
    pub async fn cancel(&self, order: impl Display) -> Result<Order, Error> {
        self.client.call(RawRequest::delete(route!("/v1/order/{}", order))).await?.json()
    }

    /// An authorization.
    pub async fn authorization(&self, authorization: impl Display) -> Result<Authorization, Error> {
        self.client.call(RawRequest::get(route!("/v1/authz/{}", authorization))).await?.json()
    }

    /// The challenge codes of an authorization: made when they are first asked for.
    pub async fn challenges(&self, authorization: impl Display) -> Result<Challenges, Error> {
        self.client.call(RawRequest::post(route!("/v1/authz/{}/challenges", authorization))).await?.json()
    }

    /// A challenge, with what was seen of it.
    pub async fn challenge(&self, challenge: impl Display) -> Result<Challenge, Error> {
        self.client.call(RawRequest::get(route!("/v1/challenge/{}", challenge))).await?.json()
    }

    /// Chooses a challenge: verification begins at once.
    pub async fn choose(&self, challenge: impl Display) -> Result<Challenge, Error> {
        self.client.call(RawRequest::post(route!("/v1/challenge/{}", challenge))).await?.json()
    }

    /// Deactivates the authorization of a challenge, and cancels its order.
    pub async fn deactivate(&self, challenge: impl Display) -> Result<Authorization, Error> {
        self.client.call(RawRequest::delete(route!("/v1/challenge/{}", challenge))).await?.json()
    }
}
