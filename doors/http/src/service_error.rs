//! The words of the reseller API for what the use cases refuse.

use chancery_domain::{AccountError, Identifier, OrderError, PauseId, Problem, Problems, Violations};
use chancery_overload::Decision;
use chancery_service::{Cap, Noun, ServiceError, StoreError};
use chancery_wire::{ErrorCode, FieldProblem};

use crate::document::MAX_PROBLEMS;
use crate::error::ApiError;
use crate::rate::{refused, too_many_exports};

impl From<ServiceError> for ApiError {
    fn from(error: ServiceError) -> Self {
        let limit = error.limit();
        let refusal = Self::worded(error);
        match limit {
            Some(limit) => refusal.with_limit(limit),
            None => refusal,
        }
    }
}

impl ApiError {
    fn worded(error: ServiceError) -> Self {
        let message = error.to_string();
        match error {
            ServiceError::MissingScope(scope) => Self::lacking(message, scope.as_str()),
            ServiceError::NotFound(noun, _) => Self::not_found(not_found(noun), message),
            ServiceError::NothingToRevoke(_) => Self::not_found(ErrorCode::CertificateNotFound, message),
            ServiceError::Account(AccountError::Terminated(_)) => Self::gone(ErrorCode::AccountTerminated, message),
            ServiceError::CredentialRevoked(_) => Self::gone(ErrorCode::EabCredentialGone, message),
            // A suspended account is forbidden to do this, and 403 bodies are plain strings.
            ServiceError::Account(AccountError::Suspended) => Self::forbidden(message),
            // ACME has its own door and its own words; no caller of this one meets them.
            ServiceError::AcmeAccount(_) | ServiceError::Acme(_) => internal(&message),
            ServiceError::Invalid(problems) => invalid(problems),
            ServiceError::NameInUse(..) => Self::bad_request(ErrorCode::NameInUse, message)
                .with_errors(vec![FieldProblem::new("name", "in_use", "is taken")]),
            ServiceError::AccountInUse { email, external_id } => {
                let code = if email.is_some() { ErrorCode::AccountConflict } else { ErrorCode::ExternalIdInUse };
                let taken = |field: &'static str| FieldProblem::new(field, "in_use", "is taken");
                let (email, external_id) = (email.map(|_| "customer_email"), external_id.map(|_| "external_id"));
                Self::conflict(code, message).with_errors(email.into_iter().chain(external_id).map(taken).collect())
            }
            ServiceError::Order(error) => order(&error, message),
            ServiceError::OrderNotReady(problems) => Self::bad_request(ErrorCode::OrderNotReady, message)
                .with_errors(problems.into_iter().map(problem).collect()),
            ServiceError::Authorization(_) => Self::gone(ErrorCode::AuthorizationGone, message),
            ServiceError::AlreadyTried(_) => Self::gone(ErrorCode::AuthorizationGone, message),
            ServiceError::PolicyViolation(violations) => {
                with_violations(Self::bad_request(ErrorCode::PolicyViolation, message), violations)
            }
            ServiceError::QuotaExceeded { problems, retry_after } => {
                with_violations(Self::too_many(ErrorCode::QuotaExceeded, message, retry_after), problems)
            }
            ServiceError::RateLimited(decision) => refused(&decision),
            ServiceError::Failing { names, last } => {
                let told = |(name, decision): &(Identifier, Decision)| {
                    let seconds = decision.retry_seconds().unwrap_or(1);
                    let message = format!("{name}: too many failed validations; try again in {seconds} s");
                    FieldProblem::new("identifiers", decision.limit.as_str(), message)
                };
                refused(&last).with_errors(names.iter().map(told).collect())
            }
            ServiceError::Overloaded(limit) => Self::overloaded(limit),
            ServiceError::Overtaken(_) => {
                Self::unavailable("Something changed while this was under way; try again.", 1)
            }
            ServiceError::Signer(_) | ServiceError::Logs(_) => {
                Self::unavailable("The CA cannot sign at the moment; try again.", 5)
            }
            ServiceError::TooMany(Cap::Exports, most) => too_many_exports(most, message),
            ServiceError::TooMany(cap, _) => Self::bad_request(too_many(cap), message),
            ServiceError::Paused(names) => {
                let told = |(name, pause): (_, PauseId)| {
                    FieldProblem::new("identifiers", "paused", format!("{name}: lift {pause}"))
                };
                Self::bad_request(ErrorCode::NamePaused, format!("{message}; lift it with DELETE /v1/pause/{{lookup}}"))
                    .with_errors(names.into_iter().map(told).collect())
            }
            ServiceError::OrderExternalIdInUse(_) => Self::bad_request(ErrorCode::ExternalIdInUse, message)
                .with_errors(vec![FieldProblem::new("external_id", "in_use", "is taken")]),
            ServiceError::Unissuable(_) => Self::bad_request(ErrorCode::InvalidRequest, message),
            ServiceError::BadCursor => Self::bad_request(ErrorCode::InvalidCursor, message),
            ServiceError::IdempotencyKeyReused => Self::unprocessable(ErrorCode::IdempotencyKeyReused, message),
            ServiceError::Store(error) => store(&error),
            ServiceError::Internal(reason) => internal(&reason),
        }
    }
}

/// Lists a bounded number of problems: a list of a thousand entries can have one in each.
fn invalid(mut problems: Problems) -> ApiError {
    let omitted = problems.0.len().saturating_sub(MAX_PROBLEMS);
    problems.0.truncate(MAX_PROBLEMS);
    let message = format!("the request is not valid: {problems}");
    ApiError::invalid(message, problems.0.into_iter().map(problem).collect()).with_omitted(omitted)
}

fn with_violations(error: ApiError, violations: Violations) -> ApiError {
    let (described, omitted) = violations.into_parts();
    error.with_errors(described.into_iter().map(problem).collect()).with_omitted(omitted)
}

/// One problem of the input, as it stands in a body.
pub fn problem(problem: Problem) -> FieldProblem {
    let Problem { field, code, message, policy, .. } = problem;
    FieldProblem { policy, ..FieldProblem::new(field, code, message) }
}

fn not_found(noun: Noun) -> ErrorCode {
    match noun {
        Noun::Account | Noun::Member => ErrorCode::AccountNotFound,
        Noun::Credential => ErrorCode::EabCredentialNotFound,
        Noun::Group => ErrorCode::GroupNotFound,
        Noun::Policy | Noun::AssignedPolicy => ErrorCode::PolicyNotFound,
        Noun::Order => ErrorCode::OrderNotFound,
        Noun::Authorization => ErrorCode::AuthorizationNotFound,
        Noun::Challenge => ErrorCode::ChallengeNotFound,
        Noun::Certificate => ErrorCode::CertificateNotFound,
        Noun::Event => ErrorCode::EventNotFound,
        Noun::Webhook => ErrorCode::WebhookNotFound,
        Noun::Delivery => ErrorCode::DeliveryNotFound,
        Noun::Pause => ErrorCode::PauseNotFound,
        // The operator's nouns: no caller of a door can ask for them.
        Noun::Issuer | Noun::Reseller | Noun::Client | Noun::ApiKey | Noun::OperatorKey => ErrorCode::NotFound,
    }
}

fn too_many(cap: Cap) -> ErrorCode {
    match cap {
        Cap::OpenOrders
        | Cap::Groups
        | Cap::Policies
        | Cap::PoliciesOfGroup
        | Cap::Rules
        | Cap::GroupsOfAccount(_)
        | Cap::Exports => ErrorCode::TooMany,
        Cap::Webhooks => ErrorCode::TooManyWebhooks,
    }
}

fn order(error: &OrderError, message: String) -> ApiError {
    match error {
        OrderError::Cancelled | OrderError::Failed(_) | OrderError::Expired(_) => {
            ApiError::gone(ErrorCode::OrderGone, message)
        }
        OrderError::NotReady => ApiError::bad_request(ErrorCode::OrderNotReady, message),
        OrderError::NotCancellable => ApiError::bad_request(ErrorCode::OrderNotCancellable, message),
    }
}

fn store(error: &StoreError) -> ApiError {
    if error.is_transient() {
        tracing::warn!(%error, "the store could not do it now");
        ApiError::unavailable("The service cannot do this at the moment; try again.", 1)
    } else {
        internal(error)
    }
}

fn internal(reason: &dyn std::fmt::Display) -> ApiError {
    tracing::error!(%reason, "internal error");
    ApiError::internal()
}
