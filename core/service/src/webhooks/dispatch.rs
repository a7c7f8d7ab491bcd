//! What the courier asks and tells: who has something to be told, what, and what came of it.
//!
//! A webhook is leased to one node at a time. What is new is read from where the webhook stood and put down as deliveries,
//! in one unit of work with the place it stands at then; so nothing is lost with a process, and what was sent but not
//! noted is sent again. Each webhook has its own round: one that is slow holds up nobody else.

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::hmac;
use chancery_domain::{
    Action, Attempted, Delivery, DeliveryState, ResellerId, Timestamp, Webhook, WebhookId, WebhookState,
};
use chancery_store::{Place, Tx};
use serde_json::json;

use super::{Message, Signatory, new_delivery};
use crate::error::ServiceError;
use crate::events::{event, events};
use crate::kernel::{Kernel, sealed_column};

/// How long a node has a webhook without a word.
const LEASE: Duration = Duration::from_secs(90);
/// Webhooks that are looked for at once, records that are read and messages that are sent in one round.
const WEBHOOKS: u32 = 512;
const RECORDS: u32 = 500;
const MESSAGES: u32 = 50;
/// After so long without success nothing more is sent.
const PATIENCE: Duration = Duration::from_secs(3 * 86_400);
/// How long it is told what was delivered.
const KEPT: Duration = Duration::from_secs(30 * 86_400);
const FORGOTTEN_AT_ONCE: u32 = 1000;
/// Gone: the receiver wants no more (Standard Webhooks).
const GONE: u16 = 410;

/// What came of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub at: Timestamp,
    pub took: Duration,
    /// The status of the answer, or why there is none.
    pub answer: Result<u16, String>,
}

/// What is to be sent to a webhook now.
pub struct Round {
    pub webhook: WebhookId,
    pub reseller: ResellerId,
    pub signatory: Signatory,
    pub messages: Vec<Message>,
}

#[derive(Clone)]
pub struct Dispatch {
    kernel: Arc<Kernel>,
}

impl Dispatch {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel }
    }

    /// Webhooks that there is something to tell.
    pub async fn due(&self) -> Result<Vec<WebhookId>, ServiceError> {
        let (now, below) = (self.kernel.now(), self.kernel.event_horizon().await?);
        Ok(self.kernel.store.read(move |tx| tx.webhooks_with_work(now, LEASE, below, WEBHOOKS)).await?)
    }

    /// Takes a webhook and puts down what is new for it; nothing where another node has it.
    pub async fn begin(&self, id: WebhookId) -> Result<Option<Round>, ServiceError> {
        let (kernel, below) = (self.kernel.clone(), self.kernel.event_horizon().await?);
        self.kernel.store.write(move |tx| begin(&kernel, tx, id, below)).await
    }

    /// Notes what came of a message; `false` when no more of its round is to be sent, because the webhook is another
    /// node's by now, or has changed, or is not to be sent to any more.
    pub async fn conclude(&self, message: &Message, sent: Sent) -> Result<bool, ServiceError> {
        let (kernel, delivery, version) = (self.kernel.clone(), message.delivery.clone(), message.version);
        let outcome = if matches!(sent.answer, Ok(200..=299)) { "delivered" } else { "failed" };
        let goes_on = self.kernel.store.write(move |tx| conclude(&kernel, tx, &delivery, version, &sent)).await?;
        metrics::counter!("chancery_webhook_attempts_total", "outcome" => outcome).increment(1);
        Ok(goes_on)
    }

    /// Holds on to the webhook; `false` where it is another node's by now, or is not to be sent to any more.
    pub async fn keep(&self, id: WebhookId) -> Result<bool, ServiceError> {
        let kernel = self.kernel.clone();
        let keep = move |tx: &mut Tx<'_>| tx.renew_webhook(id, &kernel.node, kernel.now().plus(LEASE));
        Ok(self.kernel.store.write(keep).await?.is_some())
    }

    /// Lets the webhook go.
    pub async fn end(&self, id: WebhookId) -> Result<(), ServiceError> {
        let kernel = self.kernel.clone();
        self.kernel.store.write(move |tx| Ok(tx.release_webhook(id, &kernel.node)?)).await
    }

    /// Lets all go that this node has: it stops, and nobody need wait for their leases to end.
    pub async fn end_all(&self) -> Result<(), ServiceError> {
        let kernel = self.kernel.clone();
        self.kernel.store.write(move |tx| Ok(tx.release_webhooks_of(&kernel.node)?)).await
    }

    /// Takes back what a process had that died, before anything is begun. Only where one process serves at a time: of
    /// several, another may be at work.
    pub async fn recover(&self) -> Result<(), ServiceError> {
        if self.kernel.store.is_shared() {
            return Ok(());
        }
        self.kernel.store.write(|tx| Ok(tx.release_all_webhooks()?)).await
    }

    /// Forgets what was delivered long ago.
    pub async fn sweep(&self) -> Result<u64, ServiceError> {
        let before = self.kernel.now().minus(KEPT);
        self.kernel.forget(FORGOTTEN_AT_ONCE, move |tx, most| tx.forget_deliveries(before, most)).await
    }
}

fn begin(kernel: &Kernel, tx: &mut Tx<'_>, id: WebhookId, below: i64) -> Result<Option<Round>, ServiceError> {
    let now = kernel.now();
    let Some((webhook, place)) = tx.lease_webhook(id, &kernel.node, now, LEASE)? else { return Ok(None) };
    put_down(kernel, tx, &webhook, &place, below)?;
    let due = tx.due_deliveries(id, now, MESSAGES)?;
    let mut keys = Vec::new();
    for secret in tx.webhook_secrets(id, now)? {
        let context = sealed_column("webhook_secrets").context(secret.id);
        let key = kernel.keyring.open(&context, &secret.sealed).map_err(ServiceError::internal)?;
        keys.push(hmac::Key::new(hmac::HMAC_SHA256, &key));
    }
    let mut messages = Vec::with_capacity(due.len());
    let events = tx.ask_each(&due, |tx, delivery| match event(tx, delivery.reseller, delivery.event) {
        Err(ServiceError::NotFound(..)) => Ok(None),
        found => found.map(Some),
    })?;
    for (delivery, event) in due.into_iter().zip(events) {
        match event {
            Some(event) => messages.push(Message::of(delivery, &webhook, &event)),
            // A record that tells of it no longer must not hold up the others.
            None => tx.save_delivery(&Delivery { state: DeliveryState::Failed, ..delivery })?,
        }
    }
    Ok(Some(Round { webhook: id, reseller: webhook.reseller, signatory: Signatory::new(keys), messages }))
}

/// Makes deliveries of what the webhook has not been told of yet.
fn put_down(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    webhook: &Webhook,
    place: &Place,
    below: i64,
) -> Result<(), ServiceError> {
    let records = tx.records_after(webhook.reseller, place, below, RECORDS)?;
    for event in records.iter().flat_map(|placed| events(&placed.record)).filter(|event| webhook.wants(event.kind)) {
        tx.insert_delivery(&new_delivery(kernel, webhook, event.id, event.kind))?;
    }
    if let Some(last) = records.last() {
        tx.advance_webhook(webhook.id, &last.place)?;
    }
    Ok(())
}

fn conclude(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    delivery: &Delivery,
    version: i64,
    sent: &Sent,
) -> Result<bool, ServiceError> {
    let now = kernel.now();
    let held = tx.renew_webhook(delivery.webhook, &kernel.node, now.plus(LEASE))?;
    // A message that arrived has arrived, whoever has the webhook by now.
    let Some(current) = tx.claim_delivery(delivery.webhook, delivery.id)? else { return Ok(false) };
    let failure = match &sent.answer {
        Ok(200..=299) => None,
        Ok(status) => Some(format!("the answer was {status}, not 2xx; redirects are not followed")),
        Err(why) => Some(why.chars().filter(|&each| each != '\0').take(500).collect()),
    };
    let failed = failure.is_some();
    let attempted = Attempted { at: sent.at, took: sent.took, answered: sent.answer.as_ref().ok().copied(), failure };
    // Where it was asked for once more after it was sent, that is still to be done.
    if current.stands_as(delivery) {
        let [jitter] = kernel.entropy.bytes::<1>();
        tx.save_delivery(&current.tried(attempted, jitter))?;
    }
    let Some(webhook) = held else { return Ok(false) };
    // What is left of the round has the URL and secrets of before; and what was answered there says nothing of now.
    if webhook.version != version {
        return Ok(false);
    }
    if !failed {
        if webhook.failing_since.is_some() {
            tx.set_failing(webhook.id, None)?;
        }
        return Ok(true);
    }
    let since = webhook.failing_since.unwrap_or(sent.at);
    let is_gone = sent.answer == Ok(GONE);
    if is_gone || now.since(since) >= PATIENCE {
        disable(kernel, tx, webhook, since, is_gone)?;
        return Ok(false);
    }
    if webhook.failing_since.is_none() {
        tx.set_failing(webhook.id, Some(since))?;
    }
    Ok(true)
}

/// Sends nothing more to a webhook until its owner says so, and tells that in the feed.
fn disable(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    webhook: Webhook,
    since: Timestamp,
    is_gone: bool,
) -> Result<(), ServiceError> {
    let now = kernel.now();
    let disabled = Webhook { state: WebhookState::Disabled, failing_since: Some(since), updated_at: now, ..webhook };
    tx.save_webhook(&disabled)?;
    let detail = json!({"url": disabled.url.shown(), "failingSince": since.to_string()});
    match is_gone {
        true => tracing::warn!(webhook = %disabled.id, "the receiver of a webhook answered 410, so it is disabled"),
        false => tracing::warn!(webhook = %disabled.id, "a webhook has failed for long and is disabled"),
    }
    kernel.audit_own(tx, Some(disabled.reseller), Action::WebhookDisable, disabled.id, &detail)
}
