//! Names that are paused.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::list::list;

/// A name for which an account gets no new orders until the pause is lifted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PauseRecord {
    #[schema(example = "pau_01j9z3k8n4e5v6w7x8y9z0a1b2")]
    pub lookup: String,
    /// The lookup of the account.
    #[schema(example = "acc_01j9z3k8n4e5v6w7x8y9z0a1b2")]
    pub account: String,
    #[schema(example = "www.example.com")]
    pub name: String,
    /// How many validations failed in a row.
    #[schema(example = 100)]
    pub failures: i64,
    /// Why the last one did.
    pub problem: String,
    pub first_failed_at: String,
    pub last_failed_at: String,
    pub paused_at: String,
}

list! {
    /// A page of pauses.
    PauseList of PauseRecord
}
