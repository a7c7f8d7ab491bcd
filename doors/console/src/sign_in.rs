//! Signing in and out.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chancery_domain::{ClientId, Secret};
use chancery_http::{Door, RefusalNote, RefusedBy, origin};
use chancery_service::ServiceError;
use chancery_service::console::{NewSession, SignInCredentials, SignInRefusal};
use http::header::{RETRY_AFTER, SET_COOKIE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use maud::{Markup, html};

use crate::layout::bare;
use crate::parts::{Complaints, Field};
use crate::query::Query;
use crate::refused::{Refused, sentence};
use crate::session::{Posted, SESSION, Signed, cookie, local, see_other};
use crate::theme::Theme;
use crate::with_provider;

/// The form; whoever is signed in already goes on.
pub(crate) async fn form(
    State(door): State<Door>,
    Query(query): Query,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let next = local(query.text("next")).unwrap_or("/console");
    if let Some(token) = cookie(&headers, SESSION)
        && door.services.console.resume(token, chancery_service::Origin::default()).await?.is_some()
    {
        return Ok(see_other(next));
    }
    Ok(shown(&door, Theme::of(&headers), next, "", None, StatusCode::OK))
}

pub(crate) async fn enter(State(door): State<Door>, posted: Posted) -> Result<Response, Refused> {
    let Posted { form, parts } = posted;
    let next = local(form.text("next")).unwrap_or("/console").to_owned();
    let secret = |name: &str| Secret::new(form.text(name).trim().to_owned());
    let id = form.text("client_id").trim().to_owned();
    let shown_by = match form.filled("operator_key") {
        Some(_) => SignInCredentials::Operator { key: secret("operator_key") },
        None => SignInCredentials::Client { id: id.clone(), secret: secret("client_secret") },
    };
    match door.services.console.sign_in(shown_by, origin(&parts)).await {
        Ok(session) => Ok(entered(&door, &parts, &session, &next).await),
        Err(SignInRefusal::Service(error)) => Err(error.into()),
        Err(refusal) => {
            let field = if form.has("operator_key") { "operator_key" } else { "client_secret" };
            Ok(refused(&door, &refusal, Theme::of(&parts.headers), &next, &id, field))
        }
    }
}

/// Goes on with the cookie of a new session. The one that the browser had ends: the browser cannot sign out of it any more.
pub(crate) async fn entered(door: &Door, parts: &Parts, session: &NewSession, next: &str) -> Response {
    if let Err(error) = end_before(door, parts).await {
        tracing::warn!(%error, "could not end a session of the console that another took the place of");
    }
    let NewSession { token, lasts } = session;
    let mut response = see_other(next);
    let age = lasts.as_secs();
    set_cookie(&mut response, &format!("{SESSION}={}; Path=/; Max-Age={age}{FLAGS}", token.reveal()));
    response
}

async fn end_before(door: &Door, parts: &Parts) -> Result<(), ServiceError> {
    let console = &door.services.console;
    let Some(token) = cookie(&parts.headers, SESSION) else { return Ok(()) };
    match console.resume(token, origin(parts)).await? {
        Some(before) => console.sign_out(&before, token).await,
        None => Ok(()),
    }
}

pub(crate) async fn leave(State(door): State<Door>, signed: Signed) -> Result<Response, Refused> {
    door.services.console.sign_out(&signed.session, &signed.token).await?;
    Ok(gone())
}

pub(crate) async fn leave_everywhere(State(door): State<Door>, signed: Signed) -> Result<Response, Refused> {
    door.services.console.sign_out_everywhere(&signed.session).await?;
    Ok(gone())
}

/// Strict would lose the session on every link from an e-mail; what changes anything asks for more than the cookie.
pub(crate) const FLAGS: &str = "; Secure; HttpOnly; SameSite=Lax";

fn gone() -> Response {
    let mut response = see_other("/console/sign-in");
    set_cookie(&mut response, &format!("{SESSION}=; Path=/; Max-Age=0{FLAGS}"));
    response
}

pub(crate) fn set_cookie(response: &mut Response, text: &str) {
    if let Ok(mut value) = HeaderValue::from_str(text) {
        value.set_sensitive(true);
        response.headers_mut().append(SET_COOKIE, value);
    }
}

/// The form again, with what is wrong beside the field.
pub(crate) fn refused(
    door: &Door,
    refusal: &SignInRefusal,
    theme: Theme,
    next: &str,
    id: &str,
    field: &str,
) -> Response {
    let status = match refusal {
        SignInRefusal::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
        SignInRefusal::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        SignInRefusal::NoAccess => StatusCode::FORBIDDEN,
        SignInRefusal::Client
        | SignInRefusal::Operator
        | SignInRefusal::Suspended(_)
        | SignInRefusal::Departure
        | SignInRefusal::Provider(_)
        | SignInRefusal::Unverified
        | SignInRefusal::Service(_) => StatusCode::UNAUTHORIZED,
    };
    let message = sentence(&refusal.to_string());
    // Only what is a client id: a secret that was put in its place must neither be written down nor shown.
    let client = id.parse::<ClientId>().ok().map(|id| id.to_string());
    let note = RefusalNote { subject: client.clone(), ..RefusalNote::new("sign_in", &message) };
    let complaint = (field, message);
    let mut response = shown(door, theme, next, client.as_deref().unwrap_or_default(), Some(complaint), status);
    let wait = match refusal {
        SignInRefusal::TooMany { wait_seconds, .. } => Some(*wait_seconds),
        SignInRefusal::Unavailable => Some(5),
        SignInRefusal::Client
        | SignInRefusal::Operator
        | SignInRefusal::Suspended(_)
        | SignInRefusal::Departure
        | SignInRefusal::Provider(_)
        | SignInRefusal::Unverified
        | SignInRefusal::NoAccess
        | SignInRefusal::Service(_) => None,
    };
    if let Some(seconds) = wait {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response.extensions_mut().insert(note);
    if let SignInRefusal::TooMany { limit, .. } = refusal {
        response.extensions_mut().insert(RefusedBy(*limit));
    }
    response
}

fn shown(
    door: &Door,
    theme: Theme,
    next: &str,
    id: &str,
    complaint: Option<(&str, String)>,
    status: StatusCode,
) -> Response {
    let operator = complaint.as_ref().is_some_and(|(field, _)| *field == "operator_key");
    let complaints = complaint.map(|(field, message)| Complaints(vec![(field.to_owned(), message)]));
    let complaints = complaints.unwrap_or_default();
    let body = html! {
        h1 { "Sign in" }
        (with_provider::choices(&door.services.console.providers(), next, &complaints))
        p.about { "With an API client of your reseller account. What it may do, you may do here." }
        (entry(next, html! {
            (secret_field("client_id", "Client id", "text", id, &complaints))
            (secret_field("client_secret", "Client secret", "password", "", &complaints))
        }))
        details.operator open[operator] {
            summary { "I operate this service" }
            (entry(next, secret_field("operator_key", "Operator key", "password", "", &complaints)))
            p.hint { "Made with " code { "chancery operator-key create" } "." }
        }
    };
    (status, bare("Sign in", theme, body)).into_response()
}

fn entry(next: &str, fields: Markup) -> Markup {
    html! {
        form method="post" action="/console/sign-in" {
            input type="hidden" name="next" value=(next);
            (fields)
            button.primary type="submit" { "Sign in" }
        }
    }
}

fn secret_field(name: &str, label: &str, kind: &str, value: &str, complaints: &Complaints) -> Markup {
    Field { name, label, hint: "", value, complaints }.line(kind, true)
}
