//! The policies that apply to an account, and their evaluation.

use std::sync::Arc;

use chancery_domain::policy::{ALLOWED_KEY_TYPES, Request, Verdict, Violations, evaluate};
use chancery_domain::{ChallengeType, CompiledPolicy, KeyType, PolicyVersion, Problem, ProfileName};

use crate::error::ServiceError;
use crate::settings::Settings;

/// The policies that apply to an account; the operator's default policy if the account has none.
pub(crate) struct EffectivePolicies {
    /// Those of the account, by id; empty for the operator's default policy.
    versions: Vec<PolicyVersion>,
    /// In the order in which their violations are reported: by name.
    policies: Vec<Arc<CompiledPolicy>>,
    /// The challenge types that all policies allow; none if no policy limits them.
    challenge_types: Option<Vec<ChallengeType>>,
}

impl EffectivePolicies {
    pub(super) fn new(versions: Vec<PolicyVersion>, mut policies: Vec<Arc<CompiledPolicy>>) -> Self {
        policies.sort_by(|one, other| (one.name.as_str(), one.id).cmp(&(other.name.as_str(), other.id)));
        let mut challenge_types: Option<Vec<ChallengeType>> = None;
        for list in policies.iter().filter_map(|policy| policy.rules.allowed_challenge_types.as_ref()) {
            challenge_types.get_or_insert_with(|| list.clone()).retain(|kind| list.contains(kind));
        }
        Self { versions, policies, challenge_types }
    }

    /// One policy by itself, whether it is assigned or not.
    pub(crate) fn only(policy: CompiledPolicy) -> Self {
        Self::new(Vec::new(), vec![Arc::new(policy)])
    }

    /// What a transaction compares to see whether these are still the policies of the account.
    pub(super) fn versions(&self) -> &[PolicyVersion] {
        &self.versions
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &CompiledPolicy> {
        self.policies.iter().map(Arc::as_ref)
    }

    /// Evaluates all rules but quotas in use.
    pub(crate) fn evaluate(&self, request: &Request<'_>) -> Verdict {
        let mut verdict = evaluate(request, self.iter());
        verdict.violations.append(self.names_without_method(request));
        verdict
    }

    /// Evaluates a request for an order: a quota of zero forbids it like any other rule.
    pub(crate) fn evaluate_order(&self, request: &Request<'_>) -> Violations {
        let mut violations = self.evaluate(request).violations;
        violations.append(self.zero_quotas());
        violations
    }

    /// Whether all policies allow a challenge type.
    pub(super) fn allow_challenge_type(&self, kind: ChallengeType) -> bool {
        self.challenge_types.as_ref().is_none_or(|allowed| allowed.contains(&kind))
    }

    /// The policies that together leave no key type of the profile, so any key will be refused. If the request has a key, its
    /// evaluation reports that instead.
    pub(crate) fn without_key_type(&self, request: &Request<'_>) -> Violations {
        let profile = request.profile;
        let allows = |policy: &CompiledPolicy, kind: &KeyType| {
            policy.rules.allowed_key_types.as_ref().is_none_or(|list| list.contains(kind))
        };
        let mut violations = Violations::default();
        if request.key_type.is_some() || profile.key_types.iter().any(|kind| self.iter().all(|each| allows(each, kind)))
        {
            return violations;
        }
        for policy in self.iter().filter(|policy| !profile.key_types.iter().all(|kind| allows(policy, kind))) {
            violations.add(ALLOWED_KEY_TYPES, || {
                let message = format!("the profile {} and all policies together leave no type of key", profile.name);
                policy.blamed_for(Problem::new("key_type", ALLOWED_KEY_TYPES, message))
            });
        }
        violations
    }

    /// The operator's profiles that no policy rules out.
    pub(crate) fn usable_profiles(&self, settings: &Settings) -> Vec<ProfileName> {
        let allows = |policy: &CompiledPolicy, name: &ProfileName| {
            policy.rules.allowed_profiles.as_ref().is_none_or(|names| names.contains(name))
        };
        let names = settings.profiles.iter().map(|profile| &profile.name);
        names.filter(|name| self.iter().all(|policy| allows(policy, name))).cloned().collect()
    }
}

/// Refuses what violates a policy.
pub(crate) fn require_none(violations: Violations) -> Result<(), ServiceError> {
    if violations.is_empty() { Ok(()) } else { Err(ServiceError::PolicyViolation(violations)) }
}
