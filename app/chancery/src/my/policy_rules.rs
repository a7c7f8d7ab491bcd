//! The rules of a policy, from a file or from flags.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use chancery_client::wire::{IssuancePolicy, IssuancePolicyRecord};
use clap::Args;
use clap::builder::BoolishValueParser;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::table::{Cell, details};
use crate::failure::Failure;

/// Each flag is a rule of the API; one that is left out permits everything.
#[derive(Args, Debug, Default)]
pub struct RuleArgs {
    /// Read the whole policy from a file, JSON or (.toml) TOML, with the names of the API; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Free text
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Only these names: example.com itself, *.example.com all below it, ** every name; several times for several
    #[arg(long = "allow-domain", value_name = "PATTERN", value_delimiter = ',')]
    allow_domains: Vec<String>,
    /// Never these names, whatever else allows them
    #[arg(long = "deny-domain", value_name = "PATTERN", value_delimiter = ',')]
    deny_domains: Vec<String>,
    /// Whether wildcard names may be ordered
    #[arg(long, value_name = "yes|no", value_parser = BoolishValueParser::new(), hide_possible_values = true)]
    wildcards: Option<bool>,
    /// Whether IP addresses may be ordered
    #[arg(long, value_name = "yes|no", value_parser = BoolishValueParser::new(), hide_possible_values = true)]
    ip_addresses: Option<bool>,
    /// Only these certificate profiles
    #[arg(long = "cert-profile", value_name = "NAME", value_delimiter = ',')]
    cert_profiles: Vec<String>,
    /// Only keys of these types, such as ec-p256 or rsa-2048
    #[arg(long = "key-type", value_name = "TYPE", value_delimiter = ',')]
    key_types: Vec<String>,
    /// Only these challenges, such as dns-01
    #[arg(long = "challenge", value_name = "TYPE", value_delimiter = ',')]
    challenges: Vec<String>,
    /// Most names in one certificate
    #[arg(long, value_name = "NUMBER")]
    max_names: Option<u32>,
    /// Longest validity
    #[arg(long, value_name = "DAYS")]
    max_validity_days: Option<u32>,
    /// Most certificates a day, for each account
    #[arg(long, value_name = "NUMBER")]
    max_per_day: Option<u32>,
    /// Most certificates in seven days, for each account
    #[arg(long, value_name = "NUMBER")]
    max_per_week: Option<u32>,
    /// Most certificates at a time that are neither expired nor revoked, for each account
    #[arg(long, value_name = "NUMBER")]
    max_active: Option<u32>,
    /// `no` stops all issuance
    #[arg(long, value_name = "yes|no", value_parser = BoolishValueParser::new(), hide_possible_values = true)]
    issuance: Option<bool>,
}

impl RuleArgs {
    /// What the flags say, over what is there already.
    pub fn over(self, mut policy: IssuancePolicy) -> IssuancePolicy {
        let list = |given: Vec<String>, now: Option<Vec<String>>| if given.is_empty() { now } else { Some(given) };
        policy.description = self.description.or(policy.description);
        policy.allowed_domains = list(self.allow_domains, policy.allowed_domains);
        policy.denied_domains = list(self.deny_domains, policy.denied_domains);
        policy.allow_wildcards = self.wildcards.or(policy.allow_wildcards);
        policy.allow_ip_addresses = self.ip_addresses.or(policy.allow_ip_addresses);
        policy.allowed_profiles = list(self.cert_profiles, policy.allowed_profiles);
        policy.allowed_key_types = list(self.key_types, policy.allowed_key_types);
        policy.allowed_challenge_types = list(self.challenges, policy.allowed_challenge_types);
        policy.max_names = self.max_names.or(policy.max_names);
        policy.max_validity_days = self.max_validity_days.or(policy.max_validity_days);
        policy.max_certificates_per_day = self.max_per_day.or(policy.max_certificates_per_day);
        policy.max_certificates_per_week = self.max_per_week.or(policy.max_certificates_per_week);
        policy.max_active_certificates = self.max_active.or(policy.max_active_certificates);
        policy.issuance_enabled = self.issuance.or(policy.issuance_enabled);
        policy
    }
}

/// A policy in a file; what it leaves out permits everything.
pub fn read(path: &Path) -> Result<IssuancePolicy, Failure> {
    let shown = path.display();
    let text = match path == Path::new("-") {
        true => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map(|_| text)
        }
        false => std::fs::read_to_string(path),
    };
    let text = text.map_err(|error| Failure::usage(format!("cannot read {shown}: {error}")))?;
    let read = match path.extension().is_some_and(|end| end == "toml") {
        true => toml::from_str(&text).map_err(|error: toml::de::Error| error.message().to_owned()),
        false => serde_json::from_str(&text).map_err(|error| error.to_string()),
    };
    let read = read.and_then(as_request);
    let read = read.and_then(|request| serde_json::from_value(request).map_err(|error| error.to_string()));
    read.map_err(|reason| {
        Failure::usage(format!("{shown} is not a policy: {reason}"))
            .advise("`chancery my policy show POLICY --json` writes one that can be edited")
    })
}

/// A record of the API is taken for a request as well, so that what was shown can be edited and given back: other names,
/// and without what only the service says. Nothing may be said twice: which one was meant is not for us to guess.
fn as_request(Members(members): Members) -> Result<Value, String> {
    let only_shown = ["lookup", "assignedGroups", "createdAt", "updatedAt"];
    let mut request = Map::new();
    for (name, value) in members.into_iter().filter(|(name, _)| !only_shown.contains(&name.as_str())) {
        if request.insert(snake_case(&name), value).is_some() {
            return Err(format!("{} is there twice", snake_case(&name)));
        }
    }
    // The command line may have it instead.
    request.entry("name").or_insert_with(|| "".into());
    Ok(Value::Object(request))
}

/// The members of an object as they are written, also those that are written twice.
struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with the rules of a policy")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

fn snake_case(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

/// The rules of a policy that was read, as a request has them.
pub fn request(record: IssuancePolicyRecord) -> IssuancePolicy {
    IssuancePolicy {
        name: record.name,
        description: record.description,
        allowed_domains: record.allowed_domains,
        denied_domains: record.denied_domains,
        allow_wildcards: record.allow_wildcards,
        allow_ip_addresses: record.allow_ip_addresses,
        allowed_profiles: record.allowed_profiles,
        allowed_key_types: record.allowed_key_types,
        allowed_challenge_types: record.allowed_challenge_types,
        max_names: record.max_names,
        max_validity_days: record.max_validity_days,
        max_certificates_per_day: record.max_certificates_per_day,
        max_certificates_per_week: record.max_certificates_per_week,
        max_active_certificates: record.max_active_certificates,
        issuance_enabled: record.issuance_enabled,
    }
}

pub fn shown(policy: &IssuancePolicyRecord) -> String {
    let list = |items: &Option<Vec<String>>| match items {
        Some(none) if none.is_empty() => "none at all".into(),
        Some(items) => Cell::list(items),
        None => Cell::default(),
    };
    let number = |number: Option<u32>| number.map_or_else(Cell::default, |number| number.to_string().into());
    let yes = |yes: Option<bool>| match yes {
        Some(true) => "yes".into(),
        Some(false) => "no".into(),
        None => Cell::default(),
    };
    details(&[
        ("policy", policy.lookup.as_str().into()),
        ("name", policy.name.as_str().into()),
        ("description", Cell::maybe(policy.description.as_ref())),
        ("allowed domains", list(&policy.allowed_domains)),
        ("denied domains", policy.denied_domains.as_ref().map_or_else(Cell::default, Cell::list)),
        ("wildcards", yes(policy.allow_wildcards)),
        ("IP addresses", yes(policy.allow_ip_addresses)),
        ("certificate profiles", list(&policy.allowed_profiles)),
        ("key types", list(&policy.allowed_key_types)),
        ("challenges", list(&policy.allowed_challenge_types)),
        ("most names", number(policy.max_names)),
        ("longest validity", policy.max_validity_days.map_or_else(Cell::default, |days| format!("{days} days").into())),
        ("most a day", number(policy.max_certificates_per_day)),
        ("most a week", number(policy.max_certificates_per_week)),
        ("most at a time", number(policy.max_active_certificates)),
        ("issuance", yes(policy.issuance_enabled)),
        ("groups", Cell::list(policy.assigned_groups.iter().map(|group| &group.name))),
    ])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_shown_can_be_given_back() {
        let rules = json!({"name": "p", "maxNames": 3, "allowedDomains": ["a.example"], "allowWildcards": false});
        let times = json!({"createdAt": "x", "updatedAt": "y", "lookup": "pol_1", "assignedGroups": []});
        let mut shown = rules.as_object().unwrap().clone();
        shown.extend(times.as_object().unwrap().clone());
        let of = |file: Value| {
            serde_json::from_value::<IssuancePolicy>(as_request(serde_json::from_value(file).unwrap()).unwrap())
        };
        let read = of(Value::Object(shown)).unwrap();
        assert_eq!((read.max_names, read.allow_wildcards), (Some(3), Some(false)));
        let unknown = of(json!({"max_name": 3}));
        assert!(unknown.unwrap_err().to_string().contains("max_name"));
    }

    #[test]
    fn flags_change_what_they_name_and_leave_the_rest() {
        let before = IssuancePolicy {
            name: "p".to_owned(),
            allow_wildcards: Some(true),
            max_names: Some(5),
            allowed_domains: Some(vec!["a.example".to_owned()]),
            ..Default::default()
        };
        let flags =
            RuleArgs { wildcards: Some(false), allow_domains: vec!["b.example".to_owned()], ..Default::default() };
        let after = flags.over(before);
        assert_eq!((after.allow_wildcards, after.max_names), (Some(false), Some(5)));
        assert_eq!(after.allowed_domains, Some(vec!["b.example".to_owned()]));
        assert_eq!(after.issuance_enabled, None);
    }
}
