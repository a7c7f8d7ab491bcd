//! The resellers of this service.

use axum::extract::{Path, State};
use axum::response::Response;
use chancery_domain::{Client, Name, Problems, Reseller, ResellerCode, Scope, Timestamp};
use chancery_http::Door;
use chancery_service::{Operator as Operating, ServiceError};
use maud::{Markup, html};

use crate::clients::status;
use crate::form::Fields;
use crate::layout::Context;
use crate::parts::{Complaints, Field, columns, columns_and_actions, empty, fact, heading, opened, pill, trail};
use crate::refused::Refused;
use crate::session::{Operator, OperatorChange, see_other};
use crate::text::{moment, on_day};

const PATH: &str = "/console/operator/resellers";

pub(crate) async fn list(State(door): State<Door>, who: Operator) -> Result<Response, Refused> {
    let now = door.services.now();
    listed(&who.operator, &who.context, &Fields::default(), &Complaints::default(), now).await
}

pub(crate) async fn create(State(door): State<Door>, change: OperatorChange) -> Result<Response, Refused> {
    let mut problems = Problems::default();
    let code = problems.take("code", ResellerCode::parse(change.form.text("code").trim()));
    let name = problems.take("name", Name::parse(change.form.text("name").trim()));
    let made = match (code, name) {
        (Some(code), Some(name)) => change.operator.create_reseller(code, name).await,
        _ => Err(ServiceError::Invalid(problems)),
    };
    match made {
        Ok(reseller) => Ok(see_other(&format!("{PATH}/{}?done=created", reseller.code))),
        Err(ServiceError::NameInUse(_, code)) => {
            let complaints = Complaints(vec![("code".to_owned(), format!("There is a reseller {code} already."))]);
            listed(&change.operator, &change.context, &change.form, &complaints, door.services.now()).await
        }
        Err(error) => {
            let complaints = Complaints::of(error)?;
            listed(&change.operator, &change.context, &change.form, &complaints, door.services.now()).await
        }
    }
}

pub(crate) async fn show(
    State(door): State<Door>,
    who: Operator,
    Path(code): Path<String>,
) -> Result<Response, Refused> {
    shown(&door, &who.operator, &who.context, &code, None).await
}

pub(crate) async fn suspend(Path(code): Path<String>, change: OperatorChange) -> Result<Response, Refused> {
    let reseller = change.operator.set_reseller_suspended(&code, true).await?;
    Ok(see_other(&format!("{PATH}/{}?done=suspended", reseller.code)))
}

pub(crate) async fn resume(Path(code): Path<String>, change: OperatorChange) -> Result<Response, Refused> {
    let reseller = change.operator.set_reseller_suspended(&code, false).await?;
    Ok(see_other(&format!("{PATH}/{}?done=resumed", reseller.code)))
}

async fn listed(
    operator: &Operating,
    context: &Context,
    form: &Fields,
    complaints: &Complaints,
    now: Timestamp,
) -> Result<Response, Refused> {
    let resellers = operator.resellers().await?;
    let field = |name, label, hint| Field { name, label, hint, value: form.text(name), complaints };
    let body = html! {
        (heading("Resellers", html! { "Everything belongs to one of them." }, html! {}))
        @if resellers.is_empty() { (empty("No resellers yet.", html! { "Create the first one below; then give it an API client." })) }
        @else {
            table.cards {
                caption.hidden { "Resellers" }
                (columns(&["Reseller", "Status", "Created"]))
                tbody {
                    @for reseller in &resellers {
                        tr {
                            th scope="row" data-label="Reseller" { a.strong href={ (PATH) "/" (reseller.code) } { (reseller.name) } span.sub.mono { (reseller.code) } }
                            td data-label="Status" { (pill(standing(reseller))) }
                            td data-label="Created" { (moment(reseller.created_at, now)) }
                        }
                    }
                }
            }
        }
        section.card {
            h2 { "New reseller" }
            form.form method="post" action=(PATH) {
                (context.token())
                (complaints.others(&["code", "name"]))
                (field("code", "Code", "2 to 32 capital letters, digits, - or _; it stays for good.").line("text", true))
                (field("name", "Name", "").line("text", true))
                div { button.primary type="submit" { "Create reseller" } }
            }
        }
    };
    Ok(context.page_with(Some(complaints), "Resellers", body))
}

/// The page of a reseller, and what was wrong with the form for a new client.
pub(super) async fn shown(
    door: &Door,
    operator: &Operating,
    context: &Context,
    code: &str,
    wrong: Option<(Complaints, Fields)>,
) -> Result<Response, Refused> {
    let reseller = operator.reseller(code).await?;
    let clients = operator.clients(code).await?;
    let now = door.services.now();
    let complaints = wrong.as_ref().map(|(complaints, _)| complaints.clone());
    let at = |what: &str| format!("{PATH}/{}/{what}", reseller.code);
    let body = html! {
        (trail(PATH, "Resellers"))
        div.title { h1 { (reseller.name) } (pill(standing(&reseller))) }
        section.card { dl.facts {
            (fact("Code", html! { span.mono { (reseller.code) } }))
            (fact("Lookup", html! { span.mono { (reseller.id) } }))
            (fact("Created", moment(reseller.created_at, now)))
        } }
        section.card {
            h2 { "API clients" }
            @if clients.is_empty() { (empty("No clients yet.", html! { "Without one the reseller can do nothing. Create it below." })) }
            @else { (table(context, &reseller, &clients, now)) }
            (new_client(context, &at("clients"), wrong))
        }
        section.card {
            h2 { "Suspend" }
            div.row {
                @if reseller.suspended {
                    form method="post" action=(at("resume")) { (context.token()) button type="submit" { "Resume" } }
                } @else {
                    form method="post" action=(at("suspend")) { (context.token()) button.bad type="submit" { "Suspend" } }
                }
                p.muted { "A suspended reseller can do nothing, nor can its customers; what was issued stays valid." }
            }
        }
    };
    Ok(context.page_with(complaints.as_ref(), reseller.name.as_str(), body))
}

fn standing(reseller: &Reseller) -> &'static str {
    if reseller.suspended { "suspended" } else { "active" }
}

fn table(context: &Context, reseller: &Reseller, clients: &[Client], now: Timestamp) -> Markup {
    html! {
        table.cards {
            caption.hidden { "API clients" }
            (columns_and_actions(&["Client", "Status", "Scopes", "Ends"]))
            tbody {
                @for client in clients {
                    @let at = |what: &str| format!("{PATH}/{}/clients/{}/{what}", reseller.code, client.id);
                    tr {
                        th scope="row" data-label="Client" { span.strong { (client.name) } span.sub.mono { (client.id) } }
                        td data-label="Status" { (pill(status(client, now))) }
                        td data-label="Scopes" {
                            @if client.scopes == chancery_domain::ScopeSet::all() { "everything" }
                            @else { ul.tags { @for scope in client.scopes.to_string().split(' ') { li.tag { (scope) } } } }
                        }
                        td data-label="Ends" { @match client.expires_at { Some(end) => (on_day(end)), None => span.muted { "never" } } }
                        td.end {
                            (opened("Change…", false, html! {
                                form method="post" action=(at("rotate")) {
                                    (context.token())
                                    (context.once())
                                    @if client.disabled { button.small type="submit" formaction=(at("enable")) { "Enable" } }
                                    @else { button.small.bad type="submit" formaction=(at("disable")) { "Disable" } }
                                    button.small type="submit" { "New secret beside the old" }
                                    button.small type="submit" formaction=(at("finish-rotation")) { "Drop the old secret" }
                                }
                            }))
                        }
                    }
                }
            }
        }
    }
}

fn new_client(context: &Context, action: &str, wrong: Option<(Complaints, Fields)>) -> Markup {
    let open = wrong.is_some();
    let (complaints, form) = wrong.unwrap_or_default();
    let field = |name, label, hint| Field { name, label, hint, value: form.text(name), complaints: &complaints };
    let chosen = form.all("scope");
    html! {
        (opened("New client", open, html! {
            form method="post" action=(action) {
                (context.token())
                (context.once())
                (complaints.others(&["name", "days"]))
                (field("name", "Name", "What it is for.").line("text", true))
                (field("days", "Ends after days", "Empty: it does not end by itself.").line("number", false))
                fieldset.checks.columns {
                    legend { "Scopes" span.needed { " (none ticked: all)" } }
                    @for scope in Scope::ALL.iter().filter(|scope| **scope != Scope::Reseller) {
                        div.check {
                            input type="checkbox" id={ "scope-" (scope) } name="scope" value=(scope) checked[chosen.contains(&scope.to_string())];
                            label for={ "scope-" (scope) } { (scope) }
                        }
                    }
                }
                button.primary type="submit" { "Create client" }
            }
        }))
    }
}
