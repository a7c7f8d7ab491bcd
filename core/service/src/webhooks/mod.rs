//! Where resellers want to be told of events: made, changed, tested, and what was told.

mod dispatch;
mod message;

use std::sync::Arc;
use std::time::Duration;

use chancery_domain::{
    Action, Delivery, DeliveryId, DeliveryState, Description, EventId, EventType, Page, Scope, Secret, Timestamp,
    Webhook, WebhookId, WebhookSecretId, WebhookState, WebhookUrl,
};
use chancery_store::{Place, Tx, WebhookSecret};
use data_encoding::BASE64;
use serde_json::{Value, json};
use zeroize::Zeroizing;

pub use dispatch::{Dispatch, DueWebhook, Round, Sent};
pub use message::Message;

use crate::caller::Caller;
use crate::cursor::{ListName, ListRequest, Listed};
use crate::error::{Cap, Noun, ServiceError};
use crate::kernel::{Kernel, sealed_column};
use crate::once::{Once, Outcome};

/// How long the secret before the newest signs messages too.
const OVERLAP: Duration = Duration::from_secs(86_400);

/// Deliveries that are removed with their webhook, in the same transaction.
const PURGED_AT_ONCE: u32 = 50;

/// What a new webhook is to be.
#[derive(Clone, Debug)]
pub struct NewWebhook {
    pub url: WebhookUrl,
    pub description: Option<Description>,
    pub types: Vec<EventType>,
}

/// What is to change of a webhook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebhookChange {
    pub url: Option<WebhookUrl>,
    pub description: Option<Description>,
    pub types: Option<Vec<EventType>>,
    pub enabled: Option<bool>,
}

/// A webhook, and the only showing of a secret.
#[derive(Clone)]
pub struct NewWebhookSecret {
    pub webhook: Webhook,
    pub secret: Secret,
    /// Until when messages are signed with the one before as well.
    pub others_end: Timestamp,
}

#[derive(Clone)]
pub struct Webhooks {
    kernel: Arc<Kernel>,
}

impl Webhooks {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel }
    }

    /// Makes a webhook that is told of all that happens from now on.
    pub async fn create(
        &self,
        caller: &Caller,
        new: NewWebhook,
        once: Option<Once<NewWebhookSecret>>,
    ) -> Result<Outcome<NewWebhookSecret>, ServiceError> {
        caller.require(Scope::WriteWebhook)?;
        let horizon = self.kernel.event_horizon(caller.reseller).await?;
        let (kernel, by) = (self.kernel.clone(), caller.clone());
        let unit = move |tx: &mut Tx<'_>| {
            let now = kernel.now();
            let most = kernel.settings.webhooks.most;
            if tx.count_webhooks_alone(by.reseller)? >= most as usize {
                return Err(ServiceError::TooMany(Cap::Webhooks, most));
            }
            let webhook = Webhook {
                id: WebhookId::new(now, kernel.entropy.as_ref()),
                reseller: by.reseller,
                url: new.url.clone(),
                description: new.description.clone(),
                types: new.types.clone(),
                state: WebhookState::Active,
                failing_since: None,
                created_at: now,
                updated_at: now,
                version: 1,
            };
            tx.insert_webhook(&webhook, &Place { position: horizon, id: String::new() })?;
            let (secret, others_end) = (draw_secret(&kernel, tx, webhook.id)?, now);
            kernel.audit(tx, &by, Action::WebhookCreate, webhook.id, &json!({"after": describe(&webhook)}))?;
            Ok(NewWebhookSecret { webhook, secret, others_end })
        };
        self.kernel.write_once(caller, once, unit).await
    }

    pub async fn show(&self, caller: &Caller, id: WebhookId) -> Result<Webhook, ServiceError> {
        caller.require_either(Scope::ReadWebhook, Scope::WriteWebhook)?;
        let caller = caller.clone();
        self.kernel.store_of(caller.reseller).read(move |tx| own(tx, &caller, id)).await
    }

    /// A page of the reseller's webhooks, newest first.
    pub async fn list(&self, caller: &Caller, request: &ListRequest) -> Result<Listed<Webhook>, ServiceError> {
        caller.require(Scope::ReadWebhook)?;
        let reseller = caller.reseller;
        let list = ListName::new("webhook", reseller, &());
        let page = self.kernel.cursors.open(&list, request)?;
        let read = move |tx: &mut Tx<'_>| Ok::<Page<_>, ServiceError>(tx.webhooks(reseller, &page)?);
        self.kernel.read_list(&list, read).await
    }

    /// Changes what the change names. One that is enabled again goes on where it stood.
    pub async fn change(&self, caller: &Caller, id: WebhookId, change: WebhookChange) -> Result<Webhook, ServiceError> {
        caller.require(Scope::WriteWebhook)?;
        let (kernel, caller) = (self.kernel.clone(), caller.clone());
        self.kernel
            .store_of(caller.reseller)
            .write(move |tx| {
                let before = own(tx, &caller, id)?;
                let WebhookChange { url, description, types, enabled } = change.clone();
                let (state, failing_since) = match enabled {
                    None => (before.state, before.failing_since),
                    Some(true) => {
                        (WebhookState::Active, before.failing_since.filter(|_| before.state == WebhookState::Active))
                    }
                    Some(false) => (WebhookState::Paused, None),
                };
                let after = Webhook {
                    url: url.unwrap_or_else(|| before.url.clone()),
                    description: description.or_else(|| before.description.clone()),
                    types: types.unwrap_or_else(|| before.types.clone()),
                    state,
                    failing_since,
                    updated_at: kernel.now(),
                    ..before.clone()
                };
                tx.save_webhook(&after)?;
                let detail = json!({"before": describe(&before), "after": describe(&after)});
                kernel.audit(tx, &caller, Action::WebhookChange, id, &detail)?;
                Ok(after)
            })
            .await
    }

    /// Deletes a webhook. It is gone at once for everybody; if it has many deliveries, the sweep removes the rest of them.
    pub async fn delete(&self, caller: &Caller, id: WebhookId) -> Result<(), ServiceError> {
        caller.require(Scope::WriteWebhook)?;
        let (kernel, caller) = (self.kernel.clone(), caller.clone());
        self.kernel
            .store_of(caller.reseller)
            .write(move |tx| {
                let before = claim(tx, &caller, id)?;
                tx.delete_webhook(id)?;
                tx.purge_webhook(id, PURGED_AT_ONCE)?;
                kernel.audit(tx, &caller, Action::WebhookDelete, id, &json!({"before": describe(&before)}))
            })
            .await
    }

    /// Gives a webhook a new secret. For a day messages are signed with the one before as well, and with none before that.
    pub async fn rotate_secret(
        &self,
        caller: &Caller,
        id: WebhookId,
        once: Option<Once<NewWebhookSecret>>,
    ) -> Result<Outcome<NewWebhookSecret>, ServiceError> {
        caller.require(Scope::WriteWebhook)?;
        let (kernel, by) = (self.kernel.clone(), caller.clone());
        let unit = move |tx: &mut Tx<'_>| {
            let webhook = Webhook { updated_at: kernel.now(), ..own(tx, &by, id)? };
            // A new version: whoever sends to it now goes on with the new secret.
            tx.save_webhook(&webhook)?;
            let secret = draw_secret(&kernel, tx, id)?;
            kernel.audit(tx, &by, Action::WebhookRotateSecret, id, &json!({}))?;
            Ok(NewWebhookSecret { webhook, secret, others_end: kernel.now().plus(OVERLAP) })
        };
        self.kernel.write_once(caller, once, unit).await
    }

    /// Has a test message sent to the webhook, and to no other.
    pub async fn test(
        &self,
        caller: &Caller,
        id: WebhookId,
        once: Option<Once<Delivery>>,
    ) -> Result<Outcome<Delivery>, ServiceError> {
        caller.require(Scope::WriteWebhook)?;
        let (kernel, by) = (self.kernel.clone(), caller.clone());
        let unit = move |tx: &mut Tx<'_>| {
            let webhook = claim(tx, &by, id)?;
            let detail = json!({"url": webhook.url.shown()});
            let (reseller, actor, origin) = (Some(by.reseller), &by.actor, &by.origin);
            let line =
                kernel.audit_line(reseller, actor, origin, Action::WebhookTest.as_str(), id.to_string(), &detail);
            tx.append_audit(&line)?;
            let event = EventId { record: line.id, place: 0 };
            let delivery = new_delivery(&kernel, &webhook, event, EventType::WebhookTest);
            tx.insert_delivery(&delivery)?;
            Ok(delivery)
        };
        self.kernel.write_once(caller, once, unit).await
    }

    /// A page of what was told to a webhook, newest first.
    pub async fn deliveries(
        &self,
        caller: &Caller,
        id: WebhookId,
        request: &ListRequest,
    ) -> Result<Listed<Delivery>, ServiceError> {
        caller.require(Scope::ReadWebhook)?;
        let list = ListName::new("webhook/delivery", caller.reseller, &id);
        let (caller, page) = (caller.clone(), self.kernel.cursors.open(&list, request)?);
        let read = move |tx: &mut Tx<'_>| {
            own(tx, &caller, id)?;
            Ok::<Page<_>, ServiceError>(tx.deliveries(id, &page)?)
        };
        self.kernel.read_list(&list, read).await
    }

    /// Has an event told once more, whatever came of it before.
    pub async fn redeliver(
        &self,
        caller: &Caller,
        id: WebhookId,
        delivery: DeliveryId,
    ) -> Result<Delivery, ServiceError> {
        caller.require(Scope::WriteWebhook)?;
        let (kernel, caller) = (self.kernel.clone(), caller.clone());
        self.kernel
            .store_of(caller.reseller)
            .write(move |tx| {
                own(tx, &caller, id)?;
                let found = tx.claim_delivery(id, delivery)?.ok_or_else(|| ServiceError::not_found(Noun::Delivery))?;
                let again = found.again(kernel.now());
                tx.save_delivery(&again)?;
                let detail = json!({"delivery": delivery.to_string(), "event": again.event.to_string()});
                kernel.audit(tx, &caller, Action::WebhookRedeliver, id, &detail)?;
                Ok(again)
            })
            .await
    }
}

fn own(tx: &mut Tx<'_>, caller: &Caller, id: WebhookId) -> Result<Webhook, ServiceError> {
    tx.webhook(caller.reseller, id)?.ok_or_else(|| ServiceError::not_found(Noun::Webhook))
}

/// The webhook, locked: it is not deleted while something is added to it, nor deleted twice.
fn claim(tx: &mut Tx<'_>, caller: &Caller, id: WebhookId) -> Result<Webhook, ServiceError> {
    tx.claim_webhook(caller.reseller, id)?.ok_or_else(|| ServiceError::not_found(Noun::Webhook))
}

/// A delivery of an event, to be tried at once.
fn new_delivery(kernel: &Kernel, webhook: &Webhook, event: EventId, kind: EventType) -> Delivery {
    let now = kernel.now();
    Delivery {
        id: DeliveryId::new(now, kernel.entropy.as_ref()),
        webhook: webhook.id,
        reseller: webhook.reseller,
        event,
        kind,
        state: DeliveryState::Pending,
        attempts: 0,
        due_at: now,
        last: None,
        created_at: now,
    }
}

/// Draws a secret and keeps it sealed. Its text is `whsec_` and base64, as Standard Webhooks writes it.
fn draw_secret(kernel: &Kernel, tx: &mut Tx<'_>, webhook: WebhookId) -> Result<Secret, ServiceError> {
    let now = kernel.now();
    let id = WebhookSecretId::new(now, kernel.entropy.as_ref());
    let key = Zeroizing::new(kernel.entropy.bytes::<32>());
    let sealed = kernel.keyring.seal(&sealed_column("webhook_secrets").context(id), key.as_slice());
    tx.insert_webhook_secret(webhook, &WebhookSecret { id, sealed }, now.plus(OVERLAP), now)?;
    Ok(Secret::new(format!("whsec_{}", BASE64.encode(key.as_slice()))))
}

fn describe(webhook: &Webhook) -> Value {
    let types: Vec<_> = webhook.types.iter().map(|kind| kind.as_str()).collect();
    json!({
        "url": webhook.url.shown(),
        "description": webhook.description.as_ref().map(Description::as_str),
        "types": types,
        "state": webhook.state.as_str(),
    })
}
