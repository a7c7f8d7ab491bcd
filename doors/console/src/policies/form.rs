//! The form of a policy, between its fields and its rules. An empty field is no rule.

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
const LISTS: [(&str, &str); 3] =
    [("allowed_profiles", "Profiles"), ("allowed_key_types", "Key types"), ("allowed_challenge_types", "Challenges")];

pub(super) fn read(form: &Fields) -> Result<PolicyDraft, ServiceError> {
    let mut problems = Problems::default();
    let texts = |name: &str| Some(form.entries(name)).filter(|list| !list.is_empty());
    let ticked = |name: &str| Some(form.all(name)).filter(|list| !list.is_empty());
    let switch = |name: &str| match form.text(name) {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    };
    let [max_names, max_validity_days, max_certificates_per_day, max_certificates_per_week, max_active_certificates] =
        NUMBERS.map(|(name, ..)| {
            let number = form.filled(name)?.parse::<u32>().map_err(|_| "must be a whole number");
            problems.take(name, number)
        });
    let draft = PolicyDraft {
        name: form.text("name").trim().to_owned(),
        description: form.filled("description").map(str::to_owned),
        allowed_domains: texts("allowed_domains"),
        denied_domains: texts("denied_domains"),
        allow_wildcards: switch("allow_wildcards"),
        allow_ip_addresses: switch("allow_ip_addresses"),
        allowed_profiles: ticked("allowed_profiles"),
        allowed_key_types: ticked("allowed_key_types"),
        allowed_challenge_types: ticked("allowed_challenge_types"),
        max_names,
        max_validity_days,
        max_certificates_per_day,
        max_certificates_per_week,
        max_active_certificates,
        issuance_enabled: switch("issuance_enabled"),
    };
    problems.into_result().map_err(ServiceError::Invalid)?;
    Ok(draft)
}

/// The fields as a policy fills them.
pub(super) fn filled(policy: &Policy) -> Fields {
    let rules = &policy.rules;
    let mut fields = Fields::default()
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
    html! {
        (complaints.others(&beside))
        div.grid {
            (field("name", "Name", "").line("text", true))
            (field("description", "Description", "").line("text", false))
        }
        div.grid {
            (field("allowed_domains", "Allowed domains", "One on a line: example.com, *.example.com for all below it, ** for all. Empty: all.").lines(4, false))
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
                @for kind in known {
                    div.check {
                        input type="checkbox" id={ (name) "-" (kind) } name=(name) value=(kind) checked[chosen.contains(kind)];
                        label for={ (name) "-" (kind) } { (kind) }
                    }
                }
            }
        }
        div.grid.three { @for (name, label, hint) in NUMBERS { (field(name, label, hint).line("number", false)) } }
    }
}
