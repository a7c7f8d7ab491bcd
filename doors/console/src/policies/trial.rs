//! Trying the policies of a customer on names, without ordering anything.

use axum::extract::State;
use axum::response::Response;
use chancery_domain::{Identifier, KeyType, Problems, ProfileName};
use chancery_http::Door;
use chancery_service::{AccountLookup, Evaluation, EvaluationRequest, Noun, ServiceError, Settings};
use maud::{Markup, html};

use crate::form::Fields;
use crate::parts::{Complaints, Field, heading, trail};
use crate::query::Query;
use crate::refused::{Refused, sentence};
use crate::session::SignedIn;
use crate::text::plural;

pub(crate) async fn page(State(door): State<Door>, who: SignedIn, Query(query): Query) -> Result<Response, Refused> {
    let answer = match query.has("customer") {
        false => Ok(None),
        true => match read(&query) {
            Ok(request) => door.services.policies.evaluate(&who.caller, request).await.map(Some),
            Err(error) => Err(error),
        },
    };
    let (evaluation, complaints) = match answer {
        Ok(evaluation) => (evaluation, Complaints::default()),
        Err(error @ (ServiceError::NotFound(Noun::Account, _) | ServiceError::Account(_))) => {
            (None, Complaints(vec![("customer".to_owned(), sentence(&error.to_string()))]))
        }
        Err(error) => (None, Complaints::of(error)?),
    };
    let body = html! {
        (trail("/console/policies", "Policies"))
        (heading("Try on a name", html! { "What the policies of a customer would say to an order. Nothing is ordered." }, html! {}))
        @if let Some(evaluation) = &evaluation { (verdict(evaluation)) }
        section.card { (form(&query, &complaints, &door.services.settings)) }
    };
    Ok(who.context.page_as(complaints.status(), "Try on a name", body))
}

fn read(query: &Fields) -> Result<EvaluationRequest, ServiceError> {
    let mut problems = Problems::default();
    let names = query.entries("names");
    let identifiers: Vec<_> = names.iter().filter_map(|name| problems.take("names", Identifier::parse(name))).collect();
    if names.is_empty() {
        problems.add("names", "missing", "name at least one");
    }
    let profile = query.filled("profile").and_then(|name| problems.take("profile", ProfileName::parse(name)));
    let key_type = query.filled("key_type").and_then(|name| problems.take("key_type", name.parse::<KeyType>()));
    problems.into_result().map_err(ServiceError::Invalid)?;
    let account = AccountLookup::parse(query.text("customer").trim());
    Ok(EvaluationRequest { account, profile, identifiers, key_type, challenge_type: None, validity_days: None })
}

fn verdict(evaluation: &Evaluation) -> Markup {
    let Evaluation { verdict, profile, applied } = evaluation;
    let good = verdict.violations.is_empty();
    html! {
        div class={ "verdict " (if good { "good" } else { "bad" }) } role="status" {
            @if good {
                strong { "This could be ordered." }
                p { "With the profile " (profile) ", valid for " (plural(i64::from(verdict.validity_days), "day")) "." }
            } @else {
                strong { "This would be refused." }
                ul { @for problem in &verdict.violations { li { (sentence(&problem.message)) } } }
            }
            p { "Asked: " @for (place, (_, name)) in applied.iter().enumerate() { @if place > 0 { ", " } (name) } }
        }
    }
}

fn form(query: &Fields, complaints: &Complaints, settings: &Settings) -> Markup {
    let field = |name, label, hint| Field { name, label, hint, value: query.text(name), complaints };
    let all = |words: &str, known: Vec<String>| {
        let first = std::iter::once((String::new(), words.to_owned()));
        first.chain(known.into_iter().map(|name| (name.clone(), name))).collect::<Vec<_>>()
    };
    let profiles = settings.profiles.iter().map(|profile| profile.name.to_string()).collect();
    html! {
        form.form method="get" action="/console/policies/try" {
            (complaints.others(&["customer", "names", "profile", "key_type"]))
            (field("customer", "Customer", "An e-mail address, a lookup or a key id.").line("text", true))
            (field("names", "Names", "As they would stand in the certificate, one on a line.").lines(3, true))
            (field("profile", "Profile", "").choice(&all("The default one", profiles)))
            (field("key_type", "Key type", "").choice(&all("Not said", KeyType::ALL.iter().map(ToString::to_string).collect())))
            div { button.primary type="submit" { "Try" } }
        }
    }
}
