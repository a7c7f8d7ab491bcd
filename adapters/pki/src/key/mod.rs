//! Subscribers' public keys: what kind they are, and whether they are fit to be certified.

mod blocklist;
mod close_primes;
mod problem;
mod roca;
mod small_factors;
mod subscriber_key;

pub use blocklist::{BadKey, BlocklistError, KeyBlocklist, KnownBadKeys, NoKnownBadKeys};
pub use problem::KeyProblem;
pub(crate) use subscriber_key::Material;
pub use subscriber_key::SubscriberKey;
