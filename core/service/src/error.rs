//! The one error of the use cases. Each door has its own words for it.

use std::fmt;

use chancery_domain::{
    AccountError, AcmeAccountError, AuthorizationError, ChallengeState, Identifier, Kid, OrderError, PauseId, Problem,
    Problems, Scope, ValidationProblem, Violations,
};
use chancery_overload::{Decision, Limit};
use chancery_store::StoreError;

use crate::acme::AcmeError;
use crate::authorizations::ChallengeDetails;

/// Names that a message lists. Front ends have as many in their lists of problems.
const MAX_LISTED: usize = 32;

/// Why a use case was not carried out.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ServiceError {
    /// The caller's token does not carry what the operation needs.
    #[error("this operation needs the scope `{0}`, which the token does not have")]
    MissingScope(Scope),
    /// There is no such thing, or it is somebody else's: the caller cannot tell which.
    #[error("{}", not_found(*.0, .1))]
    NotFound(Noun, Vec<String>),
    /// There is a certificate, and nothing of it to revoke.
    #[error("there is no certificate to revoke: {0}")]
    NothingToRevoke(String),
    /// The account is suspended or terminated.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// The credential that was to speak for an account is revoked.
    #[error("the EAB credential {0} is revoked")]
    CredentialRevoked(Kid),
    /// The ACME account has ended.
    #[error(transparent)]
    AcmeAccount(#[from] AcmeAccountError),
    /// Something that only ACME can refuse.
    #[error(transparent)]
    Acme(#[from] AcmeError),
    /// The input breaks rules that are told one by one.
    #[error("the request is not valid: {0}")]
    Invalid(Problems),
    /// Another thing of the reseller has this name.
    #[error("another {0} named {1:?} exists already; choose another name")]
    NameInUse(Noun, String),
    /// Other live accounts have this e-mail address, this external id, or both.
    #[error("{}", in_use(.email.as_deref(), .external_id.as_deref()))]
    AccountInUse { email: Option<String>, external_id: Option<String> },
    /// The order cannot do this in its state.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// The order still waits for authorizations, which are told one by one.
    #[error("the order is not ready: not every authorization is valid yet")]
    OrderNotReady(Vec<Problem>),
    /// The authorization cannot do this in its state.
    #[error(transparent)]
    Authorization(#[from] AuthorizationError),
    /// Verification was attempted before: the state of that attempt is inside.
    #[error("verification was already attempted: {}", already_tried(&.0.challenge.state))]
    AlreadyTried(Box<ChallengeDetails>),
    /// Policies refuse; each broken rule is told.
    #[error("{}", broken_rules(.0.len()))]
    PolicyViolation(Violations),
    /// Quotas are used up.
    #[error("{}", .problems.messages())]
    QuotaExceeded { problems: Violations, retry_after: u64 },
    /// Too many of something in too short a time.
    #[error("too many {}; try again in {} s", .0.limit.label(), .0.retry_seconds().unwrap_or(1))]
    RateLimited(Decision),
    /// Validations of these names have failed too often in too short a time.
    #[error("{}", failing(.names))]
    Failing {
        names: Vec<(Identifier, Decision)>,
        /// Of the one that has to wait longest.
        last: Decision,
    },
    /// There are as many as there may be.
    #[error("{}", .0.reached(*.1))]
    TooMany(Cap, u32),
    /// A limit on load refuses the work for the moment.
    #[error("the service has more to do than it can at the moment; try again")]
    Overloaded(Limit),
    /// Validations of names have failed too often: each with the pause that somebody has to lift.
    #[error("{}", paused(.0))]
    Paused(Vec<(Identifier, PauseId)>),
    /// Another order has this external id.
    #[error("an order with the external id {0:?} exists already")]
    OrderExternalIdInUse(String),
    /// The certificate of an order cannot be issued.
    #[error("the certificate cannot be issued: {0}")]
    Unissuable(ValidationProblem),
    /// The cursor was altered, or made for another list or filter.
    #[error("the cursor does not belong to this list and filter; start again without it")]
    BadCursor,
    /// The idempotency key was used for another request.
    #[error("this idempotency key was used for a different request; use a new key")]
    IdempotencyKeyReused,
    /// The token that has the key of a CA did not do it, which may pass.
    #[error("the key of a CA cannot be used: {0}")]
    Signer(String),
    /// Too few logs have promised to show a certificate, which may pass.
    #[error("too few logs have taken the precertificate: {0}")]
    Logs(String),
    /// Something changed while this was under way; tried again, it finds everything as it is now.
    #[error("overtaken by a change: {0}")]
    Overtaken(String),
    /// The database could not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A mistake of ours; the text is for the log.
    #[error("internal error: {0}")]
    Internal(String),
}

impl ServiceError {
    pub fn not_found(noun: Noun) -> Self {
        Self::NotFound(noun, Vec::new())
    }

    /// The input breaks one rule.
    pub fn invalid(field: &str, code: &'static str, message: impl fmt::Display) -> Self {
        Self::Invalid(Problems(vec![Problem::new(field, code, message)]))
    }

    /// Whether trying again in a moment is likely to help.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Store(error) => error.is_transient(),
            other => matches!(other, Self::Overtaken(_)),
        }
    }

    /// The limit that refuses, if one does.
    pub fn limit(&self) -> Option<Limit> {
        match self {
            Self::RateLimited(decision) | Self::Failing { last: decision, .. } => Some(decision.limit),
            Self::Overloaded(limit) => Some(*limit),
            Self::TooMany(cap, _) => Some(cap.limit()),
            Self::Paused(_) => Some(Limit::PausedNames),
            Self::QuotaExceeded { .. } => Some(Limit::CertificateQuota),
            Self::Store(StoreError::QueueFull) => Some(Limit::StoreQueue),
            Self::MissingScope(_)
            | Self::NotFound(..)
            | Self::NothingToRevoke(_)
            | Self::Account(_)
            | Self::CredentialRevoked(_)
            | Self::AcmeAccount(_)
            | Self::Acme(_)
            | Self::Invalid(_)
            | Self::NameInUse(..)
            | Self::AccountInUse { .. }
            | Self::Order(_)
            | Self::OrderNotReady(_)
            | Self::Authorization(_)
            | Self::AlreadyTried(_)
            | Self::PolicyViolation(_)
            | Self::OrderExternalIdInUse(_)
            | Self::Unissuable(_)
            | Self::BadCursor
            | Self::IdempotencyKeyReused
            | Self::Signer(_)
            | Self::Logs(_)
            | Self::Overtaken(_)
            | Self::Store(_)
            | Self::Internal(_) => None,
        }
    }

    pub(crate) fn internal(error: impl fmt::Display) -> Self {
        Self::Internal(error.to_string())
    }
}

impl From<Limit> for ServiceError {
    fn from(limit: Limit) -> Self {
        Self::Overloaded(limit)
    }
}

/// What a thing is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noun {
    Account,
    Credential,
    Group,
    Policy,
    Member,
    AssignedPolicy,
    Order,
    Authorization,
    Challenge,
    Certificate,
    Issuer,
    Reseller,
    Client,
    ApiKey,
    Event,
    Webhook,
    Delivery,
    OperatorKey,
    Pause,
}

/// What there may be so many of and not more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cap {
    OpenOrders,
    Groups,
    Policies,
    PoliciesOfGroup,
    /// Bytes of rules that the policies of a reseller have together.
    Rules,
    /// Of the account that was called so.
    GroupsOfAccount(String),
    Webhooks,
    Exports,
}

impl Cap {
    /// The limit that the cap is.
    pub fn limit(&self) -> Limit {
        match self {
            Self::OpenOrders => Limit::OpenOrders,
            Self::Groups => Limit::Groups,
            Self::Policies => Limit::Policies,
            Self::PoliciesOfGroup => Limit::PoliciesPerGroup,
            Self::Rules => Limit::PolicyRuleBytes,
            Self::GroupsOfAccount(_) => Limit::GroupsPerAccount,
            Self::Webhooks => Limit::Webhooks,
            Self::Exports => Limit::Exports,
        }
    }

    fn reached(&self, most: u32) -> String {
        match self {
            Self::OpenOrders => format!(
                "the account has {most} orders that wait to be finalized; finalize or cancel some of them first"
            ),
            Self::Groups => format!("there are {most} account groups, and no more are kept; delete some first"),
            Self::Policies => format!("there are {most} policies, and no more are kept; delete some first"),
            Self::PoliciesOfGroup => {
                format!("the group has {most} policies, and no more are looked at for one order")
            }
            Self::Rules => format!(
                "the rules of all policies are longer than {} KiB together, and no more are kept; shorten or delete some first",
                most / 1024
            ),
            Self::GroupsOfAccount(account) => {
                format!("{account} would be in more than {most} groups; take it out of some first")
            }
            Self::Exports => {
                format!("{most} CSV exports are in progress already; wait until one of them has been read")
            }
            Self::Webhooks => format!("there are {most} webhooks already, and no more may be; delete one first"),
        }
    }
}

fn broken_rules(count: usize) -> String {
    match count {
        1 => "a rule of the policies is broken".to_owned(),
        _ => format!("{count} rules of the policies are broken"),
    }
}

impl Noun {
    /// What several of them are called.
    fn plural(self) -> String {
        match self {
            Self::Policy => "policies".to_owned(),
            Self::Delivery => "deliveries".to_owned(),
            Self::Member => "members of this group".to_owned(),
            Self::AssignedPolicy => "policies assigned to this group".to_owned(),
            Self::Account
            | Self::Credential
            | Self::Group
            | Self::Order
            | Self::Authorization
            | Self::Challenge
            | Self::Certificate
            | Self::Issuer
            | Self::Reseller
            | Self::Client
            | Self::ApiKey
            | Self::Event
            | Self::Webhook
            | Self::OperatorKey
            | Self::Pause => format!("{self}s"),
        }
    }
}

impl fmt::Display for Noun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Account => "account",
            Self::Credential => "EAB credential",
            Self::Group => "account group",
            Self::Policy => "policy",
            Self::Member => "member of this group",
            Self::AssignedPolicy => "policy assigned to this group",
            Self::Order => "order",
            Self::Authorization => "authorization",
            Self::Challenge => "challenge",
            Self::Certificate => "certificate",
            Self::Issuer => "CA",
            Self::Reseller => "reseller",
            Self::Client => "client",
            Self::ApiKey => "API key",
            Self::Event => "event",
            Self::Webhook => "webhook",
            Self::Delivery => "delivery",
            Self::OperatorKey => "operator key",
            Self::Pause => "pause",
        })
    }
}

fn already_tried(state: &ChallengeState) -> &'static str {
    match state {
        ChallengeState::Pending | ChallengeState::Processing { .. } => "it is under way; look again in a moment",
        ChallengeState::Valid { .. } => "control is shown; go on with the order",
        ChallengeState::Invalid { .. } => "it has failed; order again to try another challenge",
    }
}

fn not_found(noun: Noun, which: &[String]) -> String {
    match which {
        [] => format!("there is no such {noun}"),
        [only] => format!("there is no {noun} {only}"),
        several => format!("there are no {} {}", noun.plural(), listed(several, String::clone)),
    }
}

fn in_use(email: Option<&str>, external_id: Option<&str>) -> String {
    match (email, external_id) {
        (Some(email), None) => format!("an account with the e-mail address {email} exists already"),
        (None, Some(external_id)) => format!("an account with the external id {external_id:?} exists already"),
        (email, external_id) => format!(
            "accounts with the e-mail address {} and the external id {:?} exist already",
            email.unwrap_or_default(),
            external_id.unwrap_or_default(),
        ),
    }
}

fn failing(names: &[(Identifier, Decision)]) -> String {
    let names = listed(names, |(name, _)| name.to_string());
    format!("too many validations have failed lately: {names}")
}

fn paused(names: &[(Identifier, PauseId)]) -> String {
    let names = listed(names, |(name, pause)| format!("{name} ({pause})"));
    format!("validation failed too many times in a row, and new orders are paused until somebody lifts it: {names}")
}

/// The first names, with commas between, and the number of the others.
fn listed<T>(names: &[T], text: impl Fn(&T) -> String) -> String {
    let first = names.iter().take(MAX_LISTED).map(text).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_LISTED) {
        0 => first,
        omitted => format!("{first} and {omitted} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_lists_32_names_and_counts_the_others() {
        let message = |count: usize| {
            let names = (0..count).map(|number| format!("acc_{number}")).collect();
            ServiceError::NotFound(Noun::Account, names).to_string()
        };
        assert_eq!(message(2), "there are no accounts acc_0, acc_1");
        assert!(message(32).ends_with(", acc_31"), "{}", message(32));
        assert!(message(1_000).ends_with(", acc_31 and 968 more"), "{}", message(1_000));
    }
}
