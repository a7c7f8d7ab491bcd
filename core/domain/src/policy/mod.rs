//! Issuance policies: what a reseller lets its customers have.

mod evaluate;
mod hash_index;
mod name_index;
mod names;
mod pattern;
mod pattern_index;
mod violations;

pub use evaluate::{ALLOWED_CHALLENGE_TYPES, ALLOWED_KEY_TYPES, Request, Verdict, evaluate};
pub use pattern::{DomainPattern, PatternError};
pub use pattern_index::PatternIndex;
pub use violations::{MAX_VIOLATIONS, Violations};

use crate::id::{PolicyId, ResellerId};
use crate::kinds::{ChallengeType, KeyType};
use crate::problem::Problem;
use crate::profile::ProfileName;
use crate::text::{Description, Name};
use crate::time::Timestamp;

/// A policy as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub id: PolicyId,
    pub reseller: ResellerId,
    pub name: Name,
    pub description: Option<Description>,
    pub rules: PolicyRules,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub version: i64,
}

impl Policy {
    pub fn policy_version(&self) -> PolicyVersion {
        PolicyVersion { id: self.id, version: self.version, updated_at: self.updated_at }
    }
}

/// Identifies the content of a policy. The time tells apart two versions with one number: a failover can lose a version, and
/// the next change then has its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyVersion {
    pub id: PolicyId,
    pub version: i64,
    pub updated_at: Timestamp,
}

/// The rules of a policy. A rule that is absent permits everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules<Domains> {
    pub allowed_domains: Option<Domains>,
    pub denied_domains: Option<Domains>,
    pub allow_wildcards: Option<bool>,
    pub allow_ip_addresses: Option<bool>,
    pub allowed_profiles: Option<Vec<ProfileName>>,
    pub allowed_key_types: Option<Vec<KeyType>>,
    pub allowed_challenge_types: Option<Vec<ChallengeType>>,
    pub max_names: Option<u32>,
    pub max_validity_days: Option<u32>,
    pub max_certificates_per_day: Option<u32>,
    pub max_certificates_per_week: Option<u32>,
    pub max_active_certificates: Option<u32>,
    pub issuance_enabled: Option<bool>,
}

/// Rules as they are written and kept.
pub type PolicyRules = Rules<Vec<DomainPattern>>;

/// Rules as they are evaluated, with the lists of domains indexed.
pub type CompiledRules = Rules<PatternIndex>;

impl PolicyRules {
    /// Indexes the lists of domains.
    pub fn compile(self) -> CompiledRules {
        CompiledRules {
            allowed_domains: self.allowed_domains.map(|patterns| PatternIndex::of_allowed(&patterns)),
            denied_domains: self.denied_domains.map(|patterns| PatternIndex::of_denied(&patterns)),
            allow_wildcards: self.allow_wildcards,
            allow_ip_addresses: self.allow_ip_addresses,
            allowed_profiles: self.allowed_profiles,
            allowed_key_types: self.allowed_key_types,
            allowed_challenge_types: self.allowed_challenge_types,
            max_names: self.max_names,
            max_validity_days: self.max_validity_days,
            max_certificates_per_day: self.max_certificates_per_day,
            max_certificates_per_week: self.max_certificates_per_week,
            max_active_certificates: self.max_active_certificates,
            issuance_enabled: self.issuance_enabled,
        }
    }
}

/// A policy that is ready to be evaluated. The operator's default policy has no id.
#[derive(Clone, Debug)]
pub struct CompiledPolicy {
    pub id: Option<PolicyId>,
    pub name: Name,
    pub rules: CompiledRules,
}

impl CompiledPolicy {
    /// Names this policy as the one that a problem comes from.
    pub fn blamed_for(&self, problem: Problem) -> Problem {
        Problem {
            message: format!("{} (policy {:?})", problem.message, self.name.as_str()),
            policy: self.id.map(|id| id.to_string()),
            ..problem
        }
    }

    /// Its approximate size in memory.
    pub fn bytes(&self) -> usize {
        let Rules {
            allowed_domains, denied_domains, allowed_profiles, allowed_key_types, allowed_challenge_types, ..
        } = &self.rules;
        let domains = [allowed_domains, denied_domains].into_iter().flatten().map(PatternIndex::bytes);
        let profiles = allowed_profiles.iter().flatten().map(|name| size_of::<ProfileName>() + name.as_str().len());
        size_of::<Self>()
            + self.name.as_str().len()
            + domains.sum::<usize>()
            + profiles.sum::<usize>()
            + allowed_key_types.as_ref().map_or(0, |types| size_of_val(types.as_slice()))
            + allowed_challenge_types.as_ref().map_or(0, |types| size_of_val(types.as_slice()))
    }
}

impl From<Policy> for CompiledPolicy {
    fn from(policy: Policy) -> Self {
        Self { id: Some(policy.id), name: policy.name, rules: policy.rules.compile() }
    }
}
