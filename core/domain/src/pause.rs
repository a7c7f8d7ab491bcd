//! Names that are paused for a customer, because their validation failed again and again.

use crate::id::{AccountId, PauseId, ResellerId};
use crate::identifier::Identifier;
use crate::time::Timestamp;

/// A name for which a customer gets no new orders until somebody lifts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    pub id: PauseId,
    pub reseller: ResellerId,
    pub account: AccountId,
    pub name: Identifier,
    /// How many times in a row its validation failed.
    pub failures: i64,
    /// Why, the last time.
    pub problem: String,
    pub first_failed_at: Timestamp,
    pub last_failed_at: Timestamp,
    pub paused_at: Timestamp,
}

/// A validation that has failed by the applicant's fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What the pause is called, should it come to one.
    pub id: PauseId,
    pub reseller: ResellerId,
    pub account: AccountId,
    pub name: Identifier,
    pub problem: String,
    pub at: Timestamp,
}
