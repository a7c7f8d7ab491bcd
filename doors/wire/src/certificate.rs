//! Certificates.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::list::list;

/// Asks whether a CSR would be accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResellerValidateCsrRequest {
    /// A PKCS #10 request: PEM, or base64 of DER.
    #[schema(max_length = 65536)]
    pub csr: String,
    /// Judges by the rules of this profile; by the operator's default where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "TLS-90d")]
    pub profile: Option<String>,
    /// Judges by the policies of this account as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub account_lookup: Option<String>,
}

/// Revokes a certificate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResellerRevokeCertificateRequest {
    /// `unspecified` (0), `keyCompromise` (1), `affiliationChanged` (3), `superseded` (4), `cessationOfOperation` (5) or
    /// `privilegeWithdrawn` (9), by name or number; `unspecified` where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reason: Option<ReasonInput>,
    /// For your own records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_length = 1000)]
    pub comment: Option<String>,
}

/// A revocation reason, by name or by the number of RFC 5280.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged, expecting = "must be the name or the number of a revocation reason")]
pub enum ReasonInput {
    /// Such as `keyCompromise`.
    Name(String),
    /// Such as 1.
    Code(i64),
}

/// What is known of a certificate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CertificateMetadata {
    #[schema(example = "cert_01jcq3v9k2e7x8t5m4n6p0r1sw")]
    pub lookup: String,
    pub order_lookup: String,
    pub account_lookup: String,
    pub eab_kid: String,
    pub customer_email: String,
    #[schema(example = "TLS-90d")]
    pub profile: String,
    /// `pending`, `issued`, `cancelled`, `revoked` or `expired`.
    #[schema(example = "issued")]
    pub status: String,
    pub names: Vec<String>,
    /// In hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub serial_number: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub subject: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub issuer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "ec-p256")]
    pub key_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub not_before: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub not_after: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub sha256_fingerprint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub revoked_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub revocation_reason: Option<String>,
    /// `reseller` or `acme`.
    pub requested_via: String,
    pub created_at: String,
    pub updated_at: String,
}

/// What is sent as it is, octet by octet: a certificate in DER, or several in PKCS #7.
#[derive(Debug, Clone, PartialEq, Eq, ToSchema)]
#[schema(value_type = String, format = Binary)]
pub struct Binary(pub Vec<u8>);

/// A certificate with its metadata and the chain above it, in PEM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CertificateWithChain {
    #[serde(flatten)]
    pub metadata: CertificateMetadata,
    pub certificate: String,
    pub chain: String,
}

list! {
    /// A page of certificates.
    CertificateSummaryList of CertificateMetadata
}
