//! What policies, quotas and profiles say to an order: asked when it is created, and again when it is issued.

use chancery_domain::policy::{ALLOWED_CHALLENGE_TYPES, ALLOWED_KEY_TYPES, Applied, Request, Verdict, evaluate};
use chancery_domain::{
    AccountId, ChallengeType, Identifier, KeyType, Policy, PolicyRules, Problem, Profile, ProfileName, Timestamp,
};
use chancery_store::{Counted, StoreError, Tx};

use crate::error::ServiceError;
use crate::settings::Settings;

/// The policies that apply to an account; the operator's own where the reseller has none.
pub(crate) struct Standing {
    policies: Vec<Policy>,
}

impl Standing {
    pub(crate) fn of(tx: &mut Tx<'_>, account: AccountId) -> Result<Self, ServiceError> {
        Ok(Self { policies: tx.policies_of_account(account)? })
    }

    /// One policy, by itself.
    pub(crate) fn alone(policy: Policy) -> Self {
        Self { policies: vec![policy] }
    }

    pub(crate) fn applied<'a>(&'a self, settings: &'a Settings) -> Vec<Applied<'a>> {
        if self.policies.is_empty() {
            return vec![Applied { id: None, name: &settings.default_policy_name, rules: &settings.default_policy }];
        }
        let applied = |policy: &'a Policy| Applied { id: Some(policy.id), name: &policy.name, rules: &policy.rules };
        self.policies.iter().map(applied).collect()
    }

    /// Judges a request; every broken rule is told, and used-up quotas only where nothing else stands against it.
    pub(crate) fn judge(
        &self,
        tx: &mut Tx<'_>,
        settings: &Settings,
        account: AccountId,
        request: &Request<'_>,
        now: Timestamp,
    ) -> Result<Verdict, ServiceError> {
        let mut verdict = self.verdict(settings, request);
        verdict.violations.extend(forbidding(&self.applied(settings)));
        let verdict = unbroken(verdict)?;
        self.require_quota(tx, settings, account, now)?;
        Ok(verdict)
    }

    /// That no quota is used up.
    pub(crate) fn require_quota(
        &self,
        tx: &mut Tx<'_>,
        settings: &Settings,
        account: AccountId,
        now: Timestamp,
    ) -> Result<(), ServiceError> {
        check_quotas(tx, &self.applied(settings), account, now)
    }

    /// Judges a request without the quotas, for what is counted already; every broken rule is told.
    pub(crate) fn judge_rules(&self, settings: &Settings, request: &Request<'_>) -> Result<Verdict, ServiceError> {
        unbroken(self.verdict(settings, request))
    }

    /// What the rules say to a request, quotas aside.
    pub(crate) fn verdict(&self, settings: &Settings, request: &Request<'_>) -> Verdict {
        let applied = self.applied(settings);
        let mut verdict = evaluate(request, &applied);
        verdict.violations.extend(unshowable(request, &applied));
        verdict
    }

    /// What would be said to an order: every broken rule, and every quota that is used up.
    pub(crate) fn foretell(
        &self,
        tx: &mut Tx<'_>,
        settings: &Settings,
        account: AccountId,
        request: &Request<'_>,
        now: Timestamp,
    ) -> Result<Verdict, ServiceError> {
        let mut verdict = self.verdict(settings, request);
        verdict.violations.extend(self.full_quotas(tx, settings, account, now)?);
        Ok(verdict)
    }

    /// The quotas that leave no room for another certificate.
    pub(crate) fn full_quotas(
        &self,
        tx: &mut Tx<'_>,
        settings: &Settings,
        account: AccountId,
        now: Timestamp,
    ) -> Result<Vec<Problem>, ServiceError> {
        match check_quotas(tx, &self.applied(settings), account, now) {
            Ok(()) => Ok(Vec::new()),
            Err(ServiceError::QuotaExceeded { problems, .. } | ServiceError::PolicyViolation(problems)) => Ok(problems),
            Err(other) => Err(other),
        }
    }

    /// That the policies leave a way to show every name.
    pub(crate) fn require_ways(&self, settings: &Settings, request: &Request<'_>) -> Result<(), ServiceError> {
        let violations = unshowable(request, &self.applied(settings));
        none_of(violations)
    }

    /// That every name of a reseller's order can be shown: by a challenge that needs no ACME account, and whose DNS record, if
    /// it has one, has a name that is not too long.
    pub(crate) fn require_ways_without_acme(
        &self,
        settings: &Settings,
        request: &Request<'_>,
    ) -> Result<(), ServiceError> {
        none_of(self.unshowable_without_acme(settings, request))
    }

    /// The names that no way which is allowed, and asked about, has room for, through whichever door they are ordered.
    pub(crate) fn too_long(&self, settings: &Settings, request: &Request<'_>) -> Vec<Problem> {
        let applied = self.applied(settings);
        let is_too_long = |identifier: &Identifier| {
            let mut ways = offered(identifier, request.profile, &applied);
            ways.retain(|kind| request.challenge_type.is_none_or(|asked| asked == *kind));
            !ways.is_empty() && !ways.iter().any(|kind| has_room(*kind, identifier))
        };
        let long = request.identifiers.iter().enumerate().filter(|(_, identifier)| is_too_long(identifier));
        let told = |(place, identifier)| Problem::of_name(place, ALLOWED_CHALLENGE_TYPES, too_long(identifier));
        long.map(told).collect()
    }

    /// The policies that leave no type of key among those of the profile, each alone or together: whatever the key is, it
    /// will be refused. Of a type that is asked about, that is told otherwise.
    pub(crate) fn without_keys(&self, settings: &Settings, request: &Request<'_>) -> Vec<Problem> {
        let (profile, applied) = (request.profile, self.applied(settings));
        let permits = |policy: &Applied<'_>, kind: &KeyType| {
            policy.rules.allowed_key_types.as_ref().is_none_or(|list| list.contains(kind))
        };
        let is_left = |kind: &KeyType| applied.iter().all(|policy| permits(policy, kind));
        if request.key_type.is_some() || profile.key_types.iter().any(is_left) {
            return Vec::new();
        }
        let narrowing = applied.iter().filter(|policy| !profile.key_types.iter().all(|kind| permits(policy, kind)));
        let told = |policy: &Applied<'_>| {
            let message = format!(
                "the profile {} and all policies together leave no type of key (policy {:?})",
                profile.name,
                policy.name.as_str()
            );
            let policy = policy.id.map(|id| id.to_string());
            Problem { policy, ..Problem::new("key_type", ALLOWED_KEY_TYPES, message) }
        };
        narrowing.map(told).collect()
    }

    /// The names of a reseller's order that cannot be shown, though policies allow ways.
    pub(crate) fn unshowable_without_acme(&self, settings: &Settings, request: &Request<'_>) -> Vec<Problem> {
        let applied = self.applied(settings);
        let mut violations = Vec::new();
        for (place, identifier) in request.identifiers.iter().enumerate() {
            let ways = offered(identifier, request.profile, &applied);
            let message = if ways.is_empty() {
                continue;
            } else if ways.iter().all(|kind| kind.needs_acme_account()) {
                format!("control of {identifier} can be shown through ACME alone")
            } else if !ways.iter().any(|kind| !kind.needs_acme_account() && has_room(*kind, identifier)) {
                too_long(identifier)
            } else {
                continue;
            };
            violations.push(Problem::of_name(place, ALLOWED_CHALLENGE_TYPES, message));
        }
        violations
    }

    /// Judges the ways in which control of names is shown: a policy may have come after the codes were made, or after
    /// the choice.
    pub(crate) fn judge_methods<'a>(
        &self,
        settings: &Settings,
        profile: &Profile,
        methods: impl IntoIterator<Item = (&'a Identifier, ChallengeType)>,
    ) -> Result<(), ServiceError> {
        let applied = self.applied(settings);
        let mut violations = Vec::new();
        for (place, (identifier, method)) in methods.into_iter().enumerate() {
            let request = Request { challenge_type: Some(method), ..Request::of(profile, &[]) };
            let broken = evaluate(&request, &applied).violations.into_iter();
            violations.extend(broken.filter(|problem| problem.code == ALLOWED_CHALLENGE_TYPES).map(|problem| {
                let message = format!("control of {identifier} by {method}: {}", problem.message);
                Problem { policy: problem.policy, ..Problem::of_name(place, problem.code, message) }
            }));
        }
        none_of(violations)
    }

    /// Whether any policy counts certificates.
    pub(crate) fn counts(&self, settings: &Settings) -> bool {
        let applied = self.applied(settings);
        applied.iter().any(|policy| QUOTAS.iter().any(|quota| (quota.most)(policy.rules).is_some()))
    }
}

/// What a policy may count, and how it is told.
struct Quota {
    rule: &'static str,
    what: &'static str,
    most: fn(&PolicyRules) -> Option<u32>,
    count: fn(&mut Tx<'_>, AccountId, Timestamp) -> Result<Vec<Counted>, StoreError>,
}

const QUOTAS: [Quota; 3] = [
    Quota {
        rule: "max_certificates_per_day",
        what: "certificates a day",
        most: |rules| rules.max_certificates_per_day,
        count: |tx, account, now| tx.issued_lately(account, 1, now),
    },
    Quota {
        rule: "max_certificates_per_week",
        what: "certificates a week",
        most: |rules| rules.max_certificates_per_week,
        count: |tx, account, now| tx.issued_lately(account, 7, now),
    },
    Quota {
        rule: "max_active_certificates",
        what: "active certificates",
        most: |rules| rules.max_active_certificates,
        count: |tx, account, now| tx.active_certificates(account, now),
    },
];

impl Quota {
    fn problem(&self, policy: &Applied<'_>, said: &str) -> Problem {
        let message = format!("{said} (policy {:?})", policy.name.as_str());
        Problem { policy: policy.id.map(|id| id.to_string()), ..Problem::new(self.rule, self.rule, message) }
    }
}

fn none_of(violations: Vec<Problem>) -> Result<(), ServiceError> {
    if violations.is_empty() { Ok(()) } else { Err(ServiceError::PolicyViolation(violations)) }
}

fn unbroken(verdict: Verdict) -> Result<Verdict, ServiceError> {
    if verdict.violations.is_empty() { Ok(verdict) } else { Err(ServiceError::PolicyViolation(verdict.violations)) }
}

/// Quotas of none: against those waiting does not help, they forbid like any other rule.
fn forbidding(applied: &[Applied<'_>]) -> Vec<Problem> {
    let all = applied.iter().flat_map(|policy| QUOTAS.iter().map(move |quota| (policy, quota)));
    all.filter(|(policy, quota)| (quota.most)(policy.rules) == Some(0))
        .map(|(policy, quota)| quota.problem(policy, &format!("no {} are allowed", quota.what)))
        .collect()
}

/// That no quota forbids or is used up; all that are, are told, and when the last of them has a place again.
fn check_quotas(
    tx: &mut Tx<'_>,
    applied: &[Applied<'_>],
    account: AccountId,
    now: Timestamp,
) -> Result<(), ServiceError> {
    let forbidding = forbidding(applied);
    if !forbidding.is_empty() {
        return Err(ServiceError::PolicyViolation(forbidding));
    }
    let (mut used_up, mut retry_after) = (Vec::new(), 0);
    for quota in &QUOTAS {
        let limits = applied.iter().filter_map(|policy| Some((policy, (quota.most)(policy.rules)?)));
        let limits: Vec<_> = limits.collect();
        if limits.is_empty() {
            continue;
        }
        let counted = (quota.count)(tx, account, now)?;
        let used: i64 = counted.iter().map(|each| each.certificates).sum();
        for (policy, most) in limits.into_iter().filter(|(_, most)| used >= i64::from(*most)) {
            used_up.push(quota.problem(policy, &format!("{used} of {most} {} are used up", quota.what)));
            retry_after = seconds_to_free(&counted, most, now).max(retry_after);
        }
    }
    if used_up.is_empty() { Ok(()) } else { Err(ServiceError::QuotaExceeded { problems: used_up, retry_after }) }
}

/// Names that the policies leave no way to show control of: an order for them could never become ready.
fn unshowable(request: &Request<'_>, applied: &[Applied<'_>]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (place, identifier) in request.identifiers.iter().enumerate() {
        let possible = offered(identifier, request.profile, &[]);
        if possible.is_empty() || !offered(identifier, request.profile, applied).is_empty() {
            continue;
        }
        let ways: Vec<_> = possible.iter().map(|kind| kind.as_str()).collect();
        let narrowing = applied.iter().filter(|policy| {
            let list = policy.rules.allowed_challenge_types.as_ref();
            list.is_some_and(|list| possible.iter().any(|kind| !list.contains(kind)))
        });
        problems.extend(narrowing.map(|policy| {
            let (ways, name) = (ways.join(" or "), policy.name.as_str());
            let allowed = |kind: &&ChallengeType| {
                policy.rules.allowed_challenge_types.as_ref().is_some_and(|list| list.contains(kind))
            };
            let left: Vec<_> = possible.iter().filter(allowed).map(|kind| kind.as_str()).collect();
            let said = match left.join(" or ").as_str() {
                "" => "which is not allowed".to_owned(),
                left => format!("of which {left} alone is allowed here, and not by every policy"),
            };
            let message = format!("control of {identifier} can be shown by {ways} alone, {said} (policy {name:?})");
            let policy = policy.id.map(|id| id.to_string());
            Problem { policy, ..Problem::of_name(place, ALLOWED_CHALLENGE_TYPES, message) }
        }));
    }
    problems
}

/// The profile of this name; another name is a mistake in the request.
pub(crate) fn profile<'a>(settings: &'a Settings, name: &ProfileName) -> Result<&'a Profile, ServiceError> {
    settings.profile(name).ok_or_else(|| {
        let known: Vec<_> = settings.profiles.iter().map(|profile| profile.name.as_str()).collect();
        ServiceError::invalid(
            "profile",
            "unknown",
            format!("there is no profile {name}; there are {}", known.join(", ")),
        )
    })
}

/// The challenges that can be offered for a name: those of the profile that every policy allows, and that fit it.
pub(crate) fn offered(identifier: &Identifier, profile: &Profile, applied: &[Applied<'_>]) -> Vec<ChallengeType> {
    let allowed = |kind: &ChallengeType| {
        applied
            .iter()
            .all(|policy| policy.rules.allowed_challenge_types.as_ref().is_none_or(|list| list.contains(kind)))
    };
    profile.challenge_types.iter().copied().filter(|kind| allowed(kind) && kind.fits(identifier)).collect()
}

/// Why a name is refused that could be shown only by records that cannot be.
pub(crate) fn too_long(identifier: &Identifier) -> String {
    format!("{identifier} is too long for the record in DNS that would show control of it")
}

/// The longest name there is in DNS, without the dot at its end (RFC 1035 section 2.3.4).
const LONGEST_NAME: usize = 253;

/// How long the label of an account is in a record of dns-account-01, with the dot behind it.
const ACCOUNT_LABEL: usize = "_ujmmovf2vn55tgye.".len();

/// Whether control can be looked for in this way at a name: that of the record is longer.
pub(crate) fn has_room(kind: ChallengeType, place: &Identifier) -> bool {
    let (Some(label), Identifier::Dns(name)) = (kind.record_label(), place) else { return true };
    let of_account = if kind == ChallengeType::DnsAccount01 { ACCOUNT_LABEL } else { 0 };
    of_account + label.len() + ".".len() + name.base().len() <= LONGEST_NAME
}

/// How long until fewer than `most` certificates count, of which there is one at least; they are sorted by when they cease
/// to.
fn seconds_to_free(counted: &[Counted], most: u32, now: Timestamp) -> u64 {
    let mut left: i64 = counted.iter().map(|each| each.certificates).sum();
    let free = counted.iter().find(|each| {
        left -= each.certificates;
        left < i64::from(most)
    });
    free.map_or(1, |each| u64::try_from(each.until.as_secs() - now.as_secs()).unwrap_or(1).max(1))
}
