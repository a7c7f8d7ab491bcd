//! Why a message did not arrive. Told to the owner of the webhook, so no text repeats its URL.

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum PostError {
    #[error("the URL is not usable")]
    Url,
    #[error("the URL must begin with https://")]
    PlainHttp,
    #[error("no complete answer within {0:?}")]
    Timeout(Duration),
    #[error("the name could not be looked up: {0}")]
    Lookup(String),
    #[error("the name has no address")]
    NoAddress,
    /// Of all its addresses.
    #[error("{0} may not be spoken to: it is {1}")]
    Special(IpAddr, &'static str),
    #[error("cannot connect: {0}")]
    Connect(String),
    #[error("the TLS handshake failed: {0}")]
    Handshake(String),
    #[error("there are no certificates on this system to check the server's with")]
    NoRoots,
    #[error("the HTTP exchange failed: {0}")]
    Exchange(String),
}

/// An error with everything that caused it: libraries often name only the outermost layer.
pub(crate) fn causes(error: &dyn Error) -> String {
    let chain = std::iter::successors(Some(error), |error| (*error).source());
    let mut texts: Vec<_> = chain.map(ToString::to_string).collect();
    texts.dedup();
    texts.join(": ")
}
