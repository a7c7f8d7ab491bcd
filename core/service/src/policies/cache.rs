//! Compiled policies in memory.
//!
//! The rules of a policy are read and compiled once per version. Which policies apply to an account is remembered as well, but
//! only as a guess: a transaction reads the versions itself and compares (see [`super::decision`]).

use std::collections::HashMap;
use std::sync::Arc;

use chancery_domain::{AccountId, CompiledPolicy, PolicyId, PolicyVersion, ResellerId};
use chancery_store::{ASKED_AT_A_TIME, StoreError, Tx};
use parking_lot::Mutex;

use super::EffectivePolicies;
use super::fair_cache::FairCache;
use crate::account_lookup::AccountLookup;
use crate::settings::Settings;

/// The bytes of compiled policies. A reseller's share, a quarter, has room for 2 MiB of rules whatever they say: compiled, the
/// shortest patterns take less than five times as much as written.
const COMPILED_BYTES: usize = 48 * 1024 * 1024;

/// The bytes of what is remembered about accounts.
const APPLIED_BYTES: usize = 8 * 1024 * 1024;

/// What an entry takes beyond its content: keys, pointers and the parts of the maps.
const ENTRY_BYTES: usize = 256;

/// An account, as a request names it.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) reseller: ResellerId,
    pub(crate) account: AccountLookup,
}

impl Subject {
    pub(crate) fn new(reseller: ResellerId, account: AccountId) -> Self {
        Self { reseller, account: AccountLookup::Id(account) }
    }
}

/// The policies that this process has read.
pub(crate) struct PolicyCache {
    /// The operator's default policy, for accounts without policies.
    default: Arc<EffectivePolicies>,
    compiled: Mutex<FairCache<PolicyId, (PolicyVersion, Arc<CompiledPolicy>)>>,
    applied: Mutex<FairCache<String, Arc<[PolicyVersion]>>>,
}

impl PolicyCache {
    pub(crate) fn new(settings: &Settings) -> Self {
        let rules = settings.default_policy.clone().compile();
        let policy = CompiledPolicy { id: None, name: settings.default_policy_name.clone(), rules };
        Self {
            default: Arc::new(EffectivePolicies::only(policy)),
            compiled: Mutex::new(FairCache::new(COMPILED_BYTES)),
            applied: Mutex::new(FairCache::new(APPLIED_BYTES)),
        }
    }

    /// The operator's default policy.
    pub(super) fn default_policy(&self) -> Arc<EffectivePolicies> {
        self.default.clone()
    }

    /// The policies of these versions; none if one of them is not in memory.
    pub(super) fn find(&self, reseller: ResellerId, versions: &[PolicyVersion]) -> Option<Arc<EffectivePolicies>> {
        if versions.is_empty() {
            return Some(self.default.clone());
        }
        let mut compiled = self.compiled.lock();
        let policies: Option<_> = versions.iter().map(|version| find_one(&mut compiled, reseller, version)).collect();
        drop(compiled);
        Some(Arc::new(EffectivePolicies::new(versions.to_vec(), policies?)))
    }

    /// The policies that apply to an account. Rules that are not in memory are read and compiled here; call it on a thread that
    /// may take its time for that, so not in a transaction that writes.
    pub(crate) fn read(
        &self,
        tx: &mut Tx<'_>,
        reseller: ResellerId,
        account: AccountId,
    ) -> Result<Arc<EffectivePolicies>, StoreError> {
        let versions = tx.policy_versions(account)?;
        if versions.is_empty() {
            return Ok(self.default.clone());
        }
        let mut found = HashMap::new();
        let mut missing = Vec::new();
        {
            let mut compiled = self.compiled.lock();
            for version in &versions {
                match find_one(&mut compiled, reseller, version) {
                    Some(policy) => drop(found.insert(version.id, (*version, policy))),
                    None => missing.push(version.id),
                }
            }
        }
        for ids in missing.chunks(ASKED_AT_A_TIME) {
            for policy in tx.ask_each(ids, |tx, id| tx.policy(reseller, *id))?.into_iter().flatten() {
                let version = policy.policy_version();
                let compiled = Arc::new(CompiledPolicy::from(policy));
                let bytes = ENTRY_BYTES + compiled.bytes();
                found.insert(version.id, (version, compiled.clone()));
                self.compiled.lock().insert(reseller, version.id, (version, compiled), bytes);
            }
        }
        // What was read is what applies, should it have changed since the versions were read.
        let (mut versions, policies): (Vec<_>, Vec<_>) = found.into_values().unzip();
        versions.sort_unstable();
        Ok(Arc::new(EffectivePolicies::new(versions, policies)))
    }

    /// The policies that applied to an account when they were read last. If that is not known, the operator's default: most
    /// accounts have no policies.
    pub(crate) fn guess(&self, subject: &Subject) -> Arc<EffectivePolicies> {
        let versions = self.applied.lock().get(subject.reseller, &key(subject)).cloned();
        let policies = versions.and_then(|versions| self.find(subject.reseller, &versions));
        policies.unwrap_or_else(|| self.default.clone())
    }

    /// Remembers which policies apply to an account.
    pub(super) fn remember(&self, subject: &Subject, policies: &EffectivePolicies) {
        let (key, versions) = (key(subject), policies.versions());
        let mut applied = self.applied.lock();
        match versions.is_empty() {
            true => applied.remove(subject.reseller, &key),
            false => {
                let bytes = ENTRY_BYTES + key.len() + size_of_val(versions);
                applied.insert(subject.reseller, key, versions.into(), bytes);
            }
        }
    }
}

fn find_one(
    compiled: &mut FairCache<PolicyId, (PolicyVersion, Arc<CompiledPolicy>)>,
    reseller: ResellerId,
    version: &PolicyVersion,
) -> Option<Arc<CompiledPolicy>> {
    compiled.get(reseller, &version.id).filter(|(known, _)| known == version).map(|(_, policy)| policy.clone())
}

/// An account has several names, and each is remembered by itself.
fn key(subject: &Subject) -> String {
    match &subject.account {
        AccountLookup::Id(id) => id.to_string(),
        AccountLookup::Number(number) => number.to_string(),
        AccountLookup::Kid(kid) | AccountLookup::Credential(kid) => kid.to_string(),
        AccountLookup::Email(email) => email.key().to_owned(),
        AccountLookup::NoCredential => String::new(),
        AccountLookup::Nothing(text) => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use chancery_domain::policy::DomainPattern;
    use chancery_domain::{Name, PolicyRules};

    use super::*;

    /// 2 MiB of rules in as many policies as a reseller may have, with patterns as short as they can be.
    #[test]
    fn a_share_has_room_for_the_largest_rules_of_a_reseller() {
        const RULES: usize = 2 * 1024 * 1024;
        for pattern in ["a", "a.b", "*.a", "a.b.c.d"] {
            let written = format!("\"{pattern}\",").len();
            let most = (RULES / written).min(1000 * 2000) / 2000;
            let patterns = Some(vec![DomainPattern::parse(pattern).unwrap(); 1000]);
            let rules =
                PolicyRules { allowed_domains: patterns.clone(), denied_domains: patterns, ..PolicyRules::default() };
            let policy = CompiledPolicy { id: None, name: Name::parse("p").unwrap(), rules: rules.compile() };
            let bytes = most * (ENTRY_BYTES + policy.bytes());
            assert!(bytes < COMPILED_BYTES / 4, "{pattern}: {bytes}");
        }
    }
}
