//! Which program is answering.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The program and its version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    #[schema(example = "chancery")]
    pub name: String,
    #[schema(example = "0.1.0")]
    pub version: String,
    /// The version in the paths.
    #[schema(example = "v1")]
    pub api_version: String,
}
