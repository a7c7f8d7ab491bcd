//! No input makes a parser panic, and what is accepted is canonical.
#![allow(clippy::unwrap_used)]

use chancery_jose::{Algorithm, Expected, Jwk, JwkSet, Jws, SigningKey, Verifier as _, base64url, jwt};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const LIMIT: usize = 1 << 16;
const EXPECTED: Expected<'static> =
    Expected { issuer: "i", audience: "a", now: 0, leeway: std::time::Duration::from_secs(1) };

/// Names and texts that the parsers look for, among others.
fn word() -> impl Strategy<Value = String> {
    let known = [
        "kty",
        "crv",
        "x",
        "y",
        "n",
        "e",
        "d",
        "k",
        "kid",
        "alg",
        "use",
        "keys",
        "EC",
        "RSA",
        "OKP",
        "P-256",
        "P-521",
        "Ed25519",
        "sig",
        "ES256",
        "HS256",
        "none",
        "AQAB",
        "protected",
        "payload",
        "signature",
        "header",
        "crit",
        "jwk",
        "typ",
        "iss",
        "aud",
        "exp",
        "",
    ];
    prop_oneof![
        4 => proptest::sample::select(known.map(str::to_owned).to_vec()),
        1 => any::<String>(),
        1 => proptest::collection::vec(any::<u8>(), 0..70).prop_map(|bytes| base64url::encode(&bytes)),
        1 => proptest::collection::vec(any::<u8>(), 32).prop_map(|bytes| base64url::encode(&bytes)),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        6 => word().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(3, 24, 8, |inner| {
        prop_oneof![
            1 => proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            3 => proptest::collection::vec((word(), inner), 0..8).prop_map(|members| Map::from_iter(members).into()),
        ]
    })
}

fn try_everything(bytes: &[u8]) {
    if let Ok(key) = Jwk::parse(bytes) {
        assert_eq!(Jwk::parse(key.to_canonical_json().as_bytes()).unwrap(), key);
        for alg in Algorithm::ALL {
            let _ = key.verify(*alg, bytes, bytes);
        }
    }
    if let Ok(set) = JwkSet::parse(bytes) {
        assert_eq!(JwkSet::parse(set.to_value().to_string().as_bytes()).unwrap(), set);
    }
    let _ = Jws::flattened(bytes, LIMIT);
    let _ = SigningKey::from_pkcs8(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Jws::compact(text, LIMIT);
        let _ = jwt::verify(text, |_, _| Vec::new(), &EXPECTED);
        let _ = jwt::unverified_issuer(text);
        if let Some(decoded) = base64url::decode(text) {
            assert_eq!(base64url::encode(&decoded), text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn i12_no_bytes_make_a_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        try_everything(&bytes);
    }

    #[test]
    fn no_text_makes_a_parser_panic(text in any::<String>(), base64 in "[A-Za-z0-9_.=-]{0,80}") {
        try_everything(text.as_bytes());
        try_everything(base64.as_bytes());
    }

    #[test]
    fn no_json_makes_a_parser_panic(value in value()) {
        try_everything(value.to_string().as_bytes());
    }

    #[test]
    fn no_json_as_header_and_payload_makes_a_parser_panic(header in value(), payload in value()) {
        let (header, payload) = (header.to_string(), payload.to_string());
        let (header, payload) = (base64url::encode(header.as_bytes()), base64url::encode(payload.as_bytes()));
        try_everything(format!("{header}.{payload}.AA").as_bytes());
        try_everything(json!({ "protected": header, "payload": payload, "signature": "AA" }).to_string().as_bytes());
    }

    /// Keys of the right shape reach the code behind the checks of form.
    #[test]
    fn no_key_material_makes_a_parser_panic(x in any::<[u8; 32]>(), y in any::<[u8; 32]>(), n in proptest::collection::vec(any::<u8>(), 0..1100), e in proptest::collection::vec(any::<u8>(), 0..6)) {
        let (x, y, n, e) = (base64url::encode(&x), base64url::encode(&y), base64url::encode(&n), base64url::encode(&e));
        try_everything(json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y }).to_string().as_bytes());
        try_everything(json!({ "kty": "OKP", "crv": "Ed25519", "x": x }).to_string().as_bytes());
        try_everything(json!({ "kty": "RSA", "n": n, "e": e }).to_string().as_bytes());
    }
}

#[test]
fn json_that_is_nested_too_deeply_is_an_error_and_not_a_stack_overflow() {
    let deep = format!("{{\"a\":{}", "[".repeat(50_000));
    assert!(Jws::flattened(deep.as_bytes(), LIMIT).is_err());
    assert!(Jwk::parse("{\"a\":".repeat(50_000).as_bytes()).is_err());
}
