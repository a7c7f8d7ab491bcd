//! The list, and the form for a new one.

use axum::extract::State;
use axum::response::Response;
use chancery_domain::Scope;
use chancery_http::Door;
use chancery_service::GroupDetails;
use maud::{Markup, html};

use crate::form::Fields;
use crate::layout::Context;
use crate::parts::{Complaints, Field, columns, empty, heading, pager, tags, trail};
use crate::query::{Query, link};
use crate::refused::Refused;
use crate::session::SignedIn;
use crate::text::{moment, plural};

const PATH: &str = "/console/groups";

pub(crate) async fn page(State(door): State<Door>, who: SignedIn, Query(query): Query) -> Result<Response, Refused> {
    let found = door.services.groups.list(&who.caller, &query.page(50)).await?;
    let now = door.services.now();
    let may = who.caller.scopes.contains(Scope::WriteAccount);
    let new = html! { @if may { a.button.primary href="/console/groups/new" { "New group" } } };
    let body = html! {
        (heading("Groups", html! { "Customers that the same policies hold for." }, new))
        @if found.items.is_empty() {
            (empty("No groups yet.", html! {
                "Put customers into a group and assign a policy to it to say what they may have. "
                @if may { a href="/console/groups/new" { "Create the first one" } "." }
            }))
        } @else {
            table.cards {
                caption.hidden { "Groups" }
                (columns(&["Group", "Members", "Policies", "Changed"]))
                tbody {
                    @for GroupDetails { group, policies } in &found.items {
                        tr {
                            th scope="row" data-label="Group" {
                                a.strong href={ (PATH) "/" (group.id) } { (group.name) }
                                @if let Some(text) = &group.description { span.sub { (text) } }
                            }
                            td data-label="Members" { (plural(group.member_count, "customer")) }
                            td data-label="Policies" {
                                @if policies.is_empty() { span.muted { "none" } }
                                @else { (tags("/console/policies/", policies)) }
                            }
                            td data-label="Changed" { (moment(group.updated_at, now)) }
                        }
                    }
                }
            }
        }
        (pager(found.next_cursor.map(|next| link(PATH, &[("cursor", &next)])), query.filled("cursor").map(|_| PATH)))
    };
    Ok(who.context.page("Groups", body))
}

pub(crate) async fn new(who: SignedIn) -> Result<Response, Refused> {
    who.caller.require(Scope::WriteAccount)?;
    Ok(form_page(&who.context, &Fields::default(), &Complaints::default()))
}

pub(super) fn form_page(context: &Context, form: &Fields, complaints: &Complaints) -> Response {
    let body = html! {
        (trail(PATH, "Groups"))
        (heading("New group", html! { "Give it a name; members and policies come next." }, html! {}))
        section.card { form.form method="post" action=(PATH) { (context.token()) (fields(form, complaints)) div { button.primary type="submit" { "Create group" } } } }
    };
    context.page_with(Some(complaints), "New group", body)
}

pub(super) fn fields(form: &Fields, complaints: &Complaints) -> Markup {
    html! {
        (complaints.others(&["name", "description"]))
        (Field { name: "name", label: "Name", hint: "", value: form.text("name"), complaints }.line("text", true))
        (Field { name: "description", label: "Description", hint: "", value: form.text("description"), complaints }.lines(2, false))
    }
}
