//! That every name of an order is backed by its own fresh evidence: without it nothing is drafted.

use std::time::Duration;

use crate::authorization::{Authorization, Validation};
use crate::id::AuthorizationId;
use crate::identifier::Identifier;
use crate::order::Order;
use crate::time::Timestamp;

/// The names that may stand in a certificate. Only [`IssuanceProof::build`] makes one.
///
/// ```compile_fail,E0451
/// use chancery_domain::{Identifier, IssuanceProof};
/// let forged = IssuanceProof { names: vec![Identifier::parse("example.com").unwrap()] };
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct IssuanceProof {
    names: Vec<Identifier>,
}

/// Why there is no proof.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    #[error("control of {0} is not shown, or was shown too long ago")]
    NotShown(Identifier),
    #[error("an authorization is for {0}, which is not in the order")]
    NotOrdered(Identifier),
    /// Control is shown; what CAA says has to be asked again (RFC 8659 and Baseline Requirements section 4.2.2.1).
    #[error("what CAA says has to be asked again")]
    StaleCaa(Vec<AuthorizationId>),
}

impl IssuanceProof {
    /// Builds the proof from what is stored: for each name of the order exactly one authorization that is valid now, and
    /// for each of those a look at CAA no older than `caa_age`.
    pub fn build(
        order: &Order,
        authorizations: &[Authorization],
        caa_age: Duration,
        now: Timestamp,
    ) -> Result<Self, ProofError> {
        let mut stale = Vec::new();
        for identifier in &order.identifiers {
            let own = authorizations.iter().find(|each| each.identifier == *identifier);
            let shown = own.and_then(|own| Some((own, valid(own, now)?)));
            let (own, validation) = shown.ok_or_else(|| ProofError::NotShown(identifier.clone()))?;
            if now.since(validation.caa.checked_at) > caa_age {
                stale.push(own.id);
            }
        }
        let stranger = authorizations.iter().find(|each| !order.identifiers.contains(&each.identifier));
        if let Some(stranger) = stranger {
            return Err(ProofError::NotOrdered(stranger.identifier.clone()));
        }
        if stale.is_empty() { Ok(Self { names: order.identifiers.clone() }) } else { Err(ProofError::StaleCaa(stale)) }
    }

    pub fn names(&self) -> &[Identifier] {
        &self.names
    }
}

fn valid(authorization: &Authorization, now: Timestamp) -> Option<&Validation> {
    authorization.validation().filter(|_| now < authorization.expires_at)
}
