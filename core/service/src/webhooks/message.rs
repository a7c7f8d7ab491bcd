//! A message as Standard Webhooks signs it: `webhook-id.webhook-timestamp.body`, by HMAC-SHA256, once with each secret
//! that is valid.

use aws_lc_rs::hmac;
use chancery_domain::{Delivery, Timestamp, Webhook};
use data_encoding::BASE64;

use crate::events::Event;

/// A message to a webhook, with the secrets that sign it. It is signed when it is sent, since receivers refuse signatures
/// that are minutes old.
#[derive(Clone)]
pub struct Message {
    pub delivery: Delivery,
    pub url: String,
    pub body: Vec<u8>,
    id: String,
    /// The version of the webhook whose URL and secrets these are.
    pub(super) version: i64,
    keys: Vec<hmac::Key>,
}

impl Message {
    pub(super) fn new(delivery: Delivery, webhook: &Webhook, event: &Event, keys: Vec<hmac::Key>) -> Self {
        let body = event.to_json().to_string().into_bytes();
        let (url, id) = (webhook.url.as_str().to_owned(), event.id.to_string());
        Self { delivery, url, body, id, version: webhook.version, keys }
    }

    /// The headers of a message that is sent at this time.
    pub fn sign(&self, at: Timestamp) -> [(&'static str, String); 3] {
        let at = at.as_secs().to_string();
        let prefix = format!("{}.{at}.", self.id);
        let signatures = self.keys.iter().map(|key| {
            let mut context = hmac::Context::with_key(key);
            context.update(prefix.as_bytes());
            context.update(&self.body);
            format!("v1,{}", BASE64.encode(context.sign().as_ref()))
        });
        let signature = signatures.collect::<Vec<_>>().join(" ");
        [("webhook-id", self.id.clone()), ("webhook-timestamp", at), ("webhook-signature", signature)]
    }
}
