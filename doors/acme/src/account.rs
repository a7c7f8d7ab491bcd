//! Accounts (RFC 8555 section 7.3).

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use chancery_domain::{AcmeAccount, Contact, ContactError};
use chancery_jose::{Jws, JwsError};
use chancery_service::acme::{AccountUpdate, AcmeCaller, AcmeError, NewAcmeAccount, Registered};
use chancery_service::{ListRequest, ServiceError};
use chancery_wire::acme as wire;
use http::StatusCode;
use http::header::LOCATION;
use serde_json::Value;

use crate::directory::find;
use crate::jws::{by_account, by_key};
use crate::mount::Door;
use crate::payload;
use crate::problem::{Problem, ProblemType, subproblem};
use crate::surroundings::link;
use crate::urls::Urls;

/// As many ways to reach somebody are enough.
const MOST_CONTACTS: usize = 10;
/// A binding is small.
const MOST_BINDING: usize = 16 * 1024;

pub(crate) async fn register(
    State(door): State<Door>,
    Path(profile): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    find(&door, &profile)?;
    let (key, signed) = by_key(&door, request).await?;
    let asked: wire::NewAccount = payload::read(&signed.payload)?;
    // Whoever has an account gets it, whatever else they say (RFC 8555 section 7.3.1): many clients ask before every order.
    match door.services.acme.account_with(&key, &signed.origin).await {
        Err(ServiceError::Acme(AcmeError::AccountDoesNotExist(_))) if asked.only_return_existing != Some(true) => {}
        found => return Ok(answer(StatusCode::OK, &found?, &door)),
    }
    door.services.rates.new_acme_account(&signed.origin).await?;
    let binding = asked.external_account_binding.map(|value| binding(&value)).transpose()?;
    let new = NewAcmeAccount {
        binding: door.mount.stand_in.bind(binding, &key, &signed.url)?,
        key,
        contacts: contacts(asked.contact.unwrap_or_default())?,
        terms_agreed: asked.terms_of_service_agreed.unwrap_or(false),
        terms_of_service: door.terms_of_service().map(str::to_owned),
        url: signed.url,
    };
    Ok(match door.services.acme.register(new, signed.origin).await? {
        Registered::Created(account) => answer(StatusCode::CREATED, &account, &door),
        Registered::Existing(account) => answer(StatusCode::OK, &account, &door),
    })
}

fn answer(status: StatusCode, account: &AcmeAccount, door: &Door) -> Response {
    let location = [(LOCATION, Urls::of(door).account(account.id))];
    (status, location, Json(view(account, door))).into_response()
}

pub(crate) async fn show_or_update(
    State(door): State<Door>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let (by, signed) = by_account(&door, request).await?;
    require_own(&by, &id)?;
    let account = match signed.payload.is_empty() {
        true => by.account,
        false => update(&door, &by, payload::read(&signed.payload)?).await?,
    };
    Ok(Json(view(&account, &door)).into_response())
}

/// The account's orders, a page at a time (RFC 8555 section 7.1.2.1).
pub(crate) async fn orders(
    State(door): State<Door>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let cursor = cursor(request.uri().query())?;
    let (by, signed) = by_account(&door, request).await?;
    require_own(&by, &id)?;
    payload::require_empty(&signed.payload)?;
    let page = door.services.acme.orders(&by, &ListRequest { limit: door.mount.orders_per_page, cursor }).await?;
    let urls = Urls::of(&door);
    let orders = page.items.into_iter().map(|order| urls.order(order)).collect();
    let mut response = Json(wire::Orders { orders }).into_response();
    if let Some(next) = page.next_cursor {
        link(&mut response, &format!("{}?cursor={next}", urls.orders(by.account.id)), "next");
    }
    Ok(response)
}

pub(crate) fn view(account: &AcmeAccount, door: &Door) -> wire::Account {
    wire::Account {
        status: account.status().to_owned(),
        contact: account.contacts.iter().map(ToString::to_string).collect(),
        terms_of_service_agreed: account.terms_agreed_at.is_some(),
        orders: Urls::of(door).orders(account.id),
    }
}

async fn update(door: &Door, by: &AcmeCaller, asked: wire::AccountUpdate) -> Result<AcmeAccount, Problem> {
    match asked.status.as_deref() {
        Some("deactivated") => return Ok(door.services.acme.deactivate_account(by).await?),
        // Saying what it is changes nothing.
        None | Some("valid") => {}
        Some(_) => return Err(Problem::malformed("`status` can only become \"deactivated\"")),
    }
    let update = AccountUpdate {
        contacts: asked.contact.map(contacts).transpose()?,
        terms_agreed: asked.terms_of_service_agreed.unwrap_or(false),
    };
    Ok(door.services.acme.update_account(by, update).await?)
}

fn require_own(by: &AcmeCaller, id: &str) -> Result<(), Problem> {
    if by.account.id.to_string() == id {
        return Ok(());
    }
    Err(Problem::unauthorized("the request is signed by another account than the one it is about"))
}

pub(crate) fn contacts(texts: Vec<String>) -> Result<Vec<Contact>, Problem> {
    if texts.len() > MOST_CONTACTS {
        let detail = format!("there are {} contacts; give at most {MOST_CONTACTS}", texts.len());
        return Err(Problem::new(ProblemType::InvalidContact, StatusCode::BAD_REQUEST, detail));
    }
    let (mut contacts, mut wrong) = (Vec::with_capacity(texts.len()), Vec::new());
    for text in &texts {
        match Contact::parse(text) {
            Ok(contact) => contacts.push(contact),
            Err(error @ ContactError::Unsupported(_)) => wrong.push((ProblemType::UnsupportedContact, error)),
            Err(error @ ContactError::Invalid(..)) => wrong.push((ProblemType::InvalidContact, error)),
        }
    }
    let Some((kind, first)) = wrong.first() else { return Ok(contacts) };
    let problem = Problem::new(*kind, StatusCode::BAD_REQUEST, format!("contact {first}"));
    let each = wrong.iter().map(|(kind, error)| subproblem(*kind, error.to_string(), None));
    Err(problem.with_subproblems(each.collect()))
}

pub(crate) fn binding(value: &Value) -> Result<Jws, Problem> {
    let malformed = |why: &dyn std::fmt::Display| Problem::malformed(format!("external account binding: {why}"));
    Jws::flattened(value.to_string().as_bytes(), MOST_BINDING).map_err(|error| match error {
        // What the algorithm lacks is told in the binding's own words.
        JwsError::UnsupportedAlgorithm(_) => malformed(&"the algorithm must be HS256, HS384 or HS512"),
        other => malformed(&other),
    })
}

fn cursor(query: Option<&str>) -> Result<Option<String>, Problem> {
    match query {
        None | Some("") => Ok(None),
        Some(query) => match query.strip_prefix("cursor=") {
            Some(cursor) if !cursor.contains('&') => Ok(Some(cursor.to_owned())),
            _ => Err(Problem::malformed("the query is not one of ours; follow the link rel=\"next\" as it is")),
        },
    }
}
