use std::time::Duration;

use chancery_domain::Profile;
use clap::Subcommand;

use crate::config::span;
use crate::failure::Failure;
use crate::installation::Installation;
use crate::print::{Printer, Record, record};
use crate::target::Target;

#[derive(Subcommand, Debug)]
pub enum ProfileCommand {
    /// List the profiles
    List,
    /// Show a profile
    Show {
        /// The profile's name, such as TLS-90d
        name: String,
    },
}

/// Profiles are in the configuration: this needs no database.
pub fn run(target: &Target, command: ProfileCommand) -> Result<(), Failure> {
    let installation = target.find()?;
    let printer = Printer { json: target.json };
    let profiles = &installation.settings.profiles;
    match command {
        ProfileCommand::List => {
            let records: Vec<_> = profiles.iter().map(|profile| shown(profile, &installation)).collect();
            printer.table(&["name", "default", "validity_days", "key_types", "issuers", "description"], &records)
        }
        ProfileCommand::Show { name } => match profiles.iter().find(|profile| profile.name.as_str() == name) {
            Some(profile) => printer.record(&shown(profile, &installation), None),
            None => {
                let known: Vec<_> = profiles.iter().map(|profile| profile.name.as_str()).collect();
                Err(Failure::failed(format!("there is no profile {name}"))
                    .advise(format!("there are {}", known.join(", "))))
            }
        },
    }
}

fn shown(profile: &Profile, installation: &Installation) -> Record {
    let issuing = &installation.settings.issuing;
    let rules = issuing.issuer_rules(&profile.name);
    let mut record = record! {
        "name" => profile.name.as_str(),
        "default" => profile.name == installation.settings.default_profile,
        "description" => profile.description,
        "validity_days" => profile.validity_days,
        "key_types" => profile.key_types.iter().map(|kind| kind.as_str()).collect::<Vec<_>>(),
        "challenge_types" => profile.challenge_types.iter().map(|kind| kind.as_str()).collect::<Vec<_>>(),
        "allow_wildcards" => profile.allow_wildcards,
        "allow_ip_addresses" => profile.allow_ip_addresses,
        "max_names" => profile.max_names,
        "issuers" => rules.allowed.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "ocsp" => rules.ocsp,
        "crl" => rules.crl,
    };
    if let Some(look) = issuing.certificates.get(&profile.name) {
        let backdate = Duration::from_secs(look.backdate_seconds.into());
        let more = record! {
            "usages" => look.purposes.iter().map(|purpose| purpose.as_str()).collect::<Vec<_>>(),
            "policies" => look.policies.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "common_name" => look.common_name,
            "subject_key_id" => look.subject_key_id,
            "key_encipherment" => look.key_encipherment,
            "backdate" => span::show(backdate),
            "public" => look.public,
        };
        record.0.extend(more.0);
    }
    record.0.push(("acme_directory", installation.urls.acme_directory(profile.name.as_str()).into()));
    record
}
