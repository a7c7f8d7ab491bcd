//! `/v1/webhook`: where you are told of events.

use std::fmt::Display;

use chancery_wire::{
    Delivery, DeliveryList, SuccessResponse, UpdateWebhookRequest, Webhook, WebhookList, WebhookRequest,
    WebhookWithSecret,
};

use crate::client::Client;
use crate::error::Error;
use crate::page::{PageQuery, Pages};
use crate::path::route;
use crate::request::RawRequest;
use crate::response::Replayable;

/// Webhooks, named by their `lookup`.
#[derive(Debug, Clone, Copy)]
pub struct Webhooks<'a> {
    pub(crate) client: &'a Client,
}

impl Webhooks<'_> {
    /// Creates a webhook. The answer alone has its secret.
    pub async fn create(&self, request: &WebhookRequest) -> Result<WebhookWithSecret, Error> {
        self.client.call(RawRequest::post(route!("/v1/webhook")).json(request)).await?.json()
    }

    /// As [`create`](Self::create), but the same request with the same key makes one webhook.
    pub async fn create_once(
        &self,
        request: &WebhookRequest,
        key: &str,
    ) -> Result<Replayable<WebhookWithSecret>, Error> {
        let request = RawRequest::post(route!("/v1/webhook")).json(request).idempotency_key(key);
        self.client.call(request).await?.replayable()
    }

    pub async fn get(&self, webhook: impl Display) -> Result<Webhook, Error> {
        self.client.call(RawRequest::get(route!("/v1/webhook/{}", webhook))).await?.json()
    }

    /// One page, newest first.
    pub async fn list(&self, page: PageQuery) -> Result<WebhookList, Error> {
        self.client.call(RawRequest::get(route!("/v1/webhook")).query(&page.into())).await?.json()
    }

    /// All pages.
    pub fn list_all(&self, page: PageQuery) -> Pages<Webhook> {
        Pages::new(self.client, route!("/v1/webhook"), page)
    }

    /// Changes what the request names and leaves the rest.
    pub async fn update(&self, webhook: impl Display, request: &UpdateWebhookRequest) -> Result<Webhook, Error> {
        self.client.call(RawRequest::patch(route!("/v1/webhook/{}", webhook)).json(request)).await?.json()
    }

    /// Deletes a webhook, with what was told to it.
    pub async fn delete(&self, webhook: impl Display) -> Result<SuccessResponse, Error> {
        self.client.call(RawRequest::delete(route!("/v1/webhook/{}", webhook))).await?.json()
    }

    /// Gives a webhook a new secret; the one before signs for a day as well.
    pub async fn rotate_secret(&self, webhook: impl Display) -> Result<WebhookWithSecret, Error> {
        self.client.call(RawRequest::post(route!("/v1/webhook/{}/secret", webhook))).await?.json()
    }

    /// As [`rotate_secret`](Self::rotate_secret), but the same key makes one new secret.
    pub async fn rotate_secret_once(
        &self,
        webhook: impl Display,
        key: &str,
    ) -> Result<Replayable<WebhookWithSecret>, Error> {
        let request = RawRequest::post(route!("/v1/webhook/{}/secret", webhook)).idempotency_key(key);
        self.client.call(request).await?.replayable()
    }

    /// Has a test message sent.
    pub async fn test(&self, webhook: impl Display) -> Result<Delivery, Error> {
        self.client.call(RawRequest::post(route!("/v1/webhook/{}/test", webhook))).await?.json()
    }

    /// One page of what was told to a webhook, newest first.
    pub async fn deliveries(&self, webhook: impl Display, page: PageQuery) -> Result<DeliveryList, Error> {
        let path = route!("/v1/webhook/{}/delivery", webhook);
        self.client.call(RawRequest::get(path).query(&page.into())).await?.json()
    }

    /// All pages of what was told to a webhook.
    pub fn deliveries_all(&self, webhook: impl Display, page: PageQuery) -> Pages<Delivery> {
        Pages::new(self.client, route!("/v1/webhook/{}/delivery", webhook), page)
    }

    /// Has an event told once more.
    pub async fn redeliver(&self, webhook: impl Display, delivery: impl Display) -> Result<Delivery, Error> {
        let path = route!("/v1/webhook/{}/delivery/{}/redeliver", webhook, delivery);
        self.client.call(RawRequest::post(path)).await?.json()
    }
}
