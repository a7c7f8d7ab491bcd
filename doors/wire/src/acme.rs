//! The JSON shapes of ACME (RFC 8555 section 7.1): `camelCase` both ways. What a client sends and we do not know is
//! passed over, as the RFC asks; what is absent is left out.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An identifier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identifier {
    #[serde(rename = "type")]
    pub kind: String,
    pub value: String,
}

/// An identifier as a client asks for it (RFC 9444 sections 4.2 and 4.3).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AskedIdentifier {
    #[serde(rename = "type")]
    pub kind: String,
    pub value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ancestor_domain: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subdomain_auth_allowed: Option<bool>,
}

/// An account object (section 7.1.2). The external account binding is never shown again: not every client can read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    pub status: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contact: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub terms_of_service_agreed: bool,
    pub orders: String,
}

/// The orders of an account (section 7.1.2.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orders {
    pub orders: Vec<String>,
}

/// An order object (section 7.1.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    pub status: String,
    pub expires: String,
    pub identifiers: Vec<Identifier>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_after: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// RFC 9773 section 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Problem>,
    pub authorizations: Vec<String>,
    pub finalize: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
}

/// An authorization object (section 7.1.4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Authorization {
    pub identifier: Identifier,
    pub status: String,
    pub expires: String,
    pub challenges: Vec<Challenge>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wildcard: bool,
    /// Whether it is for all names below the identifier as well (RFC 9444 section 4.1).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub subdomain_auth_allowed: bool,
}

/// A challenge object (section 8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Challenge {
    #[serde(rename = "type")]
    pub kind: String,
    pub url: String,
    pub status: String,
    /// None where nothing has to be published for this challenge alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// dns-persist-01: whom the record is to name.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "accounturi")]
    pub account_uri: Option<String>,
    /// dns-persist-01: the CA's names, any of which will do.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "issuer-domain-names")]
    pub issuer_domain_names: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validated: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Problem>,
}

/// A problem document (RFC 7807, section 6.7).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    #[serde(rename = "type")]
    pub kind: String,
    pub detail: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// In a subproblem, what it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identifier: Option<Identifier>,
    /// Where to go next (section 7.3.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The signature algorithms that are taken (section 6.2).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub algorithms: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subproblems: Vec<Problem>,
    #[serde(default, rename = "requestId", skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The limit that refused the request, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
}

/// When to renew a certificate (RFC 9773 section 4.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RenewalInfo {
    pub suggested_window: RenewalWindow,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenewalWindow {
    pub start: String,
    pub end: String,
}

/// The payload of newAccount (section 7.3).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NewAccount {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terms_of_service_agreed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_return_existing: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_account_binding: Option<Value>,
}

/// The payload of an update to an account (sections 7.3.2 and 7.3.6).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AccountUpdate {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terms_of_service_agreed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

/// The payload of newOrder (section 7.4, RFC 9773 section 5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewOrder {
    pub identifiers: Vec<AskedIdentifier>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_after: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
}

/// The payload of newAuthz (section 7.4.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewAuthorization {
    pub identifier: AskedIdentifier,
}

/// The payload of an update to an authorization (section 7.5.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorizationUpdate {
    pub status: String,
}

/// The payload of finalizing (section 7.4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finalize {
    pub csr: String,
}

/// The payload of revokeCert (section 7.6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revocation {
    pub certificate: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<i64>,
}

/// The inner payload of keyChange (section 7.3.5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyChange {
    pub account: String,
    pub old_key: Value,
}
