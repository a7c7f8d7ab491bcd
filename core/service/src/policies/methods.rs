//! The validation methods that profile and policies leave for a name.

use std::collections::BTreeMap;

use chancery_domain::policy::{ALLOWED_CHALLENGE_TYPES, Request, Violations};
use chancery_domain::{ChallengeType, CompiledPolicy, Identifier, Problem, Profile};

use super::EffectivePolicies;

impl EffectivePolicies {
    /// The challenges to offer for a name: those of the profile that every policy allows, and that can validate the name.
    pub(crate) fn methods(&self, identifier: &Identifier, profile: &Profile) -> Vec<ChallengeType> {
        let mut methods = methods_of_profile(identifier, profile);
        methods.retain(|kind| self.allow_challenge_type(*kind));
        methods
    }

    /// Names for which the policies leave no validation method: an order for one could never become ready.
    pub(crate) fn names_without_method(&self, request: &Request<'_>) -> Violations {
        let mut violations = Violations::default();
        // The policies that rule out one of these methods. There are few sets of methods, and many names.
        let mut restricting: BTreeMap<Vec<ChallengeType>, Vec<&CompiledPolicy>> = BTreeMap::new();
        for (place, identifier) in request.identifiers.iter().enumerate() {
            let possible = methods_of_profile(identifier, request.profile);
            if possible.is_empty() || possible.iter().any(|kind| self.allow_challenge_type(*kind)) {
                continue;
            }
            let restricting = restricting
                .entry(possible.clone())
                .or_insert_with(|| self.iter().filter(|policy| rules_out_one_of(policy, &possible)).collect());
            if !violations.has_room() {
                violations.omit(ALLOWED_CHALLENGE_TYPES, restricting.len());
                continue;
            }
            for policy in restricting {
                violations.add(ALLOWED_CHALLENGE_TYPES, || without_method(place, identifier, &possible, policy));
            }
        }
        violations
    }

    /// Names of an order outside of ACME that cannot be validated although the policies leave methods: these need an ACME
    /// account, or a DNS record whose name would be too long.
    pub(crate) fn names_without_method_outside_acme(&self, request: &Request<'_>) -> Violations {
        let mut violations = Violations::default();
        for (place, identifier) in request.identifiers.iter().enumerate() {
            let methods = self.methods(identifier, request.profile);
            if methods.is_empty() {
                continue;
            }
            let needs_acme = methods.iter().all(|kind| kind.needs_acme_account());
            if !needs_acme && methods.iter().any(|kind| !kind.needs_acme_account() && has_room(*kind, identifier)) {
                continue;
            }
            violations.add(ALLOWED_CHALLENGE_TYPES, || {
                let message = match needs_acme {
                    true => format!("control of {identifier} can be shown through ACME alone"),
                    false => too_long(identifier),
                };
                Problem::of_name(place, ALLOWED_CHALLENGE_TYPES, message)
            });
        }
        violations
    }

    /// Names that are too long for the DNS record of every method that is left, with or without an ACME account.
    pub(crate) fn names_too_long(&self, request: &Request<'_>) -> Violations {
        let mut violations = Violations::default();
        for (place, identifier) in request.identifiers.iter().enumerate() {
            let mut methods = self.methods(identifier, request.profile);
            methods.retain(|kind| request.challenge_type.is_none_or(|asked| asked == *kind));
            if !methods.is_empty() && !methods.iter().any(|kind| has_room(*kind, identifier)) {
                violations.add(ALLOWED_CHALLENGE_TYPES, || {
                    Problem::of_name(place, ALLOWED_CHALLENGE_TYPES, too_long(identifier))
                });
            }
        }
        violations
    }

    /// Checks the methods by which names were or are being validated: a policy may have been added after the challenges were
    /// created, or after one was chosen.
    pub(crate) fn check_methods<'a>(
        &self,
        profile: &Profile,
        validated: impl IntoIterator<Item = (&'a Identifier, ChallengeType)>,
    ) -> Violations {
        let mut violations = Violations::default();
        for (place, (identifier, method)) in validated.into_iter().enumerate() {
            let refused = |by: &str| {
                let message = format!("control of {identifier} by {method}: {method} is not allowed{by}");
                Problem::of_name(place, ALLOWED_CHALLENGE_TYPES, message)
            };
            if !profile.challenge_types.contains(&method) {
                violations.add(ALLOWED_CHALLENGE_TYPES, || refused(&format!(" (profile {})", profile.name)));
            }
            if self.allow_challenge_type(method) {
                continue;
            }
            for policy in self.iter().filter(|policy| rules_out_one_of(policy, &[method])) {
                violations.add(ALLOWED_CHALLENGE_TYPES, || policy.blamed_for(refused("")));
            }
        }
        violations
    }
}

fn methods_of_profile(identifier: &Identifier, profile: &Profile) -> Vec<ChallengeType> {
    profile.challenge_types.iter().copied().filter(|kind| kind.fits(identifier)).collect()
}

fn rules_out_one_of(policy: &CompiledPolicy, methods: &[ChallengeType]) -> bool {
    let allowed = policy.rules.allowed_challenge_types.as_ref();
    allowed.is_some_and(|allowed| methods.iter().any(|kind| !allowed.contains(kind)))
}

fn without_method(
    place: usize,
    identifier: &Identifier,
    possible: &[ChallengeType],
    policy: &CompiledPolicy,
) -> Problem {
    let allowed = policy.rules.allowed_challenge_types.as_deref().unwrap_or_default();
    let names = |kinds: &mut dyn Iterator<Item = &ChallengeType>| {
        kinds.map(|kind| kind.as_str()).collect::<Vec<_>>().join(" or ")
    };
    let all = names(&mut possible.iter());
    let reason = match names(&mut possible.iter().filter(|kind| allowed.contains(kind))).as_str() {
        "" => "which is not allowed".to_owned(),
        left => format!("of which {left} alone is allowed here, and not by every policy"),
    };
    let message = format!("control of {identifier} can be shown by {all} alone, {reason}");
    policy.blamed_for(Problem::of_name(place, ALLOWED_CHALLENGE_TYPES, message))
}

/// Why a name is refused for which the DNS record of a challenge cannot exist.
pub(crate) fn too_long(identifier: &Identifier) -> String {
    format!("{identifier} is too long for the record in DNS that would show control of it")
}

/// The longest name in DNS, without the dot at its end (RFC 1035 section 2.3.4).
const LONGEST_NAME: usize = 253;

/// The length of the account label in a record of dns-account-01, with the dot behind it.
const ACCOUNT_LABEL: usize = "_ujmmovf2vn55tgye.".len();

/// Whether the DNS record of a challenge can exist for a name: the name of the record is longer.
pub(crate) fn has_room(kind: ChallengeType, place: &Identifier) -> bool {
    let (Some(label), Identifier::Dns(name)) = (kind.record_label(), place) else { return true };
    let of_account = if kind == ChallengeType::DnsAccount01 { ACCOUNT_LABEL } else { 0 };
    of_account + label.len() + ".".len() + name.base().len() <= LONGEST_NAME
}
