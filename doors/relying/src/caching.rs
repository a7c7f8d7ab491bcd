//! What caches are told: a little while, and then to ask again, so that a revocation is not hidden by them.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use chancery_domain::Timestamp;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, EXPIRES, IF_NONE_MATCH, LAST_MODIFIED};
use http::{HeaderMap, StatusCode};
use time::OffsetDateTime;

/// A revocation shows everywhere within 30 s: the nodes take a few of them, caches may take these.
const MAX_AGE: Duration = Duration::from_secs(20);

/// How long something signed stands.
pub(crate) struct Freshness {
    /// Without its quotes.
    pub(crate) etag: String,
    pub(crate) modified: Timestamp,
    pub(crate) ends: Timestamp,
    pub(crate) now: Timestamp,
}

/// Gives the bytes, or only word that the client has them already (RFC 9110 section 13).
pub(crate) fn give(media_type: &'static str, body: Bytes, freshness: &Freshness, asked: &HeaderMap) -> Response {
    let Freshness { etag, modified, ends, now } = freshness;
    let age = MAX_AGE.min(ends.since(*now)).as_secs();
    let (etag, modified) = (format!("\"{etag}\""), http_date(*modified));
    let has_it = is_known(asked, &etag);
    let headers = [
        (CACHE_CONTROL, format!("public, max-age={age}, no-transform, must-revalidate")),
        (EXPIRES, http_date(now.plus(Duration::from_secs(age)))),
        (ETAG, etag),
        (LAST_MODIFIED, modified),
    ];
    if has_it {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, [(CONTENT_TYPE, media_type)], body).into_response()
}

/// By the tag alone: two lists can be of one second, and `If-Modified-Since` could not tell them apart.
fn is_known(asked: &HeaderMap, etag: &str) -> bool {
    let lists = asked.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = lists.flat_map(|list| list.split(',')).map(str::trim);
    tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

/// RFC 9110 section 5.6.7.
fn http_date(at: Timestamp) -> String {
    let at = OffsetDateTime::from_unix_timestamp(at.as_secs()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (weekday, month) = (at.weekday().to_string(), at.month().to_string());
    let (hour, minute, second) = at.to_hms();
    format!("{}, {:02} {} {:04} {hour:02}:{minute:02}:{second:02} GMT", &weekday[..3], at.day(), &month[..3], at.year())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(784_111_777);

    fn answer(ends_in: u64, asked: &[(&'static str, &str)]) -> Response {
        let freshness = Freshness {
            etag: "a1".to_owned(),
            modified: NOW.minus(Duration::from_secs(7)),
            ends: NOW.plus(Duration::from_secs(ends_in)),
            now: NOW,
        };
        let asked = asked.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        give("application/pkix-crl", Bytes::from_static(b"x"), &freshness, &asked)
    }

    #[test]
    fn dates_are_written_as_http_wants_them() {
        assert_eq!(http_date(NOW), "Sun, 06 Nov 1994 08:49:37 GMT");
    }

    #[test]
    fn caches_keep_it_for_a_little_while_and_not_beyond_its_end() {
        let fresh = answer(86_400, &[]);
        assert_eq!(fresh.headers()["cache-control"], "public, max-age=20, no-transform, must-revalidate");
        assert_eq!(fresh.headers()["expires"], "Sun, 06 Nov 1994 08:49:57 GMT");
        assert_eq!(fresh.headers()["last-modified"], "Sun, 06 Nov 1994 08:49:30 GMT");
        assert_eq!(answer(5, &[]).headers()["expires"], "Sun, 06 Nov 1994 08:49:42 GMT");
        assert_eq!(answer(0, &[]).headers()["cache-control"], "public, max-age=0, no-transform, must-revalidate");
    }

    #[test]
    fn who_has_it_already_is_told_so() {
        for known in ["\"a1\"", "\"b2\", W/\"a1\"", "*"] {
            let known = ("if-none-match", known);
            let response = answer(60, &[known]);
            assert_eq!(response.status(), 304, "{known:?}");
            assert_eq!(response.headers()["etag"], "\"a1\"");
            assert!(response.headers().contains_key("cache-control"));
        }
        for other in [("if-none-match", "\"b2\""), ("if-modified-since", "Sun, 06 Nov 1994 08:49:30 GMT")] {
            let response = answer(60, &[other]);
            assert_eq!(response.status(), 200, "{other:?}");
            assert_eq!(response.headers()["content-type"], "application/pkix-crl");
        }
    }
}
