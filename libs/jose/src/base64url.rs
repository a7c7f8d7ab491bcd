//! Base64url as JOSE wants it (RFC 7515 section 2): no padding, no white space, one spelling for each value.

use data_encoding::BASE64URL_NOPAD;

/// Encodes without padding.
pub fn encode(bytes: &[u8]) -> String {
    BASE64URL_NOPAD.encode(bytes)
}

/// Decodes; `None` for padding, white space, the `+/` alphabet, an impossible length, or trailing bits that are not
/// zero. So `encode(decode(text)) == text` for every text that is accepted.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    BASE64URL_NOPAD.decode(text.as_bytes()).ok()
}
