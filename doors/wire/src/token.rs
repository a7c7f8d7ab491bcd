//! Answers of the token endpoint: the names are those of RFC 6749.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A token (RFC 6749 section 5.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenResponse {
    pub access_token: String,
    #[schema(example = "reseller read:account write:account")]
    pub scope: String,
    #[schema(example = 86400)]
    pub expires_in: u64,
    #[schema(example = "Bearer")]
    pub token_type: String,
}

/// No token (RFC 6749 section 5.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenErrorResponse {
    /// `invalid_client`, `invalid_request`, `invalid_scope`, `unauthorized_client` or `unsupported_grant_type`.
    #[schema(example = "invalid_client")]
    pub error: String,
    pub error_description: String,
}
