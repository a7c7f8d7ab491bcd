//! What the service, or the way to it, says against a command: in one line, with what to do next.

use chancery_client::wire::{ErrorCode, ErrorResponse};
use chancery_client::{Error, StatusCode, TransportError};
use serde_json::{Value, json};

use super::credentials::flag;
use crate::failure::{Failure, Kind};

/// Whom a command speaks to, as advice has to name it.
#[derive(Clone, Debug)]
pub struct Trouble {
    pub url: String,
    pub profile: String,
}

impl Trouble {
    pub fn explain(&self, error: Error) -> Failure {
        match error {
            Error::Api { status, body, retry_after, .. } => {
                let failure = Failure::of(kind(status), said(&body));
                let failure = failure.answered(serde_json::to_value(&body).unwrap_or(Value::Null));
                let waited = retry_after.map(|wait| format!("come again in {} seconds", wait.as_secs()));
                match advice(body.code).map(str::to_owned).or(waited) {
                    Some(advice) => failure.advise(advice),
                    None => failure,
                }
            }
            Error::Refused { status, message, request_id } => self.refused(status, &message, request_id),
            Error::Token(refusal) => {
                let answer = json!({"error": refusal.error, "errorDescription": refusal.error_description});
                Failure::of(Kind::Denied, format!("the service gives no token: {}", refusal.error_description))
                    .advise(format!(
                        "check client id, secret and audience, and log in: chancery my login{}",
                        flag(&self.profile)
                    ))
                    .answered(answer)
            }
            Error::Transport(error) => self.unreachable(&error),
            Error::Unexpected { response, reason } => {
                let what = format!("{} does not answer as this API does ({}): {reason}", self.url, response.status);
                Failure::failed(what).advise("check that the URL is that of the service, and compare the versions")
            }
            Error::Unsendable(reason) => Failure::usage(reason),
        }
    }

    fn refused(&self, status: StatusCode, message: &str, request_id: Option<String>) -> Failure {
        let answer = json!({"status": status.as_u16(), "message": message, "requestId": request_id});
        let failure = Failure::of(Kind::Denied, message.trim_end_matches('.')).answered(answer);
        match status {
            StatusCode::FORBIDDEN => failure.advise(
                "your client may not do this; `chancery my whoami` shows what it may, and the operator of the service \
                 can give more",
            ),
            _ => failure.advise(format!("log in again: chancery my login{}", flag(&self.profile))),
        }
    }

    fn unreachable(&self, error: &TransportError) -> Failure {
        let failure = Failure::of(Kind::Unreachable, format!("{}: {error}", self.url));
        match error {
            TransportError::Connect(reason) if reason.contains("UnknownIssuer") => failure.advise(
                "the service has a certificate of a CA that this machine does not know; name that CA with --ca-file",
            ),
            TransportError::Connect(_) => failure.advise("check the URL, and that the service runs"),
            TransportError::Timeout(_) | TransportError::Exchange(_) => {
                failure.advise("whether it was done is not known: look before you do it again")
            }
            TransportError::TooLarge(_) => failure.advise("ask for less with --limit"),
        }
    }
}

fn kind(status: StatusCode) -> Kind {
    match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => Kind::Missing,
        _ => Kind::Failed,
    }
}

/// The message, and every problem that was found, unless the message has it already.
fn said(body: &ErrorResponse) -> String {
    let message = body.message.trim_end_matches('.');
    let problems = body.errors.iter().filter(|problem| !message.contains(problem.message.as_str()));
    let mut problems: Vec<_> = problems.map(|problem| format!("{}: {}", problem.field, problem.message)).collect();
    if body.omitted_errors > 0 {
        problems.push(format!("and {} more", body.omitted_errors));
    }
    if problems.is_empty() { message.to_owned() } else { format!("{message}: {}", problems.join("; ")) }
}

/// What to do next, where that is more than the message says.
fn advice(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::AccountNotFound => Some("see `chancery my account list`"),
        ErrorCode::GroupNotFound => Some("see `chancery my group list`"),
        ErrorCode::PolicyNotFound => Some("see `chancery my policy list`"),
        ErrorCode::EabCredentialNotFound => Some("see `chancery my eab list`"),
        ErrorCode::OrderNotFound => Some("see `chancery my order list`"),
        ErrorCode::CertificateNotFound => Some("see `chancery my certificate list`"),
        ErrorCode::AuthorizationNotFound | ErrorCode::ChallengeNotFound => {
            Some("`chancery my order show ORDER` lists those of an order")
        }
        ErrorCode::PauseNotFound => Some("see `chancery my pause list`"),
        ErrorCode::NamePaused => Some("mend why they failed (`chancery my pause list`), then `chancery my pause lift`"),
        ErrorCode::AccountConflict => Some("`chancery my account show EMAIL` shows the one that has it"),
        ErrorCode::OrderNotReady => Some("`chancery my order resume ORDER` goes on where it stands"),
        ErrorCode::OrderNotCancellable => Some("revoke the certificate instead: `chancery my revoke`"),
        ErrorCode::OrderGone | ErrorCode::CertificateGone | ErrorCode::AuthorizationGone => {
            Some("order again: `chancery my order create`")
        }
        ErrorCode::PolicyViolation => {
            Some("`chancery my policy try` tells beforehand; `chancery my policy show` has the rules")
        }
        ErrorCode::InternalError => {
            Some("the fault is the service's; tell its operator the request id (--json shows it)")
        }
        ErrorCode::MalformedJson
        | ErrorCode::InvalidRequest
        | ErrorCode::UnknownField
        | ErrorCode::UnsupportedMediaType
        | ErrorCode::BodyTooLarge
        | ErrorCode::InvalidLimit
        | ErrorCode::InvalidCursor
        | ErrorCode::NotFound
        | ErrorCode::MethodNotAllowed
        | ErrorCode::NotAcceptable
        | ErrorCode::EventNotFound
        | ErrorCode::WebhookNotFound
        | ErrorCode::DeliveryNotFound
        | ErrorCode::TooManyWebhooks
        | ErrorCode::ExternalIdInUse
        | ErrorCode::NameInUse
        | ErrorCode::AccountTerminated
        | ErrorCode::EabCredentialGone
        | ErrorCode::QuotaExceeded
        | ErrorCode::RateLimited
        | ErrorCode::TooMany
        | ErrorCode::IdempotencyKeyReused
        | ErrorCode::IdempotencyInProgress
        | ErrorCode::InvalidIdempotencyKey
        | ErrorCode::RequestTimeout
        | ErrorCode::Unavailable => None,
    }
}
