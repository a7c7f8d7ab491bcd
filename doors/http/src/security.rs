//! Headers that tell browsers to be careful.

use http::{
    HeaderMap, HeaderValue,
    header::{CACHE_CONTROL, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS},
};

/// Adds the headers to a response. A handler's own `Cache-Control` stays.
pub(crate) fn apply(headers: &mut HeaderMap, tls: bool) {
    if tls {
        // RFC 6797, section 7.2: not over plain HTTP. One year; subdomains are not ours to decide on.
        headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}
