//! Answers of the token endpoint: the names are those of RFC 6749.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A token (RFC 6749 section 5.1).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenResponse {
    pub access_token: String,
    #[schema(example = "reseller read:account write:account")]
    pub scope: String,
    #[schema(example = 86400)]
    pub expires_in: u64,
    #[schema(example = "Bearer")]
    pub token_type: String,
}

/// Without the secret.
impl fmt::Debug for TokenResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenResponse")
            .field("scope", &self.scope)
            .field("expires_in", &self.expires_in)
            .finish_non_exhaustive()
    }
}

/// No token (RFC 6749 section 5.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenErrorResponse {
    /// `invalid_client`, `invalid_request`, `invalid_scope`, `unauthorized_client` or `unsupported_grant_type`.
    #[schema(example = "invalid_client")]
    pub error: String,
    pub error_description: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_logged_of_an_answer_is_not_its_secret() {
        let (access_token, scope, token_type) = ("hunter2".to_owned(), "reseller".to_owned(), "Bearer".to_owned());
        let token = TokenResponse { access_token, scope, expires_in: 60, token_type };
        assert_eq!(format!("{token:?}"), r#"TokenResponse { scope: "reseller", expires_in: 60, .. }"#);
    }
}
