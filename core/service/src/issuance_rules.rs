//! What must hold for an order when it is drafted, and again when it is signed and kept.

use std::collections::BTreeSet;
use std::time::Duration;

use chancery_domain::{
    Account, AccountError, AccountId, AcmeAccount, AcmeAccountId, Authorization, EabCredential, EvidenceRules,
    IssuerId, Kid, Order, OrderId, Problem, ProblemKind, ProofError, Reseller, ResellerId, Timestamp,
    ValidationProblem, Violations,
};
use chancery_pki::{CertificateRequest, Draft};
use chancery_store::{Bar, Party, StoreError, Tx};

use crate::error::ServiceError;
use crate::kernel::Kernel;
use crate::known_keys;
use crate::orders::{covers, days_between};

/// A CAA look holds for so long (Baseline Requirements section 4.2.2.1).
const CAA_AGE: Duration = Duration::from_secs(8 * 3600);

/// Those on whom an order depends: its customer, credential, ACME account and reseller.
pub(crate) struct Parties {
    pub(crate) account: Account,
    credential: Option<EabCredential>,
    acme_account: Option<AcmeAccount>,
    reseller: Option<Reseller>,
}

impl Parties {
    /// As they are.
    pub(crate) fn of(tx: &mut Tx<'_>, order: &Order) -> Result<Self, ServiceError> {
        Self::read(tx, order, Tx::party, Tx::account, Tx::credential)
    }

    /// As they are, and stay until the unit of work ends.
    pub(crate) fn hold(tx: &mut Tx<'_>, order: &Order) -> Result<Self, ServiceError> {
        Self::read(tx, order, Tx::hold_party, Tx::hold_account, Tx::hold_credential)
    }

    fn read<'a>(
        tx: &mut Tx<'a>,
        order: &Order,
        party: fn(&mut Tx<'a>, AcmeAccountId) -> Result<Option<Party>, StoreError>,
        account: fn(&mut Tx<'a>, ResellerId, AccountId) -> Result<Option<Account>, StoreError>,
        credential: fn(&mut Tx<'a>, ResellerId, Kid) -> Result<Option<EabCredential>, StoreError>,
    ) -> Result<Self, ServiceError> {
        let gone = |whose: &str| ServiceError::internal(format!("an order without its {whose}"));
        if let Some(id) = order.acme_account {
            let party = party(tx, id)?.filter(|party| party.account.id == order.account);
            let Party { acme_account, account, credential, reseller } = party.ok_or_else(|| gone("ACME account"))?;
            let credential = Some(credential).filter(|credential| credential.kid == order.kid);
            return Ok(Self { account, credential, acme_account: Some(acme_account), reseller: Some(reseller) });
        }
        // All are asked before any is judged, so that all can be foreseen.
        let account = account(tx, order.reseller, order.account)?;
        let credential = credential(tx, order.reseller, order.kid)?;
        let reseller = tx.reseller(order.reseller)?;
        let account = account.ok_or_else(|| gone("account"))?;
        Ok(Self { account, credential, acme_account: None, reseller })
    }

    /// Nothing is signed for an account that is suspended or gone, nor with a credential that was revoked since it ordered.
    /// One that was revoked before did not order: the account did so under another of its names. What ends the order is told
    /// before what only halts it.
    pub(crate) fn require_standing(&self, order: &Order) -> Result<(), ServiceError> {
        self.account.require_alive()?;
        let standing = |credential: &EabCredential| credential.revoked_at.is_none() || order.kid_was_revoked;
        if !self.credential.as_ref().is_some_and(standing) {
            return Err(ServiceError::CredentialRevoked(order.kid));
        }
        if let Some(speaker) = &self.acme_account {
            speaker.require_active()?;
        }
        self.account.require_active()?;
        // An account has no better standing than its reseller.
        match &self.reseller {
            Some(reseller) if !reseller.suspended => Ok(()),
            _ => Err(AccountError::Suspended.into()),
        }
    }
}

/// Nobody gets a certificate for a key that was revoked as compromised, nor from a CA that was revoked, however far it has
/// come.
pub(crate) fn require_unbarred(
    tx: &mut Tx<'_>,
    request: &CertificateRequest,
    issuer: IssuerId,
) -> Result<(), ServiceError> {
    let key = request.key().map_err(ServiceError::internal)?;
    let (kind, detail) = match known_keys::bar(tx, key, issuer)? {
        None => return Ok(()),
        Some(Bar::BlockedKey) => (ProblemKind::BadCsr, "the key was revoked as compromised"),
        Some(Bar::RevokedIssuer) => {
            (ProblemKind::ServerInternal, "the CA that was to sign it was revoked; order again")
        }
    };
    Err(ServiceError::Unissuable(ValidationProblem { kind, detail: detail.to_owned() }))
}

/// A stored draft is never drawn anew: one that lasts longer than policies allow by now comes to nothing.
pub(crate) fn require_short(stored: &Draft, most_days: u32) -> Result<(), ServiceError> {
    let validity = stored.validity();
    let (first, last) = (Timestamp::from_secs(validity.not_before()), Timestamp::from_secs(validity.not_after()));
    if days_between(first, last) > most_days {
        let detail = format!("the policies allow {most_days} days by now; order again");
        return Err(ServiceError::PolicyViolation(Problem::new("validity_days", "max_validity_days", detail).into()));
    }
    Ok(())
}

/// The authorizations of an order, but for those taken over from a permission that was given up since, and those of a namespace
/// that do not count any more.
pub(crate) fn standing_authorizations(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    order: OrderId,
) -> Result<Vec<Authorization>, ServiceError> {
    let authorizations = tx.authorizations(order)?;
    let source = |authorization: &Authorization| {
        authorization.validation().map(|validation| validation.source).filter(|source| *source != authorization.id)
    };
    let sources: Vec<_> = authorizations.iter().filter_map(source).collect::<BTreeSet<_>>().into_iter().collect();
    let found = tx.ask_each(&sources, |tx, source| tx.any_authorization(*source))?;
    let given_up: BTreeSet<_> = sources
        .into_iter()
        .zip(found)
        .filter(|(_, found)| found.as_ref().is_none_or(|found| found.validation().is_none()))
        .map(|(source, _)| source)
        .collect();
    let stands = |each: &Authorization| {
        source(each).is_none_or(|source| !given_up.contains(&source))
            && covers(&kernel.settings, each, &each.identifier)
    };
    Ok(authorizations.into_iter().filter(stands).collect())
}

/// What the evidence for an order has to be.
pub(crate) fn evidence_rules<'a>(kernel: &'a Kernel, order: &Order, now: Timestamp) -> EvidenceRules<'a> {
    let issuing = &kernel.settings.issuing;
    let validation = issuing.longest_reuse(&order.profile, now);
    EvidenceRules { caa: CAA_AGE, validation, quorum: &issuing.quorum, public: issuing.is_public(&order.profile) }
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
        // What the database, a token, logs or the load did, and what only requests are told.
        ServiceError::Store(_)
        | ServiceError::Overtaken(_)
        | ServiceError::Signer(_)
        | ServiceError::Logs(_)
        | ServiceError::Overloaded(_)
        | ServiceError::RateLimited(_)
        | ServiceError::Failing { .. }
        | ServiceError::Paused(_)
        | ServiceError::TooMany(..)
        | ServiceError::MissingScope(_)
        | ServiceError::NotFound(..)
        | ServiceError::NothingToRevoke(_)
        | ServiceError::Acme(_)
        | ServiceError::NameInUse(..)
        | ServiceError::AccountInUse { .. }
        | ServiceError::OrderExternalIdInUse(_)
        | ServiceError::Order(_)
        | ServiceError::OrderNotReady(_)
        | ServiceError::Authorization(_)
        | ServiceError::AlreadyTried(_)
        | ServiceError::BadCursor
        | ServiceError::IdempotencyKeyReused => return None,
    };
    let detail = match error {
        ServiceError::PolicyViolation(violations) => broken_rules(violations),
        ServiceError::Internal(_) => {
            "the service could not issue the certificate; the operator has been told".to_owned()
        }
        other => other.to_string(),
    };
    Some(ValidationProblem { kind, detail })
}

/// Violations as one text, where a list of them has no place.
fn broken_rules(violations: &Violations) -> String {
    let mut texts: Vec<_> = violations.described().iter().map(broken_rule).collect();
    if violations.omitted() > 0 {
        texts.push(format!("and {} more", violations.omitted()));
    }
    texts.join("; ")
}

/// What is told of a rule where there is no list to tell it in: which one, and whose.
fn broken_rule(problem: &Problem) -> String {
    match &problem.policy {
        Some(policy) => format!("{} [{} of {policy}]", problem.message, problem.code),
        None => format!("{} [{}]", problem.message, problem.code),
    }
}
