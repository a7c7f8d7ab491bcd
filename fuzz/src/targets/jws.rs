//! JSON Web Signatures, compact and flattened.
//!
//! What is parsed in one form says the same in the other. What was signed verifies with its key, and does not once a
//! bit of it is changed. What was not signed with a key does not verify with it.

use chancery_jose::jws::{sign_compact, sign_flattened};
use chancery_jose::{Algorithm, HmacKey, Jws, SigningKey, Verifier, json_object};
use serde_json::{Value, json};

use crate::fixed::{JOSE, SECRET};
use crate::{Form, Target};

const LIMIT: usize = 1 << 16;

pub(super) const TARGET: Target =
    Target { name: "jws", run, form: Form::Json, words: include_str!("../../words/jws.dict") };

fn run(input: &[u8]) {
    if let Ok(jws) = Jws::flattened(input, LIMIT) {
        let parts: Value = serde_json::from_slice(input).expect("a flattened JWS is JSON");
        let part = |name: &str| parts[name].as_str().expect("each part is text");
        let compact = [part("protected"), part("payload"), part("signature")].join(".");
        let same = Jws::compact(&compact, LIMIT).expect("the same parts are a JWS in the other form too");
        assert_eq!(same.header(), jws.header());
        look(&jws, &parts);
    }
    if let Some(jws) = std::str::from_utf8(input).ok().and_then(|text| Jws::compact(text, LIMIT).ok()) {
        let parts: Vec<_> = input.split(|byte| *byte == b'.').map(String::from_utf8_lossy).collect();
        look(&jws, &json!({ "protected": parts[0], "payload": parts[1], "signature": parts[2] }));
    }
    // Whatever the header and the payload are: signed by us they verify, and with another key they do not.
    if let Ok(header) = json_object(input) {
        let hmac = HmacKey::new(Algorithm::HS256, &SECRET).expect("the secret is long enough");
        let other = HmacKey::new(Algorithm::HS256, &[1; 32]).expect("the secret is long enough");
        let text = sign_compact(header.clone(), input, &hmac).expect("an HMAC can be made of anything");
        if let Ok(jws) = Jws::compact(&text, usize::MAX) {
            assert_eq!(jws.verify(&hmac).expect("it was signed with this"), input);
            assert!(jws.verify(&other).is_err(), "another key verifies it");
            assert!(jws.verify(JOSE.public()).is_err(), "a public key verifies an HMAC");
        }
        if input.len().is_multiple_of(16) {
            let key: &SigningKey = &JOSE;
            let signed = sign_flattened(header, input, key).expect("the fixed key signs").to_string();
            if let Ok(jws) = Jws::flattened(signed.as_bytes(), usize::MAX) {
                assert_eq!(jws.verify(key.public()).expect("it was signed with this"), input);
            }
        }
    }
}

/// A key in the header that verifies it does not verify it changed.
fn look(jws: &Jws, parts: &Value) {
    let Some(key) = &jws.header().jwk else { return };
    let alg = jws.header().alg;
    assert!(!alg.is_hmac() || jws.verify(key).is_err(), "a public key verifies an HMAC");
    let Ok(payload) = jws.verify(key) else { return };
    assert!(key.algorithms().contains(&alg));
    let text = |name: &str| parts[name].as_str().unwrap_or_default();
    let signature = chancery_jose::base64url::decode(text("signature")).expect("it was read before");
    let mut changed = format!("{}.{}", text("protected"), text("payload")).into_bytes();
    assert!(key.verify(alg, &changed, &signature).is_ok());
    let at = payload.len() % changed.len();
    changed[at] ^= 1;
    assert!(key.verify(alg, &changed, &signature).is_err(), "it verifies with a bit of its text changed");
}
