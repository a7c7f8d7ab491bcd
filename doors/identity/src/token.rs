//! `POST /oauth/token`: the client-credentials grant.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chancery_domain::{ClientId, Secret};
use chancery_http::{ApiError, Door, RefusalNote, origin};
use chancery_service::identity::{TokenGrant, TokenRefusal, TokenRequest};
use chancery_wire::{TokenErrorResponse, TokenResponse};
use http::header::{CACHE_CONTROL, PRAGMA, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Request, StatusCode};

use crate::token_request::{self, Asked};

pub(crate) async fn grant(State(door): State<Door>, request: Request<Body>) -> Result<Response, Refused> {
    let (parts, body) = request.into_parts();
    let admitted = door.services.rates.token_request(&origin(&parts)).await;
    admitted.map_err(|refusal| Refused::of_nobody(Refusal::Api(refusal.into())))?;
    let request = Request::from_parts(parts, body);
    let asked = token_request::read(request).await.map_err(Refused::of_nobody)?;
    // Only what is a client id: a secret that was put in its place must not be written down.
    let client = asked.client_id.as_deref().and_then(|id| id.parse().ok());
    answer(&door, asked).await.map_err(|refusal| Refused { refusal, client })
}

async fn answer(door: &Door, mut asked: Asked) -> Result<Response, Refusal> {
    match asked.grant_type.as_deref() {
        Some("client_credentials") => {}
        Some(_) => {
            let message = "the only grant_type here is client_credentials";
            return Err(Refusal::bad("unsupported_grant_type", message));
        }
        None => return Err(Refusal::bad("invalid_request", "grant_type is missing: it must be client_credentials")),
    }
    let secret = asked.take_secret();
    let Some(client_id) = asked.client_id else { return Err(Refusal::client("client_id is missing")) };
    let Some(client_secret) = secret else { return Err(Refusal::client("client_secret is missing")) };
    let request = TokenRequest { client_id, client_secret, audience: asked.audience, scope: asked.scope };
    let TokenGrant { access_token, scope, expires_in } = door.services.identity.grant(request).await?;
    let answer = TokenResponse {
        access_token: Secret::reveal(&access_token).to_owned(),
        scope: scope.to_string(),
        expires_in,
        token_type: "Bearer".to_owned(),
    };
    // RFC 6749 section 5.1.
    Ok(([(CACHE_CONTROL, "no-store"), (PRAGMA, "no-cache")], Json(answer)).into_response())
}

/// No token, in the words of RFC 6749 section 5.2.
#[derive(Debug)]
pub(crate) enum Refusal {
    OAuth { status: StatusCode, error: &'static str, description: String },
    Api(ApiError),
}

impl Refusal {
    pub(crate) fn bad(error: &'static str, description: &str) -> Self {
        Self::OAuth { status: StatusCode::BAD_REQUEST, error, description: description.to_owned() }
    }

    /// A body in a form that is not taken.
    pub(crate) fn unsupported(description: &str) -> Self {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        Self::OAuth { status, error: "invalid_request", description: description.to_owned() }
    }

    pub(crate) fn client(description: &str) -> Self {
        Self::OAuth { status: StatusCode::UNAUTHORIZED, error: "invalid_client", description: description.to_owned() }
    }
}

impl From<TokenRefusal> for Refusal {
    fn from(refusal: TokenRefusal) -> Self {
        let description = refusal.to_string();
        match refusal {
            TokenRefusal::InvalidClient => Self::client(&description),
            TokenRefusal::InvalidRequest(_) => Self::bad("invalid_request", &description),
            TokenRefusal::InvalidScope(_) => Self::bad("invalid_scope", &description),
            TokenRefusal::UnauthorizedClient(_) => Self::bad("unauthorized_client", &description),
            TokenRefusal::Service(error) => Self::Api(error.into()),
        }
    }
}

/// A refusal, and the client it was given to.
#[derive(Debug)]
pub(crate) struct Refused {
    refusal: Refusal,
    client: Option<ClientId>,
}

impl Refused {
    /// Of a request that names no client, or none that can be read.
    pub(crate) fn of_nobody(refusal: Refusal) -> Self {
        Self { refusal, client: None }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (status, error, description) = match self.refusal {
            Refusal::OAuth { status, error, description } => (status, error, description),
            Refusal::Api(error) => return error.into_response(),
        };
        let mut headers = HeaderMap::new();
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"chancery\""));
        }
        let subject = self.client.map(|client| client.to_string());
        let note = RefusalNote { subject, ..RefusalNote::new(error, &description) };
        let body = TokenErrorResponse { error: error.to_owned(), error_description: description };
        let mut response = (status, headers, Json(body)).into_response();
        response.extensions_mut().insert(note);
        response
    }
}
