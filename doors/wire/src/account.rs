//! Customer accounts.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::list::{NamedReference, list};
use crate::metadata::{all_pairs, pairs};

/// Creates a root account.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResellerAccountRequest {
    /// One e-mail address of the customer, unique among your accounts that are not deleted.
    #[schema(example = "admin@example.com")]
    pub customer_email: String,
    /// Lookups of the account groups to put the account into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_items = 100)]
    pub account_groups: Option<Vec<String>>,
    /// Your own reference, unique among your accounts that are not deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, min_length = 1, max_length = 255)]
    pub external_id: Option<String>,
    /// At most 16 pairs of your own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = pairs)]
    pub metadata: Option<BTreeMap<String, String>>,
}

/// Changes what it names of an account and leaves the rest; it must name something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResellerUpdateAccountRequest {
    /// Another e-mail address.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub customer_email: Option<String>,
    /// `true` stops ordering and issuing for the account at once, `false` lets it go on where it stood.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub suspended: Option<bool>,
    /// Another reference of yours.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, min_length = 1, max_length = 255)]
    pub external_id: Option<String>,
    /// Replaces all pairs; at most 16.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = all_pairs)]
    pub metadata: Option<BTreeMap<String, String>>,
}

/// Takes a value but not null: a change that is asked for must not be dropped in silence.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// A root account, or one of its further EAB credentials: they have one shape.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// Addresses it: `acc_…` for a root account, `eab_…` for a further credential.
    #[schema(example = "acc_01jcq3v9k2e7x8t5m4n6p0r1sw")]
    pub lookup: String,
    /// A number that is never used again.
    #[schema(example = 42)]
    pub id: i64,
    /// The EAB key id.
    #[schema(example = "0d8f1c4e-6a1b-4c3d-9e2f-7a5b3c1d9e8f")]
    pub kid: String,
    /// Your reseller code.
    #[schema(example = "DEMO")]
    pub reseller_code: String,
    /// The customer's e-mail address.
    #[schema(example = "admin@example.com")]
    pub email: String,
    /// Whether this EAB credential is revoked; on a root account, its first one.
    pub revoked: bool,
    /// Whether the account is terminated.
    pub deleted: bool,
    /// Whether the account is suspended.
    pub suspended: bool,
    /// On a root account `active`, `suspended` or `terminated`; on a further credential `unused`, `bound` or `revoked`.
    #[schema(example = "active")]
    pub status: String,
    /// The EAB HMAC key, valid base64 and base64url alike. Shown once, in the answer that creates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub hmac_key: Option<String>,
    /// The lookup of the root account; null on a root account.
    #[schema(required = true)]
    pub parent: Option<String>,
    /// Your own reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub external_id: Option<String>,
    /// Your own pairs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// A note on the credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub label: Option<String>,
    /// The time at which the credential stops binding new ACME accounts. What it bound before goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub expires_at: Option<String>,
    /// How many ACME accounts the credential may bind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub max_bindings: Option<u32>,
    /// The URLs of the ACME accounts bound by the credential. Left out where the account is told of and not its credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub bound_accounts: Option<Vec<String>>,
    /// When the credential, or an ACME account it bound, was last in use; exact to ten minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub last_used_at: Option<String>,
    #[schema(example = "2026-11-15T00:00:00Z")]
    pub created_at: String,
    #[schema(example = "2026-11-15T00:00:00Z")]
    pub updated_at: String,
}

/// Without the secret.
impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account")
            .field("lookup", &self.lookup)
            .field("kid", &self.kid)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// An account with its EAB credentials and its groups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountWithGroups {
    #[serde(flatten)]
    pub account: Account,
    /// The newest credentials, the first one included: 100, or fewer if they have bound more than 2,000 ACME accounts.
    pub eab_credentials: Vec<Account>,
    /// Continues the list at `GET /v1/account/{lookup}/eab-credential`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub eab_credentials_next_cursor: Option<String>,
    /// The groups the account is in.
    pub groups: Vec<NamedReference>,
}

list! {
    /// A page of root accounts.
    AccountList of Account
}
