//! What policies, quotas and profiles say to an order: asked when it is created, and again when it is issued.

use chancery_domain::policy::{Applied, Request, Verdict, evaluate};
use chancery_domain::{
    AccountId, ChallengeType, Identifier, Policy, PolicyRules, Problem, Problems, Profile, ProfileName, Timestamp,
};
use chancery_store::{Counted, Tx};

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

    /// Judges a request; every broken rule is told, and a used-up quota only where nothing else stands against it.
    pub(crate) fn judge(
        &self,
        tx: &mut Tx<'_>,
        settings: &Settings,
        account: AccountId,
        request: &Request<'_>,
        now: Timestamp,
    ) -> Result<Verdict, ServiceError> {
        let verdict = self.judge_rules(settings, request)?;
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

    /// The same without the quotas, for what is counted already.
    pub(crate) fn judge_rules(&self, settings: &Settings, request: &Request<'_>) -> Result<Verdict, ServiceError> {
        let verdict = self.verdict(settings, request);
        if verdict.violations.is_empty() { Ok(verdict) } else { Err(ServiceError::PolicyViolation(verdict.violations)) }
    }

    /// What the rules say to a request, quotas aside.
    pub(crate) fn verdict(&self, settings: &Settings, request: &Request<'_>) -> Verdict {
        let applied = self.applied(settings);
        let mut verdict = evaluate(request, &applied);
        verdict.violations.extend(unshowable(request, &applied));
        verdict
    }

    /// What would be said to an order: every broken rule, and a quota that is used up.
    pub(crate) fn foretell(
        &self,
        tx: &mut Tx<'_>,
        settings: &Settings,
        account: AccountId,
        request: &Request<'_>,
        now: Timestamp,
    ) -> Result<Verdict, ServiceError> {
        let mut verdict = self.verdict(settings, request);
        match check_quotas(tx, &self.applied(settings), account, now) {
            Ok(()) => Ok(verdict),
            Err(ServiceError::QuotaExceeded { problem, .. }) => {
                verdict.violations.push(problem);
                Ok(verdict)
            }
            Err(other) => Err(other),
        }
    }

    /// That every name of a reseller's order can be shown: what is bound to an ACME account cannot be for it.
    pub(crate) fn require_ways_without_acme(
        &self,
        settings: &Settings,
        request: &Request<'_>,
    ) -> Result<(), ServiceError> {
        let applied = self.applied(settings);
        let mut violations = Vec::new();
        for (place, identifier) in request.identifiers.iter().enumerate() {
            let ways = offered(identifier, request.profile, &applied);
            if !ways.is_empty() && ways.iter().all(|kind| kind.needs_acme_account()) {
                let message = format!("control of {identifier} can be shown through ACME alone");
                violations.push(Problem::new(format!("identifiers[{place}]"), CHALLENGE_TYPES, message));
            }
        }
        if violations.is_empty() { Ok(()) } else { Err(ServiceError::PolicyViolation(violations)) }
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
            let request = Request {
                profile,
                identifiers: &[],
                key_type: None,
                challenge_type: Some(method),
                validity_days: None,
            };
            let broken = evaluate(&request, &applied).violations.into_iter();
            violations.extend(broken.filter(|problem| problem.code == CHALLENGE_TYPES).map(|problem| Problem {
                field: format!("identifiers[{place}]"),
                message: format!("control of {identifier} by {method}: {}", problem.message),
                ..problem
            }));
        }
        if violations.is_empty() { Ok(()) } else { Err(ServiceError::PolicyViolation(violations)) }
    }

    /// Whether any policy counts certificates.
    pub(crate) fn counts(&self, settings: &Settings) -> bool {
        self.applied(settings).iter().any(|policy| {
            let PolicyRules { max_certificates_per_day, max_certificates_per_week, max_active_certificates, .. } =
                policy.rules;
            [max_certificates_per_day, max_certificates_per_week, max_active_certificates]
                .iter()
                .any(|most| most.is_some())
        })
    }
}

fn check_quotas(
    tx: &mut Tx<'_>,
    applied: &[Applied<'_>],
    account: AccountId,
    now: Timestamp,
) -> Result<(), ServiceError> {
    for policy in applied {
        let quota = |rule: &'static str, most: Option<u32>, counted: Vec<Counted>| {
            let used: i64 = counted.iter().map(|each| each.certificates).sum();
            match most {
                Some(most) if used >= i64::from(most) => {
                    let message =
                        format!("{used} of {most} certificates are used up (policy {:?})", policy.name.as_str());
                    let problem =
                        Problem { policy: policy.id.map(|id| id.to_string()), ..Problem::new(rule, rule, message) };
                    Err(ServiceError::QuotaExceeded { problem, retry_after: seconds_to_free(&counted, most, now) })
                }
                Some(_) | None => Ok(()),
            }
        };
        let PolicyRules { max_certificates_per_day, max_certificates_per_week, max_active_certificates, .. } =
            policy.rules;
        if max_certificates_per_day.is_some() {
            quota("max_certificates_per_day", *max_certificates_per_day, tx.issued_lately(account, 1, now)?)?;
        }
        if max_certificates_per_week.is_some() {
            quota("max_certificates_per_week", *max_certificates_per_week, tx.issued_lately(account, 7, now)?)?;
        }
        if max_active_certificates.is_some() {
            quota("max_active_certificates", *max_active_certificates, tx.active_certificates(account, now)?)?;
        }
    }
    Ok(())
}

/// The rule that names the ways to show control.
const CHALLENGE_TYPES: &str = "allowed_challenge_types";

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
            let message =
                format!("control of {identifier} can be shown by {ways} alone, which is not allowed (policy {name:?})");
            let problem = Problem::new(format!("identifiers[{place}]"), CHALLENGE_TYPES, message);
            Problem { policy: policy.id.map(|id| id.to_string()), ..problem }
        }));
    }
    problems
}

/// The profile of this name; another name is a mistake in the request.
pub(crate) fn profile<'a>(settings: &'a Settings, name: &ProfileName) -> Result<&'a Profile, ServiceError> {
    settings.profile(name).ok_or_else(|| {
        let mut problems = Problems::default();
        problems.add("profile", "unknown", format!("there is no profile {name}"));
        ServiceError::Invalid(problems)
    })
}

/// The challenges that can be offered for a name: those of the profile that every policy allows, and that can work at
/// all. A wildcard is shown by DNS alone (RFC 8555 section 7.1.3), an address never by DNS (RFC 8738 section 3).
pub(crate) fn offered(identifier: &Identifier, profile: &Profile, applied: &[Applied<'_>]) -> Vec<ChallengeType> {
    let allowed = |kind: &ChallengeType| {
        applied
            .iter()
            .all(|policy| policy.rules.allowed_challenge_types.as_ref().is_none_or(|list| list.contains(kind)))
    };
    let possible = |kind: &ChallengeType| match identifier {
        Identifier::Ip(_) => !kind.is_dns(),
        Identifier::Dns(name) => kind.is_dns() || !name.is_wildcard(),
    };
    profile.challenge_types.iter().copied().filter(|kind| allowed(kind) && possible(kind)).collect()
}

/// How long until fewer than `most` certificates count; they are sorted by when they cease to. A quota of none is never
/// free, and is worth asking about again when something else has changed.
fn seconds_to_free(counted: &[Counted], most: u32, now: Timestamp) -> u64 {
    const DAY: i64 = 86_400;
    let mut left: i64 = counted.iter().map(|each| each.certificates).sum();
    let free = counted.iter().find(|each| {
        left -= each.certificates;
        left < i64::from(most)
    });
    let midnight = now.as_secs() + DAY - now.as_secs().rem_euclid(DAY);
    let free = free.map_or(midnight, |each| each.until.as_secs());
    u64::try_from(free - now.as_secs()).unwrap_or(1).max(1)
}
