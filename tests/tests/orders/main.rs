//! From an order to a certificate, through the door.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod cancelling;
mod challenges;
mod common;
mod creation;
mod crowd;
mod csr_rules;
mod customer_key;
mod download;
mod ending;
mod finalizing;
mod gone;
mod issuers;
mod life;
mod listing;
mod logged;
mod many_violations;
mod meanwhile;
mod once;
mod order_list;
mod policies;
mod policy_changes;
mod progress;
mod proven;
mod quotas;
mod races;
mod reuse;
mod revoking;
mod revoking_many;
mod showing;
mod standing;
mod tokens;
