//! Webhooks.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::list::list;

/// Creates a webhook.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookRequest {
    /// Where messages are sent: `https`, to an address of the Internet.
    #[schema(example = "https://example.com/chancery-events", max_length = 2000)]
    pub url: String,
    /// Only events of these types; all where it is left out or empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_items = 100)]
    pub types: Option<Vec<String>>,
    /// Free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_length = 2000)]
    pub description: Option<String>,
}

/// Changes what it names of a webhook and leaves the rest; it must name something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateWebhookRequest {
    /// Another URL.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_length = 2000)]
    pub url: Option<String>,
    /// Other types of events; an empty list is all.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_items = 100)]
    pub types: Option<Vec<String>>,
    /// Another text.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_length = 2000)]
    pub description: Option<String>,
    /// `false` pauses it; `true` lets it go on where it stood, also after it was disabled.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub enabled: Option<bool>,
}

/// Takes a value but not null: a change that is asked for must not be dropped in silence.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Where you are told of events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    #[schema(example = "whk_01jcq3v9k2e7x8t5m4n6p0r1sw")]
    pub lookup: String,
    pub url: String,
    /// The types of events it is told of; empty for all.
    pub types: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub description: Option<String>,
    /// `active`, `paused` by you, or `disabled` after it had failed for long.
    #[schema(example = "active")]
    pub status: String,
    /// Since when no message has got through; absent where they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub failing_since: Option<String>,
    pub created_at: String,
    pub updated_at: String,
}

/// A webhook with a new secret, which is shown this once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookWithSecret {
    #[serde(flatten)]
    pub webhook: Webhook,
    /// What messages are signed with: `whsec_` and the key in base64.
    #[schema(example = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazAtYoZ1rGI=")]
    pub secret: String,
    /// Until when messages are signed with the secret before as well; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub previous_secret_ends_at: Option<String>,
}

/// Without the secret.
impl fmt::Debug for WebhookWithSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookWithSecret").field("webhook", &self.webhook).finish_non_exhaustive()
    }
}

/// How telling an event to a webhook goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    #[schema(example = "dlv_01jcq3v9k2e7x8t5m4n6p0r1sw")]
    pub lookup: String,
    /// The event.
    pub event: String,
    pub event_type: String,
    /// `pending`, `delivered` or `failed`.
    #[schema(example = "delivered")]
    pub status: String,
    /// How often it was tried, since it was last asked for.
    pub attempts: i64,
    /// When it is tried next; absent unless it is pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next_attempt_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub last_attempt_at: Option<String>,
    /// How long the last try took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub last_attempt_milliseconds: Option<u64>,
    /// The HTTP status of the last answer, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub response_status: Option<u16>,
    /// Why the last try failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<String>,
    pub created_at: String,
}

list! {
    /// A page of webhooks.
    WebhookList of Webhook
}

list! {
    /// A page of what was told to a webhook.
    DeliveryList of Delivery
}
