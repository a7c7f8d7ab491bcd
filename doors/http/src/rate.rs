//! The headers that tell clients how they stand with a rate limit, and the refusal of those who are beyond it.

use chancery_overload::{Decision, Limit};
use chancery_wire::ErrorCode;
use http::{HeaderMap, HeaderName, HeaderValue, header::RETRY_AFTER};

use crate::error::ApiError;

/// What is granted (draft-ietf-httpapi-ratelimit-headers: `q` requests in a window of `w` seconds).
const RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// What is left of it (the same: `r` requests, for the next `t` seconds).
const RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// Puts `RateLimit-Policy` and `RateLimit` on a response that has none, and `Retry-After` on a refusal.
pub fn apply_rate(decision: &Decision, headers: &mut HeaderMap) {
    if headers.contains_key(RATELIMIT) {
        return;
    }
    let (name, rate) = (decision.limit.as_str(), &decision.rate);
    insert(headers, RATELIMIT_POLICY, &format!("\"{name}\";q={};w={}", rate.burst, rate.window_seconds()));
    let (remaining, reset) = (decision.remaining, decision.reset_seconds());
    insert(headers, RATELIMIT, &format!("\"{name}\";r={remaining};t={reset}"));
    if let Some(seconds) = decision.retry_seconds() {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
}

/// 429 `rate_limited` with its headers.
pub(crate) fn refused(decision: &Decision) -> ApiError {
    let (seconds, rate) = (decision.retry_seconds().unwrap_or(1), &decision.rate);
    let message = format!(
        "Too many {}; {} in {} s are granted. Try again in {seconds} s.",
        decision.limit.label(),
        rate.count,
        rate.per.as_secs()
    );
    let mut error = ApiError::too_many(ErrorCode::RateLimited, message, seconds).with_limit(decision.limit);
    apply_rate(decision, &mut error.headers);
    error
}

/// 429 `rate_limited` for a reseller with too many CSV exports in progress. They end when their reader has read them.
pub(crate) fn too_many_exports(most: u32, message: String) -> ApiError {
    let seconds = 5;
    let name = Limit::Exports.as_str();
    let mut error = ApiError::too_many(ErrorCode::RateLimited, message, seconds);
    insert(&mut error.headers, RATELIMIT_POLICY, &format!("\"{name}\";q={most}"));
    insert(&mut error.headers, RATELIMIT, &format!("\"{name}\";r=0;t={seconds}"));
    error
}

fn insert(headers: &mut HeaderMap, name: HeaderName, text: &str) {
    headers.insert(name, HeaderValue::from_str(text).expect("digits and ASCII punctuation only"));
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::time::Duration;

    use axum::response::IntoResponse;
    use chancery_overload::Rate;

    use super::*;

    fn decision(remaining: u32, retry_after: Option<Duration>) -> Decision {
        let number = |n| NonZeroU32::new(n).unwrap();
        let rate = Rate::per_second(number(50), number(200));
        Decision { limit: Limit::Requests, rate, remaining, retry_after }
    }

    fn headers(decision: Decision) -> (String, String) {
        let mut headers = HeaderMap::new();
        apply_rate(&decision, &mut headers);
        let text = |name| headers[name].to_str().unwrap().to_owned();
        (text("ratelimit-policy"), text("ratelimit"))
    }

    #[test]
    fn the_headers_tell_how_the_bucket_stands() {
        let first = headers(decision(199, None));
        assert_eq!(first, (r#""requests";q=200;w=4"#.into(), r#""requests";r=199;t=1"#.into()));
        assert_eq!(headers(decision(0, None)).1, r#""requests";r=0;t=4"#);
        assert_eq!(headers(decision(0, Some(Duration::from_millis(20)))).1, r#""requests";r=0;t=1"#);
    }

    #[test]
    fn a_refusal_says_when_to_come_again() {
        let response = refused(&decision(0, Some(Duration::from_millis(1100)))).into_response();
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()["retry-after"], "2");
        assert_eq!(response.headers()["ratelimit"], r#""requests";r=0;t=2"#);
    }
}
