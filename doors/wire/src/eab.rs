//! EAB credentials.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::account::Account;
use crate::list::list;

/// What may be said of a new credential; the body may also be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EabCredentialRequest {
    /// A note, such as the name of the machine it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, min_length = 1, max_length = 100)]
    pub label: Option<String>,
    /// After this many days it binds no new ACME accounts. Accounts that it has bound go on, and so do orders that name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1, maximum = 3650)]
    pub expires_in_days: Option<u32>,
    /// How many ACME accounts it may bind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1, maximum = 1_000_000)]
    pub max_bindings: Option<u32>,
}

/// A new EAB credential, with everything an ACME client has to be told.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = EABAuthorization)]
pub struct EabAuthorization {
    #[serde(flatten)]
    pub account: Account,
    /// The HMAC key as base64url: the same text as `hmacKey`.
    pub hmac_key_url: String,
    /// The ACME directory of the service's default profile, if the account may use that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub acme_directory: Option<String>,
    /// The ACME directory of each profile that the account may use.
    pub acme_directories: BTreeMap<String, String>,
}

/// Without the secret.
impl fmt::Debug for EabAuthorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EabAuthorization").field("account", &self.account).finish_non_exhaustive()
    }
}

list! {
    /// A page of EAB credentials.
    EabCredentialList of Account
}
