//! Access tokens: issued, verified, and refused for exactly what is wrong with them.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use chancery_jose::{
    Algorithm, Claims, Expected, HmacKey, Jwk, JwkSet, JwsError, PublishedKey, SigningKey, TokenError, base64url, jws,
    jwt,
};
use serde_json::{Map, Value, json};

const NOW: i64 = 1_700_000_000;
const EXPECTED: Expected<'static> =
    Expected { issuer: "https://id.example", audience: "api", now: NOW, leeway: Duration::from_secs(30) };

struct Issuer {
    key: SigningKey,
    set: JwkSet,
}

impl Issuer {
    fn new() -> Self {
        let key = SigningKey::generate().unwrap();
        let published = PublishedKey::for_signatures("k1", Algorithm::ES256, key.public().clone());
        Self { key, set: JwkSet { keys: vec![published] } }
    }

    fn issue(&self, claims: &Claims) -> String {
        jwt::issue(&self.key, "k1", "at+jwt", claims).unwrap()
    }

    fn verify(&self, token: &str) -> Result<Claims, TokenError> {
        jwt::verify(token, |kid, alg| self.set.find(kid, alg), &EXPECTED)
    }

    /// A token with any header and any payload, rightly signed.
    fn raw(&self, header: Value, payload: &[u8]) -> Result<Claims, TokenError> {
        self.verify(&jws::sign_compact(header.as_object().unwrap().clone(), payload, &self.key).unwrap())
    }
}

fn claims() -> Claims {
    Claims::default()
        .with("iss", "https://id.example")
        .with("aud", "api")
        .with("sub", "client")
        .with("scope", "reseller  read:account")
        .with("iat", NOW)
        .with("exp", NOW + 600)
}

fn without(name: &str) -> Claims {
    let mut claims = claims();
    claims.0.remove(name);
    claims
}

#[test]
fn an_issued_token_verifies_and_gives_its_claims() {
    let issuer = Issuer::new();
    let token = issuer.issue(&claims());
    let verified = issuer.verify(&token).unwrap();
    assert_eq!(verified, claims());
    assert_eq!(verified.text("sub"), Some("client"));
    assert_eq!(verified.audiences(), Some(vec!["api"]));
    assert_eq!(verified.seconds("exp"), Some(NOW + 600));
    assert_eq!(verified.scopes().collect::<Vec<_>>(), ["reseller", "read:account"]);
    assert_eq!(jwt::unverified_issuer(&token).unwrap(), "https://id.example");
    let header = base64url::decode(token.split('.').next().unwrap()).unwrap();
    assert_eq!(
        serde_json::from_slice::<Value>(&header).unwrap(),
        json!({"alg": "ES256", "kid": "k1", "typ": "at+jwt"})
    );
}

#[test]
fn a_token_verifies_from_the_published_document() {
    let issuer = Issuer::new();
    let set = JwkSet::parse(issuer.set.to_value().to_string().as_bytes()).unwrap();
    jwt::verify(&issuer.issue(&claims()), |kid, alg| set.find(kid, alg), &EXPECTED).unwrap();
}

#[test]
fn an_unknown_key_is_told_from_a_bad_signature() {
    let (issuer, other) = (Issuer::new(), Issuer::new());
    let renamed = jwt::issue(&issuer.key, "k2", "at+jwt", &claims()).unwrap();
    assert_eq!(issuer.verify(&renamed), Err(TokenError::UnknownKey(Some("k2".to_owned()))));
    assert_eq!(other.verify(&issuer.issue(&claims())), Err(TokenError::BadSignature));
    let nothing = jwt::verify(&issuer.issue(&claims()), |_, _| Vec::new(), &EXPECTED);
    assert_eq!(nothing, Err(TokenError::UnknownKey(Some("k1".to_owned()))));
    let unfit = r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
    let unfit = jwt::verify(&issuer.issue(&claims()), |_, _| vec![Jwk::parse(unfit.as_bytes()).unwrap()], &EXPECTED);
    assert_eq!(unfit, Err(TokenError::UnknownKey(Some("k1".to_owned()))));
}

#[test]
fn a_token_without_kid_is_tried_with_every_fitting_key() {
    let (issuer, other) = (Issuer::new(), Issuer::new());
    let token = jws::sign_compact(Map::new(), Value::Object(claims().0).to_string().as_bytes(), &issuer.key).unwrap();
    let keys = || vec![other.key.public().clone(), issuer.key.public().clone()];
    jwt::verify(&token, |kid, _| if kid.is_none() { keys() } else { Vec::new() }, &EXPECTED).unwrap();
}

#[test]
fn a_changed_token_is_refused() {
    let issuer = Issuer::new();
    let token = issuer.issue(&claims());
    let parts: Vec<&str> = token.split('.').collect();
    let forged = base64url::encode(Value::Object(claims().with("sub", "admin").0).to_string().as_bytes());
    assert_eq!(issuer.verify(&format!("{}.{forged}.{}", parts[0], parts[2])), Err(TokenError::BadSignature));
    assert_eq!(issuer.verify(&format!("{}.{}.", parts[0], parts[1])), Err(TokenError::BadSignature));
}

#[test]
fn an_unsigned_or_hmac_token_is_refused_by_its_algorithm() {
    let issuer = Issuer::new();
    let payload = base64url::encode(Value::Object(claims().0).to_string().as_bytes());
    let none = format!("{}.{payload}.", base64url::encode(br#"{"alg":"none"}"#));
    assert_eq!(issuer.verify(&none), Err(TokenError::UnsupportedAlgorithm("none".to_owned())));
    let secret = issuer.key.public().to_canonical_json();
    let key = HmacKey::new(Algorithm::HS256, secret.as_bytes()).unwrap();
    let header = json!({ "kid": "k1" }).as_object().unwrap().clone();
    let hmac = jws::sign_compact(header, Value::Object(claims().0).to_string().as_bytes(), &key).unwrap();
    assert_eq!(issuer.verify(&hmac), Err(TokenError::UnsupportedAlgorithm("HS256".to_owned())));
}

#[test]
fn the_type_if_any_is_that_of_an_access_token_or_a_plain_jwt() {
    let issuer = Issuer::new();
    let payload = Value::Object(claims().0).to_string();
    for typ in ["at+jwt", "AT+JWT", "application/at+jwt", "JWT", "jwt"] {
        issuer.raw(json!({ "kid": "k1", "typ": typ }), payload.as_bytes()).unwrap();
    }
    issuer.raw(json!({ "kid": "k1" }), payload.as_bytes()).unwrap();
    for typ in ["logout+jwt", "dpop+jwt", "", "application/jwt "] {
        let refused = issuer.raw(json!({ "kid": "k1", "typ": typ }), payload.as_bytes());
        assert_eq!(refused, Err(TokenError::WrongType(typ.to_owned())));
    }
}

#[test]
fn issuer_and_audience_must_be_ours() {
    let issuer = Issuer::new();
    let verify = |claims: Claims| issuer.verify(&issuer.issue(&claims));
    let other = "https://id.example/".to_owned();
    assert_eq!(verify(claims().with("iss", other.clone())), Err(TokenError::WrongIssuer(other)));
    assert_eq!(verify(claims().with("aud", "API")), Err(TokenError::WrongAudience));
    assert_eq!(verify(claims().with("aud", json!([]))), Err(TokenError::WrongAudience));
    assert_eq!(verify(claims().with("aud", json!(["a", "b"]))), Err(TokenError::WrongAudience));
    verify(claims().with("aud", json!(["other", "api"]))).unwrap();
}

#[test]
fn a_missing_claim_is_told_from_a_malformed_one() {
    let issuer = Issuer::new();
    let verify = |claims: Claims| issuer.verify(&issuer.issue(&claims)).unwrap_err();
    for name in ["iss", "aud", "exp"] {
        assert_eq!(verify(without(name)), TokenError::MissingClaim(name));
    }
    let wrong = [
        ("iss", json!(1)),
        ("aud", json!(["api", 1])),
        ("aud", json!({ "api": true })),
        ("exp", json!("1800000000")),
        ("exp", Value::Null),
        ("nbf", json!("soon")),
        ("iat", json!([])),
    ];
    for (name, value) in wrong {
        assert_eq!(verify(claims().with(name, value)), TokenError::MalformedClaims(format!("`{name}`")));
    }
    issuer.verify(&issuer.issue(&without("iat"))).unwrap();
    assert_eq!(jwt::unverified_issuer(&issuer.issue(&without("iss"))), Err(TokenError::MissingClaim("iss")));
}

#[test]
fn times_are_honoured_to_the_second_with_the_leeway() {
    let issuer = Issuer::new();
    let verify = |name: &str, value: Value| issuer.verify(&issuer.issue(&claims().with(name, value))).map(drop);
    assert_eq!(verify("exp", json!(NOW - 29)), Ok(()));
    assert_eq!(verify("exp", json!(NOW - 30)), Err(TokenError::Expired));
    assert_eq!(verify("exp", json!((NOW - 29) as f64 + 0.5)), Ok(()));
    assert_eq!(verify("exp", json!((NOW - 31) as f64 + 0.5)), Err(TokenError::Expired));
    assert_eq!(verify("exp", json!(i64::MIN)), Err(TokenError::Expired));
    assert_eq!(verify("exp", json!(u64::MAX)), Ok(()));
    for name in ["nbf", "iat"] {
        assert_eq!(verify(name, json!(NOW + 30)), Ok(()));
        assert_eq!(verify(name, json!(NOW + 31)), Err(TokenError::NotYetValid));
        assert_eq!(verify(name, json!(1e300)), Err(TokenError::NotYetValid));
    }
}

#[test]
fn a_leeway_beyond_all_time_does_not_overflow() {
    let issuer = Issuer::new();
    let expected = Expected { leeway: Duration::MAX, now: i64::MIN, ..EXPECTED };
    jwt::verify(&issuer.issue(&claims()), |kid, alg| issuer.set.find(kid, alg), &expected).unwrap_err();
    let expected = Expected { leeway: Duration::MAX, now: i64::MAX, ..EXPECTED };
    jwt::verify(&issuer.issue(&claims()), |kid, alg| issuer.set.find(kid, alg), &expected).unwrap();
}

#[test]
fn malformed_tokens_are_named_as_such() {
    let issuer = Issuer::new();
    assert!(matches!(issuer.verify("nonsense"), Err(TokenError::Malformed(JwsError::Form(_)))));
    let long = "a".repeat(jwt::MAX_TOKEN + 1);
    assert_eq!(issuer.verify(&long), Err(TokenError::Malformed(JwsError::TooLong(jwt::MAX_TOKEN))));
    let crit = issuer.raw(json!({ "kid": "k1", "crit": ["x"], "x": 1 }), b"{}");
    assert_eq!(crit, Err(TokenError::Malformed(JwsError::Refused("crit".to_owned()))));
    for payload in ["", "[]", "{", r#"{"iss":"a","iss":"b"}"#, "\u{feff}{}"] {
        let refused = issuer.raw(json!({ "kid": "k1" }), payload.as_bytes());
        assert!(matches!(refused, Err(TokenError::MalformedClaims(_))), "{payload}");
    }
}

#[test]
fn an_id_token_is_no_access_token() {
    let issuer = Issuer::new();
    for (claim, value) in [("nonce", "n"), ("at_hash", "h"), ("c_hash", "h"), ("s_hash", "h"), ("events", "e")] {
        let found = issuer.verify(&issuer.issue(&claims().with(claim, value)));
        assert_eq!(found, Err(TokenError::NotAnAccessToken(claim.to_owned())));
    }
    for typ in [json!("ID"), json!("Refresh"), json!(7)] {
        let found = issuer.verify(&issuer.issue(&claims().with("typ", typ)));
        assert_eq!(found, Err(TokenError::NotAnAccessToken("typ".to_owned())));
    }
    issuer.verify(&issuer.issue(&claims().with("typ", "Bearer"))).unwrap();
}

#[test]
fn an_id_token_answers_to_one_request_of_one_client() {
    let issuer = Issuer::new();
    let verify = |typ: &str, claims: &Claims| {
        let token = jwt::issue(&issuer.key, "k1", typ, claims).unwrap();
        jwt::verify_id_token(&token, |kid, alg| issuer.set.find(kid, alg), &EXPECTED, "n")
    };
    let good = claims().with("nonce", "n");
    assert_eq!(verify("JWT", &good).unwrap(), good);
    let both = json!(["api", "other"]);
    for (claims, error) in [
        (good.clone().with("nonce", "m"), TokenError::WrongNonce),
        (good.clone().with("nonce", ""), TokenError::WrongNonce),
        (claims(), TokenError::MissingClaim("nonce")),
        (without("iat").with("nonce", "n"), TokenError::MissingClaim("iat")),
        (good.clone().with("aud", "other"), TokenError::WrongAudience),
        (good.clone().with("aud", both.clone()), TokenError::WrongParty),
        (good.clone().with("aud", both.clone()).with("azp", "other"), TokenError::WrongParty),
        (good.clone().with("azp", "other"), TokenError::WrongParty),
        (good.clone().with("azp", 7), TokenError::WrongParty),
        (
            good.clone().with("iss", "https://other.example"),
            TokenError::WrongIssuer("https://other.example".to_owned()),
        ),
        (good.clone().with("exp", NOW - 30), TokenError::Expired),
    ] {
        assert_eq!(verify("JWT", &claims), Err(error), "{claims:?}");
    }
    verify("JWT", &good.clone().with("aud", both).with("azp", "api")).unwrap();
    assert_eq!(verify("at+jwt", &good), Err(TokenError::WrongType("at+jwt".to_owned())));
}
