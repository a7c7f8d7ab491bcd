//! Request authentication (RFC 8555 section 6.2): who signed a request, that it was for here, and not done before.

use std::sync::Arc;

use axum::extract::Request;
use chancery_domain::{AcmeAccountId, cut};
use chancery_http::{BodyLimits, Exchange, is_encoded, origin, read_bounded};
use chancery_jose::{Algorithm, Jwk, Jws, JwsError};
use chancery_overload::{Reservation, client_network};
use chancery_service::Origin;
use chancery_service::acme::{AcmeCaller, Nonce};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::header::CONTENT_TYPE;
use http::{Extensions, StatusCode};

use crate::mount::Door;
use crate::problem::{Problem, ProblemType};
use crate::rate;
use crate::urls::Urls;
use crate::verify::{authenticate, require_size, unverified_by_its_key, verify};

/// The signatures that are taken.
const ALGORITHMS: [Algorithm; 5] =
    [Algorithm::ES256, Algorithm::ES384, Algorithm::ES512, Algorithm::RS256, Algorithm::EdDSA];

/// A request whose signature is good, whose nonce is taken, and whose account, if it has one, may speak.
pub(crate) struct Signed {
    pub(crate) payload: Vec<u8>,
    /// What was asked for, as the world knows it.
    pub(crate) url: String,
    pub(crate) origin: Origin,
}

/// By whom a request is signed.
pub(crate) enum SignedBy {
    Account(Box<AcmeCaller>),
    Key(Jwk),
}

/// Who signed a request, and what; in a box, so that it is compiled once, and not anew with every handler.
type Verified<'a, By> = BoxFuture<'a, Result<(By, Signed), Problem>>;

/// Takes a request that is signed by an account, named by its URL in `kid`.
pub(crate) fn by_account(door: &Door, request: Request) -> Verified<'_, Box<AcmeCaller>> {
    async move {
        let sent = read(door, request).await?;
        let id = account_of(door, key_name(&sent.jws)?.account()?)?;
        sent.of_account(door, id).await
    }
    .boxed()
}

/// Takes a request that is signed by the key in `jwk`.
pub(crate) fn by_key(door: &Door, request: Request) -> Verified<'_, Jwk> {
    async move {
        let sent = read(door, request).await?;
        let key = key_name(&sent.jws)?.key()?.clone();
        sent.of_key(door, key).await
    }
    .boxed()
}

/// Takes a request that is signed by either.
pub(crate) fn by_either(door: &Door, request: Request) -> Verified<'_, SignedBy> {
    async move {
        let sent = read(door, request).await?;
        match key_name(&sent.jws)? {
            KeyName::Account(url) => {
                let id = account_of(door, url)?;
                sent.of_account(door, id).await.map(|(by, signed)| (SignedBy::Account(by), signed))
            }
            KeyName::Key(key) => {
                let key = key.clone();
                sent.of_key(door, key).await.map(|(key, signed)| (SignedBy::Key(key), signed))
            }
        }
    }
    .boxed()
}

/// A request that is for here and brings a nonce of ours. Who signed it is not known yet.
struct Sent {
    jws: Jws,
    nonce: Nonce,
    /// What was asked for, as the world knows it.
    url: String,
    origin: Origin,
    /// What is known of the exchange.
    extensions: Extensions,
}

async fn read(door: &Door, request: Request) -> Result<Sent, Problem> {
    let (parts, body) = request.into_parts();
    let media_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case("application/jose+json") {
        let detail = "the Content-Type must be application/jose+json";
        return Err(Problem::new(ProblemType::Malformed, StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    if is_encoded(&parts.headers) {
        let detail = "send the body as it is, without Content-Encoding";
        return Err(Problem::new(ProblemType::Malformed, StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    let limits = parts.extensions.get::<BodyLimits>().copied().unwrap_or_default();
    let body = read_bounded(body, limits).await?;
    let url = Urls::of(door).asked(parts.uri.path_and_query().map_or("/", |path| path.as_str()));
    let jws = Jws::flattened(&body, limits.max_bytes).map_err(unreadable)?;
    require_algorithm(&jws)?;
    require_url(&jws, &url)?;
    let nonce = door.services.acme.check_nonce(nonce(&jws)?)?;
    Ok(Sent { jws, nonce, url, origin: origin(&parts), extensions: parts.extensions })
}

impl Sent {
    /// That this account has signed it, and may speak. A request that no active account has signed counts against the
    /// rate of its address. Beyond that rate nothing is looked up and no signature is verified, except for an account
    /// whose last request from there was admitted.
    async fn of_account(self, door: &Door, id: AcmeAccountId) -> Result<(Box<AcmeCaller>, Signed), Problem> {
        let Self { jws, nonce, url, origin, extensions } = self;
        let acme = &door.services.acme;
        let rates = &door.services.rates;
        let network = client_network(&origin.address);
        let is_known = acme.is_known_at(id, &network);
        let reservation = if is_known { None } else { rates.reserve_anonymous(&origin)? };
        let exchange = extensions.get::<Arc<Exchange>>();
        let admitted = authenticate(door, id, &jws, nonce, &origin, &extensions).await;
        match (&admitted, reservation) {
            (Ok(_), reservation) => {
                if let Some(reservation) = reservation {
                    reservation.release();
                }
                if !is_known {
                    acme.remember_at(id, network);
                }
            }
            // A failure of the service costs the client nothing.
            (Err(problem), reservation) if problem.is_ours() => reservation.into_iter().for_each(Reservation::release),
            (Err(_), reservation) => {
                match reservation {
                    Some(charged) => drop(charged),
                    None => rates.charge_anonymous(&origin),
                }
                rate::note(&extensions, rates.anonymous_state(&origin));
                acme.forget_at(id, network);
            }
        }
        let (caller, payload) = admitted?;
        if let Some(exchange) = exchange {
            exchange.note_caller(&caller.caller);
            exchange.assign_permit(&extensions, caller.caller.reseller)?;
        }
        rate::note(&extensions, rates.customer_request(caller.caller.reseller, caller.customer.id).await?);
        Ok((Box::new(caller), Signed { payload, url, origin }))
    }

    /// That the key it brings has signed it.
    async fn of_key(self, door: &Door, key: Jwk) -> Result<(Jwk, Signed), Problem> {
        let Self { jws, nonce, url, origin, extensions } = self;
        // Whoever has no account yet is held to their rate by where they come from.
        let rates = &door.services.rates;
        rates.take_anonymous(&origin)?;
        rate::note(&extensions, rates.anonymous_state(&origin));
        require_size(&key)?;
        let payload = verify(&jws, &key).map_err(unverified_by_its_key)?.to_vec();
        door.services.acme.take_nonce(nonce).await?;
        Ok((key, Signed { payload, url, origin }))
    }
}

/// How a request names its key.
pub(crate) enum KeyName<'a> {
    /// By the URL of the account that has it.
    Account(&'a str),
    Key(&'a Jwk),
}

impl<'a> KeyName<'a> {
    /// The account's URL, where only that belongs.
    fn account(self) -> Result<&'a str, Problem> {
        match self {
            Self::Account(url) => Ok(url),
            Self::Key(_) => Err(Problem::malformed("this is signed with the account's URL in `kid`, not with `jwk`")),
        }
    }

    /// The key itself, where only that belongs.
    fn key(self) -> Result<&'a Jwk, Problem> {
        match self {
            Self::Key(key) => Ok(key),
            Self::Account(_) => {
                Err(Problem::malformed("this is signed with the new account's key in `jwk`, not with `kid`"))
            }
        }
    }
}

/// Exactly one of `kid` and `jwk`.
pub(crate) fn key_name(jws: &Jws) -> Result<KeyName<'_>, Problem> {
    let header = jws.header();
    match (&header.kid, &header.jwk) {
        (Some(_), Some(_)) => {
            Err(Problem::malformed("the protected header has both `kid` and `jwk`; send one of them"))
        }
        (None, None) => Err(Problem::malformed("the protected header has neither `kid` nor `jwk`")),
        (Some(url), None) => Ok(KeyName::Account(url)),
        (None, Some(key)) => Ok(KeyName::Key(key)),
    }
}

fn account_of(door: &Door, url: &str) -> Result<AcmeAccountId, Problem> {
    Urls::of(door).read_account(url).ok_or_else(|| {
        let shown = cut(url, 200);
        let detail = format!("`kid` must be the URL of your account, as newAccount gave it in Location, not {shown:?}");
        Problem::new(ProblemType::AccountDoesNotExist, StatusCode::BAD_REQUEST, detail)
    })
}

/// RFC 8555 section 6.2.
pub(crate) fn require_algorithm(jws: &Jws) -> Result<(), Problem> {
    let alg = jws.header().alg;
    if ALGORITHMS.contains(&alg) { Ok(()) } else { Err(bad_algorithm(alg.name())) }
}

/// RFC 8555 section 6.4.
pub(crate) fn require_url(jws: &Jws, expected: &str) -> Result<(), Problem> {
    match jws.header().members.get("url").map(|url| url.as_str()) {
        Some(Some(url)) if url == expected => Ok(()),
        Some(Some(url)) => {
            let url = cut(url, 200);
            Err(Problem::unauthorized(format!("the request is signed for {url:?}, and was sent to {expected:?}")))
        }
        Some(None) => Err(Problem::malformed("`url` in the protected header is not a string")),
        None => Err(Problem::malformed("the protected header has no `url`; it must be that of the request")),
    }
}

pub(crate) fn nonce(jws: &Jws) -> Result<&str, Problem> {
    match jws.header().members.get("nonce").map(|nonce| nonce.as_str()) {
        Some(Some(nonce)) if chancery_jose::base64url::decode(nonce).is_some() => Ok(nonce),
        // RFC 8555 section 6.5.2.
        Some(_) => Err(Problem::malformed("`nonce` in the protected header is not base64url")),
        None => {
            let detail = "the protected header has no `nonce`; use the one in the header Replay-Nonce of this answer";
            Err(Problem::new(ProblemType::BadNonce, StatusCode::BAD_REQUEST, detail))
        }
    }
}

/// Why a JWS cannot be read.
pub(crate) fn unreadable(error: JwsError) -> Problem {
    match error {
        JwsError::TooLong(_) => {
            let detail = "the body is larger than we take; send less";
            Problem::new(ProblemType::Malformed, StatusCode::PAYLOAD_TOO_LARGE, detail)
        }
        JwsError::UnsupportedAlgorithm(name) => bad_algorithm(cut(&name, 50)),
        JwsError::Key(error) => {
            let detail = format!("the key in `jwk` is not acceptable: {error}");
            Problem::new(ProblemType::BadPublicKey, StatusCode::BAD_REQUEST, detail)
        }
        JwsError::Refused(name) => {
            let name = cut(&name, 50);
            Problem::malformed(format!(
                "the member `{name}` is not taken: a request is one flattened JWS of `protected`, `payload` and \
                 `signature`, without `crit` or `b64`"
            ))
        }
        other @ (JwsError::Form(_)
        | JwsError::Missing(_)
        | JwsError::Encoding(_)
        | JwsError::Header(_)
        | JwsError::AlgorithmDoesNotFit(_)
        | JwsError::BadSignature) => Problem::malformed(format!("the JWS cannot be read: {other}")),
    }
}

fn bad_algorithm(name: &str) -> Problem {
    let names: Vec<_> = ALGORITHMS.iter().map(|alg| alg.name().to_owned()).collect();
    let detail = format!("the signature algorithm {name:?} is not taken; use one of {}", names.join(", "));
    Problem::new(ProblemType::BadSignatureAlgorithm, StatusCode::BAD_REQUEST, detail).with_algorithms(names)
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;
    use chancery_jose::{SigningKey, jws::sign_flattened};
    use serde_json::{Value, json};

    use super::*;

    fn request(header: Value) -> Jws {
        let Value::Object(header) = header else { panic!("a header is an object") };
        let signed = sign_flattened(header, b"", &SigningKey::generate().unwrap()).unwrap();
        Jws::flattened(signed.to_string().as_bytes(), 10_000).unwrap()
    }

    fn status<T>(result: Result<T, Problem>) -> Option<u16> {
        result.err().map(|problem| problem.into_response().status().as_u16())
    }

    #[test]
    fn a_key_is_named_once_and_in_the_way_that_belongs_there() {
        let jwk = SigningKey::generate().unwrap().public().to_value();
        let by_account = request(json!({"kid": "https://ca.test/acme/account/x"}));
        let by_key = request(json!({"jwk": jwk}));
        for (jws, either, account, key) in [
            (&by_account, None, None, Some(400)),
            (&by_key, None, Some(400), None),
            (&request(json!({"kid": "x", "jwk": jwk})), Some(400), Some(400), Some(400)),
            (&request(json!({})), Some(400), Some(400), Some(400)),
        ] {
            assert_eq!(status(key_name(jws)), either);
            assert_eq!(status(key_name(jws).and_then(KeyName::account)), account);
            assert_eq!(status(key_name(jws).and_then(KeyName::key)), key);
        }
    }

    #[test]
    fn a_request_is_for_the_url_it_was_signed_for() {
        let url = "https://ca.test/acme/TLS-90d/new-order";
        assert_eq!(status(require_url(&request(json!({"url": url})), url)), None);
        for other in ["https://ca.test/acme/TLS-90d/new-order/", "http://ca.test/acme/TLS-90d/new-order", ""] {
            assert_eq!(status(require_url(&request(json!({"url": other})), url)), Some(403), "{other}");
        }
        assert_eq!(status(require_url(&request(json!({})), url)), Some(400));
        assert_eq!(status(require_url(&request(json!({"url": 1})), url)), Some(400));
    }

    #[test]
    fn a_nonce_is_base64url() {
        assert_eq!(nonce(&request(json!({"nonce": "AAAA"}))).unwrap(), "AAAA");
        for bad in [json!({}), json!({"nonce": 1}), json!({"nonce": "A+/="}), json!({"nonce": "A"})] {
            assert_eq!(status(nonce(&request(bad))), Some(400));
        }
    }

    #[test]
    fn only_five_signatures_are_taken() {
        for alg in Algorithm::ALL {
            let protected = json!({"alg": alg.name()}).to_string();
            let protected = chancery_jose::base64url::encode(protected.as_bytes());
            let text = json!({"protected": protected, "payload": "", "signature": ""}).to_string();
            let jws = Jws::flattened(text.as_bytes(), 10_000).unwrap();
            let taken = ["ES256", "ES384", "ES512", "RS256", "EdDSA"].contains(&alg.name());
            assert_eq!(require_algorithm(&jws).is_ok(), taken, "{}", alg.name());
        }
    }
}
