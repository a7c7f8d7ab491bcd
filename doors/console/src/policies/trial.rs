//! Trying policies on names, without ordering anything: all that a customer has, or one by itself.

use axum::extract::State;
use axum::response::Response;
use chancery_domain::{Identifier, KeyType, PolicyId, Problems, ProfileName};
use chancery_http::Door;
use chancery_service::{AccountLookup, Caller, Evaluation, EvaluationRequest, Judges, Noun, ServiceError, Settings};
use maud::{Markup, html};

use crate::choices::Choices;
use crate::form::Fields;
use crate::parts::{Complaints, Field, heading, trail};
use crate::query::Query;
use crate::refused::{Refused, sentence};
use crate::session::SignedIn;
use crate::text::plural;

pub(crate) async fn page(State(door): State<Door>, who: SignedIn, Query(query): Query) -> Result<Response, Refused> {
    let answer = match query.has("names") {
        false => Ok(None),
        true => match read(&query) {
            Ok(request) => door.services.policies.evaluate(&who.caller, request).await.map(Some),
            Err(error) => Err(error),
        },
    };
    let beside = |field: &str, error: ServiceError| Complaints(vec![(field.to_owned(), sentence(&error.to_string()))]);
    let (evaluation, complaints) = match answer {
        Ok(evaluation) => (evaluation, Complaints::default()),
        Err(error @ (ServiceError::NotFound(Noun::Account, _) | ServiceError::Account(_))) => {
            (None, beside("customer", error))
        }
        Err(error @ ServiceError::NotFound(Noun::Policy, _)) => (None, beside("policy", error)),
        Err(error) => (None, Complaints::of(error)?),
    };
    let policies = choices(&door, &who.caller, query.text("policy")).await?;
    let alone = query.filled("policy").is_some() && query.filled("customer").is_none();
    let body = html! {
        (trail("/console/policies", "Policies"))
        (heading("Try on a name", html! { "What the policies of a customer, or one by itself, would say to an order. Nothing is ordered." }, html! {}))
        @if let Some(evaluation) = &evaluation { (verdict(evaluation, alone)) }
        section.card { (form(&query, &complaints, &policies, &door.services.settings)) }
    };
    Ok(who.context.page_with(Some(&complaints), "Try on a name", body))
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
    let account = query.filled("customer").map(AccountLookup::parse);
    let judges = match (query.filled("policy"), account) {
        (Some(policy), account) => {
            let policy = problems.take("policy", policy.parse::<PolicyId>().map_err(|_| "there is no such policy"));
            policy.map(|policy| Judges::One(policy, account))
        }
        (None, Some(account)) => Some(Judges::AllOf(account)),
        (None, None) => {
            problems.add("customer", "missing", "name a customer, or choose a policy");
            None
        }
    };
    match judges {
        Some(judges) if problems.is_empty() => {
            Ok(EvaluationRequest { judges, profile, identifiers, key_type, challenge_type: None, validity_days: None })
        }
        _ => Err(ServiceError::Invalid(problems)),
    }
}

/// The policies to choose from, by lookup and name; the one that was chosen is among them.
async fn choices(door: &Door, caller: &Caller, chosen: &str) -> Result<Vec<(String, String)>, ServiceError> {
    let policies = &door.services.policies;
    let mut found = Choices::policies(door, caller).await?.items;
    if let Ok(id) = chosen.trim().parse::<PolicyId>()
        && !found.iter().any(|(known, _)| *known == id.to_string())
    {
        match policies.show(caller, id).await {
            Ok(of) => found.push((of.policy.id.to_string(), of.policy.name.to_string())),
            Err(ServiceError::NotFound(Noun::Policy, _)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

fn verdict(evaluation: &Evaluation, alone: bool) -> Markup {
    let Evaluation { verdict, profile, applied } = evaluation;
    let good = verdict.violations.is_empty();
    html! {
        div class={ "verdict " (if good { "good" } else { "bad" }) } role="status" {
            @if good {
                strong { (if alone { "This policy has nothing against it." } else { "This could be ordered." }) }
                p { "With the profile " (profile) ", valid for " (plural(i64::from(verdict.validity_days), "day")) "." }
            } @else {
                strong { "This would be refused." }
                ul {
                    @for problem in verdict.violations.described() { li { (sentence(&problem.message)) } }
                    @if verdict.violations.omitted() > 0 { li { "And " (verdict.violations.omitted()) " more." } }
                }
            }
            p { "Asked: " @for (place, (_, name)) in applied.iter().enumerate() { @if place > 0 { ", " } (name) } }
            @if alone { p { "Its quotas were not asked: they are counted for a customer, and none was named." } }
        }
    }
}

fn form(query: &Fields, complaints: &Complaints, policies: &[(String, String)], settings: &Settings) -> Markup {
    let field = |name, label, hint| Field { name, label, hint, value: query.text(name), complaints };
    let first = |words: &str| std::iter::once((String::new(), words.to_owned()));
    let all = |words: &str, known: Vec<String>| {
        first(words).chain(known.into_iter().map(|name| (name.clone(), name))).collect::<Vec<_>>()
    };
    let profiles = settings.profiles.iter().map(|profile| profile.name.to_string()).collect();
    let policies: Vec<_> = first("All of the customer's").chain(policies.iter().cloned()).collect();
    html! {
        form.form method="get" action="/console/policies/try" {
            (complaints.others(&["customer", "policy", "names", "profile", "key_type"]))
            (field("policy", "Policy", "One is asked by itself, whether anybody has it or not.").choice(&policies))
            (field("customer", "Customer", "An e-mail address, a lookup or a key id. With one policy it may be left out.").line("text", false))
            (field("names", "Names", "As they would stand in the certificate, one on a line.").lines(3, true))
            (field("profile", "Profile", "").choice(&all("The default one", profiles)))
            (field("key_type", "Key type", "").choice(&all("Not said", KeyType::ALL.iter().map(ToString::to_string).collect())))
            div { button.primary type="submit" { "Try" } }
        }
    }
}
