//! The list, and the form for a new one.

use axum::extract::State;
use axum::response::Response;
use chancery_domain::{PolicyRules, Scope};
use chancery_http::Door;
use chancery_service::PolicyDetails;
use maud::{Markup, html};

use super::form::fields;
use crate::form::Fields;
use crate::layout::Context;
use crate::parts::{Complaints, columns, empty, heading, pager, tags, trail};
use crate::query::{Query, link};
use crate::refused::Refused;
use crate::session::SignedIn;
use crate::text::moment;

const PATH: &str = "/console/policies";

pub(crate) async fn page(State(door): State<Door>, who: SignedIn, Query(query): Query) -> Result<Response, Refused> {
    let found = door.services.policies.list(&who.caller, &query.page(50)).await?;
    let now = door.services.now();
    let may = who.caller.scopes.contains(Scope::WriteAccount);
    let body = html! {
        (heading("Policies", html! { "What customers may have. Assign them to groups; all that hold for a customer must agree." }, html! {
            a.button href="/console/policies/try" { "Try on a name" }
            @if may { a.button.primary href="/console/policies/new" { "New policy" } }
        }))
        @if found.items.is_empty() {
            (empty("No policies yet.", html! { "Without one, the operator's default holds. " @if may { a href="/console/policies/new" { "Create the first one" } "." } }))
        } @else {
            table.cards {
                caption.hidden { "Policies" }
                (columns(&["Policy", "Rules", "Groups", "Changed"]))
                tbody {
                    @for PolicyDetails { policy, groups } in &found.items {
                        tr {
                            th scope="row" data-label="Policy" {
                                a.strong href={ (PATH) "/" (policy.id) } { (policy.name) }
                                @if let Some(text) = &policy.description { span.sub { (text) } }
                            }
                            td data-label="Rules" { (told(&policy.rules)) }
                            td data-label="Groups" {
                                @if groups.is_empty() { span.muted { "none" } }
                                @else { (tags("/console/groups/", groups)) }
                            }
                            td data-label="Changed" { (moment(policy.updated_at, now)) }
                        }
                    }
                }
            }
        }
        (pager(found.next_cursor.map(|next| link(PATH, &[("cursor", &next)])), query.filled("cursor").map(|_| PATH)))
    };
    Ok(who.context.page("Policies", body))
}

pub(crate) async fn new(State(door): State<Door>, who: SignedIn) -> Result<Response, Refused> {
    who.caller.require(Scope::WriteAccount)?;
    Ok(form_page(&door, &who.context, &Fields::default(), &Complaints::default()))
}

pub(super) fn form_page(door: &Door, context: &Context, form: &Fields, complaints: &Complaints) -> Response {
    let body = html! {
        (trail(PATH, "Policies"))
        (heading("New policy", html! { "An empty field is no rule: it permits everything." }, html! {}))
        section.card {
            form.form.wide method="post" action=(PATH) {
                (context.token())
                (fields(form, complaints, &door.services.settings))
                div { button.primary type="submit" { "Create policy" } }
            }
        }
    };
    context.page_with(Some(complaints), "New policy", body)
}

/// The rules in a few words.
fn told(rules: &PolicyRules) -> Markup {
    let mut words = Vec::new();
    if rules.issuance_enabled == Some(false) {
        words.push("no issuance".to_owned());
    }
    let mut list = |what: &str, texts: Option<Vec<String>>| {
        if let Some(texts) = texts {
            let shown = texts.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
            let shown = if texts.is_empty() { "none at all" } else { shown.as_str() };
            words.push(format!("{what} {shown}{}", if texts.len() > 3 { ", …" } else { "" }));
        }
    };
    list("only", texts(rules.allowed_domains.as_deref()));
    list("not", texts(rules.denied_domains.as_deref()).filter(|denied| !denied.is_empty()));
    list("profiles", texts(rules.allowed_profiles.as_deref()));
    list("keys", texts(rules.allowed_key_types.as_deref()));
    list("by", texts(rules.allowed_challenge_types.as_deref()));
    for (said, what) in [(rules.allow_wildcards, "wildcards"), (rules.allow_ip_addresses, "IP addresses")] {
        if said == Some(false) {
            words.push(format!("no {what}"));
        }
    }
    let numbers = [
        (rules.max_names, "names"),
        (rules.max_validity_days, "days"),
        (rules.max_certificates_per_day, "a day"),
        (rules.max_certificates_per_week, "a week"),
        (rules.max_active_certificates, "active"),
    ];
    words.extend(numbers.into_iter().filter_map(|(number, what)| number.map(|number| format!("≤ {number} {what}"))));
    html! {
        @if words.is_empty() { span.muted { "permits everything" } }
        @else { ul.tags { @for word in words { li.tag { (word) } } } }
    }
}

fn texts<T: ToString>(values: Option<&[T]>) -> Option<Vec<String>> {
    values.map(|values| values.iter().map(ToString::to_string).collect())
}
