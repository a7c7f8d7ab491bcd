//! Issuance policies.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::error::{FieldProblem, is_zero};
use crate::list::{NamedReference, list};

/// Writes the request and the record from one list of rules, so that none is in one and not in the other.
macro_rules! policy {
    ($($(#[$attribute:meta])* $rule:ident: $kind:ty,)*) => {
        /// Creates or replaces an issuance policy. Every rule is optional; one that is left out permits everything.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        #[serde(deny_unknown_fields)]
        pub struct IssuancePolicy {
            /// Unique among your policies.
            #[schema(example = "Only our own domains", min_length = 1, max_length = 255)]
            pub name: String,
            /// Free text.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schema(nullable = false, max_length = 2000)]
            pub description: Option<String>,
            $(
                $(#[$attribute])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $rule: Option<$kind>,
            )*
        }

        /// An issuance policy.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        #[serde(rename_all = "camelCase")]
        pub struct IssuancePolicyRecord {
            #[schema(example = "pol_01jcq3v9k2e7x8t5m4n6p0r1sw")]
            pub lookup: String,
            pub name: String,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schema(nullable = false)]
            pub description: Option<String>,
            $(
                $(#[$attribute])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $rule: Option<$kind>,
            )*
            /// The groups it is assigned to: the first 1,000 by name.
            pub assigned_groups: Vec<NamedReference>,
            pub created_at: String,
            pub updated_at: String,
        }
    };
}

policy! {
    /// Only names covered by one of these: `example.com` itself, `*.example.com` any name below it, `**` every name.
    #[schema(nullable = false, example = json!(["example.com", "*.example.com"]))]
    allowed_domains: Vec<String>,
    /// No names covered by one of these, whatever else allows them.
    #[schema(nullable = false)]
    denied_domains: Vec<String>,
    /// Whether wildcard names may be ordered.
    #[schema(nullable = false)]
    allow_wildcards: bool,
    /// Whether IP addresses may be ordered. Where `allowed_domains` is given, they may only if this is true.
    #[schema(nullable = false)]
    allow_ip_addresses: bool,
    /// Only these profiles.
    #[schema(nullable = false, example = json!(["TLS-90d"]))]
    allowed_profiles: Vec<String>,
    /// Only keys of these types: `rsa-2048`, `rsa-3072`, `rsa-4096`, `ec-p256`, `ec-p384`, `ed25519`.
    #[schema(nullable = false, example = json!(["ec-p256"]))]
    allowed_key_types: Vec<String>,
    /// Only these challenges: `http-01`, `dns-01`, `tls-alpn-01`, `dns-account-01`, `dns-persist-01`.
    #[schema(nullable = false)]
    allowed_challenge_types: Vec<String>,
    /// Most names in one certificate.
    #[schema(nullable = false, minimum = 1, maximum = 100)]
    max_names: u32,
    /// Longest validity: shortens the profile's.
    #[schema(nullable = false, minimum = 1, maximum = 825)]
    max_validity_days: u32,
    /// Most certificates a day, for each account.
    #[schema(nullable = false, format = Int64, maximum = 4_294_967_295_u32)]
    max_certificates_per_day: u32,
    /// Most certificates in seven days, for each account.
    #[schema(nullable = false, format = Int64, maximum = 4_294_967_295_u32)]
    max_certificates_per_week: u32,
    /// Most certificates at a time that are neither expired nor revoked, for each account.
    #[schema(nullable = false, format = Int64, maximum = 4_294_967_295_u32)]
    max_active_certificates: u32,
    /// `false` stops all issuance.
    #[schema(nullable = false)]
    issuance_enabled: bool,
}

list! {
    /// A page of policies.
    PolicyList of IssuancePolicyRecord
}

/// Asks what would happen to an order, without ordering. Names exactly one of the three ways to an account.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyEvaluationRequest {
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
    /// The names or addresses of the certificate.
    #[schema(min_items = 1, max_items = 1000)]
    pub identifiers: Vec<IdentifierInput>,
    /// Judged where it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "ec-p256")]
    pub key_type: Option<String>,
    /// Judged where it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "http-01")]
    pub challenge_type: Option<String>,
    /// A validity to ask for by name; where it is left out, the longest that is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1)]
    pub validity_days: Option<u32>,
}

/// A name: a text, or an object that says which kind it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum IdentifierInput {
    /// Such as `www.example.com`, `*.example.com` or `192.0.2.1`.
    Text(String),
    /// Such as `{"type": "dns", "value": "www.example.com"}`.
    Typed(TypedIdentifier),
}

/// Derived code would try one form after the other and say of neither what is wrong in it. An object is read as one at
/// once, so that a member it does not know is named.
impl<'de> Deserialize<'de> for IdentifierInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrTyped)
    }
}

struct TextOrTyped;

impl<'de> Visitor<'de> for TextOrTyped {
    type Value = IdentifierInput;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name or an object with type and value")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<IdentifierInput, E> {
        Ok(IdentifierInput::Text(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<IdentifierInput, A::Error> {
        TypedIdentifier::deserialize(MapAccessDeserializer::new(members)).map(IdentifierInput::Typed)
    }
}

/// A name and its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TypedIdentifier {
    /// `dns` or `ip`.
    #[serde(rename = "type")]
    #[schema(example = "dns")]
    pub kind: String,
    #[schema(example = "www.example.com")]
    pub value: String,
}

/// What would happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyEvaluation {
    /// Whether nothing stands against it.
    pub allowed: bool,
    /// The profile that was judged.
    pub profile: String,
    /// How long the certificate would be valid.
    pub validity_days: u32,
    /// The policies that were asked.
    pub policies: Vec<AppliedPolicy>,
    /// The violated rules, at most 32.
    pub violations: Vec<FieldProblem>,
    /// The number of further violations, which are not listed; left out if all are listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted_violations: usize,
}

/// A policy that was asked; the operator's default policy has no lookup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppliedPolicy {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub lookup: Option<String>,
    pub name: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_comes_back_in_the_form_in_which_it_was_written() {
        let typed = TypedIdentifier { kind: "dns".to_owned(), value: "a.test".to_owned() };
        for (name, written) in [
            (IdentifierInput::Text("a.test".to_owned()), json!("a.test")),
            (IdentifierInput::Typed(typed), json!({"type": "dns", "value": "a.test"})),
        ] {
            assert_eq!(serde_json::to_value(&name).unwrap(), written);
            assert_eq!(serde_json::from_value::<IdentifierInput>(written.clone()).unwrap(), name);
            assert_eq!(serde_json::from_str::<IdentifierInput>(&written.to_string()).unwrap(), name);
        }
    }

    #[test]
    fn what_is_wrong_in_an_object_is_named() {
        let refusal = |written| serde_json::from_value::<IdentifierInput>(written).unwrap_err().to_string();
        assert!(refusal(json!({"type": "dns", "vlaue": "a.test"})).contains("unknown field `vlaue`"));
        assert!(refusal(json!({"type": "dns"})).contains("missing field `value`"));
        for other in [json!(7), json!(null), json!(["a.test"])] {
            assert!(refusal(other).ends_with("expected a name or an object with type and value"));
        }
    }
}
