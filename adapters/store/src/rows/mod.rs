//! The questions the store answers, one file a noun: SQL goes in, domain values come out.

pub(crate) mod account;
mod acme_account;
pub(crate) mod acme_nonce;
pub(crate) mod audit;
mod audit_detail;
mod authorization;
pub(crate) mod cascade;
pub(crate) mod certificate;
pub(crate) mod certificate_list;
mod client;
pub(crate) mod console_session;
mod credential;
pub(crate) mod crl;
mod delivery;
mod epoch;
pub(crate) mod event;
mod evidence;
pub(crate) mod external_session;
pub(crate) mod failing_name;
mod group;
pub(crate) mod idempotency;
pub(crate) mod issuer;
pub(crate) mod issuer_chain;
pub(crate) mod job;
pub(crate) mod keys;
mod known_parties;
pub(crate) mod node;
mod operator_key;
pub(crate) mod order;
pub(crate) mod overview;
mod page;
pub(crate) mod party;
mod policy;
pub(crate) mod policy_rules;
pub(crate) mod precertificate;
pub(crate) mod quota;
pub(crate) mod rate_bucket;
pub(crate) mod recovered;
mod reseller;
mod restoration;
pub(crate) mod retention;
pub(crate) mod sealed;
mod service_secret;
pub(crate) mod token_key;
pub(crate) mod usage;
mod walk;
pub(crate) mod webhook;

pub(crate) use known_parties::KnownParties;
use page::bounds;

/// Keys sort as text and every key is smaller than this one: a list begins below it.
const END: &str = "~";

/// The order of a list that an index ending in its key serves. On PostgreSQL, where those indexes are declared so, no
/// other index does: the planner would now and then walk the primary key and throw most of it away.
const NEWEST_FIRST: &str = "DESC NULLS LAST";

/// One row of a reseller, by its key alone. While PostgreSQL has not counted what is in a new table, every index that has both
/// columns looks as good to it as the one of the key, and it would walk through all that the reseller has; `|| ''` keeps it
/// from that.
const OWN: &str = "id = ?1 AND reseller_id || '' = ?2";
/// One row of a reseller, by its key id alone; see [`OWN`] for why it has `|| ''`.
const OWN_KID: &str = "kid = ?1 AND reseller_id || '' = ?2";

/// Columns with the name of their table, for a statement that reads several.
fn qualified(table: &str, columns: &str) -> String {
    let columns: Vec<_> = columns.split(',').map(|column| format!("{table}.{}", column.trim())).collect();
    columns.join(", ")
}
