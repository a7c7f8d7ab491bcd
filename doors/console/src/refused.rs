//! What is not shown or done, and why: a page of its own, in words for people.

use std::sync::Arc;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use chancery_domain::AccountError;
use chancery_http::{ApiError, RefusalNote, RefusedBy, Wording, with_readable_path};
use chancery_overload::Limit;
use chancery_service::{Cap, ServiceError, StoreError};
use http::header::ALLOW;
use http::{HeaderMap, HeaderValue, StatusCode};
use maud::html;

use crate::layout::bare;
use crate::session::see_other;
use crate::theme::Theme;

/// A refusal.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    status: StatusCode,
    title: &'static str,
    message: String,
    to: Option<String>,
    /// After how many seconds to come again.
    retry_after: Option<u64>,
    limit: Option<Limit>,
}

impl Refused {
    fn new(status: StatusCode, title: &'static str, message: impl Into<String>) -> Self {
        Self { status, title, message: message.into(), to: None, retry_after: None, limit: None }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not found", message)
    }

    /// A path that leads nowhere, or to a page that is not for whoever asks.
    pub(crate) fn no_page() -> Self {
        Self::not_found("There is no such page.")
    }

    /// An address that forms are sent to, and nothing else.
    pub(crate) fn no_method() -> Self {
        let message = "There is no page here: it is where a form is sent to. Open the page with the form again.";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "No page", message)
    }

    pub(crate) fn redirect(to: &str) -> Self {
        Self { to: Some(to.to_owned()), ..Self::new(StatusCode::SEE_OTHER, "", "") }
    }

    /// A form that came from elsewhere, or from a page of another session.
    pub(crate) fn forged() -> Self {
        let message =
            "This form was not sent from a page of this session. Go back, load the page again, and try again.";
        Self::new(StatusCode::FORBIDDEN, "Not accepted", message)
    }

    pub(crate) fn too_many(seconds: Option<u64>) -> Self {
        let message = "That were many requests. Wait a moment and load the page again.";
        let refused = Self::new(StatusCode::TOO_MANY_REQUESTS, "One moment", message);
        Self { retry_after: Some(seconds.unwrap_or(1)), ..refused }
    }

    /// A limit on load refuses the request for the moment.
    pub(crate) fn overloaded(error: ApiError) -> Self {
        Self { limit: error.limit(), ..Self::one_moment() }
    }

    /// A form without what it always has.
    pub(crate) fn incomplete(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "That cannot be done", message)
    }

    pub(crate) fn api(error: ApiError) -> Self {
        let message = match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => "The form is too long.",
            StatusCode::REQUEST_TIMEOUT => "The form did not arrive in time.",
            _ => "The form could not be read.",
        };
        Self { limit: error.limit(), ..Self::new(error.status(), "Not accepted", message) }
    }

    /// What a use case refuses.
    pub(crate) fn service(error: ServiceError) -> Self {
        let limit = error.limit();
        Self { limit, ..Self::worded(error) }
    }

    fn worded(error: ServiceError) -> Self {
        let message = sentence(&error.to_string());
        match error {
            ServiceError::MissingScope(scope) => Self::new(
                StatusCode::FORBIDDEN,
                "Not allowed",
                format!("You are signed in with a client that does not have the scope {scope}."),
            ),
            ServiceError::NotFound(..) | ServiceError::NothingToRevoke(_) => Self::not_found(message),
            ServiceError::Account(AccountError::Suspended) => {
                Self::incomplete("The customer is suspended. Resume it first.")
            }
            ServiceError::Account(AccountError::Terminated(_))
            | ServiceError::CredentialRevoked(_)
            | ServiceError::AcmeAccount(_)
            | ServiceError::Acme(_)
            | ServiceError::Invalid(_)
            | ServiceError::NameInUse(..)
            | ServiceError::AccountInUse { .. }
            | ServiceError::Order(_)
            | ServiceError::OrderNotReady(_)
            | ServiceError::Authorization(_)
            | ServiceError::AlreadyTried(_)
            | ServiceError::PolicyViolation(_)
            | ServiceError::QuotaExceeded { .. }
            | ServiceError::OrderExternalIdInUse(_)
            | ServiceError::Unissuable(_)
            | ServiceError::IdempotencyKeyReused => Self::incomplete(message),
            ServiceError::RateLimited(decision) => Self::too_many(decision.retry_seconds()),
            ServiceError::TooMany(Cap::Exports, _) => {
                Self { retry_after: Some(5), ..Self::new(StatusCode::TOO_MANY_REQUESTS, "One moment", message) }
            }
            ServiceError::TooMany(..) | ServiceError::Failing { .. } | ServiceError::Paused(_) => {
                Self::incomplete(message)
            }
            ServiceError::Overloaded(_) | ServiceError::Overtaken(_) => Self::one_moment(),
            ServiceError::Signer(_) | ServiceError::Logs(_) => {
                tracing::warn!(reason = message, "it could not be done now");
                Self::one_moment()
            }
            ServiceError::BadCursor => Self::incomplete("This page of the list is gone. Start again at its beginning."),
            ServiceError::Store(error) => Self::store(&error),
            ServiceError::Internal(reason) => Self::internal(&reason),
        }
    }

    fn page(&self, theme: Theme) -> Response {
        let body = html! {
            h1 { (self.title) }
            p { (self.message) }
            p { a.button href="/console" { "To the overview" } }
        };
        let mut response = (self.status, bare(self.title, theme, body)).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(http::header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(limit) = self.limit {
            response.extensions_mut().insert(RefusedBy(limit));
        }
        response
    }

    fn store(error: &StoreError) -> Self {
        if !error.is_transient() {
            return Self::internal(error);
        }
        tracing::warn!(%error, "the store could not do it now");
        Self::one_moment()
    }

    /// What may pass by itself.
    fn one_moment() -> Self {
        let message = "The service cannot do this at the moment. Try again.";
        Self { retry_after: Some(1), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "One moment", message) }
    }

    fn internal(reason: &dyn std::fmt::Display) -> Self {
        tracing::error!(%reason, "internal error");
        let message = "Something went wrong on our side. It was written down; try again later.";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "That did not work", message)
    }
}

impl From<ServiceError> for Refused {
    fn from(error: ServiceError) -> Self {
        Self::service(error)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        if let Some(to) = &self.to {
            return see_other(to);
        }
        let mut response = self.status.into_response();
        response.extensions_mut().insert(RefusalNote::new("console", &self.message));
        response.extensions_mut().insert(self);
        response
    }
}

/// Gives refusals a page, in the colours that were chosen, and every page the headers that keep it to itself.
pub(crate) async fn render(request: Request, next: Next) -> Response {
    let theme = Theme::of(request.headers());
    let mut response = match with_readable_path(request).await {
        Some(request) => next.run(request).await,
        None => Refused::no_page().into_response(),
    };
    if let Some(refused) = response.extensions_mut().remove::<Refused>() {
        let note = response.extensions_mut().remove::<RefusalNote>();
        let allowed = response.headers_mut().remove(ALLOW);
        response = refused.page(theme);
        if let Some(allowed) = allowed {
            response.headers_mut().insert(ALLOW, allowed);
        }
        if let Some(note) = note {
            response.extensions_mut().insert(note);
        }
    }
    keep_to_itself(response.headers_mut());
    response
}

/// Words a refusal that the console did not decide on, such as one for load, as a page.
pub(crate) fn wording() -> Wording {
    Arc::new(|_, _, error: ApiError| {
        let refused = match error.limit() {
            Some(_) => Refused::overloaded(error),
            None => Refused::new(error.status(), "Not accepted", error.message()),
        };
        let mut response = refused.page(Theme::System);
        keep_to_itself(response.headers_mut());
        response
    })
}

fn keep_to_itself(headers: &mut HeaderMap) {
    headers.insert(http::header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
}

/// Nothing from elsewhere, nothing inline, no frame around it.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; \
     base-uri 'none'; frame-ancestors 'none'";

/// With a capital letter and a full stop.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_to_wait_is_told_for_how_long() {
        let theme = || Theme::of(&http::HeaderMap::new());
        let busy = Refused::service(ServiceError::Store(StoreError::Unavailable("busy".to_owned())));
        let full = Refused::overloaded(ApiError::overloaded(Limit::RequestsInFlightPerTenant));
        for (refused, status, seconds) in [
            (Refused::too_many(Some(7)), 429, "7"),
            (Refused::too_many(None), 429, "1"),
            (busy, 503, "1"),
            (full, 503, "1"),
        ] {
            let page = refused.page(theme());
            assert_eq!((page.status().as_u16(), page.headers()["retry-after"].to_str().unwrap()), (status, seconds));
        }
        assert!(!Refused::not_found("x").page(theme()).headers().contains_key("retry-after"));
    }

    #[test]
    fn a_refusal_from_outside_the_console_is_a_page_that_names_its_limit() {
        let word = wording();
        let uri = http::Uri::from_static("/console/certificates");
        let page = word(&http::Method::GET, &uri, ApiError::overloaded(Limit::UnsentResponses));
        assert_eq!((page.status().as_u16(), page.headers()["retry-after"].to_str().unwrap()), (503, "1"));
        assert_eq!(page.extensions().get::<RefusedBy>(), Some(&RefusedBy(Limit::UnsentResponses)));
        assert!(page.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
        assert!(page.headers().contains_key("content-security-policy"));
    }
}
