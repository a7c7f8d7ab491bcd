//! What would happen to names.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::{FieldProblem, is_zero};
use crate::policy::IdentifierInput;

/// Asks what would happen to names, without ordering.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DiagnosisRequest {
    /// The names or addresses to look at.
    #[schema(min_items = 1, max_items = 10)]
    pub identifiers: Vec<IdentifierInput>,
    /// The account whose policies are asked; where it is left out, none are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub account_lookup: Option<String>,
    /// The operator's default where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "TLS-90d")]
    pub profile: Option<String>,
}

/// What was found of each name, in the order of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiagnosisReport {
    pub items: Vec<Diagnosis>,
}

/// What was found of one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    #[schema(example = "www.example.com")]
    pub name: String,
    /// Whether nothing was found that would stop an order. What a challenge needs may still be missing.
    pub clear: bool,
    /// What the rules for names and the policies of the account have against it, at most 32 entries.
    pub violations: Vec<FieldProblem>,
    /// The number of further violations, which are not listed; left out if all are listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted_violations: usize,
    /// What CAA records say; left out where nobody can look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub caa: Option<CaaFinding>,
    /// Whether the web server is reached where http-01 would look; left out for a wildcard, and where nobody can look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub http: Option<HttpFinding>,
    /// How far DNSSEC vouches for the addresses, or for the CAA records of a wildcard: `secure`, `insecure`, `bogus` or
    /// `unchecked`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub dnssec: Option<String>,
    /// There was no time to look at this name; ask again with fewer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub out_of_time: bool,
}

/// What CAA records say of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaaFinding {
    /// Whether we may issue after one of the challenges of the profile.
    pub allowed: bool,
    /// The name that has the records; left out where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub found_at: Option<String>,
    /// The records that decide, whether they let us issue or not.
    pub records: Vec<String>,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub problem: Option<String>,
}

/// What was seen of a web server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpFinding {
    /// Whether a web server answered: that the page it was asked for is not there is as it should be.
    pub reachable: bool,
    pub addresses: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub address_used: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub status: Option<u16>,
    pub redirects: Vec<String>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub problem: Option<String>,
}
