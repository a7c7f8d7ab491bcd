//! A client that does everything wrong, and one that tries everything there is.

mod accounts;
mod answers;
mod binding;
mod challenges;
mod common;
mod finalizing;
mod identifiers;
mod key_change;
mod keys;
mod nodes;
mod nonces;
mod orders;
mod renewal;
mod requests;
mod reseller_side;
mod revoking;
mod standing;
mod surroundings;
