//! What a reseller may do, and what is left of it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The limits that hold a reseller and its customers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LimitOverview {
    /// In so much time.
    pub rates: Vec<RateLimit>,
    /// At a time.
    pub caps: Vec<Cap>,
}

/// So many at once, and so many in a length of time in the long run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RateLimit {
    /// As in the header `RateLimit-Policy` and in the member `limit` of refusals.
    #[schema(example = "requests")]
    pub name: String,
    /// What there are so many of.
    #[schema(example = "requests")]
    pub what: String,
    /// What each bucket belongs to: `reseller`, `address`, `credential`, `account`, `account and name`.
    #[schema(example = "reseller")]
    pub per: String,
    /// Most at once.
    #[schema(example = 200)]
    pub burst: u32,
    /// So many come back…
    #[schema(example = 50)]
    pub count: u32,
    /// …in so many seconds.
    #[schema(example = 1)]
    pub seconds: u64,
    /// How many can pass at once now; only where the limit is the reseller's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub remaining: Option<u32>,
}

/// Most of a thing at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cap {
    #[schema(example = "open-orders-per-account")]
    pub name: String,
    #[schema(example = 10000)]
    pub most: u32,
}
