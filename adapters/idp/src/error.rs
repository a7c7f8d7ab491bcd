//! What can be wrong with a provider's settings, and what can go wrong with a fetch.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use chancery_jose::KeyError;
use http::StatusCode;

/// Settings with which keys can never be fetched. No text of these repeats the URL's credentials or query.
#[derive(Debug, thiserror::Error)]
pub enum FetcherError {
    /// Not an absolute URL with a host; the reason is inside.
    #[error("the URL is not usable: {0}")]
    Url(String),
    /// A scheme other than `https` and `http`.
    #[error("the URL must begin with https://, not {0}://")]
    Scheme(String),
    /// `http` to a host that is not this machine: whoever is on the way could put in keys of his own.
    #[error("the URL must begin with https://: http:// is only for 127.0.0.0/8, [::1] and localhost, not {0}")]
    PlainHttp(String),
    /// A user name or password in the URL. Key sets are public; a secret would only end up in logs.
    #[error("the URL must not carry a user name or password")]
    Credentials,
    /// The file of trusted certificates cannot be read or holds none that can be used.
    #[error("cannot use the CA file {}: {reason}", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// No CA file is set and the system has no trusted certificates.
    #[error("the system has no trusted certificates; install them or set a CA file: {0}")]
    NoSystemRoots(String),
    /// The TLS library refuses its settings.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}

/// Why one fetch brought no keys.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("no complete answer within {0:?}")]
    Timeout(Duration),
    #[error("cannot connect: {0}")]
    Connect(String),
    #[error("the TLS handshake failed: {0}")]
    Handshake(String),
    #[error("the HTTP exchange failed: {0}")]
    Exchange(String),
    #[error("the answer was {0}; redirects are not followed")]
    Redirect(StatusCode),
    #[error("the answer was {0}, not 200 OK")]
    Status(StatusCode),
    #[error("the answer is longer than {0} bytes")]
    TooLarge(usize),
    #[error("the answer is not a JWK set: {0}")]
    NotKeys(#[from] KeyError),
}

/// An error with everything that caused it: libraries often name only the outermost layer.
pub(crate) fn causes(error: &dyn Error) -> String {
    let chain = std::iter::successors(Some(error), |error| (*error).source());
    let mut texts: Vec<_> = chain.map(ToString::to_string).collect();
    texts.dedup();
    texts.join(": ")
}
