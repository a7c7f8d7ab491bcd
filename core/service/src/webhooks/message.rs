//! A message as Standard Webhooks signs it: `webhook-id.webhook-timestamp.body`, by HMAC-SHA256, once with each secret
//! that is valid.

use aws_lc_rs::hmac;
use chancery_domain::{Delivery, Timestamp};
use data_encoding::BASE64;

use crate::events::Event;

/// What is sent to a webhook.
#[derive(Clone)]
pub struct Message {
    pub delivery: Delivery,
    pub url: String,
    pub headers: [(&'static str, String); 3],
    pub body: Vec<u8>,
}

impl Message {
    pub(super) fn sign(delivery: Delivery, url: &str, event: &Event, keys: &[hmac::Key], now: Timestamp) -> Self {
        let (id, at, body) = (event.id.to_string(), now.as_secs().to_string(), event.to_json().to_string());
        let content = format!("{id}.{at}.{body}");
        let signatures =
            keys.iter().map(|key| format!("v1,{}", BASE64.encode(hmac::sign(key, content.as_bytes()).as_ref())));
        let signature = signatures.collect::<Vec<_>>().join(" ");
        Self {
            delivery,
            url: url.to_owned(),
            headers: [("webhook-id", id), ("webhook-timestamp", at), ("webhook-signature", signature)],
            body: body.into_bytes(),
        }
    }
}
