//! One group: its policies and its members.

use axum::extract::{Path, State};
use axum::response::Response;
use chancery_domain::{Account, Group, Scope};
use chancery_http::Door;
use chancery_service::{Caller, GroupDetails, ListRequest, Listed};
use maud::{Markup, html};

use super::list::fields;
use super::read_id;
use crate::choices::Choices;
use crate::form::Fields;
use crate::layout::Context;
use crate::parts::{Complaints, Field, columns, confirmed, empty, pager, pill, trail};
use crate::query::{Query, link};
use crate::refused::Refused;
use crate::session::SignedIn;
use crate::text::plural;

/// What was wrong with a form of the page: which one, why, and what was typed.
pub(super) struct Wrong {
    pub(super) form: &'static str,
    pub(super) complaints: Complaints,
    pub(super) typed: Fields,
}

pub(crate) async fn page(
    State(door): State<Door>,
    who: SignedIn,
    Path(id): Path<String>,
    Query(query): Query,
) -> Result<Response, Refused> {
    shown(&door, &who.caller, &who.context, &id, query.filled("cursor").map(str::to_owned), None).await
}

pub(super) async fn shown(
    door: &Door,
    caller: &Caller,
    context: &Context,
    id: &str,
    cursor: Option<String>,
    wrong: Option<Wrong>,
) -> Result<Response, Refused> {
    let (id, services) = (read_id(id)?, &door.services);
    let details = services.groups.show(caller, id).await?;
    let later = cursor.is_some();
    let members = services.groups.members(caller, id, &ListRequest { limit: 50, cursor }).await?;
    let may_change = caller.scopes.contains(Scope::WriteAccount);
    let (policies, others) = match may_change {
        true => (Choices::policies(door, caller).await?, Choices::groups(door, caller).await?),
        false => Default::default(),
    };
    let policies = policies.but(|other| details.policies.iter().any(|(known, _)| known.to_string() == other));
    let others = others.but(|other| id.to_string() == other);
    let complaints = wrong.as_ref().map(|wrong| wrong.complaints.clone());
    let title = details.group.name.to_string();
    let known = Known { details, members, policies, others, later, may_change };
    Ok(context.page_with(complaints.as_ref(), &title, body(context, &known, wrong)))
}

struct Known {
    details: GroupDetails,
    members: Listed<Account>,
    /// Those that can still be assigned.
    policies: Choices,
    /// Where members can be moved to.
    others: Choices,
    later: bool,
    /// Whether whoever looks may change it.
    may_change: bool,
}

fn body(context: &Context, known: &Known, wrong: Option<Wrong>) -> Markup {
    let GroupDetails { group, policies } = &known.details;
    let at = |what: &str| format!("/console/groups/{}/{what}", group.id);
    let of = |form: &str| wrong.as_ref().filter(|wrong| wrong.form == form);
    let nothing = Complaints::default();
    html! {
        (trail("/console/groups", "Groups"))
        div.title { h1 { (group.name) } span.muted { (plural(group.member_count, "customer")) } }
        @if let Some(text) = &group.description { p.about { (text) } }
        section.card {
            div.head { h2 { "Policies" } p.muted { "All of them hold for every member." } }
            @if policies.is_empty() { p.muted { "None: the operator's default policy holds." } }
            @for (id, name) in policies {
                div.row {
                    a.strong href={ "/console/policies/" (id) } { (name) }
                    @if known.may_change {
                        form method="post" action=(at("unassign")) {
                            (context.token()) input type="hidden" name="policy" value=(id);
                            button.small type="submit" { "Take off" span.hidden { " " (name) } }
                        }
                    }
                }
            }
            @if known.may_change { (assign(context, known)) }
        }
        section.card {
            div.head { h2 { "Members" } }
            (members(context, known))
            (pager(
                known.members.next_cursor.as_deref().map(|next| link(&format!("/console/groups/{}", group.id), &[("cursor", next)])),
                known.later.then_some(&*format!("/console/groups/{}", group.id)),
            ))
            @if known.may_change {
                @let wrong = of("add");
                form.inline method="post" action=(at("add")) {
                    (context.token())
                    (Field { name: "accounts", label: "Add customers", hint: "E-mail addresses or lookups, with commas or on lines of their own.",
                        value: wrong.map_or("", |wrong| wrong.typed.text("accounts")), complaints: wrong.map_or(&nothing, |wrong| &wrong.complaints) }.lines(2, true))
                    button type="submit" { "Add" }
                }
            }
        }
        @if known.may_change { (change(context, group, of("edit"))) }
    }
}

fn assign(context: &Context, known: &Known) -> Markup {
    let nothing = Complaints::default();
    html! {
        @if known.policies.items.is_empty() {
            p.muted { a href="/console/policies/new" { "Create another policy" } " to assign it here." }
        } @else {
            form.inline method="post" action={ "/console/groups/" (known.details.group.id) "/assign" } {
                (context.token())
                (Field { name: "policy", label: "Assign a policy", hint: "", value: "", complaints: &nothing }.choice(&known.policies.items))
                button type="submit" { "Assign" }
            }
            (known.policies.note())
        }
    }
}

fn change(context: &Context, group: &Group, wrong: Option<&Wrong>) -> Markup {
    let at = |what: &str| format!("/console/groups/{}/{what}", group.id);
    let description = group.description.as_ref().map(ToString::to_string).unwrap_or_default();
    let now = Fields::default().with("name", group.name.to_string()).with("description", description);
    let nothing = Complaints::default();
    let (typed, complaints) = wrong.map_or((&now, &nothing), |wrong| (&wrong.typed, &wrong.complaints));
    html! {
        section.card {
            h2 { "Change" }
            form.form method="post" action=(at("edit")) {
                (context.token())
                (fields(typed, complaints))
                div { button.primary type="submit" { "Save" } }
            }
            (confirmed("Delete…", html! {
                form method="post" action=(at("delete")) {
                    (context.token())
                    p { "Its customers and policies stay; the policies hold for them no longer." }
                    button.bad type="submit" { "Delete the group" }
                }
            }))
        }
    }
}

/// Ticked and moved or removed together.
fn members(context: &Context, known: &Known) -> Markup {
    let group = &known.details.group;
    if known.members.items.is_empty() {
        return empty("Nobody is in this group.", html! { @if known.may_change { "Add customers below." } });
    }
    let table = html! {
        table.cards {
            caption.hidden { "Members" }
            (columns(&["Customer", "Status", "Your reference"]))
            tbody {
                @for account in &known.members.items {
                    tr {
                        th scope="row" data-label="Customer" {
                            div.check {
                                @if known.may_change {
                                    input type="checkbox" id=(account.id) name="account" value=(account.id) aria-label={ "Choose " (account.email) };
                                }
                                a href={ "/console/customers/" (account.id) } { (account.email) }
                            }
                        }
                        td data-label="Status" { (pill(account.status().as_str())) }
                        td data-label="Your reference" { @match &account.external_id { Some(id) => (id), None => span.muted { "–" } } }
                    }
                }
            }
        }
    };
    if !known.may_change {
        return table;
    }
    html! {
        form.stack method="post" action={ "/console/groups/" (group.id) "/remove" } {
            (context.token())
            (table)
            div.row {
                button type="submit" { "Remove the chosen" }
                @if !known.others.items.is_empty() {
                    label for="f-to" { "or move them to" }
                    select.short id="f-to" name="to" { @for (id, name) in &known.others.items { option value=(id) { (name) } } }
                    (known.others.note())
                    button type="submit" formaction={ "/console/groups/" (group.id) "/move" } { "Move the chosen" }
                }
            }
        }
    }
}
