//! What only ACME can refuse. The door has a problem type of RFC 8555 section 6.7 for each.

use chancery_domain::{AcmeAccountId, Identifier};

/// Why something was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcmeError {
    /// Not ours, too old, or used before.
    #[error("{0}")]
    BadNonce(&'static str),
    #[error("{0}")]
    AccountDoesNotExist(String),
    #[error("{0}")]
    Unauthorized(String),
    #[error("{0}")]
    Malformed(String),
    /// There is no such thing, or it is somebody else's.
    #[error("{0}")]
    NotFound(String),
    #[error(
        "a new account needs an external account binding: give the client the key id (kid) and HMAC key that your provider gave you"
    )]
    ExternalAccountRequired,
    /// Where the terms are.
    #[error("agree to the terms of service at {0} (`termsOfServiceAgreed: true`)")]
    TermsNotAgreed(String),
    #[error("{0}")]
    BadPublicKey(String),
    /// The account that has the key.
    #[error("the new key belongs to an account already; choose another key")]
    KeyInUse(AcmeAccountId),
    #[error("{0}")]
    BadCsr(String),
    #[error("the order was finalized before, with another CSR; order again to get a certificate for this one")]
    OtherCsr,
    /// The names that are reported, and how many were left out.
    #[error("{}", sentences(.0, *.1))]
    Rejected(Vec<RejectedName>, usize),
    #[error("the certificate {0} is replaced by another order already; leave `replaces` out, or use that order")]
    AlreadyReplaced(String),
    #[error("the certificate is revoked already")]
    AlreadyRevoked,
    #[error("{0}")]
    BadRevocationReason(&'static str),
}

/// A name that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedName {
    /// None where it is not about one name.
    pub name: Option<ToldName>,
    pub kind: Rejection,
    pub detail: String,
}

/// A name that something is told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToldName {
    Read(Identifier),
    /// What was asked for and cannot be read: its type and value, as they came.
    Unread {
        kind: String,
        value: String,
    },
}

/// In what way a name was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// It cannot be read.
    Malformed,
    /// It is of a kind that we do not certify.
    Unsupported,
    /// A rule or a policy forbids it.
    Forbidden,
}

fn sentences(names: &[RejectedName], untold: usize) -> String {
    match names {
        [first, rest @ ..] if untold > 0 => {
            format!("{} (and {} more; subproblems tell of {})", first.detail, rest.len() + untold, names.len())
        }
        [only] => only.detail.clone(),
        [first, rest @ ..] => format!("{} (and {} more, see subproblems)", first.detail, rest.len()),
        [] => "the names are refused".to_owned(),
    }
}
