//! Issuance policies: what a reseller lets its customers have.

mod evaluate;
mod pattern;

pub use evaluate::{ALLOWED_CHALLENGE_TYPES, ALLOWED_KEY_TYPES, Applied, Request, Verdict, evaluate};
pub use pattern::{DomainPattern, PatternError};

use crate::id::{PolicyId, ResellerId};
use crate::kinds::{ChallengeType, KeyType};
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

/// The rules of a policy. A rule that is absent permits everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyRules {
    pub allowed_domains: Option<Vec<DomainPattern>>,
    pub denied_domains: Option<Vec<DomainPattern>>,
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
