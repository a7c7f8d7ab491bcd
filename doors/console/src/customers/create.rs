//! A new customer, and the only showing of its key.

use axum::extract::State;
use axum::response::Response;
use chancery_domain::{EmailAddress, ExternalId, Metadata, Problems, Scope};
use chancery_http::Door;
use chancery_service::{CreatedAccount, NewAccount, ServiceError};
use maud::{Markup, html};
use serde_json::{Value, json};

use super::credentials::{Pasted, paste};
use crate::choices::Choices;
use crate::form::Fields;
use crate::layout::Context;
use crate::once::{self, once};
use crate::parts::{Complaints, Field, copyable, heading, trail};
use crate::refused::Refused;
use crate::session::{Change, SignedIn};

pub(crate) async fn form(State(door): State<Door>, who: SignedIn) -> Result<Response, Refused> {
    who.caller.require(Scope::WriteAccount)?;
    let groups = Choices::groups(&door, &who.caller).await?;
    Ok(shown(&who.context, &Fields::default(), &groups, &Complaints::default()))
}

pub(crate) async fn create(State(door): State<Door>, change: Change) -> Result<Response, Refused> {
    let Change { caller, context, form } = change;
    let made = match read(&form) {
        Ok(new) => door.services.accounts.create(&caller, new, once(&form, "new customer", told)).await,
        Err(error) => Err(error),
    };
    match made {
        Ok(made) => {
            let made = once::shown(&made, told);
            let pasted = Pasted {
                directory: door.urls.acme_directory(door.services.settings.default_profile.as_str()),
                kid: made.text("kid").to_owned(),
                hmac: made.text("hmac").to_owned(),
                email: made.text("email").to_owned(),
            };
            let body = html! {
                (trail("/console/customers", "Customers"))
                (heading(&pasted.email, html! { "The customer is created. Its ACME key is shown only now." }, html! {
                    a.button href={ "/console/customers/" (made.text("id")) } { "To the customer" }
                }))
                (shown_once(&pasted))
            };
            Ok(context.page("New customer", body))
        }
        Err(error) => {
            let complaints = Complaints::of(error)?;
            let groups = Choices::groups(&door, &caller).await?;
            Ok(shown(&context, &form, &groups, &complaints))
        }
    }
}

/// What is shown of a new customer.
fn told(made: &CreatedAccount) -> Value {
    let CreatedAccount { account, hmac_key } = made;
    json!({"id": account.id.to_string(), "kid": account.kid.to_string(), "hmac": hmac_key.reveal(), "email": account.email.as_str()})
}

/// A key, where it is seen once.
pub(crate) fn shown_once(pasted: &Pasted) -> Markup {
    html! {
        section.card {
            p.caution { "Keep the HMAC key now: nobody can look it up here later." }
            h2 { "Key id" }
            (copyable("the key id", &pasted.kid))
            h2 { "HMAC key" }
            (copyable("the HMAC key", &pasted.hmac))
        }
        section.card { h2 { "Ready to paste" } (paste(pasted)) }
    }
}

fn read(form: &Fields) -> Result<NewAccount, ServiceError> {
    let mut problems = Problems::default();
    let email = problems.take("email", EmailAddress::parse(form.text("email").trim()));
    let external_id = form.filled("external_id").and_then(|text| problems.take("external_id", ExternalId::parse(text)));
    match email {
        Some(email) if problems.is_empty() => {
            Ok(NewAccount { email, groups: form.all("group"), external_id, metadata: Metadata::default() })
        }
        _ => Err(ServiceError::Invalid(problems)),
    }
}

fn shown(context: &Context, form: &Fields, groups: &Choices, complaints: &Complaints) -> Response {
    let chosen = form.all("group");
    let body = html! {
        (trail("/console/customers", "Customers"))
        (heading("New customer", html! { "It gets an ACME key at once; you can order for it through the API as well." }, html! {}))
        section.card {
            form.form method="post" action="/console/customers" {
                (context.token())
                (context.once())
                (complaints.others(&["email", "external_id"]))
                (Field { name: "email", label: "E-mail address", hint: "Where the customer is reached.", value: form.text("email"), complaints }.line("email", true))
                (Field { name: "external_id", label: "Your reference", hint: "Your own number or name for the customer.", value: form.text("external_id"), complaints }.line("text", false))
                @if !groups.items.is_empty() {
                    fieldset.checks {
                        legend { "Groups" }
                        @for (id, name) in &groups.items {
                            div.check {
                                input type="checkbox" id=(id) name="group" value=(id) checked[chosen.contains(id)];
                                label for=(id) { (name) }
                            }
                        }
                        (groups.note())
                    }
                }
                div { button.primary type="submit" { "Create customer" } }
            }
        }
    };
    context.page_with(Some(complaints), "New customer", body)
}
