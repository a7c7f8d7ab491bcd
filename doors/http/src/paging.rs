//! The query parameters of every list.

use chancery_domain::{PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX};
use chancery_service::ListRequest;
use chancery_wire::{ErrorCode, FieldProblem};

use crate::error::ApiError;

/// Reads `limit` and `cursor`; a limit is a whole number from 1 to 1000.
pub fn list_request(limit: Option<String>, cursor: Option<String>) -> Result<ListRequest, ApiError> {
    let limit = match limit.as_deref() {
        None => PAGE_LIMIT_DEFAULT,
        Some(text) => read_limit(text).ok_or_else(|| {
            let message = format!("limit must be a whole number from 1 to {PAGE_LIMIT_MAX}");
            let problem = FieldProblem::new("limit", "out_of_range", &message);
            ApiError::bad_request(ErrorCode::InvalidLimit, message).with_errors(vec![problem])
        })?,
    };
    Ok(ListRequest { limit, cursor })
}

fn read_limit(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|limit| digits && (1..=PAGE_LIMIT_MAX).contains(limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_whole_number_from_1_to_1000() {
        let limit = |text: &str| list_request(Some(text.to_owned()), None).ok().map(|request| request.limit);
        assert_eq!(limit("1"), Some(1));
        assert_eq!(limit("1000"), Some(1000));
        for bad in ["0", "1001", "abc", "", "-1", "+1", "1.0", " 1", "99999999999999999999"] {
            assert_eq!(limit(bad), None, "{bad:?}");
        }
        assert_eq!(list_request(None, None).unwrap().limit, 100);
    }
}
