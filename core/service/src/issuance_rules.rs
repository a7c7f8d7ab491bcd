//! What must hold for an order when it is drafted, and again when it is signed and kept.

use std::time::Duration;

use chancery_domain::{
    Account, AccountError, Authorization, EabCredential, EvidenceAges, Order, OrderId, ProblemKind, ProofError,
    Timestamp, ValidationProblem,
};
use chancery_pki::{CertificateRequest, Draft};
use chancery_store::{DraftRow, Tx};

use crate::csr;
use crate::error::ServiceError;
use crate::kernel::Kernel;
use crate::orders::days_between;

/// A CAA look holds for so long (Baseline Requirements section 4.2.2.1).
const CAA_AGE: Duration = Duration::from_secs(8 * 3600);

/// Nothing is signed for an account that is suspended or gone, nor with a credential that was revoked since it ordered.
/// One that was revoked before did not order: the account did so under another of its names. What ends the order is told
/// before what only halts it.
pub(crate) fn require_standing(
    tx: &mut Tx<'_>,
    order: &Order,
    account: &Account,
    credential: Option<EabCredential>,
) -> Result<(), ServiceError> {
    if let Err(gone @ AccountError::Terminated(_)) = account.require_active() {
        return Err(gone.into());
    }
    if !credential.is_some_and(|credential| credential.revoked_at.is_none() || order.kid_was_revoked) {
        return Err(ServiceError::CredentialRevoked(order.kid));
    }
    if let Some(id) = order.acme_account {
        let speaker = tx.acme_account(id)?;
        speaker.ok_or_else(|| ServiceError::internal("an order without its ACME account"))?.require_active()?;
    }
    account.require_active()?;
    // An account has no better standing than its reseller.
    match tx.reseller(order.reseller)? {
        Some(reseller) if !reseller.suspended => Ok(()),
        _ => Err(AccountError::Suspended.into()),
    }
}

/// Nobody gets a certificate for a key that was revoked as compromised, however far it has come.
pub(crate) fn require_uncompromised(tx: &mut Tx<'_>, request: &CertificateRequest) -> Result<(), ServiceError> {
    if csr::is_compromised(tx, request)? {
        let detail = "the key was revoked as compromised".to_owned();
        return Err(ServiceError::Unissuable(ValidationProblem { kind: ProblemKind::BadCsr, detail }));
    }
    Ok(())
}

/// A stored draft is never drawn anew: one that lasts longer than policies allow by now comes to nothing.
pub(crate) fn require_short(stored: &DraftRow, most_days: u32) -> Result<(), ServiceError> {
    let validity = Draft::from_stored(&stored.tbs).map_err(ServiceError::internal)?.validity();
    let (first, last) = (Timestamp::from_secs(validity.not_before()), Timestamp::from_secs(validity.not_after()));
    if days_between(first, last) > most_days {
        let detail = format!("the policies allow {most_days} days by now; order again");
        return Err(ServiceError::Unissuable(ValidationProblem { kind: ProblemKind::RejectedIdentifier, detail }));
    }
    Ok(())
}

/// The authorizations of an order, but for those taken over from a permission that was given up since.
pub(crate) fn standing_authorizations(tx: &mut Tx<'_>, order: OrderId) -> Result<Vec<Authorization>, ServiceError> {
    let mut standing = Vec::new();
    for authorization in tx.authorizations(order)? {
        let taken_over = authorization.validation().map(|validation| validation.source);
        let stands = match taken_over.filter(|source| *source != authorization.id) {
            Some(source) => tx.any_authorization(source)?.is_some_and(|source| source.validation().is_some()),
            None => true,
        };
        if stands {
            standing.push(authorization);
        }
    }
    Ok(standing)
}

/// How old the evidence for an order may be.
pub(crate) fn ages(kernel: &Kernel, order: &Order, now: Timestamp) -> EvidenceAges {
    EvidenceAges { caa: CAA_AGE, validation: kernel.settings.issuing.longest_reuse(&order.profile, now) }
}

pub(crate) fn unprovable(error: ProofError) -> ServiceError {
    ServiceError::Unissuable(ValidationProblem { kind: ProblemKind::Unauthorized, detail: error.to_string() })
}

/// What of an error is the order's fault; the rest may pass, and the job is tried again.
pub(crate) fn as_problem(error: &ServiceError) -> Option<ValidationProblem> {
    let kind = match error {
        ServiceError::Unissuable(problem) => return Some(problem.clone()),
        ServiceError::Account(_) | ServiceError::AcmeAccount(_) | ServiceError::CredentialRevoked(_) => {
            ProblemKind::Unauthorized
        }
        ServiceError::PolicyViolation(_) | ServiceError::QuotaExceeded { .. } | ServiceError::Invalid(_) => {
            ProblemKind::RejectedIdentifier
        }
        ServiceError::Internal(_) => ProblemKind::ServerInternal,
        _ => return None,
    };
    let detail = match error {
        ServiceError::PolicyViolation(problems) => {
            problems.iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>().join("; ")
        }
        ServiceError::Internal(reason) => {
            tracing::error!(%reason, "an order could not be issued");
            "the service could not issue the certificate; the operator has been told".to_owned()
        }
        other => other.to_string(),
    };
    Some(ValidationProblem { kind, detail })
}
