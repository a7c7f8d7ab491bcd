//! What is refused, rule by rule: base64url, JSON, JWK, JWK sets, JWS, HMAC.
#![allow(clippy::unwrap_used)]

use chancery_jose::{
    Algorithm, HmacKey, Jwk, JwkSet, Jws, JwsError, KeyError, PublishedKey, Signer, SigningKey, Verifier as _,
    base64url, jws,
};
use serde_json::{Map, Value, json};

const LIMIT: usize = 8192;

fn p256() -> Value {
    json!({ "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0" })
}

fn ed25519() -> Value {
    json!({ "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" })
}

/// Not a product of primes, which no verifier can see: the first octets, zeros, the last octet.
fn rsa(octets: usize, first: u8, last: u8) -> Value {
    let mut modulus = vec![0; octets];
    modulus[0] = first;
    modulus[octets - 1] = last;
    json!({ "kty": "RSA", "n": base64url::encode(&modulus), "e": "AQAB" })
}

fn with(mut value: Value, name: &str, member: impl Into<Value>) -> Value {
    value[name] = member.into();
    value
}

fn error(value: &Value) -> KeyError {
    Jwk::from_value(value).unwrap_err()
}

fn header(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn hmac() -> HmacKey {
    HmacKey::new(Algorithm::HS256, &[7; 32]).unwrap()
}

/// A compact JWS over a header of any text, with a right MAC.
fn with_header(text: &str) -> Result<Jws, JwsError> {
    let input = format!("{}.{}", base64url::encode(text.as_bytes()), base64url::encode(b"x"));
    let mac = base64url::encode(&hmac().sign(input.as_bytes()).unwrap());
    Jws::compact(&format!("{input}.{mac}"), LIMIT)
}

#[test]
fn base64url_has_one_spelling_for_each_value() {
    assert_eq!(base64url::decode("AQAB"), Some(vec![1, 0, 1]));
    assert_eq!(base64url::decode(""), Some(vec![]));
    assert_eq!(base64url::decode("-_8"), Some(vec![0xfb, 0xff]));
    for refused in ["AQ==", "AQ=", "A", "AQAB\n", " AQAB", "AQ AB", "+/8", "AR", "AQB", "AQAB=", "é"] {
        assert_eq!(base64url::decode(refused), None, "{refused:?}");
    }
}

#[test]
fn a_key_with_private_members_is_refused() {
    for name in ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] {
        assert_eq!(error(&with(p256(), name, "AA")), KeyError::Private(name));
        assert_eq!(error(&with(p256(), name, Value::Null)), KeyError::Private(name));
    }
}

#[test]
fn a_key_that_repeats_a_member_is_refused() {
    let text = p256().to_string();
    Jwk::parse(text.as_bytes()).unwrap();
    let repeated = text.replacen('{', r#"{"x":"AA","#, 1);
    assert!(matches!(Jwk::parse(repeated.as_bytes()), Err(KeyError::Json(_))));
    let deep = text.replacen('{', r#"{"ext":[{"a":1,"a":2}],"#, 1);
    assert!(matches!(Jwk::parse(deep.as_bytes()), Err(KeyError::Json(_))));
    assert!(matches!(Jwk::parse(format!("{text}x").as_bytes()), Err(KeyError::Json(_))));
    assert!(matches!(Jwk::parse(b"[]"), Err(KeyError::Json(_))));
}

#[test]
fn a_key_of_unknown_type_or_curve_is_refused() {
    assert_eq!(error(&with(p256(), "kty", "oct")), KeyError::Unsupported("oct".to_owned()));
    assert_eq!(error(&with(p256(), "crv", "secp256k1")), KeyError::Unsupported("secp256k1".to_owned()));
    assert_eq!(error(&with(p256(), "crv", "Ed25519")), KeyError::Unsupported("Ed25519".to_owned()));
    assert_eq!(error(&with(ed25519(), "crv", "X25519")), KeyError::Unsupported("X25519".to_owned()));
    assert_eq!(error(&with(ed25519(), "crv", "P-256")), KeyError::Unsupported("P-256".to_owned()));
    assert_eq!(error(&with(p256(), "kty", 1)), KeyError::Missing("kty"));
    assert_eq!(error(&Value::Null), KeyError::Missing("kty"));
    assert_eq!(error(&json!({ "kty": "EC", "crv": "P-256", "x": p256()["x"] })), KeyError::Missing("y"));
}

#[test]
fn a_coordinate_of_the_wrong_length_or_off_the_curve_is_refused() {
    let x = base64url::decode(p256()["x"].as_str().unwrap()).unwrap();
    assert_eq!(error(&with(p256(), "x", base64url::encode(&x[1..]))), KeyError::Point);
    assert_eq!(error(&with(p256(), "x", base64url::encode(&[&[0], &x[..]].concat()))), KeyError::Point);
    assert_eq!(error(&with(p256(), "y", p256()["x"].clone())), KeyError::Point);
    assert_eq!(
        error(&with(with(p256(), "x", base64url::encode(&[0; 32])), "y", base64url::encode(&[0; 32]))),
        KeyError::Point
    );
    assert_eq!(error(&with(p256(), "crv", "P-384")), KeyError::Point);
    assert_eq!(error(&with(ed25519(), "x", base64url::encode(&[1; 31]))), KeyError::Point);
    assert_eq!(error(&with(p256(), "x", "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU=")), KeyError::Encoding("x"));
    assert_eq!(error(&with(p256(), "x", "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEV")), KeyError::Encoding("x"));
}

/// The point would be the same octets, and a second spelling of the key would get a second thumbprint.
#[test]
fn an_octet_moved_from_one_coordinate_to_the_other_is_refused() {
    let [x, y] = ["x", "y"].map(|name| base64url::decode(p256()[name].as_str().unwrap()).unwrap());
    let moved = with(p256(), "x", base64url::encode(&[&x[..], &y[..1]].concat()));
    assert_eq!(error(&with(moved, "y", base64url::encode(&y[1..]))), KeyError::Point);
    let whole = with(p256(), "x", base64url::encode(&[&x[..], &y[..]].concat()));
    assert_eq!(error(&with(whole, "y", "")), KeyError::Point);
}

#[test]
fn an_rsa_key_is_odd_and_of_2048_to_8192_bits() {
    Jwk::from_value(&rsa(256, 0x80, 1)).unwrap();
    Jwk::from_value(&rsa(1024, 0xff, 1)).unwrap();
    assert_eq!(error(&rsa(256, 0x7f, 1)), KeyError::Modulus(2047));
    assert_eq!(error(&rsa(128, 0x80, 1)), KeyError::Modulus(1024));
    assert_eq!(error(&rsa(1025, 0x01, 1)), KeyError::Modulus(8193));
    assert_eq!(error(&rsa(256, 0x80, 2)), KeyError::Modulus(2048));
    assert_eq!(error(&rsa(257, 0x00, 1)), KeyError::Encoding("n"));
    assert_eq!(error(&with(rsa(256, 0x80, 1), "n", "")), KeyError::Encoding("n"));
}

#[test]
fn an_rsa_exponent_is_odd_and_at_least_3() {
    let exponent = |octets: &[u8]| Jwk::from_value(&with(rsa(256, 0x80, 1), "e", base64url::encode(octets)));
    exponent(&[3]).unwrap();
    exponent(&[0xff, 0xff, 0xff, 0xff]).unwrap();
    for refused in [&[1][..], &[2], &[1, 0, 0], &[1, 0, 0, 0, 1]] {
        assert_eq!(exponent(refused).unwrap_err(), KeyError::Exponent);
    }
    assert_eq!(exponent(&[0, 3]).unwrap_err(), KeyError::Encoding("e"));
    assert_eq!(exponent(&[]).unwrap_err(), KeyError::Encoding("e"));
}

#[test]
fn keys_are_equal_as_keys_and_survive_a_round_trip() {
    let plain = Jwk::from_value(&p256()).unwrap();
    let decorated = Jwk::from_value(&with(with(p256(), "kid", "a"), "use", "sig")).unwrap();
    assert_eq!(plain, decorated);
    assert_ne!(plain, Jwk::from_value(&ed25519()).unwrap());
    for value in [p256(), ed25519(), rsa(256, 0x80, 1)] {
        let key = Jwk::from_value(&value).unwrap();
        assert_eq!(key.to_value(), value);
        assert_eq!(Jwk::parse(key.to_canonical_json().as_bytes()).unwrap(), key);
    }
    assert!(plain.to_canonical_json().starts_with(r#"{"crv":"P-256","kty":"EC","x":"#));
}

#[test]
fn only_the_algorithms_of_its_kind_fit_a_key() {
    use Algorithm::{ES256, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
    let cases = [
        (p256(), &[ES256][..]),
        (ed25519(), &[EdDSA]),
        (rsa(256, 0x80, 1), &[RS256, RS384, RS512, PS256, PS384, PS512]),
    ];
    for (value, fitting) in cases {
        let key = Jwk::from_value(&value).unwrap();
        assert_eq!(key.algorithms(), fitting);
        for alg in Algorithm::ALL {
            let expected =
                if fitting.contains(alg) { JwsError::BadSignature } else { JwsError::AlgorithmDoesNotFit(alg.name()) };
            assert_eq!(key.verify(*alg, b"", &[0; 64]), Err(expected));
        }
    }
}

#[test]
fn an_hmac_made_with_a_public_key_as_the_secret_does_not_verify() {
    let public = Jwk::from_value(&p256()).unwrap();
    let confused = HmacKey::new(Algorithm::HS256, public.to_canonical_json().as_bytes()).unwrap();
    let compact = jws::sign_compact(Map::new(), b"x", &confused).unwrap();
    let refused = Jws::compact(&compact, LIMIT).unwrap().verify(&public).map(<[u8]>::to_vec);
    assert_eq!(refused, Err(JwsError::AlgorithmDoesNotFit("HS256")));
}

#[test]
fn an_hmac_key_is_bound_to_its_algorithm_and_long_enough() {
    for (alg, len) in [(Algorithm::HS256, 32), (Algorithm::HS384, 48), (Algorithm::HS512, 64)] {
        let key = HmacKey::new(alg, &vec![1; len]).unwrap();
        let mac = key.sign(b"x").unwrap();
        assert_eq!(mac.len(), len);
        assert_eq!(key.verify(alg, b"x", &mac), Ok(()));
        assert_eq!(key.verify(alg, b"x", &mac[1..]), Err(JwsError::BadSignature));
        assert_eq!(key.verify(alg, b"y", &mac), Err(JwsError::BadSignature));
        assert_eq!(key.verify(Algorithm::ES256, b"x", &mac), Err(JwsError::AlgorithmDoesNotFit("ES256")));
        assert!(matches!(HmacKey::new(alg, &vec![1; len - 1]), Err(KeyError::Hmac(_))));
    }
    assert!(matches!(HmacKey::new(Algorithm::RS256, &[1; 64]), Err(KeyError::Hmac("RS256"))));
}

#[test]
fn there_is_no_algorithm_none_and_names_are_exact() {
    for name in ["none", "None", "NONE", "", "es256", "ES256K", "ES256 "] {
        assert_eq!(Algorithm::from_name(name), None);
    }
    for alg in Algorithm::ALL {
        assert_eq!(Algorithm::from_name(alg.name()), Some(*alg));
    }
}

#[test]
fn a_signing_key_survives_pkcs8_and_nothing_else_is_taken_for_one() {
    let key = SigningKey::generate().unwrap();
    let der = key.to_pkcs8().unwrap();
    let again = SigningKey::from_pkcs8(&der).unwrap();
    assert_eq!(again.public(), key.public());
    let signature = again.sign(b"x").unwrap();
    assert_eq!(signature.len(), 64);
    assert_eq!(key.public().verify(Algorithm::ES256, b"x", &signature), Ok(()));
    assert!(SigningKey::from_pkcs8(&der[1..]).is_err());
    let p384 = aws_lc_rs::signature::EcdsaKeyPair::generate(&aws_lc_rs::signature::ECDSA_P384_SHA384_FIXED_SIGNING);
    let p384 = p384.unwrap().to_pkcs8v1().unwrap();
    assert!(matches!(SigningKey::from_pkcs8(p384.as_ref()), Err(KeyError::Pkcs8)));
}

#[test]
fn an_ecdsa_signature_in_der_or_of_another_length_does_not_verify() {
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
    let key = SigningKey::generate().unwrap();
    let der = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &key.to_pkcs8().unwrap()).unwrap();
    let der = der.sign(&aws_lc_rs::rand::SystemRandom::new(), b"x").unwrap();
    let fixed = key.sign(b"x").unwrap();
    for refused in [der.as_ref(), &fixed[..63], &[&fixed[..], &[0]].concat(), &[], &[0; 64]] {
        assert_eq!(key.public().verify(Algorithm::ES256, b"x", refused), Err(JwsError::BadSignature));
    }
}

#[test]
fn a_set_leaves_out_what_it_cannot_use() {
    let keys = json!({ "keys": [
        with(p256(), "kid", "good"),
        { "kty": "oct", "k": "AAAA" },
        { "kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA" },
        with(p256(), "d", "AA"),
        with(p256(), "alg", "ECDH-ES"),
        with(p256(), "alg", "RS256"),
        with(p256(), "kid", 5),
        rsa(128, 0x80, 1),
        "nonsense",
        with(with(ed25519(), "alg", "EdDSA"), "use", "sig"),
    ], "extra": true });
    let set = JwkSet::parse(keys.to_string().as_bytes()).unwrap();
    assert_eq!(set.keys.len(), 2);
    assert_eq!(set.keys[0].kid.as_deref(), Some("good"));
    assert_eq!(set.keys[1].alg, Some(Algorithm::EdDSA));
    assert_eq!(JwkSet::parse(set.to_value().to_string().as_bytes()).unwrap(), set);
}

#[test]
fn a_document_that_is_no_set_is_an_error() {
    assert_eq!(JwkSet::parse(b"{}"), Err(KeyError::Missing("keys")));
    assert_eq!(JwkSet::parse(br#"{"keys":{}}"#), Err(KeyError::Missing("keys")));
    assert!(matches!(JwkSet::parse(br#"{"keys":[],"keys":[]}"#), Err(KeyError::Json(_))));
    assert!(matches!(JwkSet::parse(b"<html>"), Err(KeyError::Json(_))));
    assert_eq!(JwkSet::parse(br#"{"keys":[]}"#), Ok(JwkSet::default()));
}

#[test]
fn a_set_finds_keys_by_name_algorithm_and_use() {
    let ec = Jwk::from_value(&p256()).unwrap();
    let ed = Jwk::from_value(&ed25519()).unwrap();
    let rsa = Jwk::from_value(&rsa(256, 0x80, 1)).unwrap();
    let set = JwkSet {
        keys: vec![
            PublishedKey::for_signatures("ec", Algorithm::ES256, ec.clone()),
            PublishedKey { kid: None, alg: None, key_use: None, jwk: ed.clone() },
            PublishedKey::for_signatures("rsa", Algorithm::RS256, rsa.clone()),
            PublishedKey { kid: Some("enc".to_owned()), alg: None, key_use: Some("enc".to_owned()), jwk: rsa.clone() },
        ],
    };
    assert_eq!(set.find(Some("ec"), Algorithm::ES256), set.find(None, Algorithm::ES256));
    assert_eq!(set.find(None, Algorithm::ES256), [ec]);
    assert_eq!(set.find(None, Algorithm::EdDSA), [ed]);
    assert_eq!(set.find(Some("rsa"), Algorithm::RS256), [rsa]);
    for (kid, alg) in [
        (Some("other"), Algorithm::ES256),
        (Some("ec"), Algorithm::RS256),
        (Some("rsa"), Algorithm::PS256),
        (Some("enc"), Algorithm::RS256),
        (None, Algorithm::HS256),
    ] {
        assert_eq!(set.find(kid, alg), []);
    }
    assert_eq!(set.to_value()["keys"][0]["use"], "sig");
    assert_eq!(set.to_value()["keys"][1].get("kid"), None);
}

#[test]
fn a_compact_jws_has_three_parts_of_strict_base64url() {
    let good = jws::sign_compact(header(json!({ "kid": "a" })), b"x", &hmac()).unwrap();
    assert_eq!(Jws::compact(&good, good.len()).unwrap().verify(&hmac()), Ok(&b"x"[..]));
    assert_eq!(Jws::compact(&good, good.len() - 1).unwrap_err(), JwsError::TooLong(good.len() - 1));
    let two = good.rsplit_once('.').unwrap().0;
    for refused in ["", ".", two, &format!("{good}."), &format!("{good}.{good}")] {
        assert!(matches!(Jws::compact(refused, LIMIT), Err(JwsError::Form(_))), "{refused}");
    }
    assert_eq!(
        Jws::compact("..", LIMIT).unwrap_err().to_string().split(':').next(),
        Some("the protected header is not a JSON object")
    );
    assert_eq!(Jws::compact(&format!("{good}="), LIMIT).unwrap_err(), JwsError::Encoding("signature"));
    assert_eq!(Jws::compact(&format!(" {good}"), LIMIT).unwrap_err(), JwsError::Encoding("protected"));
    assert_eq!(Jws::compact(&good.replacen(".", ". ", 1), LIMIT).unwrap_err(), JwsError::Encoding("payload"));
}

#[test]
fn a_flattened_jws_has_its_three_members_and_no_other_header_or_signature() {
    let good = jws::sign_flattened(header(json!({ "nonce": "n", "url": "u" })), b"", &hmac()).unwrap();
    let parse = |value: &Value| Jws::flattened(value.to_string().as_bytes(), LIMIT);
    let jws = parse(&good).unwrap();
    assert_eq!(jws.verify(&hmac()), Ok(&b""[..]));
    assert_eq!(jws.header().members["nonce"], "n");

    assert_eq!(parse(&with(good.clone(), "x", json!({}))).unwrap().verify(&hmac()), Ok(&b""[..]));
    for name in ["header", "signatures"] {
        assert_eq!(parse(&with(good.clone(), name, json!({}))).unwrap_err(), JwsError::Refused(name.to_owned()));
    }
    for name in ["protected", "payload", "signature"] {
        let mut without = good.clone();
        without.as_object_mut().unwrap().remove(name);
        assert_eq!(parse(&without).unwrap_err(), JwsError::Missing(name));
        assert_eq!(parse(&with(good.clone(), name, json!({}))).unwrap_err(), JwsError::Missing(name));
        assert_eq!(parse(&with(good.clone(), name, "AR")).unwrap_err(), JwsError::Encoding(name));
        let repeated = good.to_string().replacen('{', &format!(r#"{{"{name}":"","#), 1);
        assert!(matches!(Jws::flattened(repeated.as_bytes(), LIMIT), Err(JwsError::Form(_))));
    }
    let text = good.to_string();
    assert_eq!(Jws::flattened(text.as_bytes(), text.len() - 1).unwrap_err(), JwsError::TooLong(text.len() - 1));
    for refused in ["", "null", "[]", "\"x\"", "{", "{}x"] {
        assert!(matches!(Jws::flattened(refused.as_bytes(), LIMIT), Err(JwsError::Form(_))), "{refused}");
    }
}

#[test]
fn a_header_that_changes_the_meaning_of_a_jws_is_refused() {
    for (text, name) in [
        (r#"{"alg":"HS256","crit":["exp"],"exp":1}"#, "crit"),
        (r#"{"alg":"HS256","crit":[]}"#, "crit"),
        (r#"{"alg":"HS256","crit":null}"#, "crit"),
        (r#"{"alg":"HS256","b64":false}"#, "b64"),
        (r#"{"alg":"HS256","b64":true}"#, "b64"),
    ] {
        assert_eq!(with_header(text).unwrap_err(), JwsError::Refused(name.to_owned()));
    }
}

#[test]
fn a_header_is_one_object_without_repetition_and_with_a_known_algorithm() {
    with_header(r#"{"alg":"HS256"}"#).unwrap().verify(&hmac()).unwrap();
    for text in
        [r#"{"alg":"HS256","alg":"HS256"}"#, r#"{"alg":"HS256","a":{"b":1,"b":1}}"#, "[]", "", r#"{"alg":"HS256"}{}"#]
    {
        assert!(matches!(with_header(text), Err(JwsError::Header(_))), "{text}");
    }
    assert_eq!(with_header("{}").unwrap_err(), JwsError::Missing("alg"));
    assert_eq!(with_header(r#"{"alg":["HS256"]}"#).unwrap_err(), JwsError::Missing("alg"));
    assert_eq!(with_header(r#"{"alg":"HS256","kid":1}"#).unwrap_err(), JwsError::Missing("kid"));
    assert_eq!(with_header(r#"{"alg":"HS256","typ":null}"#).unwrap_err(), JwsError::Missing("typ"));
    for name in ["none", "hs256", "RSA-OAEP", ""] {
        let text = json!({ "alg": name }).to_string();
        assert_eq!(with_header(&text).unwrap_err(), JwsError::UnsupportedAlgorithm(name.to_owned()));
    }
}

#[test]
fn the_key_in_a_header_is_read_as_strictly_as_any() {
    let key = SigningKey::generate().unwrap();
    let good = jws::sign_compact(header(json!({ "jwk": key.public().to_value() })), b"x", &key).unwrap();
    let jws = Jws::compact(&good, LIMIT).unwrap();
    assert_eq!(jws.header().jwk.as_ref(), Some(key.public()));
    assert_eq!(jws.verify(jws.header().jwk.as_ref().unwrap()), Ok(&b"x"[..]));

    let private = json!({ "alg": "HS256", "jwk": with(p256(), "d", "AA") }).to_string();
    assert_eq!(with_header(&private).unwrap_err(), JwsError::Key(KeyError::Private("d")));
    let text = json!({ "alg": "HS256", "jwk": "key" }).to_string();
    assert_eq!(with_header(&text).unwrap_err(), JwsError::Key(KeyError::Missing("kty")));
}

#[test]
fn the_algorithm_of_the_key_replaces_that_of_the_header() {
    let compact = jws::sign_compact(header(json!({ "alg": "none" })), b"x", &hmac()).unwrap();
    assert_eq!(Jws::compact(&compact, LIMIT).unwrap().header().alg, Algorithm::HS256);
}
