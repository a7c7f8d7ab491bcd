//! Why a question to the DNS has no answer. An empty answer is an answer.
//!
//! Applicants read these errors, so none of them names a DNS server of the operator: the log does.

use std::fmt;
use std::time::Duration;

use chancery_domain::ProblemKind;
use hickory_net::{DnsError, NetError};
use hickory_proto::op::ResponseCode;
use hickory_proto::rr::RecordType;

use crate::refusal::Refusal;

/// A question that was not answered, and why.
#[derive(Debug)]
pub(crate) struct LookupError {
    pub name: String,
    pub kind: RecordType,
    pub failure: Failure,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    NoResolver,
    /// The name cannot be asked for: too long, mostly.
    Name(String),
    Timeout {
        after: Duration,
    },
    Network {
        reason: String,
    },
    /// Something came back that is not a DNS message.
    Malformed {
        reason: String,
    },
    Code(ResponseCode),
    /// It says whom to ask instead of asking: no resolver, or one that does not want to be ours.
    Referral,
    /// Aliases that lead in a circle, or on and on.
    Aliases,
    /// DNSSEC: ought to be signed and is not, or wrongly.
    Bogus,
    /// DNSSEC: what is needed to check signatures could not be had.
    Unproven(String),
}

impl Failure {
    /// Whether the same question may be answered in a moment.
    fn may_pass(&self) -> bool {
        match self {
            Self::Timeout { .. } | Self::Network { .. } | Self::Code(_) | Self::Unproven(_) => true,
            Self::NoResolver
            | Self::Referral
            | Self::Name(_)
            | Self::Malformed { .. }
            | Self::Aliases
            | Self::Bogus => false,
        }
    }
}

impl LookupError {
    /// What the attempt says of DNSSEC, where the failure is about that.
    pub(crate) fn dnssec(&self) -> Option<String> {
        (self.failure == Failure::Bogus).then(|| "bogus".to_owned())
    }
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "looking up {} of {}: {}", self.kind, self.name, self.failure)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoResolver => write!(f, "no resolver is configured"),
            Self::Name(reason) => write!(f, "the name cannot be asked for: {reason}"),
            Self::Timeout { after } => write!(f, "no answer from the resolver within {after:?}"),
            Self::Network { reason } => write!(f, "the resolver cannot be reached: {reason}"),
            Self::Malformed { reason } => write!(f, "the resolver's answer cannot be read: {reason}"),
            Self::Code(code) => write!(f, "the resolver answered {}", code_name(*code)),
            Self::Referral => write!(f, "the resolver does not look names up (it answered with a referral)"),
            Self::Aliases => write!(f, "its aliases lead in a circle, or there are too many"),
            Self::Bogus => write!(f, "DNSSEC validation failed (bogus)"),
            Self::Unproven(reason) => write!(f, "DNSSEC could not be checked: {reason}"),
        }
    }
}

impl From<LookupError> for Refusal {
    fn from(error: LookupError) -> Self {
        let detail = error.to_string();
        if error.failure.may_pass() {
            Self::missing(ProblemKind::Dns, detail)
        } else {
            Self::wrong(ProblemKind::Dns, detail)
        }
    }
}

/// Our failure on its way through the DNSSEC validator, which knows only its own kind.
impl From<Failure> for NetError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Code(code) => Self::Dns(DnsError::ResponseCode(code)),
            Failure::Timeout { .. } => Self::Timeout,
            other => Self::Msg(other.to_string()),
        }
    }
}

/// As people write it; the library's words are sentences.
fn code_name(code: ResponseCode) -> String {
    match code {
        ResponseCode::ServFail => "SERVFAIL".to_owned(),
        ResponseCode::Refused => "REFUSED".to_owned(),
        ResponseCode::FormErr => "FORMERR".to_owned(),
        ResponseCode::NotImp => "NOTIMP".to_owned(),
        other => format!("with code {}", u16::from(other)),
    }
}
