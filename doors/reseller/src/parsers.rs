//! The readers of what resellers send, without the use cases behind them: for the fuzz targets.

use chancery_http::{ApiError, parsers::json_body};
use chancery_service::{PolicyInput, Settings};

use crate::policy_rules::read_policy;

/// Reads a policy as the operations that create and replace one do.
pub fn policy(text: &[u8], settings: &Settings) -> Result<PolicyInput, ApiError> {
    json_body(text, |request| read_policy(request, settings))
}
