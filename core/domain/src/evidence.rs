//! What was seen when control of a name was looked for: kept, shown, and the only ground for issuing.

use std::fmt;

use crate::time::Timestamp;

/// One look from one place. Everything a person needs to see why it failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attempt {
    /// Milliseconds since 1970; zero where it was never begun.
    pub at: i64,
    /// From where: `primary`, or the name of a remote perspective.
    pub perspective: String,
    /// The addresses the name resolved to.
    pub addresses_resolved: Vec<String>,
    /// The address that was spoken to.
    pub address_used: Option<String>,
    /// The URL that was asked for, and every one it led to.
    pub url: Option<String>,
    pub redirects: Vec<String>,
    /// The HTTP status of the last answer.
    pub http_status: Option<u16>,
    /// The records that were found.
    pub dns_answers: Vec<String>,
    /// `secure`, `insecure`, `bogus` or `unchecked`.
    pub dnssec: Option<String>,
    pub expected: Option<String>,
    /// What was found instead, cut where it was long.
    pub actual: Option<String>,
    pub problem: Option<ValidationProblem>,
}

/// Why control of a name could not be shown, or a certificate not be issued. The kinds are those of RFC 8555
/// section 6.7, so that both doors can say it in their own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidationProblem {
    pub kind: ProblemKind,
    pub detail: String,
}

impl fmt::Display for ValidationProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.as_str(), self.detail)
    }
}

macro_rules! problem_kinds {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ProblemKind { $($(#[$doc])* $name,)* }

        impl ProblemKind {
            pub const ALL: &'static [ProblemKind] = &[$(ProblemKind::$name,)*];

            /// The name in RFC 8555, without its URN.
            pub const fn as_str(self) -> &'static str {
                match self { $(ProblemKind::$name => $text,)* }
            }

            pub fn from_name(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.as_str() == text)
            }
        }
    };
}

problem_kinds! {
    /// The server could not be reached.
    Connection = "connection",
    /// A name could not be looked up.
    Dns = "dns",
    /// The response did not match the challenge.
    IncorrectResponse = "incorrectResponse",
    /// What was found cannot be read as what it is to be.
    Malformed = "malformed",
    /// The server did not speak TLS as the challenge asks for.
    Tls = "tls",
    /// The response does not show control.
    Unauthorized = "unauthorized",
    /// A CAA record forbids it, or could not be looked up.
    Caa = "caa",
    /// A policy or a rule forbids it.
    RejectedIdentifier = "rejectedIdentifier",
    /// The key or the request is not acceptable.
    BadCsr = "badCSR",
    /// A fault of ours.
    ServerInternal = "serverInternal",
}

/// What the CAA records of a name said (RFC 8659).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaaEvidence {
    pub checked_at: Timestamp,
    /// The name whose records decided; none where no name up to the root has any.
    pub found_at: Option<String>,
    /// The records, as they would stand in a zone file.
    pub records: Vec<String>,
    /// The remote perspectives from which it was seen that they let us issue.
    pub agreed: Vec<String>,
}

/// What was seen of the CAA records of a name, whether they let us issue or not: for those who only want to know. It is no
/// ground for issuing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaaReport {
    /// As in [`CaaEvidence`].
    pub found_at: Option<String>,
    pub records: Vec<String>,
    /// `secure`, `insecure`, `bogus` or `unchecked`: the weakest of all answers that were needed. None where there was no
    /// answer, and for an address.
    pub dnssec: Option<String>,
    /// Why we may not issue.
    pub problem: Option<ValidationProblem>,
}

impl CaaEvidence {
    /// For a name that was not asked about yet: too old for anything.
    pub fn unasked() -> Self {
        Self::no_records(Timestamp::from_secs(0))
    }

    /// For a name that has no records, and none above it.
    pub fn no_records(checked_at: Timestamp) -> Self {
        Self { checked_at, found_at: None, records: Vec::new(), agreed: Vec::new() }
    }

    pub fn was_asked(&self) -> bool {
        *self != Self::unasked()
    }
}
