//! Events.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::list::list;

/// Something that happened. The same object is the body of a webhook's message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Names the event; also the header `webhook-id` of its message, however often that is sent.
    #[schema(example = "evt_01jcq3v9k2e7x8t5m4n6p0r1sw")]
    pub id: String,
    /// What happened, such as `certificate.issued`. New types may come.
    #[serde(rename = "type")]
    #[schema(example = "certificate.issued")]
    pub kind: String,
    /// When it happened.
    pub timestamp: String,
    /// The lookup of the account it concerns; absent where it concerns none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub account: Option<String>,
    /// The lookup of what it happened to: an account, a `kid`, an order, an authorization, a certificate or a webhook.
    pub subject: String,
    /// What else there is to say, by type. New members may come. `truncated` is true if a list or a text in it was cut.
    #[schema(value_type = Object)]
    pub data: serde_json::Map<String, serde_json::Value>,
}

list! {
    /// A page of events: newest first, or with `order=oldest` in the order in which they were committed.
    EventList of Event
}
