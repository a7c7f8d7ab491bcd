//! The layout of a sealed value.
//!
//! ```text
//! version (1) | length of key id (1) | key id | nonce (12) | ciphertext | tag (16)
//! ```
//! Everything before the nonce is the header. It goes into the additional authenticated data, before
//! the context; it says its own length, so header and context cannot be confused with each other.

use crate::error::SealError;

pub(crate) const NONCE_LEN: usize = 12;
pub(crate) const TAG_LEN: usize = 16;
const VERSION: u8 = 1;

/// The id of the key that sealed this value; says nothing about whether it opens.
///
/// For finding what is still sealed with an old key after a rotation.
pub fn key_id(sealed: &[u8]) -> Result<&str, SealError> {
    Ok(Envelope::parse(sealed)?.key_id)
}

/// The parts of a sealed value.
pub(crate) struct Envelope<'a> {
    pub(crate) header: &'a [u8],
    pub(crate) key_id: &'a str,
    pub(crate) nonce: [u8; NONCE_LEN],
    pub(crate) ciphertext: &'a [u8],
}

impl<'a> Envelope<'a> {
    pub(crate) fn parse(sealed: &'a [u8]) -> Result<Self, SealError> {
        let (&version, rest) = sealed.split_first().ok_or(SealError::Malformed)?;
        if version != VERSION {
            return Err(SealError::Version(version));
        }
        let (&id_len, rest) = rest.split_first().ok_or(SealError::Malformed)?;
        let (id, rest) = rest.split_at_checked(usize::from(id_len)).ok_or(SealError::Malformed)?;
        let (nonce, ciphertext) = rest.split_first_chunk::<NONCE_LEN>().ok_or(SealError::Malformed)?;
        if id.is_empty() || ciphertext.len() < TAG_LEN {
            return Err(SealError::Malformed);
        }
        Ok(Self {
            header: &sealed[..2 + id.len()],
            key_id: std::str::from_utf8(id).map_err(|_| SealError::Malformed)?,
            nonce: *nonce,
            ciphertext,
        })
    }
}

/// The header of what the key with this id seals. Key ids are at most 64 bytes (see `key::valid_id`).
pub(crate) fn header(key_id: &str) -> Vec<u8> {
    let id_len = u8::try_from(key_id.len()).expect("a key id is at most 64 bytes");
    let mut header = Vec::with_capacity(2 + key_id.len());
    header.extend_from_slice(&[VERSION, id_len]);
    header.extend_from_slice(key_id.as_bytes());
    header
}

/// The additional authenticated data: what the value claims to be and where it belongs.
pub(crate) fn authenticated(header: &[u8], context: &str) -> Vec<u8> {
    [header, context.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_prefix_of_a_sealed_value_is_a_sealed_value_or_a_panic() {
        let mut sealed = header("k1");
        sealed.extend_from_slice(&[0; NONCE_LEN + TAG_LEN]);
        assert_eq!(key_id(&sealed).unwrap(), "k1");
        for len in 0..sealed.len() {
            assert!(matches!(key_id(&sealed[..len]), Err(SealError::Malformed)), "{len}");
        }
    }

    #[test]
    fn a_key_id_that_is_empty_or_not_text_is_malformed() {
        let body = [0; NONCE_LEN + TAG_LEN];
        assert!(matches!(key_id(&[&[1, 0][..], &body].concat()), Err(SealError::Malformed)));
        assert!(matches!(key_id(&[&[1, 1, 0xff][..], &body].concat()), Err(SealError::Malformed)));
    }

    #[test]
    fn a_value_of_another_version_says_so() {
        assert!(matches!(key_id(&[2, 0, 0]), Err(SealError::Version(2))));
    }
}
