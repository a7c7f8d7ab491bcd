//! JWS of every algorithm, their keys, tokens, bindings and ACME requests.

use aws_lc_rs::encoding::{AsBigEndian as _, EcPublicKeyUncompressedBin};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P384_SHA384_FIXED_SIGNING, ECDSA_P521_SHA512_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
    RSA_PKCS1_SHA256, RSA_PKCS1_SHA512, RSA_PSS_SHA384, RsaKeyPair,
};
use chancery_fuzz::fixed::{JOSE, SECRET, URL};
use chancery_jose::{Algorithm, Claims, HmacKey, KeyError, Signer, base64url, jws, jwt};
use serde_json::{Map, Value, json};

use crate::keep;

/// Signs with what the library itself only verifies.
struct Hand<'a>(Algorithm, &'a dyn Fn(&[u8]) -> Vec<u8>);

impl Signer for Hand<'_> {
    fn algorithm(&self) -> Algorithm {
        self.0
    }

    fn sign(&self, input: &[u8]) -> Result<Vec<u8>, KeyError> {
        Ok(self.1(input))
    }
}

pub(crate) fn write() {
    for (alg, jwk, signer) in every_kind() {
        let name = alg.name();
        keep("jwk", name, jwk.to_string());
        let header = object(json!({ "jwk": jwk, "nonce": "AAAA", "url": URL }));
        let signer = Hand(alg, &signer);
        let signed = jws::sign_flattened(header.clone(), b"{}", &signer).expect("it signs");
        keep("jws", name, signed.to_string());
        keep("acme_request", name, signed.to_string());
        keep("jws", &format!("{name}-compact"), jws::sign_compact(header, b"", &signer).expect("it signs"));
    }
    let published = json!({ "kid": "k1", "alg": "ES256", "use": "sig" });
    let mut key = JOSE.public().to_value();
    keep("jwk", "canonical", JOSE.public().to_canonical_json());
    key.as_object_mut().expect("a key is an object").extend(object(published));
    keep("jwk", "set", json!({ "keys": [key, { "kty": "oct", "k": "AA" }] }).to_string());
    keep(
        "acme_request",
        "header-jwk",
        json!({ "jwk": JOSE.public().to_value(), "nonce": "AAAA", "url": URL }).to_string(),
    );
    let kid = "https://ca.test/acme/account/acme_01jcq3v9k2e7x8t5m4n6p0r1sw";
    keep("acme_request", "header-kid", json!({ "kid": kid, "nonce": "AAAA", "url": URL }).to_string());
    let change =
        json!({ "account": kid, "oldKey": JOSE.public().to_value(), "url": URL, "jwk": JOSE.public().to_value() });
    keep("acme_request", "key-change", change.to_string());
    tokens();
    bindings();
}

fn tokens() {
    let claims = json!({
        "iss": "https://ca.test/", "aud": ["https://ca.test/v1"], "exp": 1_800_000_100, "iat": 1_800_000_000,
        "nbf": 1_800_000_000, "sub": "cli_01jcq3v9k2e7x8t5m4n6p0r1sw", "scope": "reseller read:account",
    });
    keep("jwt", "claims", claims.to_string());
    let token = jwt::issue(&JOSE, "k1", "at+jwt", &Claims(object(claims))).expect("it signs");
    keep("jwt", "token", token);
    keep("jwt", "fraction", r#"{"iss":"https://ca.test/","aud":"https://ca.test/v1","exp":1800000000.5}"#);
}

fn bindings() {
    let header = json!({ "kid": "0d8f1c4e-6a1b-4c3d-9e2f-7a5b3c1d9e8f", "url": URL });
    keep("eab", "header", header.to_string());
    for alg in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
        let mac = HmacKey::of_one_secret(alg, &SECRET).expect("the secret is long enough");
        let key = JOSE.public().to_canonical_json();
        let signed = jws::sign_flattened(object(header.clone()), key.as_bytes(), &mac).expect("it signs");
        keep("eab", alg.name(), signed.to_string());
        keep("jws", alg.name(), signed.to_string());
        let payload = json!({ "contact": ["mailto:a@example.test"], "termsOfServiceAgreed": true, "externalAccountBinding": signed });
        keep("acme_payload", &format!("new-account-{}", alg.name()), payload.to_string());
    }
}

type Kind = (Algorithm, Value, Box<dyn Fn(&[u8]) -> Vec<u8>>);

fn every_kind() -> Vec<Kind> {
    let mut kinds: Vec<Kind> =
        vec![(Algorithm::ES256, JOSE.public().to_value(), Box::new(|input| JOSE.sign(input).expect("it signs")))];
    for (alg, name, by) in [
        (Algorithm::ES384, "P-384", &ECDSA_P384_SHA384_FIXED_SIGNING),
        (Algorithm::ES512, "P-521", &ECDSA_P521_SHA512_FIXED_SIGNING),
    ] {
        let pair = EcdsaKeyPair::generate(by).expect("there is randomness");
        let point: EcPublicKeyUncompressedBin<'_> = pair.public_key().as_be_bytes().expect("a key is a point");
        let (x, y) = point.as_ref()[1..].split_at(point.as_ref().len() / 2);
        let jwk = json!({ "kty": "EC", "crv": name, "x": base64url::encode(x), "y": base64url::encode(y) });
        let sign = move |input: &[u8]| pair.sign(&SystemRandom::new(), input).expect("it signs").as_ref().to_vec();
        kinds.push((alg, jwk, Box::new(sign)));
    }
    let pair = Ed25519KeyPair::generate().expect("there is randomness");
    let jwk = json!({ "kty": "OKP", "crv": "Ed25519", "x": base64url::encode(pair.public_key().as_ref()) });
    kinds.push((Algorithm::EdDSA, jwk, Box::new(move |input| pair.sign(input).as_ref().to_vec())));
    for (alg, by) in [
        (Algorithm::RS256, &RSA_PKCS1_SHA256 as &'static dyn aws_lc_rs::signature::RsaEncoding),
        (Algorithm::RS512, &RSA_PKCS1_SHA512),
        (Algorithm::PS384, &RSA_PSS_SHA384),
    ] {
        let pair = RsaKeyPair::generate(KeySize::Rsa2048).expect("there is randomness");
        let integer = |bytes: &[u8]| base64url::encode(bytes);
        let (n, e) = (pair.public_key().modulus(), pair.public_key().exponent());
        let jwk = json!({ "kty": "RSA", "n": integer(n.big_endian_without_leading_zero()), "e": integer(e.big_endian_without_leading_zero()) });
        let sign = move |input: &[u8]| {
            let mut signature = vec![0; pair.public_modulus_len()];
            pair.sign(by, &SystemRandom::new(), input, &mut signature).expect("it signs");
            signature
        };
        kinds.push((alg, jwk, Box::new(sign)));
    }
    kinds
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => panic!("{other} is no object"),
    }
}
