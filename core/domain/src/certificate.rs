//! A certificate, from the moment it is ordered to long after its end.

use std::fmt;
use std::str::FromStr;

use crate::credential::Kid;
use crate::email::EmailAddress;
use crate::id::{AccountId, CertificateId, IssuerId, OrderId, ResellerId};
use crate::identifier::Identifier;
use crate::kinds::KeyType;
use crate::order::Via;
use crate::profile::ProfileName;
use crate::status::CertificateStatus;
use crate::time::Timestamp;

/// A certificate as it is kept. What it is for is known from the beginning; the rest comes with its issuance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateRecord {
    pub id: CertificateId,
    pub order: OrderId,
    pub reseller: ResellerId,
    pub account: AccountId,
    pub kid: Kid,
    pub email: EmailAddress,
    pub via: Via,
    pub profile: ProfileName,
    pub identifiers: Vec<Identifier>,
    pub state: CertificateState,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub version: i64,
}

/// Where a certificate stands; whether an issued one has expired is for the clock to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateState {
    /// Until the order expires; without an end once the certificate was asked for.
    Pending {
        until: Option<Timestamp>,
    },
    /// The order ended without one.
    Cancelled {
        at: Timestamp,
    },
    Issued(Issued),
    Revoked {
        issued: Issued,
        revocation: Revocation,
    },
}

/// What is known of a certificate once it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issued {
    pub issuer: IssuerId,
    /// In lower-case hexadecimal.
    pub serial: String,
    pub subject: String,
    pub key_type: KeyType,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
    /// SHA-256 of the DER, in lower-case hexadecimal.
    pub fingerprint: String,
    pub issued_at: Timestamp,
}

/// That and why a certificate is not to be trusted any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revocation {
    pub at: Timestamp,
    pub reason: RevocationReason,
    pub comment: Option<String>,
}

impl CertificateRecord {
    /// The status now: expired by the clock, never late by a sweep; revoked for good. An order that expired leaves a
    /// cancelled certificate.
    pub fn status(&self, now: Timestamp) -> CertificateStatus {
        match &self.state {
            CertificateState::Pending { until: Some(until) } if now >= *until => CertificateStatus::Cancelled,
            CertificateState::Pending { .. } => CertificateStatus::Pending,
            CertificateState::Cancelled { .. } => CertificateStatus::Cancelled,
            CertificateState::Issued(issued) if now > issued.not_after => CertificateStatus::Expired,
            CertificateState::Issued(_) => CertificateStatus::Issued,
            CertificateState::Revoked { .. } => CertificateStatus::Revoked,
        }
    }

    pub fn issued(&self) -> Option<&Issued> {
        match &self.state {
            CertificateState::Issued(issued) | CertificateState::Revoked { issued, .. } => Some(issued),
            CertificateState::Pending { .. } | CertificateState::Cancelled { .. } => None,
        }
    }

    pub fn revocation(&self) -> Option<&Revocation> {
        match &self.state {
            CertificateState::Revoked { revocation, .. } => Some(revocation),
            CertificateState::Pending { .. } | CertificateState::Cancelled { .. } | CertificateState::Issued(_) => None,
        }
    }

    /// Whether its order ended without it, so that what was signed with its serial number, if anything was, is something else.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.state, CertificateState::Cancelled { .. })
    }

    /// Whether it was revoked already, so that another revocation would change nothing. That its key is compromised is
    /// news, whatever it was revoked for.
    fn is_revoked_as(&self, reason: RevocationReason, now: Timestamp) -> bool {
        let CertificateState::Revoked { issued, revocation } = &self.state else { return false };
        reason != RevocationReason::KeyCompromise || revocation.reason == reason || now > issued.not_after
    }

    /// Revokes a certificate that has not expired; `None` when there is nothing to revoke. One that was revoked before stays
    /// so since then.
    pub fn revoke(mut self, revocation: Revocation, now: Timestamp) -> Option<Self> {
        if self.is_revoked_as(revocation.reason, now) {
            return None;
        }
        let (issued, revocation) = match self.state {
            CertificateState::Issued(issued) if now <= issued.not_after => (issued, revocation),
            CertificateState::Revoked { issued, revocation: Revocation { at, comment, .. } } => {
                let comment = revocation.comment.or(comment);
                (issued, Revocation { at, comment, ..revocation })
            }
            CertificateState::Issued(_) | CertificateState::Pending { .. } | CertificateState::Cancelled { .. } => {
                return None;
            }
        };
        self.updated_at = now;
        self.state = CertificateState::Revoked { issued, revocation };
        Some(self)
    }
}

macro_rules! reasons {
    ($($name:ident = $code:literal $text:literal,)*) => {
        /// Why a certificate is revoked: the reasons of RFC 5280 section 5.3.1 that a subscriber can give.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum RevocationReason { $($name,)* }

        impl RevocationReason {
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            pub const fn code(self) -> u8 {
                match self { $(Self::$name => $code,)* }
            }

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

reasons! {
    Unspecified = 0 "unspecified",
    KeyCompromise = 1 "keyCompromise",
    AffiliationChanged = 3 "affiliationChanged",
    Superseded = 4 "superseded",
    CessationOfOperation = 5 "cessationOfOperation",
    PrivilegeWithdrawn = 9 "privilegeWithdrawn",
}

impl RevocationReason {
    pub fn from_code(code: i64) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| i64::from(reason.code()) == code)
    }
}

impl FromStr for RevocationReason {
    type Err = String;

    /// A name, or the number of RFC 5280.
    fn from_str(text: &str) -> Result<Self, String> {
        let by_name = Self::ALL.iter().copied().find(|reason| reason.as_str() == text);
        by_name.or_else(|| text.parse().ok().and_then(Self::from_code)).ok_or_else(|| {
            let known: Vec<_> =
                Self::ALL.iter().map(|reason| format!("{} ({})", reason.as_str(), reason.code())).collect();
            format!("{text:?} is not a reason that can be given; known are {}", known.join(", "))
        })
    }
}

impl fmt::Display for RevocationReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
