//! The courier's side of webhooks: which of them have work, the next message, and the result of sending it.
//!
//! A webhook is leased to one node at a time. [`Dispatch::begin`] leases it, reads new events from its position in the
//! audit log and inserts them as deliveries, in one transaction with its new position; so a crash loses no event, and a
//! message whose result was not stored is sent again. A message is loaded when it is about to be sent and not before:
//! memory grows with the messages in flight and not with the webhooks that have work.
//!
//! A transaction inserts, deletes or releases at most [`BATCH`] rows, and reads at most 50 audit records. The store bounds
//! the length of a record.

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::hmac;
use chancery_domain::{
    Action, Attempted, Delivery, DeliveryState, ResellerId, Timestamp, Webhook, WebhookId, WebhookState,
};
use chancery_store::{Place, Tx};
use serde_json::json;

use super::{Message, new_delivery};
use crate::error::ServiceError;
use crate::events::{event, events};
use crate::kernel::{BETWEEN_BATCHES, Kernel, sealed_column};

/// How long a node has a webhook without a word.
const LEASE: Duration = Duration::from_secs(90);
/// Webhooks that are looked for at once.
const WEBHOOKS: u32 = 512;
/// Audit records that are read in one transaction. A record is at most two events, so they are at most [`BATCH`] deliveries.
const RECORDS: u32 = 50;
/// Messages of one round: after them, new events are looked for.
const MESSAGES: u32 = 50;
/// Rows that one transaction changes.
pub(super) const BATCH: u32 = 100;
/// After so long without success nothing more is sent.
const PATIENCE: Duration = Duration::from_secs(3 * 86_400);
/// How long it is told what was delivered.
const KEPT: Duration = Duration::from_secs(30 * 86_400);
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

/// A webhook that has work, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DueWebhook {
    pub id: WebhookId,
    pub reseller: ResellerId,
}

/// A webhook that this node has leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    pub webhook: DueWebhook,
    /// Messages that are due and belong to this round.
    pub messages: usize,
    /// Whether there may be further events that have not become deliveries yet.
    pub has_more: bool,
}

#[derive(Clone)]
pub struct Dispatch {
    kernel: Arc<Kernel>,
}

impl Dispatch {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel }
    }

    /// Webhooks that have work and are not leased.
    pub async fn due(&self) -> Result<Vec<DueWebhook>, ServiceError> {
        let (now, below) = (self.kernel.now(), self.kernel.event_horizon(None).await?);
        let due = self.kernel.store.read(move |tx| tx.webhooks_with_work(now, LEASE, below, WEBHOOKS)).await?;
        Ok(due.into_iter().map(|(id, reseller)| DueWebhook { id, reseller }).collect())
    }

    /// Leases a webhook and inserts deliveries of its new events; nothing if another node has it.
    pub async fn begin(&self, webhook: DueWebhook) -> Result<Option<Round>, ServiceError> {
        let (kernel, below) = (self.kernel.clone(), self.kernel.event_horizon(webhook.reseller).await?);
        self.kernel.store_of(webhook.reseller).write(move |tx| begin(&kernel, tx, webhook, below)).await
    }

    /// The next message that is due to a webhook that this node has leased.
    pub async fn next_message(&self, webhook: DueWebhook) -> Result<Option<Message>, ServiceError> {
        loop {
            let kernel = self.kernel.clone();
            match self.kernel.store_of(webhook.reseller).read(move |tx| next(&kernel, tx, webhook.id)).await? {
                Next::Nothing => return Ok(None),
                Next::Message(message) => return Ok(Some(*message)),
                // Its record is gone, or is no such event any more. It must not hold up the others.
                Next::Lost(delivery) => {
                    let failed = Delivery { state: DeliveryState::Failed, ..*delivery };
                    self.kernel.store_of(webhook.reseller).write(move |tx| tx.save_delivery(&failed)).await?;
                }
            }
        }
    }

    /// Notes what came of a message; `false` when no more of its round is to be sent, because the webhook is another
    /// node's by now, or has changed, or is not to be sent to any more.
    pub async fn conclude(&self, message: &Message, sent: Sent) -> Result<bool, ServiceError> {
        let (kernel, delivery, version) = (self.kernel.clone(), message.delivery.clone(), message.version);
        let outcome = if matches!(sent.answer, Ok(200..=299)) { "delivered" } else { "failed" };
        let goes_on = self
            .kernel
            .store_of(message.delivery.reseller)
            .write(move |tx| conclude(&kernel, tx, &delivery, version, &sent))
            .await?;
        metrics::counter!("chancery_webhook_attempts_total", "outcome" => outcome).increment(1);
        Ok(goes_on)
    }

    /// Holds on to the webhook; `false` where it is another node's by now, or is not to be sent to any more.
    pub async fn keep(&self, webhook: DueWebhook) -> Result<bool, ServiceError> {
        let kernel = self.kernel.clone();
        let keep = move |tx: &mut Tx<'_>| tx.renew_webhook(webhook.id, &kernel.node, kernel.now().plus(LEASE));
        Ok(self.kernel.store_of(webhook.reseller).write(keep).await?.is_some())
    }

    /// Lets the webhook go.
    pub async fn end(&self, webhook: DueWebhook) -> Result<(), ServiceError> {
        let kernel = self.kernel.clone();
        self.kernel.store_of(webhook.reseller).write(move |tx| Ok(tx.release_webhook(webhook.id, &kernel.node)?)).await
    }

    /// Releases all webhooks that this node has leased: it stops, and other nodes need not wait for the leases to end.
    pub async fn end_all(&self) -> Result<(), ServiceError> {
        let node = self.kernel.node.clone();
        self.release(Some(node)).await
    }

    /// Releases all webhooks when the only process of a database starts: whichever process leased them is gone. If several
    /// processes share the database, another may be at work.
    pub async fn recover(&self) -> Result<(), ServiceError> {
        if self.kernel.store.is_shared() {
            return Ok(());
        }
        self.release(None).await
    }

    async fn release(&self, node: Option<String>) -> Result<(), ServiceError> {
        loop {
            let node = node.clone();
            let released = self.kernel.store.write(move |tx| tx.release_webhooks(node.as_deref(), BATCH)).await?;
            if released < u64::from(BATCH) {
                return Ok(());
            }
        }
    }

    /// Removes deleted webhooks with their deliveries, and deliveries that are older than 30 days. Returns the number of
    /// deliveries that it removed.
    pub async fn sweep(&self) -> Result<u64, ServiceError> {
        Ok(self.purge().await? + self.forget_old().await?)
    }

    async fn purge(&self) -> Result<u64, ServiceError> {
        let mut purged = 0;
        loop {
            let deleted = self.kernel.store.read(|tx| tx.deleted_webhooks(BATCH)).await?;
            for &id in &deleted {
                purged += self.kernel.forget(BATCH, move |tx, limit| tx.purge_webhook(id, limit)).await?;
            }
            if deleted.len() < BATCH as usize {
                return Ok(purged);
            }
        }
    }

    async fn forget_old(&self) -> Result<u64, ServiceError> {
        let before = self.kernel.now().minus(KEPT);
        let (mut forgotten, mut after) = (0, None);
        loop {
            // Read apart from the transaction that removes them: pending ones, of which there may be many, are skipped.
            let ids = self.kernel.store.read(move |tx| tx.finished_deliveries(after, before, BATCH)).await?;
            let found = ids.len();
            after = ids.last().copied();
            self.kernel.store.write(move |tx| tx.forget_deliveries(&ids)).await?;
            forgotten += found as u64;
            if found < BATCH as usize {
                return Ok(forgotten);
            }
            tokio::time::sleep(BETWEEN_BATCHES).await;
        }
    }
}

fn begin(kernel: &Kernel, tx: &mut Tx<'_>, due: DueWebhook, below: i64) -> Result<Option<Round>, ServiceError> {
    let now = kernel.now();
    let Some((webhook, place)) = tx.lease_webhook(due.id, &kernel.node, now, LEASE)? else { return Ok(None) };
    let has_more = insert_deliveries(kernel, tx, &webhook, &place, below)?;
    let messages = tx.count_due_deliveries(due.id, now, MESSAGES)?;
    Ok(Some(Round { webhook: due, messages, has_more }))
}

/// What is due next.
enum Next {
    Nothing,
    Message(Box<Message>),
    /// A delivery of an event that is not there.
    Lost(Box<Delivery>),
}

fn next(kernel: &Kernel, tx: &mut Tx<'_>, id: WebhookId) -> Result<Next, ServiceError> {
    let now = kernel.now();
    let Some(webhook) = tx.leased_webhook(id, &kernel.node)? else { return Ok(Next::Nothing) };
    let Some(delivery) = tx.next_delivery(id, now)? else { return Ok(Next::Nothing) };
    let event = match event(tx, delivery.reseller, delivery.event) {
        Ok(event) => event,
        Err(ServiceError::NotFound(..)) => return Ok(Next::Lost(Box::new(delivery))),
        Err(error) => return Err(error),
    };
    let mut keys = Vec::new();
    for secret in tx.webhook_secrets(id, now)? {
        let context = sealed_column("webhook_secrets").context(secret.id);
        let key = kernel.keyring.open(&context, &secret.sealed).map_err(ServiceError::internal)?;
        keys.push(hmac::Key::new(hmac::HMAC_SHA256, &key));
    }
    Ok(Next::Message(Box::new(Message::new(delivery, &webhook, &event, keys))))
}

/// Inserts a delivery of each new event that the webhook wants; returns whether there may be more events.
fn insert_deliveries(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    webhook: &Webhook,
    place: &Place,
    below: i64,
) -> Result<bool, ServiceError> {
    let records = tx.records_after(webhook.reseller, place, below, RECORDS)?;
    for event in records.iter().flat_map(|placed| events(&placed.record)).filter(|event| webhook.wants(event.kind)) {
        tx.insert_delivery(&new_delivery(kernel, webhook, event.id, event.kind))?;
    }
    if let Some(last) = records.last() {
        tx.advance_webhook(webhook.id, &last.place)?;
    }
    Ok(records.len() == RECORDS as usize)
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
