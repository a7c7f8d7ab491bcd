//! keyChange (RFC 8555 section 7.3.5): a request of the new key inside one of the old.

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use chancery_jose::{Jwk, Jws};
use chancery_service::ServiceError;
use chancery_service::acme::AcmeError;
use chancery_wire::acme as wire;
use http::StatusCode;
use http::header::LOCATION;

use crate::account::view;
use crate::directory::find;
use crate::jws::{by_account, require_algorithm, unreadable};
use crate::mount::Door;
use crate::payload;
use crate::problem::{Problem, ProblemType};
use crate::urls::Urls;
use crate::verify::{require_size, unverified_by_its_key, verify};

pub(crate) async fn change(
    State(door): State<Door>,
    Path(profile): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    find(&door, &profile)?;
    let (by, signed) = by_account(&door, request).await?;
    let urls = Urls::of(&door);
    let inner = Inner::read(&signed.payload, &signed.url)?;
    if inner.asked.account != urls.account(by.account.id) {
        return Err(Problem::malformed("the inner `account` is not the URL of the account that signs"));
    }
    let old = Jwk::from_value(&inner.asked.old_key)
        .map_err(|error| Problem::malformed(format!("the inner `oldKey` is not a public key: {error}")))?;
    match door.services.acme.change_key(&by, &old, &inner.key).await {
        Ok(account) => Ok(Json(view(&account, &door)).into_response()),
        Err(ServiceError::Acme(error @ AcmeError::KeyInUse(other))) => {
            Err(Problem::from(ServiceError::Acme(error)).with_text(LOCATION, &urls.account(other)))
        }
        Err(other) => Err(other.into()),
    }
}

/// What the new key says.
pub(crate) struct Inner {
    pub(crate) key: Jwk,
    pub(crate) asked: wire::KeyChange,
}

impl Inner {
    /// A nonce in it is passed over, as the RFC asks.
    pub(crate) fn read(payload: &[u8], url: &str) -> Result<Self, Problem> {
        if payload.is_empty() {
            return Err(Problem::malformed("the payload is empty; it must be a JWS that the new key has signed"));
        }
        let jws = Jws::flattened(payload, payload.len()).map_err(unreadable)?;
        require_algorithm(&jws)?;
        let header = jws.header();
        let key = match (&header.jwk, &header.kid) {
            (Some(key), None) => key.clone(),
            (_, Some(_)) => return Err(Problem::malformed("the inner JWS has a `kid`; it must have a `jwk` alone")),
            (None, None) => return Err(Problem::malformed("the inner JWS has no `jwk` with the new key")),
        };
        if header.members.get("url").and_then(|url| url.as_str()) != Some(url) {
            let detail = "the inner `url` must be the same as the outer one";
            return Err(Problem::new(ProblemType::Malformed, StatusCode::BAD_REQUEST, detail));
        }
        require_size(&key)?;
        let asked = payload::read(verify(&jws, &key).map_err(unverified_by_its_key)?)?;
        Ok(Self { key, asked })
    }
}
