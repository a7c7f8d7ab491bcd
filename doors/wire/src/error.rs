//! The bodies of refusals and of empty successes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body of every refusal but 401 and 403, whose bodies are plain strings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorResponse {
    /// The HTTP status, repeated for those who keep only the body.
    #[schema(example = 404)]
    pub status: u16,
    /// What went wrong, for programs. Never changes its meaning.
    pub code: ErrorCode,
    /// What went wrong, for people. Its wording may change.
    #[schema(example = "There is no such order.")]
    pub message: String,
    /// Names this exchange in our logs; also in the header `X-Request-Id`. In an answer that is replayed
    /// (`Idempotency-Replayed`) it is that of the first request, and the header names this one.
    pub request_id: String,
    /// The problems that were found in the request, at most 32; left out if there is none to name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldProblem>,
    /// The number of further problems, which `errors` does not list; left out if it lists all.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schema(example = 118)]
    pub omitted_errors: usize,
    /// The limit that refused the request, if one did: a name from the page on limits. Every 429, every 503 for load and every
    /// refusal by a cap has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "new-orders-per-account")]
    pub limit: Option<String>,
    /// Further members that some refusals carry, such as `order` or `challenge`.
    #[serde(flatten)]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

pub(crate) fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// One problem, at one place of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldProblem {
    /// Where: a member of the body such as `identifiers[2].value`, or a query parameter.
    #[schema(example = "csr")]
    pub field: String,
    /// What, for programs: such as `missing`, `unknown_field`, `wrong_type`, or the policy rule that refuses.
    #[schema(example = "weak_key")]
    pub code: String,
    /// What, for people.
    pub message: String,
    /// The lookup of the policy that refuses, where a policy does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub policy: Option<String>,
}

impl FieldProblem {
    /// A problem that no policy is behind.
    pub fn new(field: impl Into<String>, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), code: code.into(), message: message.into(), policy: None }
    }
}

/// The body of a success that has nothing else to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuccessResponse {
    /// Always true: a failure is an `ErrorResponse`.
    pub success: bool,
    /// What was done, for people.
    pub message: String,
}

impl SuccessResponse {
    /// A success that says what was done.
    pub fn new(message: impl Into<String>) -> Self {
        Self { success: true, message: message.into() }
    }
}

/// Writes the enum, the list of all its values and their descriptions from one place, so that none can be forgotten.
macro_rules! error_codes {
    ($($(#[doc = $text:literal])+ $variant:ident = $name:literal,)+) => {
        /// What went wrong, for programs: a closed list.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum ErrorCode {
            $($(#[doc = $text])+ $variant,)+
        }

        impl ErrorCode {
            /// Every code there is.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$variant),+];

            /// The code as it stands in a body.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(ErrorCode::$variant => $name,)+
                }
            }

            /// What the code means: one sentence for the documentation.
            pub fn describe(self) -> &'static str {
                match self {
                    $(ErrorCode::$variant => concat!($($text),+).trim(),)+
                }
            }
        }
    };
}

error_codes! {
    /// The body is not JSON; the message says where it stops being so.
    MalformedJson = "malformed_json",
    /// The request is understood but something in it is not acceptable; `errors` lists what.
    InvalidRequest = "invalid_request",
    /// The body or the query has members that this operation does not know; `errors` names them.
    UnknownField = "unknown_field",
    /// The body is not declared as `application/json`, or it is compressed.
    UnsupportedMediaType = "unsupported_media_type",
    /// The body is larger than this service reads.
    BodyTooLarge = "body_too_large",
    /// `limit` is not a whole number from 1 to 1000.
    InvalidLimit = "invalid_limit",
    /// `cursor` was altered, or was given out by another list or for another filter.
    InvalidCursor = "invalid_cursor",
    /// There is no operation at this path.
    NotFound = "not_found",
    /// There is something at this path, but not with this method; the header `Allow` lists the methods it takes.
    MethodNotAllowed = "method_not_allowed",
    /// None of the media types in `Accept` can be given.
    NotAcceptable = "not_acceptable",
    /// There is no such policy.
    PolicyNotFound = "policy_not_found",
    /// There is no such account group.
    GroupNotFound = "group_not_found",
    /// There is no such account.
    AccountNotFound = "account_not_found",
    /// There is no such EAB credential.
    EabCredentialNotFound = "eab_credential_not_found",
    /// There is no such order.
    OrderNotFound = "order_not_found",
    /// There is no such authorization.
    AuthorizationNotFound = "authorization_not_found",
    /// There is no such challenge.
    ChallengeNotFound = "challenge_not_found",
    /// There is no such certificate, or not yet, or it can no longer be revoked.
    CertificateNotFound = "certificate_not_found",
    /// There is no such event.
    EventNotFound = "event_not_found",
    /// There is no such webhook.
    WebhookNotFound = "webhook_not_found",
    /// There is no such delivery of this webhook.
    DeliveryNotFound = "delivery_not_found",
    /// There are as many webhooks as one reseller may have; delete one first.
    TooManyWebhooks = "too_many_webhooks",
    /// The order is not ready to be finalized; `errors` lists what is missing.
    OrderNotReady = "order_not_ready",
    /// The order is being issued or is issued: revoke the certificate instead.
    OrderNotCancellable = "order_not_cancellable",
    /// The order was cancelled, has failed, or has expired.
    OrderGone = "order_gone",
    /// The authorization or challenge was tried before, or is deactivated.
    AuthorizationGone = "authorization_gone",
    /// The certificate will never be: its order ended without one.
    CertificateGone = "certificate_gone",
    /// Another account already has this e-mail address.
    AccountConflict = "account_conflict",
    /// `external_id` already names another of the reseller's resources.
    ExternalIdInUse = "external_id_in_use",
    /// Another group or policy already has this name.
    NameInUse = "name_in_use",
    /// The account is terminated.
    AccountTerminated = "account_terminated",
    /// The EAB credential that was named is revoked, or has expired; the account may still order by its other names.
    EabCredentialGone = "eab_credential_gone",
    /// An issuance policy refuses; `errors` has one entry for each rule, with the policy's lookup.
    PolicyViolation = "policy_violation",
    /// A quota of an issuance policy is used up; `Retry-After` says when to come again.
    QuotaExceeded = "quota_exceeded",
    /// Too many requests; `Retry-After` says when to come again.
    RateLimited = "rate_limited",
    /// There are as many of these as there may be; remove some, or ask the operator.
    TooMany = "too_many",
    /// Validations of a name have failed too often; `errors` names the pauses that have to be lifted first.
    NamePaused = "name_paused",
    /// There is no such pause.
    PauseNotFound = "pause_not_found",
    /// The `Idempotency-Key` was used before with another request.
    IdempotencyKeyReused = "idempotency_key_reused",
    /// The first request with this `Idempotency-Key` is still being worked on.
    IdempotencyInProgress = "idempotency_in_progress",
    /// The `Idempotency-Key` is not 1 to 255 printable characters.
    InvalidIdempotencyKey = "invalid_idempotency_key",
    /// The request's body did not arrive in time.
    RequestTimeout = "request_timeout",
    /// The service cannot answer now; try again.
    Unavailable = "unavailable",
    /// The fault is ours; `requestId` finds it in our logs.
    InternalError = "internal_error",
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn every_code_is_written_and_read_as_its_name() {
        for code in ErrorCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), json!(code.as_str()));
            assert_eq!(serde_json::from_value::<ErrorCode>(json!(code.as_str())).unwrap(), *code);
            assert!(code.describe().ends_with('.'), "{code:?} has no sentence");
        }
        assert_eq!(ErrorCode::ALL.iter().collect::<HashSet<_>>().len(), ErrorCode::ALL.len());
    }

    #[test]
    fn empty_members_are_left_out_and_further_ones_stand_beside_the_rest() {
        let mut body = ErrorResponse {
            status: 410,
            code: ErrorCode::OrderNotFound,
            message: "Gone.".into(),
            request_id: "r1".into(),
            errors: vec![],
            omitted_errors: 0,
            limit: None,
            extra: Default::default(),
        };
        assert_eq!(
            serde_json::to_value(&body).unwrap(),
            json!({"status": 410, "code": "order_not_found", "message": "Gone.", "requestId": "r1"})
        );
        body.extra.insert("order".into(), json!({"lookup": "ord_1"}));
        body.errors.push(FieldProblem::new("csr", "weak_key", "Too weak."));
        body.omitted_errors = 7;
        let value = serde_json::to_value(&body).unwrap();
        assert_eq!((&value["order"]["lookup"], &value["omittedErrors"]), (&json!("ord_1"), &json!(7)));
        assert_eq!(value["errors"], json!([{"field": "csr", "code": "weak_key", "message": "Too weak."}]));
        assert_eq!(serde_json::from_value::<ErrorResponse>(value).unwrap(), body);
    }

    #[test]
    fn the_schema_lists_the_codes() {
        use utoipa::PartialSchema;
        let schema = serde_json::to_value(ErrorCode::schema()).unwrap();
        let listed: Vec<_> = schema["enum"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
        let all: Vec<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(listed, all);
        let body = serde_json::to_value(ErrorResponse::schema()).unwrap();
        assert!(body.to_string().contains("requestId"), "{body}");
    }
}
