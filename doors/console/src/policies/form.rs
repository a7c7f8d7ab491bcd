//! The form of a policy, between its fields and its rules. An empty field is no rule; a list that allows nothing is one,
//! and has a box of its own.

use chancery_domain::{ChallengeType, KeyType, Policy, Problems};
use chancery_service::{PolicyDraft, ServiceError, Settings};
use maud::{Markup, html};

use crate::form::Fields;
use crate::parts::{Complaints, Field};

const NUMBERS: [(&str, &str, &str); 5] = [
    ("max_names", "Names in one certificate", "At most; 1 to 100."),
    ("max_validity_days", "Days of validity", "At most; a shorter limit of the profile stays."),
    ("max_certificates_per_day", "Certificates a day", "At most, for each customer."),
    ("max_certificates_per_week", "Certificates a week", "At most, for each customer."),
    ("max_active_certificates", "Active certificates", "At most, for each customer."),
];
const SWITCHES: [(&str, &str); 3] =
    [("issuance_enabled", "Issuance"), ("allow_wildcards", "Wildcards"), ("allow_ip_addresses", "IP addresses")];
/// The version of the policy that the form was filled from.
pub(super) const SEEN: &str = "seen";
/// The boxes that say which lists allow nothing.
const NOTHING: &str = "nothing";
const LISTS: [(&str, &str); 3] =
    [("allowed_profiles", "Profiles"), ("allowed_key_types", "Key types"), ("allowed_challenge_types", "Challenges")];

pub(super) fn read(form: &Fields) -> Result<PolicyDraft, ServiceError> {
    let mut problems = Problems::default();
    let nothing = form.all(NOTHING);
    let mut allowed = |name: &str, list: Vec<String>| match (list.is_empty(), nothing.iter().any(|of| of == name)) {
        (true, false) => None,
        (empty, true) => {
            let both = "cannot allow nothing and something; choose one";
            problems.take(name, if empty { Ok(list) } else { Err(both) })
        }
        (false, false) => Some(list),
    };
    let allowed_domains = allowed("allowed_domains", form.entries("allowed_domains"));
    let [allowed_profiles, allowed_key_types, allowed_challenge_types] =
        LISTS.map(|(name, _)| allowed(name, form.all(name)));
    let [issuance_enabled, allow_wildcards, allow_ip_addresses] =
        ["issuance_enabled", "allow_wildcards", "allow_ip_addresses"].map(|name| match form.text(name) {
            "yes" => Some(true),
            "no" => Some(false),
            "" => None,
            // What is no answer must not become one that permits.
            _ => problems.take(name, Err("must be yes, no or nothing")),
        });
    let [max_names, max_validity_days, max_certificates_per_day, max_certificates_per_week, max_active_certificates] =
        NUMBERS.map(|(name, ..)| {
            let number = form.filled(name)?.parse::<u32>().map_err(|_| "must be a whole number");
            problems.take(name, number)
        });
    let draft = PolicyDraft {
        name: form.text("name").trim().to_owned(),
        description: form.filled("description").map(str::to_owned),
        allowed_domains,
        denied_domains: Some(form.entries("denied_domains")).filter(|list| !list.is_empty()),
        allow_wildcards,
        allow_ip_addresses,
        allowed_profiles,
        allowed_key_types,
        allowed_challenge_types,
        max_names,
        max_validity_days,
        max_certificates_per_day,
        max_certificates_per_week,
        max_active_certificates,
        issuance_enabled,
    };
    problems.into_result().map_err(ServiceError::Invalid)?;
    Ok(draft)
}

/// The fields as a policy fills them.
pub(super) fn filled(policy: &Policy) -> Fields {
    let rules = &policy.rules;
    let mut fields = Fields::default()
        .with(SEEN, policy.version.to_string())
        .with("name", policy.name.to_string())
        .with("description", policy.description.as_ref().map(ToString::to_string).unwrap_or_default());
    let lines = |list: &Option<Vec<chancery_domain::policy::DomainPattern>>| {
        let texts: Vec<_> = list.iter().flatten().map(ToString::to_string).collect();
        texts.join("\n")
    };
    fields = fields
        .with("allowed_domains", lines(&rules.allowed_domains))
        .with("denied_domains", lines(&rules.denied_domains));
    let switches = [rules.issuance_enabled, rules.allow_wildcards, rules.allow_ip_addresses];
    for ((name, _), value) in SWITCHES.iter().zip(switches) {
        fields = fields.with(
            name,
            match value {
                Some(true) => "yes",
                Some(false) => "no",
                None => "",
            },
        );
    }
    let numbers = [
        rules.max_names,
        rules.max_validity_days,
        rules.max_certificates_per_day,
        rules.max_certificates_per_week,
        rules.max_active_certificates,
    ];
    for ((name, ..), value) in NUMBERS.iter().zip(numbers) {
        fields = fields.with(name, value.map(|number| number.to_string()).unwrap_or_default());
    }
    let nothing = [
        ("allowed_domains", rules.allowed_domains.as_ref().is_some_and(Vec::is_empty)),
        ("allowed_profiles", rules.allowed_profiles.as_ref().is_some_and(Vec::is_empty)),
        ("allowed_key_types", rules.allowed_key_types.as_ref().is_some_and(Vec::is_empty)),
        ("allowed_challenge_types", rules.allowed_challenge_types.as_ref().is_some_and(Vec::is_empty)),
    ];
    for (name, _) in nothing.into_iter().filter(|(_, empty)| *empty) {
        fields = fields.and(NOTHING, name);
    }
    for name in rules.allowed_profiles.iter().flatten() {
        fields = fields.and("allowed_profiles", name.as_str());
    }
    for kind in rules.allowed_key_types.iter().flatten() {
        fields = fields.and("allowed_key_types", kind.as_str());
    }
    for kind in rules.allowed_challenge_types.iter().flatten() {
        fields = fields.and("allowed_challenge_types", kind.as_str());
    }
    fields
}

pub(super) fn fields(form: &Fields, complaints: &Complaints, settings: &Settings) -> Markup {
    let field = |name, label, hint| Field { name, label, hint, value: form.text(name), complaints };
    let kinds: [Vec<String>; 3] = [
        settings.profiles.iter().map(|profile| profile.name.to_string()).collect(),
        KeyType::ALL.iter().map(ToString::to_string).collect(),
        ChallengeType::ALL.iter().map(ToString::to_string).collect(),
    ];
    let beside: Vec<&str> = ["name", "description", "allowed_domains", "denied_domains"]
        .into_iter()
        .chain(NUMBERS.iter().map(|(name, ..)| *name))
        .collect();
    let nothing = form.all(NOTHING);
    let box_of_nothing = |name: &str, label: &str| {
        html! {
            div.check {
                input type="checkbox" id={ "nothing-" (name) } name=(NOTHING) value=(name) checked[nothing.iter().any(|of| of == name)];
                label for={ "nothing-" (name) } { (label) }
            }
        }
    };
    html! {
        (complaints.others(&beside))
        @if let Some(version) = form.filled(SEEN) { input type="hidden" name=(SEEN) value=(version); }
        div.grid {
            (field("name", "Name", "").line("text", true))
            (field("description", "Description", "").lines(1, false))
        }
        div.grid {
            div {
                (field("allowed_domains", "Allowed domains", "One on a line: example.com, *.example.com for all below it, ** for all. Empty: all.").lines(4, false))
                (box_of_nothing("allowed_domains", "No domain at all"))
            }
            (field("denied_domains", "Denied domains", "What is denied is denied, whatever is allowed.").lines(4, false))
        }
        div.grid.three {
            @for (name, label) in SWITCHES {
                (field(name, label, "").choice(&[
                    (String::new(), "No rule".to_owned()), ("yes".to_owned(), "Allowed".to_owned()), ("no".to_owned(), "Not allowed".to_owned()),
                ]))
            }
        }
        @for ((name, label), known) in LISTS.into_iter().zip(&kinds) {
            @let chosen = form.all(name);
            fieldset.checks.columns {
                legend { (label) span.needed { " (none ticked: all)" } }
                // One that is not offered any more still holds, and is taken off only by whoever unticks it.
                @for kind in known.iter().chain(chosen.iter().filter(|kind| !known.contains(kind))) {
                    div.check {
                        input type="checkbox" id={ (name) "-" (kind) } name=(name) value=(kind) checked[chosen.contains(kind)];
                        label for={ (name) "-" (kind) } { (kind) }
                    }
                }
                (box_of_nothing(name, "None at all"))
            }
        }
        div.grid.three { @for (name, label, hint) in NUMBERS { (field(name, label, hint).line("number", false)) } }
    }
}
