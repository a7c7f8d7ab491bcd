//! The worked examples of the RFCs.
#![allow(clippy::unwrap_used)]

use chancery_jose::{Algorithm, HmacKey, Jwk, Jws, KeyError, Signer as _, base64url, jws};

const LIMIT: usize = 8192;

const CLAIMS_SEGMENT: &str =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
const CLAIMS: &[u8] = b"{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}";

const A2_KEY: &str = r#"{"kty":"RSA","e":"AQAB","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"}"#;
const A2_SIGNATURE: &str = "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";

const A3_KEY: &str = r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#;
const A3_SIGNATURE: &str = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

const COOKBOOK_RSA: &str = r#"{"kty":"RSA","kid":"bilbo.baggins@hobbiton.example","use":"sig","e":"AQAB","n":"n4EPtAOCc9AlkeQHPzHStgAbgs7bTZLwUBZdR8_KuKPEHLd4rHVTeT-O-XV2jRojdNhxJWTDvNd7nqQ0VEiZQHz_AJmSCpMaJMRBSFKrKb2wqVwGU_NsYOYL-QtiWN2lbzcEe6XC0dApr5ydQLrHqkHHig3RBordaZ6Aj-oBHqFEHYpPe7Tpe-OfVfHd1E6cS6M1FZcD1NNLYD5lFHpPI9bTwJlsde3uhGqC0ZCuEHg8lhzwOHrtIQbS0FVbb9k3-tVTU4fg_3L_vniUFAKwuCLqKnS2BYwdq_mzSnbLY7h_qixoR7jig3__kRhuaxwUkRz5iaiQkqgc5gHdrNP5zw"}"#;
const COOKBOOK_PAYLOAD: &str = "SXTigJlzIGEgZGFuZ2Vyb3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4gWW91IHN0ZXAgb250byB0aGUgcm9hZCwgYW5kIGlmIHlvdSBkb24ndCBrZWVwIHlvdXIgZmVldCwgdGhlcmXigJlzIG5vIGtub3dpbmcgd2hlcmUgeW91IG1pZ2h0IGJlIHN3ZXB0IG9mZiB0by4";

fn key(text: &str) -> Jwk {
    Jwk::parse(text.as_bytes()).unwrap()
}

/// Verifies, and does not once the payload or the signature is changed.
fn assert_verifies(compact: &str, key: &Jwk, payload: &[u8]) {
    assert_eq!(Jws::compact(compact, LIMIT).unwrap().verify(key), Ok(payload));
    let mut parts: Vec<Vec<u8>> = compact.split('.').map(|part| base64url::decode(part).unwrap()).collect();
    for part in [1, 2] {
        parts[part][0] ^= 1;
        let changed: Vec<String> = parts.iter().map(|part| base64url::encode(part)).collect();
        assert!(Jws::compact(&changed.join("."), LIMIT).unwrap().verify(key).is_err());
        parts[part][0] ^= 1;
    }
}

#[test]
fn rfc_7515_a1_hs256_verifies_and_is_reproduced() {
    let secret =
        base64url::decode("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow")
            .unwrap();
    let key = HmacKey::new(Algorithm::HS256, &secret).unwrap();
    let input = format!("eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.{CLAIMS_SEGMENT}");
    let mac = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    assert_eq!(Jws::compact(&format!("{input}.{mac}"), LIMIT).unwrap().verify(&key), Ok(CLAIMS));
    assert_eq!(base64url::encode(&key.sign(input.as_bytes()).unwrap()), mac);
}

#[test]
fn rfc_7515_a2_rs256_verifies() {
    assert_verifies(&format!("eyJhbGciOiJSUzI1NiJ9.{CLAIMS_SEGMENT}.{A2_SIGNATURE}"), &key(A2_KEY), CLAIMS);
}

#[test]
fn rfc_7515_a3_es256_verifies() {
    assert_verifies(&format!("eyJhbGciOiJFUzI1NiJ9.{CLAIMS_SEGMENT}.{A3_SIGNATURE}"), &key(A3_KEY), CLAIMS);
}

#[test]
fn rfc_7515_a4_es512_verifies() {
    let key = key(
        r#"{"kty":"EC","crv":"P-521","x":"AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk","y":"ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2"}"#,
    );
    let compact = "eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA.AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI-KGDKB34XO0aw_7XdtAG8GaSwFKdCAPZgoXD2YBJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn";
    assert_verifies(compact, &key, b"Payload");
}

#[test]
fn rfc_7515_a5_unsecured_is_refused() {
    let refused = Jws::compact(&format!("eyJhbGciOiJub25lIn0.{CLAIMS_SEGMENT}."), LIMIT);
    assert_eq!(refused.unwrap_err(), chancery_jose::JwsError::UnsupportedAlgorithm("none".to_owned()));
}

#[test]
fn rfc_7520_4_2_ps384_verifies() {
    let compact = format!(
        "eyJhbGciOiJQUzM4NCIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9.{COOKBOOK_PAYLOAD}.cu22eBqkYDKgIlTpzDXGvaFfz6WGoz7fUDcfT0kkOy42miAh2qyBzk1xEsnk2IpN6-tPid6VrklHkqsGqDqHCdP6O8TTB5dDDItllVo6_1OLPpcbUrhiUSMxbbXUvdvWXzg-UD8biiReQFlfz28zGWVsdiNAUf8ZnyPEgVFn442ZdNqiVJRmBqrYRXe8P_ijQ7p8Vdz0TTrxUeT3lm8d9shnr2lfJT8ImUjvAA2Xez2Mlp8cBE5awDzT0qI0n6uiP1aCN_2_jLAeQTlqRHtfa64QQSUmFAAjVKPbByi7xho0uTOcbH510a6GYmJUAfmWjwZ6oD4ifKo8DYM-X72Eaw"
    );
    assert_verifies(&compact, &key(COOKBOOK_RSA), &base64url::decode(COOKBOOK_PAYLOAD).unwrap());
    assert_eq!(Jws::compact(&compact, LIMIT).unwrap().header().kid.as_deref(), Some("bilbo.baggins@hobbiton.example"));
}

#[test]
fn rfc_7520_4_3_es512_verifies() {
    let key = key(
        r#"{"kty":"EC","kid":"bilbo.baggins@hobbiton.example","use":"sig","crv":"P-521","x":"AHKZLLOsCOzz5cY97ewNUajB957y-C-U88c3v13nmGZx6sYl_oJXu9A5RkTKqjqvjyekWF-7ytDyRXYgCF5cj0Kt","y":"AdymlHvOiLxXkEhayXQnNCvDX4h9htZaCJN34kfmC6pV5OhQHiraVySsUdaQkAgDPrwQrJmbnX9cwlGfP-HqHZR1"}"#,
    );
    let compact = format!(
        "eyJhbGciOiJFUzUxMiIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9.{COOKBOOK_PAYLOAD}.AE_R_YZCChjn4791jSQCrdPZCNYqHXCTZH0-JZGYNlaAjP2kqaluUIIUnC9qvbu9Plon7KRTzoNEuT4Va2cmL1eJAQy3mtPBu_u_sDDyYjnAMDxXPn7XrT0lw-kvAD890jl8e2puQens_IEKBpHABlsbEPX6sFY8OcGDqoRuBomu9xQ2"
    );
    assert_verifies(&compact, &key, &base64url::decode(COOKBOOK_PAYLOAD).unwrap());
}

#[test]
fn rfc_8037_a4_eddsa_verifies_and_a3_thumbprint_matches() {
    let key = key(r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#);
    let compact = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    assert_verifies(compact, &key, b"Example of Ed25519 signing");
    assert_eq!(key.thumbprint(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
}

#[test]
fn rfc_7638_3_1_thumbprint_matches() {
    let key = key(
        r#"{"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw","e":"AQAB","alg":"RS256","kid":"2011-04-29"}"#,
    );
    assert_eq!(key.thumbprint(), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
    assert!(key.to_canonical_json().starts_with(r#"{"e":"AQAB","kty":"RSA","n":"0vx7"#));
}

/// Every RSA algorithm, and P-384, against signatures made by the key pairs of the cryptographic library.
#[test]
fn every_other_algorithm_verifies_what_the_library_signs() {
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::rsa::KeySize;
    use aws_lc_rs::signature::{self as lc, KeyPair as _};

    struct Foreign<F>(Algorithm, F);
    impl<F: Fn(&[u8]) -> Vec<u8>> chancery_jose::Signer for Foreign<F> {
        fn algorithm(&self) -> Algorithm {
            self.0
        }
        fn sign(&self, input: &[u8]) -> Result<Vec<u8>, KeyError> {
            Ok(self.1(input))
        }
    }

    let pair = std::sync::Arc::new(lc::RsaKeyPair::generate(KeySize::Rsa2048).unwrap());
    // PKCS#1 RSAPublicKey of 2048 bits: nine octets of tags, lengths and sign, then the modulus, then 65537.
    let modulus = pair.public_key().as_ref()[9..265].to_vec();
    let encode = |bytes: &[u8]| base64url::encode(bytes);
    let jwk = serde_json::json!({ "kty": "RSA", "n": encode(&modulus), "e": "AQAB" });
    let rsa = Jwk::from_value(&jwk).unwrap();
    let encodings: [(Algorithm, &'static dyn lc::RsaEncoding); 6] = [
        (Algorithm::RS256, &lc::RSA_PKCS1_SHA256),
        (Algorithm::RS384, &lc::RSA_PKCS1_SHA384),
        (Algorithm::RS512, &lc::RSA_PKCS1_SHA512),
        (Algorithm::PS256, &lc::RSA_PSS_SHA256),
        (Algorithm::PS384, &lc::RSA_PSS_SHA384),
        (Algorithm::PS512, &lc::RSA_PSS_SHA512),
    ];
    for (alg, encoding) in encodings {
        let pair = pair.clone();
        let sign = move |input: &[u8]| {
            let mut signature = vec![0; pair.public_modulus_len()];
            pair.sign(encoding, &SystemRandom::new(), input, &mut signature).unwrap();
            signature
        };
        let compact = jws::sign_compact(serde_json::Map::new(), b"x", &Foreign(alg, sign)).unwrap();
        assert_verifies(&compact, &rsa, b"x");
    }

    let pair = lc::EcdsaKeyPair::generate(&lc::ECDSA_P384_SHA384_FIXED_SIGNING).unwrap();
    let (x, y) = pair.public_key().as_ref()[1..].split_at(48);
    let jwk = serde_json::json!({ "kty": "EC", "crv": "P-384", "x": encode(x), "y": encode(y) });
    let sign = move |input: &[u8]| pair.sign(&SystemRandom::new(), input).unwrap().as_ref().to_vec();
    let compact = jws::sign_compact(serde_json::Map::new(), b"x", &Foreign(Algorithm::ES384, sign)).unwrap();
    assert_verifies(&compact, &Jwk::from_value(&jwk).unwrap(), b"x");
}
