//! Fetches the signing keys of an external OpenID provider, so that its tokens can be verified, and redeems the codes of
//! those who sign in through it.
//!
//! The network is slow, absent or hostile now and then; the keys that were fetched last stay in use until
//! better ones arrive, and callers who ask often do not turn into a flood at the provider.

mod endpoint;
mod error;
mod fetch;
mod fetcher;
mod redeem;
mod tls;

pub use error::FetcherError;
pub use fetcher::{FetchLimits, JwksFetcher};
pub use redeem::{CodeRedeemer, RedeemLimits};
