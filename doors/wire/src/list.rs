//! What lists and references have in common.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Another resource, by its lookup and its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamedReference {
    /// Addresses the resource.
    pub lookup: String,
    /// What its owner calls it.
    pub name: String,
}

/// Writes a list type: a page of items and the cursor of the next page.
macro_rules! list {
    ($(#[$doc:meta])* $name:ident of $item:ty) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            /// This page, newest first.
            pub items: Vec<$item>,
            /// Pass it as `cursor` for the next page; absent on the last page.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schema(nullable = false)]
            pub next_cursor: Option<String>,
        }
    };
}
pub(crate) use list;
