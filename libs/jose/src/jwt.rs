//! JWT access tokens (RFC 7519, RFC 9068): issued with ES256, verified with public keys only.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::{Algorithm, Jwk, Jws, KeyError, SigningKey, TokenError, json, jws};

/// The longest token that is looked at, in bytes.
pub const MAX_TOKEN: usize = 16 * 1024;

/// Media types may leave out `application/` (RFC 7515 section 4.1.9).
const ACCEPTED_TYPES: [&str; 3] = ["at+jwt", "application/at+jwt", "JWT"];

/// The claims of a token. From [`verify`] they are verified; made by hand they are what [`issue`] signs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Claims(pub Map<String, Value>);

impl Claims {
    /// The same with one claim set.
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
    let jws = Jws::compact(token, MAX_TOKEN)?;
    let header = jws.header();
    if header.alg.is_hmac() {
        return Err(TokenError::UnsupportedAlgorithm(header.alg.name().to_owned()));
    }
    let typ = header.typ.as_deref().unwrap_or("JWT");
    if !ACCEPTED_TYPES.iter().any(|accepted| accepted.eq_ignore_ascii_case(typ)) {
        return Err(TokenError::WrongType(typ.to_owned()));
    }
    let mut keys = lookup(header.kid.as_deref(), header.alg);
    keys.retain(|key| key.algorithms().contains(&header.alg));
    if keys.is_empty() {
        return Err(TokenError::UnknownKey(header.kid.clone()));
    }
    let payload = keys.iter().find_map(|key| jws.verify(key).ok()).ok_or(TokenError::BadSignature)?;
    let claims = Claims(json::object(payload).map_err(TokenError::MalformedClaims)?);
    check(&claims, expected).map(|()| claims)
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
