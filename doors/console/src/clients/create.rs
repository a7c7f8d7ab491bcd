//! A new one, with no more scopes than whoever makes it has.

use axum::extract::State;
use axum::response::Response;
use chancery_domain::{Client, Name, Problems, Scope, ScopeSet};
use chancery_http::Door;
use chancery_service::identity::NewClient;
use chancery_service::{Caller, ServiceError};
use maud::{Markup, html};

use super::{current, proof, revealed, told};
use crate::form::Fields;
use crate::layout::Context;
use crate::once::{once, shown};
use crate::parts::{Complaints, Field, heading, trail};
use crate::refused::Refused;
use crate::session::{Signed, SignedIn};

pub(crate) async fn form(State(_): State<Door>, who: SignedIn) -> Result<Response, Refused> {
    who.caller.require(Scope::WriteAccount)?;
    let body = body(&who.context, &who.caller, who.client.is_some(), &Fields::default(), &Complaints::default());
    Ok(who.context.page("New client", body))
}

pub(crate) async fn create(State(door): State<Door>, signed: Signed) -> Result<Response, Refused> {
    let made = match read(&signed.form) {
        Ok(new) => {
            let (current, once) = (current(&signed.form), once(&signed.form, "new client", told));
            door.services.console.create_client(&signed.session, &current, new, once).await
        }
        Err(error) => Err(error),
    };
    match made {
        Ok(made) => {
            let made = shown(&made, told);
            let (name, id, secret) = (made.text("name"), made.text("id"), made.text("secret"));
            Ok(revealed(&signed.context, name, "Its secret is shown only now.", id, secret))
        }
        Err(error) => {
            let complaints = Complaints::of(error)?;
            let person = &signed.session.person;
            let caller = person.caller().ok_or_else(Refused::no_page)?;
            let body = body(&signed.context, caller, person.client().is_some(), &signed.form, &complaints);
            Ok(signed.context.page_with(Some(&complaints), "New client", body))
        }
    }
}

fn read(form: &Fields) -> Result<NewClient, ServiceError> {
    new_client(form, &form.all("scope").join(" "))
}

/// Reads what a new client is to be, with these scopes and the one without which nothing can be done.
pub(crate) fn new_client(form: &Fields, scopes: &str) -> Result<NewClient, ServiceError> {
    let mut problems = Problems::default();
    let name = problems.take("name", Name::parse(form.text("name").trim()));
    let expires_in_days = form.number("days", Client::MAX_DAYS, &mut problems);
    let scopes = problems.take("scope", format!("{} {scopes}", Scope::Reseller).parse::<ScopeSet>());
    match (name, scopes) {
        (Some(name), Some(scopes)) if problems.is_empty() => Ok(NewClient { name, scopes, expires_in_days }),
        _ => Err(ServiceError::Invalid(problems)),
    }
}

fn body(context: &Context, caller: &Caller, asks: bool, form: &Fields, complaints: &Complaints) -> Markup {
    let field = |name, label, hint| Field { name, label, hint, value: form.text(name), complaints };
    let ticked = form.all("scope");
    let offered = Scope::ALL.iter().filter(|scope| **scope != Scope::Reseller && caller.scopes.contains(**scope));
    html! {
        (trail("/console/clients", "API clients"))
        (heading("New client", html! { "For one program or one person: the audit trail then says who it was, and each can be ended by itself." }, html! {}))
        (complaints.others(&["name", "days"]))
        section.card {
            form.form method="post" action="/console/clients" {
                (context.token())
                (context.once())
                (field("name", "Name", "Of the program or person that will use it.").line("text", true))
                fieldset.checks.columns {
                    legend { "What it may do" span.needed { " (no more than you may do yourself)" } }
                    @for scope in offered {
                        div.check {
                            input type="checkbox" id={ "scope-" (scope) } name="scope" value=(scope) checked[ticked.contains(&scope.to_string())];
                            label for={ "scope-" (scope) } { (scope) }
                        }
                    }
                }
                (field("days", "Ends after", "In days; left out, it does not end by itself.").line("number", false))
                (proof(asks, "create", "Your secret"))
                div { button.primary type="submit" { "Create the client" } }
            }
        }
    }
}
