//! Public keys as certificates have them (RFC 5280 section 4.1.2.7): enough DER for that.

/// id-ecPublicKey with its curve (RFC 5480 section 2.1.1).
pub(crate) const P256: &[u8] = &[6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
pub(crate) const P384: &[u8] = &[6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, 6, 5, 0x2b, 0x81, 4, 0, 34];
pub(crate) const P521: &[u8] = &[6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, 6, 5, 0x2b, 0x81, 4, 0, 35];
/// id-Ed25519 (RFC 8410 section 3).
pub(crate) const ED25519: &[u8] = &[6, 3, 0x2b, 0x65, 0x70];
/// rsaEncryption, with the NULL that belongs to it (RFC 3279 section 2.3.1).
const RSA: &[u8] = &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1, 5, 0];

const INTEGER: u8 = 2;
const BIT_STRING: u8 = 3;
const SEQUENCE: u8 = 0x30;

/// From an encoded point.
pub(crate) fn point(algorithm: &[u8], point: &[u8]) -> Vec<u8> {
    info(algorithm, point)
}

/// From a modulus and an exponent, both without leading zeros.
pub(crate) fn rsa(n: &[u8], e: &[u8]) -> Vec<u8> {
    info(RSA, &tlv(SEQUENCE, &[integer(n), integer(e)].concat()))
}

fn info(algorithm: &[u8], key: &[u8]) -> Vec<u8> {
    let bits = [&[0], key].concat();
    tlv(SEQUENCE, &[tlv(SEQUENCE, algorithm), tlv(BIT_STRING, &bits)].concat())
}

/// A number that is not negative, whatever its first bit is.
fn integer(bytes: &[u8]) -> Vec<u8> {
    let sign: &[u8] = if bytes.first().is_some_and(|first| first & 0x80 != 0) { &[0] } else { &[] };
    tlv(INTEGER, &[sign, bytes].concat())
}

fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let length = &length[length.iter().take_while(|byte| **byte == 0).count()..];
    let mut der = vec![tag];
    match content.len() {
        short @ 0..=127 => der.push(short as u8),
        _ => {
            der.push(0x80 | length.len() as u8);
            der.extend_from_slice(length);
        }
    }
    der.extend_from_slice(content);
    der
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::encoding::AsDer;
    use aws_lc_rs::rsa::{KeyPair, KeySize};
    use aws_lc_rs::signature::{self as lc, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};

    use crate::{Jwk, base64url};

    #[test]
    fn is_what_the_cryptographic_library_writes() {
        let curves = [
            (&lc::ECDSA_P256_SHA256_FIXED_SIGNING, "P-256"),
            (&lc::ECDSA_P384_SHA384_FIXED_SIGNING, "P-384"),
            (&lc::ECDSA_P521_SHA512_FIXED_SIGNING, "P-521"),
        ];
        for (algorithm, name) in curves {
            let pair = EcdsaKeyPair::generate(algorithm).unwrap();
            let (x, y) = pair.public_key().as_ref()[1..].split_at((pair.public_key().as_ref().len() - 1) / 2);
            let (x, y) = (base64url::encode(x), base64url::encode(y));
            let jwk = serde_json::json!({"kty": "EC", "crv": name, "x": x, "y": y});
            let der = AsDer::<aws_lc_rs::encoding::PublicKeyX509Der<'_>>::as_der(pair.public_key()).unwrap();
            assert_eq!(Jwk::from_value(&jwk).unwrap().to_spki(), der.as_ref(), "{name}");
        }
        let pair = Ed25519KeyPair::generate().unwrap();
        let x = base64url::encode(pair.public_key().as_ref());
        let jwk = serde_json::json!({"kty": "OKP", "crv": "Ed25519", "x": x});
        let der = AsDer::<aws_lc_rs::encoding::PublicKeyX509Der<'_>>::as_der(pair.public_key()).unwrap();
        assert_eq!(Jwk::from_value(&jwk).unwrap().to_spki(), der.as_ref());
        let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
        // RSAPublicKey: a modulus of 256 octets after its headers and a zero, and then 65537.
        let n = base64url::encode(&pair.public_key().as_ref()[9..265]);
        let jwk = serde_json::json!({"kty": "RSA", "n": n, "e": "AQAB"});
        let der = AsDer::<aws_lc_rs::encoding::PublicKeyX509Der<'_>>::as_der(pair.public_key()).unwrap();
        assert_eq!(Jwk::from_value(&jwk).unwrap().to_spki(), der.as_ref());
    }
}
