//! One key-encryption key, ready for use.

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, Nonce, RandomizedNonceKey},
    hmac, rand,
};
use data_encoding::{BASE64, HEXLOWER};
use zeroize::Zeroizing;

use crate::{
    envelope::{self, Envelope, NONCE_LEN, TAG_LEN},
    error::SealError,
};

pub(crate) const KEY_LEN: usize = 32;

/// A key and its id. The key lives in the cipher's context only, which wipes itself; it cannot be
/// read back and has no `Debug`.
pub(crate) struct Kek {
    id: String,
    cipher: RandomizedNonceKey,
}

impl Kek {
    pub(crate) fn new(id: String, key: &[u8; KEY_LEN]) -> Self {
        let cipher = RandomizedNonceKey::new(&AES_256_GCM, key).expect("AES-256-GCM takes any 32 bytes");
        Self { id, cipher }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn seal(&self, context: &str, plaintext: &[u8]) -> Vec<u8> {
        let mut sealed = envelope::header(&self.id);
        let aad = Aad::from(envelope::authenticated(&sealed, context));
        // Room for the tag from the start: growing would leave a copy of the plaintext behind.
        let mut body = Zeroizing::new(Vec::with_capacity(plaintext.len() + TAG_LEN));
        body.extend_from_slice(plaintext);
        let nonce = self
            .cipher
            .seal_in_place_append_tag(aad, &mut *body)
            .expect("a secret is far below GCM's limit of 64 GiB, and aws-lc's randomness does not fail");
        sealed.reserve_exact(NONCE_LEN + body.len());
        sealed.extend_from_slice(nonce.as_ref());
        sealed.extend_from_slice(&body);
        sealed
    }

    pub(crate) fn open(&self, context: &str, sealed: &Envelope<'_>) -> Result<Zeroizing<Vec<u8>>, SealError> {
        let aad = Aad::from(envelope::authenticated(sealed.header, context));
        let mut body = Zeroizing::new(sealed.ciphertext.to_vec());
        let len = self
            .cipher
            .open_in_place(Nonce::assume_unique_for_key(sealed.nonce), aad, &mut body)
            .map_err(|_| SealError::Refused)?
            .len();
        body.truncate(len);
        Ok(body)
    }
}

/// A new key of 256 random bits.
pub(crate) fn random() -> Zeroizing<[u8; KEY_LEN]> {
    let mut key = Zeroizing::new([0; KEY_LEN]);
    rand::fill(&mut *key).expect("aws-lc's randomness does not fail");
    key
}

/// Reads standard base64 of exactly 32 bytes; `None` for anything else.
pub(crate) fn from_base64(text: &str) -> Option<Zeroizing<[u8; KEY_LEN]>> {
    let text = text.as_bytes();
    // Decoded into a buffer of our own, so that no unwiped copy is left.
    let mut buffer = Zeroizing::new([0; KEY_LEN + 1]); // 44 characters hold up to 33 bytes
    let room = buffer.get_mut(..BASE64.decode_len(text.len()).ok()?)?;
    if BASE64.decode_mut(text, room).ok()? != KEY_LEN {
        return None;
    }
    let mut key = Zeroizing::new([0; KEY_LEN]);
    key.copy_from_slice(&buffer[..KEY_LEN]);
    Some(key)
}

pub(crate) fn to_base64(key: &[u8; KEY_LEN]) -> Zeroizing<String> {
    Zeroizing::new(BASE64.encode(key))
}

/// The id a key gets unless its file gives another: derived from the key, so that two keys never
/// share one (a pruned key's id does not come back) and the same key has the same id wherever it is
/// configured. It is a truncated HMAC under the key and tells nothing about it.
pub(crate) fn derived_id(key: &[u8; KEY_LEN]) -> String {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), b"chancery key id");
    format!("k-{}", HEXLOWER.encode(&tag.as_ref()[..8]))
}

/// Whether this may name a key: 1 to 64 characters that need no quoting in a log or a shell.
pub(crate) fn valid_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}
