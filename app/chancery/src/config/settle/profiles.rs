//! Profiles: who may ask for what, how the certificates look, and who signs them.

use std::collections::BTreeMap;
use std::time::Duration;

use chancery_domain::{Profile, ProfileName};
use chancery_pki::{NameRules, PolicyId, Purpose, SubscriberProfile};
use chancery_service::{IssuerRef, IssuerRules};

use super::issuance::{is_one_of, parsed, words};
use super::{Check, days};
use crate::config::types;
use crate::installation::Logs;

/// The operator's profiles, or the usual ones.
pub(super) struct Profiles {
    pub(super) list: Vec<Profile>,
    pub(super) certificates: BTreeMap<ProfileName, SubscriberProfile>,
    pub(super) issuers: BTreeMap<ProfileName, IssuerRules>,
}

/// Nothing valid for longer is taken by the browsers, even from a private root.
pub(super) const MAX_VALIDITY_DAYS: u32 = 825;
pub(super) const MAX_NAMES: u32 = 100;

/// What stands in ACME's URLs in the place of a profile.
const RESERVED: [&str; 6] = ["account", "authz", "cert", "challenge", "order", "renewal-info"];

/// What profiles rest on.
pub(super) struct Around<'a> {
    /// Those that are not public are also for names and addresses that mean something only in here.
    pub(super) internal: bool,
    /// None where they are not understood, of which enough is said.
    pub(super) logs: Option<&'a Logs>,
}

pub(super) fn settle(list: &[types::Profile], around: &Around<'_>, check: &mut Check<'_>) -> Option<Profiles> {
    let usual: Vec<_> = Profile::predefined().iter().map(written).collect();
    let list = if list.is_empty() { &usual } else { list };
    let before = check.problems.0.len();
    let mut settled = Profiles { list: Vec::new(), certificates: BTreeMap::new(), issuers: BTreeMap::new() };
    for (place, written) in list.iter().enumerate() {
        let setting = |field: &str| format!("profiles.list.{place}.{field}");
        let profile = settle_profile(written, place, &setting, check);
        let name = profile.name.clone();
        let is_named = name.as_str() == written.name;
        let twice = is_named && is_one_of(&name, &settled.list);
        check.problems.require(!twice, setting("name"), format!("{name} is there twice"));
        // The first part of the paths of ACME is either a profile or one of these.
        let free = !RESERVED.contains(&name.as_str());
        check.problems.require(
            free,
            setting("name"),
            format!("{name} names something else in ACME's URLs; choose another"),
        );
        let look = settle_look(written, &profile, around, &setting, check);
        settled.certificates.extend(look.map(|look| (name.clone(), look)));
        let allowed: Vec<IssuerRef> = parsed(&setting("issuers"), &written.issuers, str::parse, check);
        settled.issuers.insert(name, IssuerRules { allowed, ocsp: written.ocsp, crl: written.crl });
        settled.list.push(profile);
    }
    (check.problems.0.len() == before).then_some(settled)
}

/// Of what is wrong, of which nothing comes, something right stands here: the rest is judged all the same.
fn settle_profile(
    written: &types::Profile,
    place: usize,
    setting: &impl Fn(&str) -> String,
    check: &mut Check<'_>,
) -> Profile {
    let name = check.problems.take(setting("name"), ProfileName::parse(&written.name));
    let days = check.number(setting("validity_days"), written.validity_days, 1, MAX_VALIDITY_DAYS);
    let names = check.number(setting("max_names"), written.max_names, 1, MAX_NAMES);
    let key_types = words(&setting("key_types"), &written.key_types, check);
    let challenge_types = words(&setting("challenge_types"), &written.challenge_types, check);
    for (field, list) in [("key_types", &written.key_types), ("challenge_types", &written.challenge_types)] {
        check.problems.require(!list.is_empty(), setting(field), "must have at least one entry");
    }
    let unnamed = || ProfileName::parse(&format!("profile-{place}")).expect("it is one");
    Profile {
        name: name.unwrap_or_else(unnamed),
        description: written.description.clone(),
        validity_days: days.unwrap_or(1),
        key_types,
        challenge_types,
        allow_wildcards: written.allow_wildcards,
        allow_ip_addresses: written.allow_ip_addresses,
        max_names: names.unwrap_or(1),
    }
}

/// How the certificates look; a profile that contradicts itself, or the Baseline Requirements, is refused.
fn settle_look(
    written: &types::Profile,
    profile: &Profile,
    around: &Around<'_>,
    setting: &impl Fn(&str) -> String,
    check: &mut Check<'_>,
) -> Option<SubscriberProfile> {
    let purposes: Vec<Purpose> = parsed(&setting("usages"), &written.usages, str::parse, check);
    let policies: Vec<PolicyId> = parsed(&setting("policies"), &written.policies, str::parse, check);
    let backdate = check.span(&setting("backdate"), &written.backdate, Duration::ZERO, days(30))?;
    // RFC 5280 section 4.2.1.4 forbids it for policies, and for usages it makes no sense.
    for (field, list) in [("usages", &written.usages), ("policies", &written.policies)] {
        let twice = list.iter().enumerate().find(|(place, entry)| list[..*place].contains(entry));
        check.problems.require(twice.is_none(), setting(field), "has an entry twice");
    }
    let internal = around.internal && !written.public;
    let logs = around.logs.filter(|_| written.ct).and_then(|logs| logs.list.clone());
    let missing = written.ct && around.logs.is_some() && logs.is_none();
    check.problems.require(!missing, setting("ct"), "needs logs: name them in ct.logs or ct.log_list_file");
    let look = SubscriberProfile {
        validity_days: profile.validity_days,
        backdate_seconds: u32::try_from(backdate.as_secs()).expect("30 days are few seconds"),
        key_types: profile.key_types.clone(),
        key_encipherment: written.key_encipherment,
        purposes,
        policies,
        common_name: written.common_name,
        subject_key_id: written.subject_key_id,
        names: NameRules { internal_names: internal, special_addresses: internal, ..NameRules::default() },
        public: written.public,
        logs,
    };
    let revocable = written.ocsp || written.crl || !written.public;
    let revocation = (!revocable).then_some("public certificates name a revocation list or an OCSP responder");
    for contradiction in look.contradictions().into_iter().chain(revocation) {
        // Of days that there cannot be, and of lists without an entry or with one that was not understood, enough is said.
        let said = |field| check.problems.0.iter().any(|problem| problem.setting == setting(field));
        if !(said("validity_days") || said("key_types") || said("usages") || said("policies")) {
            check.problems.add(setting("public").replace(".public", ""), contradiction);
        }
    }
    Some(look)
}

/// A predefined profile as it would be written.
fn written(profile: &Profile) -> types::Profile {
    types::Profile {
        name: profile.name.to_string(),
        description: profile.description.clone(),
        validity_days: profile.validity_days.into(),
        key_types: profile.key_types.iter().map(ToString::to_string).collect(),
        challenge_types: profile.challenge_types.iter().map(ToString::to_string).collect(),
        allow_wildcards: profile.allow_wildcards,
        allow_ip_addresses: profile.allow_ip_addresses,
        max_names: profile.max_names.into(),
        ..types::Profile::default()
    }
}
