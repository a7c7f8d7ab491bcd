//! Access tokens.
//!
//! Nothing is accepted that the fixed key did not sign. What it did sign is accepted if, and only if, the claims say
//! the right things, each in the right form.

use std::time::Duration;

use chancery_jose::{Claims, Expected, SigningKey, json_object, jwt};
use serde_json::Value;

use crate::fixed::JOSE;
use crate::{Form, Target};

const NOW: i64 = 1_800_000_000;
const LEEWAY: i64 = 30;

pub(super) const TARGET: Target =
    Target { name: "jwt", run, form: Form::Json, words: include_str!("../../words/jwt.dict") };

fn run(input: &[u8]) {
    let expected = Expected {
        issuer: "https://ca.test/",
        audience: "https://ca.test/v1",
        now: NOW,
        leeway: Duration::from_secs(LEEWAY as u64),
    };
    let key: &SigningKey = &JOSE;
    let verify = |token: &str| jwt::verify(token, |_, _| vec![key.public().clone()], &expected);
    if let Ok(token) = std::str::from_utf8(input) {
        let _ = jwt::unverified_issuer(token);
        // A seed may hold a token that the fixed key signed; then it says what it should.
        if let Ok(claims) = verify(token) {
            assert!(is_right(&claims));
        }
    }
    let Ok(claims) = json_object(input).map(Claims) else { return };
    let token = jwt::issue(key, "k", "at+jwt", &claims).expect("the fixed key signs");
    match verify(&token) {
        Ok(read) => {
            // As they were written: a number that no integer holds may come back with another last digit.
            let written = serde_json::to_vec(&claims.0).expect("JSON is written");
            assert_eq!(read.0, json_object(&written).expect("what is written is read"));
            assert!(is_right(&claims), "accepted: {claims:?}");
            assert_eq!(jwt::unverified_issuer(&token).as_deref(), Ok("https://ca.test/"));
            // The signature's last character has bits that are not used: the one before it has none.
            let at = token.len() - 2;
            let other = if token.as_bytes()[at] == b'A' { "B" } else { "A" };
            assert!(verify(&[&token[..at], other, &token[at + 1..]].concat()).is_err(), "a changed token is accepted");
        }
        Err(_) if token.len() > jwt::MAX_TOKEN => {}
        Err(error) => assert!(!is_right(&claims), "refused: {error}: {claims:?}"),
    }
}

/// The rules of RFC 7519 section 4.1, said once more, and that it is no ID token.
fn is_right(Claims(claims): &Claims) -> bool {
    let time = |name: &str| claims.get(name).map(|value| value.as_f64());
    let audience = match claims.get("aud") {
        Some(Value::String(one)) => one == "https://ca.test/v1",
        Some(Value::Array(all)) => {
            all.iter().all(Value::is_string) && all.iter().any(|one| one == "https://ca.test/v1")
        }
        _ => false,
    };
    let begun = |name: &str| match time(name) {
        None => true,
        Some(at) => at.is_some_and(|at| at.floor() <= (NOW + LEEWAY) as f64),
    };
    claims.get("iss").is_some_and(|issuer| issuer == "https://ca.test/")
        && audience
        && time("exp").flatten().is_some_and(|end| end.floor() > (NOW - LEEWAY) as f64)
        && begun("nbf")
        && begun("iat")
        && !["nonce", "at_hash", "c_hash", "s_hash", "events"].iter().any(|name| claims.contains_key(*name))
        && claims.get("typ").is_none_or(|typ| typ.as_str().is_some_and(|typ| typ.eq_ignore_ascii_case("bearer")))
}
