//! Orders (RFC 8555 section 7.4).

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use chancery_domain::{Order, OrderId, OrderState, ProfileName, Timestamp, cut};
use chancery_http::Begun;
use chancery_jose::base64url;
use chancery_service::SPANS;
use chancery_service::acme::{AskedName, NewAcmeOrder};
use chancery_wire::acme as wire;
use http::header::{LOCATION, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use tracing::{Instrument, trace_span};

use crate::directory::find;
use crate::jws::by_account;
use crate::mount::Door;
use crate::payload;
use crate::problem::{Problem, ProblemType, of_end, of_validation, view as view_identifier};
use crate::surroundings::lead_back;
use crate::urls::Urls;

/// How soon a client is to look again at something that is being worked on.
pub(crate) const SOON: HeaderValue = HeaderValue::from_static("1");

pub(crate) async fn create(
    State(door): State<Door>,
    Path(profile): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let profile = find(&door, &profile)?.name.clone();
    let (by, signed) = by_account(&door, request).await?;
    let asked: wire::NewOrder = payload::read(&signed.payload)?;
    let new = NewAcmeOrder {
        profile: choose(&door, profile, asked.profile.as_deref())?,
        identifiers: asked.identifiers.into_iter().map(name).collect(),
        not_before: date("notBefore", asked.not_before)?,
        not_after: date("notAfter", asked.not_after)?,
        replaces: asked.replaces,
    };
    let span = trace_span!(target: SPANS, "order.create");
    let (order, begun) = Begun::by(door.services.acme.new_order(&by, new).instrument(span)).await?;
    let location = [(LOCATION, Urls::of(&door).order(order.id))];
    Ok((StatusCode::CREATED, location, begun, answer(&order, &door)).into_response())
}

pub(crate) async fn show(
    State(door): State<Door>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let (by, signed) = by_account(&door, request).await?;
    payload::require_empty(&signed.payload)?;
    let order = door.services.acme.order(&by, read_id(&id)?).await?;
    Ok(answer(&order, &door))
}

pub(crate) async fn finalize(
    State(door): State<Door>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let (by, signed) = by_account(&door, request).await?;
    let id = read_id(&id)?;
    let asked: wire::Finalize = payload::read(&signed.payload)?;
    let csr = base64url::decode(&asked.csr).ok_or_else(|| {
        let detail = "`csr` must be the DER of a PKCS #10 request in base64url, without padding and without PEM lines";
        Problem::new(ProblemType::BadCsr, StatusCode::BAD_REQUEST, detail)
    })?;
    let span = trace_span!(target: SPANS, "order.finalize");
    let order = door.services.acme.finalize(&by, id, csr).instrument(span).await?;
    let location = [(LOCATION, Urls::of(&door).order(id))];
    Ok((location, answer(&order, &door)).into_response())
}

/// The profile of the directory, or another one where that may be chosen.
fn choose(door: &Door, own: ProfileName, wish: Option<&str>) -> Result<ProfileName, Problem> {
    let Some(wish) = wish.filter(|wish| *wish != own.as_str()) else { return Ok(own) };
    let known = door.mount.profiles.iter().find(|profile| profile.as_str() == wish);
    known.cloned().ok_or_else(|| {
        let wish = cut(wish, 100);
        let detail = match door.mount.profiles.as_slice() {
            [] => format!("this directory is for the profile {own}, not {wish:?}; each profile has its own"),
            known => {
                let known: Vec<_> = known.iter().map(ProfileName::as_str).collect();
                format!("there is no profile {wish:?}; there are {}", known.join(" and "))
            }
        };
        Problem::new(ProblemType::InvalidProfile, StatusCode::BAD_REQUEST, detail)
    })
}

/// An identifier as it was sent.
pub(crate) fn name(identifier: wire::AskedIdentifier) -> AskedName {
    let wire::AskedIdentifier { kind, value, ancestor_domain, subdomain_auth_allowed } = identifier;
    AskedName { kind, value, ancestor: ancestor_domain, subdomains: subdomain_auth_allowed == Some(true) }
}

fn answer(order: &Order, door: &Door) -> Response {
    door.order_profiles.note(order.id, &order.profile);
    let mut response = Json(view(order, door)).into_response();
    lead_back(&mut response, order.profile.clone());
    if let OrderState::Processing { .. } = order.state {
        response.headers_mut().insert(RETRY_AFTER, SOON);
    }
    response
}

fn view(order: &Order, door: &Door) -> wire::Order {
    let (urls, now) = (Urls::of(door), door.services.now());
    let expired = order.is_expired(now);
    let (status, error) = match &order.state {
        _ if expired => ("invalid", Some(of_end(format!("the order expired at {}", order.expires_at)))),
        OrderState::Pending => ("pending", None),
        OrderState::Ready => ("ready", None),
        OrderState::Processing { .. } => ("processing", None),
        OrderState::Valid { .. } => ("valid", None),
        OrderState::Invalid { problem, .. } => ("invalid", Some(of_validation(problem))),
        OrderState::Cancelled { at } => ("invalid", Some(of_end(format!("the order was cancelled at {at}")))),
    };
    let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
    wire::Order {
        status: status.to_owned(),
        expires: order.expires_at.to_string(),
        identifiers: order.identifiers.iter().map(view_identifier).collect(),
        not_before: text(order.not_before),
        not_after: text(order.not_after),
        profile: Some(order.profile.to_string()),
        replaces: order.replaces.clone(),
        error,
        authorizations: order.authorizations.iter().map(|id| urls.authorization(*id)).collect(),
        finalize: urls.finalize(order.id),
        certificate: matches!(order.state, OrderState::Valid { .. }).then(|| urls.certificate(order.certificate)),
    }
}

fn read_id(text: &str) -> Result<OrderId, Problem> {
    text.parse().map_err(|_| Problem::not_found("there is no such order"))
}

fn date(member: &str, text: Option<String>) -> Result<Option<Timestamp>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let read = Timestamp::parse(&text);
    read.map(Some)
        .ok_or_else(|| Problem::malformed(format!("`{member}` must be a time such as 2026-11-15T00:00:00Z (RFC 3339)")))
}
