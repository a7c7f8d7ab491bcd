//! Orders, authorizations and challenges.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::list::list;
use crate::metadata::pairs;
use crate::policy::{IdentifierInput, TypedIdentifier};

/// Orders a certificate. Names exactly one of the three ways to an account.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResellerOrderRequest {
    /// The account, by its lookup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub account_lookup: Option<String>,
    /// The account, by its e-mail address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub customer_email: Option<String>,
    /// The account, by one of its EAB credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub eab_kid: Option<String>,
    /// The operator's default where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "TLS-90d")]
    pub profile: Option<String>,
    /// A PKCS #10 request: PEM, or base64 of DER.
    #[schema(max_length = 65536)]
    pub csr: String,
    /// The names; must be those of the CSR, and are taken from it where this is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, min_items = 1, max_items = 1000)]
    pub identifiers: Option<Vec<IdentifierInput>>,
    /// When the certificate begins (RFC 3339); about now where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub not_before: Option<String>,
    /// When the certificate ends (RFC 3339), within what profile and policies allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub not_after: Option<String>,
    /// Your own reference, unique among your orders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, min_length = 1, max_length = 255)]
    pub external_id: Option<String>,
    /// At most 16 pairs of your own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = pairs)]
    pub metadata: Option<BTreeMap<String, String>>,
}

/// A certificate order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    #[schema(example = "ord_01jcq3v9k2e7x8t5m4n6p0r1sw")]
    pub lookup: String,
    /// `pending`, `ready`, `processing`, `valid`, `invalid`, `cancelled` or `expired`.
    #[schema(example = "pending")]
    pub status: String,
    #[schema(example = "TLS-90d")]
    pub profile: String,
    pub account_lookup: String,
    pub eab_kid: String,
    pub identifiers: Vec<TypedIdentifier>,
    /// One for each name.
    pub authorizations: Vec<Authorization>,
    /// Where the certificate will be, or is: `GET /v1/certificate/{certificateLookup}`.
    pub certificate_lookup: String,
    pub expires_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub not_before: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub not_after: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub finalized_at: Option<String>,
    /// Why it failed, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<Problem>,
    /// How far it has come.
    pub progress: Vec<ProgressStep>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub external_id: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// `reseller` or `acme`.
    pub requested_via: String,
    pub created_at: String,
    pub updated_at: String,
}

/// One step on the way to a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProgressStep {
    /// `policy`, `validation`, `caa`, `lint`, `sign` or `publish`.
    #[schema(example = "validation")]
    pub step: String,
    /// `waiting`, `done` or `failed`.
    #[schema(example = "waiting")]
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub at: Option<String>,
    /// What it waits for, or why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub detail: Option<String>,
}

/// Why something failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// As in RFC 8555 section 6.7: `dns`, `connection`, `unauthorized`, `caa`, …
    #[serde(rename = "type")]
    #[schema(example = "dns")]
    pub kind: String,
    pub detail: String,
}

/// The permission to have one name in certificates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Authorization {
    #[schema(example = "authz_01jcq3v9k2e7x8t5m4n6p0r1sw")]
    pub lookup: String,
    /// `pending`, `valid`, `invalid`, `deactivated`, `expired` or `revoked`.
    #[schema(example = "pending")]
    pub status: String,
    /// The name, without the `*.` of a wildcard.
    pub identifier: TypedIdentifier,
    pub wildcard: bool,
    pub expires_at: String,
    /// Empty until codes are asked for: `POST /v1/authz/{lookup}/challenges`.
    pub challenges: Vec<Challenge>,
    /// The order it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub order: Option<String>,
    pub created_at: String,
    pub updated_at: String,
}

/// One way to show control of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Challenge {
    #[schema(example = "chal_01jcq3v9k2e7x8t5m4n6p0r1sw")]
    pub lookup: String,
    /// `http-01`, `dns-01` or `tls-alpn-01`; through ACME also `dns-account-01` or `dns-persist-01`.
    #[serde(rename = "type")]
    #[schema(example = "http-01")]
    pub kind: String,
    /// `pending`, `processing`, `valid` or `invalid`.
    #[schema(example = "pending")]
    pub status: String,
    pub token: String,
    /// The token and the thumbprint of the account's key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub key_authorization: Option<String>,
    /// Ready to paste.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub instructions: Option<Instructions>,
    /// The looks that were taken, with what was seen: the first and the last ones where there were many, long texts
    /// cut. Empty in lists of orders.
    pub attempts: Vec<Attempt>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub validated_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<Problem>,
    pub created_at: String,
    pub updated_at: String,
}

/// What to publish. Which members are there depends on the challenge.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Instructions {
    /// http-01: where the body must be found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub url: Option<String>,
    /// http-01: what must be found there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub body: Option<String>,
    /// dns-01: the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub record_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub record_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub record_value: Option<String>,
    /// tls-alpn-01: the one subject alternative name of the certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub subject_alternative_name: Option<String>,
    /// tls-alpn-01: the value of its acmeIdentifier extension, DER in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub acme_identifier: Option<String>,
}

/// One look from one place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    pub at: String,
    pub perspective: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses_resolved: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub address_used: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirects: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub http_status: Option<u16>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns_answers: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub dnssec: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub expected: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub actual: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<Problem>,
}

/// The codes of an authorization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Challenges {
    /// The lookup of the authorization.
    pub authorization: String,
    pub challenges: Vec<Challenge>,
}

list! {
    /// A page of orders.
    OrderList of Order
}
