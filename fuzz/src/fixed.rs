//! Keys and names that never change, so that an input means the same in every run.

use std::sync::LazyLock;

use chancery_jose::SigningKey;
use chancery_pki::{PrivateKey, Signer as _};
use data_encoding::HEXLOWER;

/// The P-256 key of RFC 6979 appendix A.2.5: known to everybody, and so good for nothing else.
const P256: &[u8] = b"3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420\
                      c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721";

/// The secret of every binding.
pub const SECRET: [u8; 32] = [0x42; 32];
/// Where every signed request is sent to.
pub const URL: &str = "https://ca.test/acme/TLS-90d/new-account";
/// For whom every tls-alpn-01 certificate is.
pub const NAME: &str = "example.test";
/// The digest that every tls-alpn-01 certificate should hold.
pub const DIGEST: [u8; 32] = [0x17; 32];

/// The key as PKCS #8.
pub fn pkcs8() -> Vec<u8> {
    HEXLOWER.decode(P256).expect("it is hexadecimal")
}

/// The key for JOSE.
pub static JOSE: LazyLock<SigningKey> = LazyLock::new(|| SigningKey::from_pkcs8(&pkcs8()).expect("it is a key"));

/// The key for X.509.
pub static X509: LazyLock<PrivateKey> = LazyLock::new(|| PrivateKey::from_pkcs8(&pkcs8()).expect("it is a key"));

/// What was signed with the fixed key, its algorithm (ecdsa-with-SHA256) and the signature: how certificates and
/// requests are put together alike (RFC 5280 section 4.1, RFC 2986 section 4).
pub fn signed(contents: &[u8]) -> Vec<u8> {
    const ALGORITHM: &[u8] = b"\x30\x0a\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02";
    let signature = X509.sign(contents).expect("the fixed key signs");
    tlv(0x30, &[contents, ALGORITHM, &tlv(0x03, &[&[0], &signature])])
}

/// One element in DER.
pub fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = content.len().to_be_bytes();
    let digits = &length[length.iter().take_while(|byte| **byte == 0).count()..];
    let mut element = vec![tag];
    match content.len() {
        short @ ..0x80 => element.push(short as u8),
        _ => {
            element.push(0x80 | digits.len() as u8);
            element.extend_from_slice(digits);
        }
    }
    element.extend(content);
    element
}
