//! A message as Standard Webhooks signs it: `webhook-id.webhook-timestamp.body`, by HMAC-SHA256, once with each secret
//! that is valid.

use aws_lc_rs::hmac;
use chancery_domain::{Delivery, Timestamp, Webhook};
use data_encoding::BASE64;

use crate::events::Event;

/// What is to be sent to a webhook; not signed yet, since receivers refuse signatures that are minutes old.
#[derive(Clone)]
pub struct Message {
    pub delivery: Delivery,
    pub url: String,
    pub body: Vec<u8>,
    id: String,
    /// Of the webhook, as it was when its URL and secrets were read.
    pub(super) version: i64,
}

impl Message {
    pub(super) fn of(delivery: Delivery, webhook: &Webhook, event: &Event) -> Self {
        let (id, body) = (event.id.to_string(), event.to_json().to_string().into_bytes());
        Self { delivery, url: webhook.url.as_str().to_owned(), body, id, version: webhook.version }
    }
}

/// The secrets of a webhook, to sign its messages with. They are never shown.
pub struct Signatory(Vec<hmac::Key>);

impl Signatory {
    pub(super) fn new(keys: Vec<hmac::Key>) -> Self {
        Self(keys)
    }

    /// The headers of a message that is sent at this moment.
    pub fn sign(&self, message: &Message, at: Timestamp) -> [(&'static str, String); 3] {
        let (id, at) = (message.id.clone(), at.as_secs().to_string());
        let content = [id.as_bytes(), b".", at.as_bytes(), b".", message.body.as_slice()].concat();
        let signatures = self.0.iter().map(|key| format!("v1,{}", BASE64.encode(hmac::sign(key, &content).as_ref())));
        let signature = signatures.collect::<Vec<_>>().join(" ");
        [("webhook-id", id), ("webhook-timestamp", at), ("webhook-signature", signature)]
    }
}
