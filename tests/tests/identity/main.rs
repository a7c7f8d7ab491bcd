//! Who a caller is: our own tokens, API keys, and tokens of a provider that is not ours.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod api_key;
mod cost;
mod disabled;
mod external;
mod external_outage;
mod forge;
mod forged;
mod keys;
mod provider;
mod published;
mod rotation;
mod scopes;
mod token;
mod token_refused;
mod tools;
