//! One policy.

use axum::extract::{Path, State};
use axum::response::Response;
use chancery_domain::Scope;
use chancery_http::Door;
use chancery_service::{Caller, PolicyDetails};
use maud::html;

use super::form::{fields, filled};
use super::read_id;
use crate::form::Fields;
use crate::layout::Context;
use crate::parts::{Complaints, confirmed, trail};
use crate::query::link;
use crate::refused::Refused;
use crate::session::SignedIn;

pub(crate) async fn page(State(door): State<Door>, who: SignedIn, Path(id): Path<String>) -> Result<Response, Refused> {
    shown(&door, &who.caller, &who.context, &id, None, &Complaints::default()).await
}

pub(super) async fn shown(
    door: &Door,
    caller: &Caller,
    context: &Context,
    id: &str,
    typed: Option<Fields>,
    complaints: &Complaints,
) -> Result<Response, Refused> {
    let PolicyDetails { policy, groups } = door.services.policies.show(caller, read_id(id)?).await?;
    let form = typed.unwrap_or_else(|| filled(&policy));
    let rules = fields(&form, complaints, &door.services.settings);
    let may = caller.scopes.contains(Scope::WriteAccount);
    let body = html! {
        (trail("/console/policies", "Policies"))
        div.title { h1 { (policy.name) } }
        section.card {
            div.head { h2 { "Holds for" } a href=(link("/console/policies/try", &[("policy", policy.id.to_string().as_str())])) { "Try on a name" } }
            @if groups.is_empty() { p.muted { "No group yet. Assign it on the page of a " a href="/console/groups" { "group" } "." } }
            @else { ul.tags { @for (id, name) in &groups { li { a.tag href={ "/console/groups/" (id) } { (name) } } } } }
        }
        section.card {
            div.head { h2 { "Rules" } p.muted { "An empty field is no rule: it permits everything." } }
            @if may {
                form.form.wide method="post" action={ "/console/policies/" (policy.id) "/edit" } {
                    (context.token())
                    (rules)
                    div { button.primary type="submit" { "Save" } }
                }
                (confirmed("Delete…", html! {
                    form method="post" action={ "/console/policies/" (policy.id) "/delete" } {
                        (context.token())
                        p { "It is taken off its groups. What was issued stays." }
                        button.bad type="submit" { "Delete the policy" }
                    }
                }))
            } @else {
                div.form.wide { fieldset.whole disabled { (rules) } }
            }
        }
    };
    Ok(context.page_with(Some(complaints), policy.name.as_str(), body))
}
