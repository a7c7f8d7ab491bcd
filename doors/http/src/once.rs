//! `Idempotency-Key`: the same request under the same key gets the same answer.

use std::sync::Arc;

use aws_lc_rs::digest;
use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use chancery_service::{Answer, Caller, IdempotencyKey, Once, Outcome, ServiceError};
use chancery_wire::{ErrorCode, ErrorResponse};
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use serde::Serialize;

use crate::door::Door;
use crate::error::ApiError;
use crate::exchange::RefusalNote;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The idempotency key of a request, where it has one, and what else names the request.
#[derive(Debug)]
pub struct RequestKey {
    key: Option<IdempotencyKey>,
    method: Method,
    path: String,
}

impl<S: Send + Sync> FromRequestParts<S> for RequestKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let mut sent = parts.headers.get_all(IDEMPOTENCY_KEY).iter();
        let key = match (sent.next(), sent.next()) {
            (None, _) => None,
            (Some(only), None) => Some(only.to_str().ok().and_then(IdempotencyKey::parse).ok_or_else(bad_key)?),
            (Some(_), Some(_)) => return Err(bad_key()),
        };
        Ok(Self { key, method: parts.method.clone(), path: parts.uri.path().to_owned() })
    }
}

fn bad_key() -> ApiError {
    let message = "Idempotency-Key must be given once, as 1 to 255 printable ASCII characters.";
    ApiError::bad_request(ErrorCode::InvalidIdempotencyKey, message)
}

impl RequestKey {
    /// Runs a creation once per key, and answers with what it made, or as it was answered before.
    ///
    /// `create` is told the key so that it can keep its answer in the same unit of work as what it makes; where the key
    /// was used for another request it is told so instead, to be said once nothing that comes first is amiss. A refusal
    /// is kept afterwards, as it tells of nothing that happened; a fault of ours is never kept.
    pub async fn answer<T, W, F>(
        self,
        door: &Door,
        caller: &Caller,
        body: &[u8],
        status: StatusCode,
        view: impl Fn(&T) -> W + Send + Sync + 'static,
        create: impl FnOnce(Result<Option<Once<T>>, ApiError>) -> F,
    ) -> Result<Response, ApiError>
    where
        T: 'static,
        W: Serialize,
        F: Future<Output = Result<Outcome<T>, ApiError>>,
    {
        let render = Arc::new(move |made: &T| Answer { status: status.as_u16(), body: write(&view(made)) });
        let once = self.key.map(|key| Once {
            key,
            fingerprint: fingerprint(&self.method, &self.path, body),
            render: render.clone() as Arc<dyn Fn(&T) -> Answer + Send + Sync>,
        });
        let answers = &door.services.answers;
        let free = match &once {
            None => Ok(None),
            Some(key) => match answers.find(caller, key).await {
                Ok(Some(answer)) => return Ok(replay(answer)),
                Ok(None) => Ok(once.clone()),
                Err(error @ ServiceError::IdempotencyKeyReused) => Err(error.into()),
                Err(error) => return Err(error.into()),
            },
        };
        match (create(free).await, &once) {
            (Ok(Outcome::Fresh(made)), _) => Ok(respond(render(&made))),
            (Ok(Outcome::Replayed(answer)), _) => Ok(replay(answer)),
            (Err(error), Some(once)) if is_final(error.status()) => {
                let refusal = written(error.clone()).await?;
                match answers.keep_refusal(caller, once, refusal).await? {
                    Some(first) => Ok(replay(first)),
                    None => Err(error),
                }
            }
            (Err(error), _) => Err(error),
        }
    }
}

/// Whether the same request would be refused again whoever asks and whenever.
fn is_final(status: StatusCode) -> bool {
    let passing = [
        StatusCode::UNAUTHORIZED,
        StatusCode::FORBIDDEN,
        StatusCode::REQUEST_TIMEOUT,
        StatusCode::UNPROCESSABLE_ENTITY,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    status.is_client_error() && !passing.contains(&status)
}

fn fingerprint(method: &Method, path: &str, body: &[u8]) -> [u8; 32] {
    let mut context = digest::Context::new(&digest::SHA256);
    for part in [method.as_str().as_bytes(), path.as_bytes(), body] {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    let mut hash = [0; 32];
    hash.copy_from_slice(context.finish().as_ref());
    hash
}

async fn written(error: ApiError) -> Result<Answer, ApiError> {
    let status = error.status().as_u16();
    let body = axum::body::to_bytes(error.into_response().into_body(), usize::MAX).await;
    Ok(Answer { status, body: body.map_err(|_| ApiError::internal())?.to_vec() })
}

fn write(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("wire types are texts, numbers, lists and maps of texts")
}

fn respond(answer: Answer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    (status, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], answer.body).into_response()
}

fn replay(answer: Answer) -> Response {
    let refusal = serde_json::from_slice::<ErrorResponse>(&answer.body);
    let mut response = respond(answer);
    if let Ok(ErrorResponse { code, message, .. }) = refusal {
        response.extensions_mut().insert(RefusalNote::new(code.as_str(), &message));
    }
    response.headers_mut().insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
    response
}
