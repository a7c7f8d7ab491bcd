//! Account groups.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::account::Account;
use crate::list::{NamedReference, list};

/// Creates or replaces an account group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResellerAccountGroupRequest {
    /// Unique among your groups.
    #[schema(example = "Web hosting", min_length = 1, max_length = 255)]
    pub name: String,
    /// Free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_length = 2000)]
    pub description: Option<String>,
}

/// The accounts to add, remove or move.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResellerAccountGroupMembersRequest {
    /// 1 to 1000 account lookups.
    #[schema(min_items = 1, max_items = 1000)]
    pub accounts: Vec<String>,
}

/// An account group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountGroupRecord {
    #[schema(example = "grp_01jcq3v9k2e7x8t5m4n6p0r1sw")]
    pub lookup: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub description: Option<String>,
    /// How many accounts are in it.
    pub member_count: i64,
    /// The policies assigned to it.
    pub policies: Vec<NamedReference>,
    pub created_at: String,
    pub updated_at: String,
}

list! {
    /// A page of account groups.
    AccountGroupList of AccountGroupRecord
}

list! {
    /// A page of the accounts in a group.
    AccountGroupMemberList of Account
}
