//! ACME's words for what the use cases refuse.

use chancery_domain::{AccountError, OrderError, messages};
use chancery_service::acme::{AcmeError, RejectedName, Rejection, ToldName};
use chancery_service::{ServiceError, StoreError};
use chancery_wire::acme as wire;
use http::StatusCode;
use http::header::LINK;

use crate::problem::{Problem, ProblemType, subproblem, view};
use crate::rate::{refused, refused_saying};

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        let limit = error.limit();
        Self::worded(error).with_limit(limit)
    }
}

impl Problem {
    fn worded(error: ServiceError) -> Self {
        let message = error.to_string();
        match error {
            ServiceError::NotFound(..) | ServiceError::NothingToRevoke(_) => Self::not_found(message),
            ServiceError::Account(AccountError::Suspended) => {
                Self::unauthorized("the customer's account is suspended; ask your certificate provider")
            }
            ServiceError::Account(AccountError::Terminated(at)) => Self::unauthorized(format!(
                "the customer's account was terminated at {at}; ask your certificate provider"
            )),
            ServiceError::CredentialRevoked(_) => {
                Self::unauthorized(format!("{message}, and what it bound with it; ask your certificate provider"))
            }
            // RFC 8555 section 7.3.6.
            ServiceError::AcmeAccount(_) => Self::new(ProblemType::Unauthorized, StatusCode::UNAUTHORIZED, message),
            ServiceError::Acme(error) => acme(error, message),
            ServiceError::Order(OrderError::Cancelled | OrderError::Failed(_) | OrderError::Expired(_))
            | ServiceError::Order(OrderError::NotReady | OrderError::NotCancellable) => {
                Self::new(ProblemType::OrderNotReady, StatusCode::FORBIDDEN, message)
            }
            ServiceError::OrderNotReady(missing) => {
                let detail = format!("{message}: {}", messages(&missing));
                Self::new(ProblemType::OrderNotReady, StatusCode::FORBIDDEN, detail)
            }
            ServiceError::Authorization(_) | ServiceError::AlreadyTried(_) => Self::malformed(message),
            ServiceError::PolicyViolation(violations) => {
                Self::new(ProblemType::RejectedIdentifier, StatusCode::FORBIDDEN, violations.messages())
            }
            ServiceError::QuotaExceeded { retry_after, .. } => {
                Self::new(ProblemType::RateLimited, StatusCode::TOO_MANY_REQUESTS, message).retry_after(retry_after)
            }
            ServiceError::RateLimited(decision) => refused(&decision),
            ServiceError::Failing { names, last } => {
                let each = names.iter().map(|(name, decision)| {
                    let seconds = decision.retry_seconds().unwrap_or(1);
                    let detail = format!("too many failed validations; try again in {seconds} s");
                    subproblem(ProblemType::RateLimited, detail, Some(view(name)))
                });
                refused_saying(&last, format!("{message}; try again later")).with_subproblems(each.collect())
            }
            ServiceError::Overloaded(_)
            | ServiceError::Overtaken(_)
            | ServiceError::Signer(_)
            | ServiceError::Logs(_) => Self::unavailable(),
            ServiceError::TooMany(..) => {
                Self::new(ProblemType::RateLimited, StatusCode::TOO_MANY_REQUESTS, message).retry_after(3600)
            }
            // Waiting does not help, but it does no harm either: clients know what to do with this one.
            ServiceError::Paused(names) => {
                let each = names.iter().map(|(name, pause)| {
                    let detail =
                        format!("paused as {pause}; mend the cause, then ask your certificate provider to lift it");
                    subproblem(ProblemType::RateLimited, detail, Some(view(name)))
                });
                let detail = format!("{message}; mend the cause, then ask your certificate provider to lift it");
                Self::new(ProblemType::RateLimited, StatusCode::TOO_MANY_REQUESTS, detail)
                    .retry_after(86_400)
                    .with_subproblems(each.collect())
            }
            ServiceError::Unissuable(_)
            | ServiceError::Invalid(_)
            | ServiceError::NameInUse(..)
            | ServiceError::AccountInUse { .. }
            | ServiceError::OrderExternalIdInUse(_)
            | ServiceError::IdempotencyKeyReused
            | ServiceError::BadCursor => Self::malformed(message),
            ServiceError::Store(error) => store(&error),
            // An ACME account has every scope.
            ServiceError::MissingScope(_) | ServiceError::Internal(_) => internal(&message),
        }
    }
}

fn acme(error: AcmeError, message: String) -> Problem {
    match error {
        AcmeError::BadNonce(_) => Problem::new(ProblemType::BadNonce, StatusCode::BAD_REQUEST, message),
        AcmeError::AccountDoesNotExist(_) => {
            Problem::new(ProblemType::AccountDoesNotExist, StatusCode::BAD_REQUEST, message)
        }
        AcmeError::Unauthorized(_) => Problem::unauthorized(message),
        AcmeError::Malformed(_) => Problem::malformed(message),
        AcmeError::NotFound(_) => Problem::not_found(message),
        AcmeError::ExternalAccountRequired => {
            Problem::new(ProblemType::ExternalAccountRequired, StatusCode::FORBIDDEN, message)
        }
        AcmeError::TermsNotAgreed(url) => Problem::new(ProblemType::UserActionRequired, StatusCode::FORBIDDEN, message)
            .with_text(LINK, &format!("<{url}>;rel=\"terms-of-service\""))
            .at_instance(&url),
        AcmeError::BadPublicKey(_) => Problem::new(ProblemType::BadPublicKey, StatusCode::BAD_REQUEST, message),
        // The door that knows the URL of the account adds it.
        AcmeError::KeyInUse(_) => Problem::new(ProblemType::Malformed, StatusCode::CONFLICT, message),
        AcmeError::BadCsr(_) => Problem::new(ProblemType::BadCsr, StatusCode::BAD_REQUEST, message),
        AcmeError::OtherCsr => Problem::new(ProblemType::OrderNotReady, StatusCode::FORBIDDEN, message),
        AcmeError::Rejected(names, _) => rejected(&names, message),
        AcmeError::AlreadyReplaced(_) => Problem::new(ProblemType::AlreadyReplaced, StatusCode::CONFLICT, message),
        AcmeError::AlreadyRevoked => Problem::new(ProblemType::AlreadyRevoked, StatusCode::BAD_REQUEST, message),
        AcmeError::BadRevocationReason(_) => {
            Problem::new(ProblemType::BadRevocationReason, StatusCode::BAD_REQUEST, message)
        }
    }
}

/// One problem where there is one; else one that says what they have in common, and each by itself.
fn rejected(names: &[RejectedName], message: String) -> Problem {
    let kind = |rejection: Rejection| match rejection {
        Rejection::Malformed => (ProblemType::Malformed, StatusCode::BAD_REQUEST),
        Rejection::Unsupported => (ProblemType::UnsupportedIdentifier, StatusCode::BAD_REQUEST),
        Rejection::Forbidden => (ProblemType::RejectedIdentifier, StatusCode::FORBIDDEN),
    };
    let (first, status) =
        names.first().map_or((ProblemType::Malformed, StatusCode::BAD_REQUEST), |name| kind(name.kind));
    let same = names.iter().all(|name| kind(name.kind).0 == first);
    let (overall, status) = if same { (first, status) } else { (ProblemType::Malformed, StatusCode::BAD_REQUEST) };
    let told = |name: &ToldName| match name {
        ToldName::Read(identifier) => view(identifier),
        ToldName::Unread { kind, value } => wire::Identifier { kind: kind.clone(), value: value.clone() },
    };
    let each = names
        .iter()
        .map(|refused| subproblem(kind(refused.kind).0, refused.detail.clone(), refused.name.as_ref().map(told)));
    Problem::new(overall, status, message).with_subproblems(each.collect())
}

fn store(error: &StoreError) -> Problem {
    if error.is_transient() {
        tracing::warn!(%error, "the store could not do it now");
        Problem::unavailable()
    } else {
        internal(error)
    }
}

fn internal(reason: &dyn std::fmt::Display) -> Problem {
    tracing::error!(%reason, "internal error");
    Problem::internal()
}
