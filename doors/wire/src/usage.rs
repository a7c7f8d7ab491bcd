//! How many certificates were issued.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Certificates that the reseller's customers got, counted up to this moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageReport {
    /// The first day, in UTC.
    #[schema(example = "2026-11-01")]
    pub from: String,
    /// The last day, in UTC; it counts too.
    #[schema(example = "2026-11-30")]
    pub to: String,
    pub items: Vec<UsageItem>,
}

/// How many; what it was not asked by is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageItem {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "2026-11-15")]
    pub day: Option<String>,
    /// The lookup of the account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub account: Option<String>,
    /// The lookup of a group that the account is in now. An account in two groups counts in both; one that is in none
    /// counts in a row without a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub group: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "TLS-90d")]
    pub profile: Option<String>,
    #[schema(example = 42)]
    pub issued: i64,
}
