//! What a perspective is asked, over HTTP.

use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use chancery_client::wire::ErrorCode;
use chancery_dcv::Validator;
use chancery_domain::{Clock, Secret};
use chancery_http::{ApiError, JsonBody};
use chancery_machine::SystemClock;
use chancery_perspective::{
    Answer, CAA, CaaAnswer, CaaQuestion, DESCRIPTION, Description, Question, VERIFY, VerifyAnswer, VerifyQuestion,
};

use http::header::AUTHORIZATION;

use crate::version::VERSION;

/// Fewer characters can be guessed.
pub const LEAST_SECRET: usize = 32;

/// Any of these opens the door: while one is changed for another, both do.
#[derive(Clone)]
pub struct Secrets(Arc<[Secret]>);

impl Secrets {
    /// One a line.
    pub fn read(text: &Secret) -> Result<Self, String> {
        let lines: Vec<_> = text.reveal().lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        match lines.iter().all(|line| line.len() >= LEAST_SECRET) {
            true => Ok(Self(lines.into_iter().map(|line| Secret::new(line.to_owned())).collect())),
            false => Err(format!("a secret must have {LEAST_SECRET} characters at least")),
        }
    }

    fn open(&self, given: &str) -> bool {
        self.0.iter().any(|secret| verify_slices_are_equal(secret.reveal().as_bytes(), given.as_bytes()).is_ok())
    }
}

/// Questions are answered for those who have a secret; that we are alive is told to everybody.
pub fn router(validator: Validator, secrets: Secrets) -> Router {
    Router::new()
        .route(VERIFY, post(verify))
        .route(CAA, post(caa))
        .route(DESCRIPTION, get(describe))
        .with_state(validator)
        .route_layer(middleware::from_fn_with_state(secrets, let_in))
        .route("/livez", get(|| async { "ok\n" }))
}

async fn let_in(State(secrets): State<Secrets>, request: Request, next: Next) -> Response {
    let given = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    match given {
        Some(given) if secrets.open(given) => next.run(request).await,
        _ => ApiError::unauthorized("The secret of this perspective is needed, as a bearer token.", "Bearer")
            .into_response(),
    }
}

async fn verify(
    State(validator): State<Validator>,
    question: JsonBody<Question<VerifyQuestion>>,
) -> Result<Json<Answer<VerifyAnswer>>, ApiError> {
    let Question { id, question } = question.read(Ok)?;
    let check = question.check().map_err(not_understood)?;
    let seen = validator.known_as(&question.ca_domains).verify(&question.whose, &check).await;
    Ok(Json(Answer { id, settings: validator.strictness().into(), answer: seen.into() }))
}

async fn caa(
    State(validator): State<Validator>,
    question: JsonBody<Question<CaaQuestion>>,
) -> Result<Json<Answer<CaaAnswer>>, ApiError> {
    let Question { id, question } = question.read(Ok)?;
    let (name, method) = question.about().map_err(not_understood)?;
    let validator = validator.known_as(&question.ca_domains);
    let verdict = validator.caa(&question.whose, &name, Some(&question.account_uri), method).await;
    let answer = CaaAnswer::new(SystemClock.now(), verdict);
    Ok(Json(Answer { id, settings: validator.strictness().into(), answer }))
}

async fn describe(State(validator): State<Validator>) -> Json<Description> {
    let settings = validator.strictness().into();
    Json(Description { version: VERSION.to_owned(), time: SystemClock.now().as_millis(), settings })
}

fn not_understood(why: String) -> ApiError {
    ApiError::bad_request(ErrorCode::InvalidRequest, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_several_secrets_opens_and_nothing_else_does() {
        let (old, new) = ("o".repeat(32), "n".repeat(44));
        let secrets = Secrets::read(&Secret::new(format!("{old}\n\n  {new} \n"))).unwrap();
        assert!(secrets.open(&old) && secrets.open(&new));
        let both = format!("{old}\n\n  {new}");
        for wrong in ["", " ", &old[1..], &format!("{old} "), &both] {
            assert!(!secrets.open(wrong), "{wrong:?}");
        }
        assert!(Secrets::read(&Secret::new(format!("{old}\nshort"))).is_err());
    }
}
