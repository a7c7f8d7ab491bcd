//! JWT access tokens (RFC 7519, RFC 9068) and ID tokens (OpenID Connect Core): issued with ES256, verified with public
//! keys only.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::{Algorithm, Jwk, Jws, KeyError, SigningKey, TokenError, json, jws};

/// The longest token that is looked at, in bytes.
pub const MAX_TOKEN: usize = 16 * 1024;

/// Media types may leave out `application/` (RFC 7515 section 4.1.9).
const ACCESS_TOKEN: &[&str] = &["at+jwt", "application/at+jwt", "JWT"];
/// An ID token has no type of its own.
const ID_TOKEN: &[&str] = &["JWT"];
/// What ID tokens have and access tokens have not (OpenID Connect Core sections 2 and 3.3.2.11, back-channel logout).
const NOT_OF_ACCESS_TOKENS: [&str; 5] = ["nonce", "at_hash", "c_hash", "s_hash", "events"];

/// The claims of a token. From [`verify`] they are verified; made by hand they are what [`issue`] signs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Claims(pub Map<String, Value>);

impl Claims {
    /// Sets one claim.
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.0.insert(name.into(), value.into());
        self
    }

    /// A claim that is a string.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// `aud`, a string or an array of strings; `None` when absent or anything else.
    pub fn audiences(&self) -> Option<Vec<&str>> {
        match self.0.get("aud")? {
            Value::String(one) => Some(vec![one]),
            Value::Array(several) => several.iter().map(Value::as_str).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
        }
    }

    /// The words of `scope` (RFC 8693 section 4.2); none when it is absent.
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        self.text("scope").unwrap_or_default().split(' ').filter(|word| !word.is_empty())
    }

    /// A time claim such as `exp`, in whole seconds since 1970 (RFC 7519 section 2 lets it have a fraction).
    pub fn seconds(&self, name: &str) -> Option<i64> {
        let value = self.0.get(name)?;
        value.as_i64().or_else(|| value.as_f64().map(|seconds| seconds.floor() as i64))
    }
}

/// What a token must say to be accepted.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// The exact `iss`.
    pub issuer: &'a str,
    /// One of `aud`.
    pub audience: &'a str,
    /// The time, in seconds since 1970.
    pub now: i64,
    /// How far the two clocks may differ.
    pub leeway: Duration,
}

/// Signs a token; `typ` is `at+jwt` for an access token (RFC 9068 section 2.1).
pub fn issue(key: &SigningKey, kid: &str, typ: &str, claims: &Claims) -> Result<String, KeyError> {
    let header = Map::from_iter([("kid".to_owned(), kid.into()), ("typ".to_owned(), typ.into())]);
    jws::sign_compact(header, Value::Object(claims.0.clone()).to_string().as_bytes(), key)
}

/// Verifies a token: form, type, key, signature, and only then issuer, audience and times.
///
/// `lookup` returns the keys that may have signed it, by `kid` and algorithm. When it knows none the error is
/// [`TokenError::UnknownKey`], upon which a caller may refresh its keys and try again.
pub fn verify(
    token: &str,
    lookup: impl Fn(Option<&str>, Algorithm) -> Vec<Jwk>,
    expected: &Expected<'_>,
) -> Result<Claims, TokenError> {
    let claims = verified(token, lookup, ACCESS_TOKEN)?;
    check(&claims, expected)?;
    // Some providers type nothing: an ID token must not be taken for an access token (RFC 9068 section 5).
    let foreign = NOT_OF_ACCESS_TOKENS.into_iter().find(|name| claims.0.contains_key(*name));
    let bearer = claims.text("typ").is_some_and(|typ| typ.eq_ignore_ascii_case("bearer"));
    let typed = (claims.0.contains_key("typ") && !bearer).then_some("typ");
    match foreign.or(typed) {
        Some(what) => Err(TokenError::NotAnAccessToken(what.to_owned())),
        None => Ok(claims),
    }
}

/// Verifies the ID token that a code was exchanged for (OpenID Connect Core section 3.1.3.7): as [`verify`] does, with the
/// client's id as the audience, and that it answers to the request with this nonce.
pub fn verify_id_token(
    token: &str,
    lookup: impl Fn(Option<&str>, Algorithm) -> Vec<Jwk>,
    expected: &Expected<'_>,
    nonce: &str,
) -> Result<Claims, TokenError> {
    let claims = verified(token, lookup, ID_TOKEN)?;
    check(&claims, expected)?;
    required(&claims, "iat", claims.seconds("iat"))?;
    let party = claims.0.contains_key("azp").then(|| claims.text("azp").unwrap_or_default());
    let alone = claims.audiences().is_some_and(|audiences| audiences.len() == 1);
    // Whom else it is meant for nobody here knows: its receiver has to be named.
    if party.is_some_and(|party| party != expected.audience) || (party.is_none() && !alone) {
        return Err(TokenError::WrongParty);
    }
    let said = required(&claims, "nonce", claims.text("nonce"))?;
    if aws_lc_rs::constant_time::verify_slices_are_equal(said.as_bytes(), nonce.as_bytes()).is_err() {
        return Err(TokenError::WrongNonce);
    }
    Ok(claims)
}

/// Form, type, key and signature.
fn verified(
    token: &str,
    lookup: impl Fn(Option<&str>, Algorithm) -> Vec<Jwk>,
    types: &[&str],
) -> Result<Claims, TokenError> {
    let jws = Jws::compact(token, MAX_TOKEN)?;
    let header = jws.header();
    if header.alg.is_hmac() {
        return Err(TokenError::UnsupportedAlgorithm(header.alg.name().to_owned()));
    }
    let typ = header.typ.as_deref().unwrap_or("JWT");
    if !types.iter().any(|accepted| accepted.eq_ignore_ascii_case(typ)) {
        return Err(TokenError::WrongType(typ.to_owned()));
    }
    let mut keys = lookup(header.kid.as_deref(), header.alg);
    keys.retain(|key| key.algorithms().contains(&header.alg));
    if keys.is_empty() {
        return Err(TokenError::UnknownKey(header.kid.clone()));
    }
    let payload = keys.iter().find_map(|key| jws.verify(key).ok()).ok_or(TokenError::BadSignature)?;
    json::object(payload).map(Claims).map_err(TokenError::MalformedClaims)
}

/// The issuer that an unverified token claims, good only for choosing whose keys to verify it with.
pub fn unverified_issuer(token: &str) -> Result<String, TokenError> {
    let jws = Jws::compact(token, MAX_TOKEN)?;
    let claims = Claims(json::object(&jws.payload).map_err(TokenError::MalformedClaims)?);
    required(&claims, "iss", claims.text("iss")).map(str::to_owned)
}

fn check(claims: &Claims, expected: &Expected<'_>) -> Result<(), TokenError> {
    let issuer = required(claims, "iss", claims.text("iss"))?;
    if issuer != expected.issuer {
        return Err(TokenError::WrongIssuer(issuer.to_owned()));
    }
    if !required(claims, "aud", claims.audiences())?.contains(&expected.audience) {
        return Err(TokenError::WrongAudience);
    }
    let leeway = i64::try_from(expected.leeway.as_secs()).unwrap_or(i64::MAX);
    // RFC 7519 section 4.1.4: on or after `exp` is too late.
    if required(claims, "exp", claims.seconds("exp"))? <= expected.now.saturating_sub(leeway) {
        return Err(TokenError::Expired);
    }
    let latest = expected.now.saturating_add(leeway);
    for name in ["nbf", "iat"] {
        if claims.0.contains_key(name) && required(claims, name, claims.seconds(name))? > latest {
            return Err(TokenError::NotYetValid);
        }
    }
    Ok(())
}

/// Tells a claim that is absent from one that is there and makes no sense.
fn required<T>(claims: &Claims, name: &'static str, value: Option<T>) -> Result<T, TokenError> {
    value.ok_or_else(|| match claims.0.get(name) {
        None => TokenError::MissingClaim(name),
        Some(_) => TokenError::MalformedClaims(format!("`{name}`")),
    })
}
