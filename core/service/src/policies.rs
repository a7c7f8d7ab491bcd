//! Issuance policies: kept, and asked what they would say.

mod cache;
mod decision;
mod effective;
mod fair_cache;
mod methods;
mod quota;

use std::sync::Arc;

pub(crate) use self::cache::{PolicyCache, Subject};
pub(crate) use self::decision::{Decision, PolicyEvaluation};
pub(crate) use self::effective::{EffectivePolicies, require_none};
pub(crate) use self::methods::{has_room, too_long};

use chancery_domain::policy::{Request, Verdict, Violations};
use chancery_domain::{
    Action, ChallengeType, Description, GroupId, Identifier, KeyType, Name, Policy, PolicyId, PolicyRules, Profile,
    ProfileName, Scope,
};
use chancery_store::Tx;
use serde_json::{Map, Value, json};

use crate::account_lookup::AccountLookup;
use crate::caller::Caller;
use crate::cascades::{self, Cascade};
use crate::cursor::{ListName, ListRequest, Listed};
use crate::error::{Cap, Noun, ServiceError};
use crate::failures;
use crate::kernel::Kernel;
use crate::once::{Once, Outcome};
use crate::orders::{Reuse, rules};

/// What a policy is to be.
#[derive(Clone, Debug)]
pub struct PolicyInput {
    pub name: Name,
    pub description: Option<Description>,
    pub rules: PolicyRules,
}

/// A policy and the groups it is assigned to.
#[derive(Clone, Debug)]
pub struct PolicyDetails {
    pub policy: Policy,
    /// The first 1,000 by name.
    pub groups: Vec<(GroupId, Name)>,
}

/// Groups that are shown of a policy.
const MOST_GROUPS: u32 = 1_000;
/// What belongs to a policy, in rows of 12 KiB: an id and a name of up to 255 characters for each group.
const WEIGHT: usize = (MOST_GROUPS as usize * (30 + 255 * 4)).div_ceil(12 * 1024);

/// Who is asked.
#[derive(Clone, Debug)]
pub enum Judges {
    /// Every policy of an account.
    AllOf(AccountLookup),
    /// One policy, whether it is assigned or not. Its quotas are asked only where there is an account to count for.
    One(PolicyId, Option<AccountLookup>),
}

/// A question to policies.
#[derive(Clone, Debug)]
pub struct EvaluationRequest {
    pub judges: Judges,
    /// The operator's default where there is none.
    pub profile: Option<ProfileName>,
    pub identifiers: Vec<Identifier>,
    pub key_type: Option<KeyType>,
    pub challenge_type: Option<ChallengeType>,
    pub validity_days: Option<u32>,
}

/// The policies' answer.
#[derive(Clone, Debug)]
pub struct Evaluation {
    pub verdict: Verdict,
    pub profile: ProfileName,
    /// The policies that spoke: by lookup and name; the operator's default has no lookup.
    pub applied: Vec<(Option<PolicyId>, Name)>,
}

/// How long the rules of all policies of a reseller may be together, in bytes: an account may be subject to all of them, and
/// then each of its orders reads all of them.
const LONGEST_RULES: u32 = 2 * 1024 * 1024;
/// Groups that the audit trail names when a policy is deleted.
const TOLD_GROUPS: u32 = 100;

#[derive(Clone)]
pub struct Policies {
    kernel: Arc<Kernel>,
}

impl Policies {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel }
    }

    pub async fn create(
        &self,
        caller: &Caller,
        input: PolicyInput,
        once: Option<Once<PolicyDetails>>,
    ) -> Result<Outcome<PolicyDetails>, ServiceError> {
        caller.require(Scope::WriteAccount)?;
        let (kernel, by) = (self.kernel.clone(), caller.clone());
        let unit = move |tx: &mut Tx<'_>| {
            let now = kernel.now();
            let PolicyInput { name, description, rules } = input.clone();
            let id = PolicyId::new(now, kernel.entropy.as_ref());
            let policy = Policy {
                id,
                reseller: by.reseller,
                name,
                description,
                rules,
                created_at: now,
                updated_at: now,
                version: 1,
            };
            let most = kernel.limits.settings().caps.policies;
            if most > 0 && tx.policies_up_to(by.reseller, most)? >= i64::from(most) {
                return Err(ServiceError::TooMany(Cap::Policies, most));
            }
            if !tx.insert_policy(&policy)? {
                return Err(ServiceError::NameInUse(Noun::Policy, policy.name.to_string()));
            }
            require_room_for_rules(tx, &by, 0)?;
            kernel.audit(tx, &by, Action::PolicyCreate, policy.id, &json!({"after": describe(&policy)}))?;
            Ok(PolicyDetails { policy, groups: Vec::new() })
        };
        self.kernel.write_once(caller, once, unit).await
    }

    pub async fn show(&self, caller: &Caller, id: PolicyId) -> Result<PolicyDetails, ServiceError> {
        caller.require_either(Scope::ReadAccount, Scope::WriteAccount)?;
        let (reseller, caller) = (caller.reseller, caller.clone());
        // A policy may be assigned to any number of groups.
        self.kernel.read_in_turn(reseller, move |tx| details(tx, &caller, id)).await
    }

    /// A page of the reseller's policies, newest first.
    pub async fn list(&self, caller: &Caller, request: &ListRequest) -> Result<Listed<PolicyDetails>, ServiceError> {
        caller.require(Scope::ReadAccount)?;
        let reseller = caller.reseller;
        let list = ListName::new("policy", reseller, &());
        let page = self.kernel.cursors.open(&list, request)?;
        let read = move |tx: &mut Tx<'_>| {
            let policies = tx.policies(reseller, &page)?;
            let weight = |_: &Policy| WEIGHT;
            tx.complete(policies, weight, |tx, policies| {
                let groups = tx.ask_each(&policies, |tx, policy| tx.groups_of_policy(policy.id, MOST_GROUPS))?;
                let details = policies.into_iter().zip(groups);
                Ok::<_, ServiceError>(details.map(|(policy, groups)| PolicyDetails { policy, groups }).collect())
            })
        };
        self.kernel.read_list(&list, read).await
    }

    /// Replaces the policy whole: a rule that is left out is gone. Where it is said which version was `seen`, another one is
    /// not replaced.
    pub async fn replace(
        &self,
        caller: &Caller,
        id: PolicyId,
        input: PolicyInput,
        seen: Option<i64>,
    ) -> Result<PolicyDetails, ServiceError> {
        caller.require(Scope::WriteAccount)?;
        let reseller = caller.reseller;
        let (kernel, caller) = (self.kernel.clone(), caller.clone());
        let replaced = self
            .kernel
            .store_of(caller.reseller)
            .write(move |tx| {
                let before = claim(tx, &caller, id)?;
                if seen.is_some_and(|version| version != before.version) {
                    return Err(ServiceError::Overtaken("the policy was changed since it was shown".to_owned()));
                }
                if tx.policy_by_name(caller.reseller, &input.name)?.is_some_and(|other| other.id != id) {
                    return Err(ServiceError::NameInUse(Noun::Policy, input.name.to_string()));
                }
                let PolicyInput { name, description, rules } = input.clone();
                let after = Policy { name, description, rules, updated_at: kernel.now(), ..before.clone() };
                let length = tx.length_of_rules(caller.reseller)?;
                tx.save_policy(&after)?;
                require_room_for_rules(tx, &caller, length)?;
                let detail = json!({"before": describe(&before), "after": describe(&after)});
                kernel.audit(tx, &caller, Action::PolicyReplace, id, &detail)?;
                Ok::<_, ServiceError>(after)
            })
            .await?;
        // There may be very many groups, and no writer is to wait while they are read.
        let groups = self
            .kernel
            .store_of(reseller)
            .read(move |tx| Ok::<_, ServiceError>(tx.groups_of_policy(id, MOST_GROUPS)?))
            .await?;
        Ok(PolicyDetails { policy: replaced, groups })
    }

    /// Deletes the policy. The assignments to groups, which count for nothing any more, are deleted in batches.
    pub async fn delete(&self, caller: &Caller, id: PolicyId) -> Result<(), ServiceError> {
        caller.require(Scope::WriteAccount)?;
        let (kernel, by) = (self.kernel.clone(), caller.clone());
        let delete = move |tx: &mut Tx<'_>| {
            let before = claim(tx, &by, id)?;
            let mut groups = tx.some_groups_of_policy(id, TOLD_GROUPS + 1)?;
            let more = groups.len() > TOLD_GROUPS as usize;
            groups.truncate(TOLD_GROUPS as usize);
            let groups: Vec<_> = groups.iter().map(ToString::to_string).collect();
            tx.delete_policy(id)?;
            let detail = json!({"before": describe(&before), "takenOff": groups, "takenOffMore": more});
            kernel.audit(tx, &by, Action::PolicyDelete, id, &detail)?;
            kernel.enqueue_cascade(tx, &by, &Cascade::DeletePolicy(id), kernel.now())
        };
        let cascade = self.kernel.store_of(caller.reseller).write(delete).await?;
        cascades::begin(&self.kernel, caller.reseller, vec![cascade]).await;
        Ok(())
    }

    /// Says what would happen, without doing it.
    pub async fn evaluate(&self, caller: &Caller, request: EvaluationRequest) -> Result<Evaluation, ServiceError> {
        caller.require(Scope::ReadAccount)?;
        let (kernel, caller) = (self.kernel.clone(), caller.clone());
        let request = Arc::new(request);
        let asked = request.clone();
        let reseller = caller.reseller;
        let permit = Arc::new(self.kernel.list_permit(reseller).await?);
        let read = move |tx: &mut Tx<'_>| Facts::read(&kernel, tx, &caller, &asked);
        let facts = self.kernel.read_within(&permit, reseller, read).await?;
        // After the transaction, since it can take some milliseconds.
        let Facts { policies, exhausted, paused } = facts;
        let profile = request.profile(&self.kernel)?;
        let asked = request.about(profile);
        let mut verdict = policies.evaluate(&asked);
        verdict.violations.append(exhausted);
        verdict.violations.append(policies.names_too_long(&asked));
        verdict.violations.append(policies.without_key_type(&asked));
        verdict.violations.append(paused);
        let applied = policies.iter().map(|policy| (policy.id, policy.name.clone())).collect();
        Ok(Evaluation { verdict, profile: profile.name.clone(), applied })
    }
}

impl EvaluationRequest {
    fn profile<'k>(&self, kernel: &'k Kernel) -> Result<&'k Profile, ServiceError> {
        rules::profile(&kernel.settings, self.profile.as_ref().unwrap_or(&kernel.settings.default_profile))
    }

    fn about<'a>(&'a self, profile: &'a Profile) -> Request<'a> {
        Request {
            profile,
            identifiers: &self.identifiers,
            key_type: self.key_type,
            challenge_type: self.challenge_type,
            validity_days: self.validity_days,
        }
    }
}

/// What the database contributes to an evaluation.
struct Facts {
    policies: Arc<EffectivePolicies>,
    exhausted: Violations,
    paused: Violations,
}

impl Facts {
    fn read(
        kernel: &Kernel,
        tx: &mut Tx<'_>,
        caller: &Caller,
        request: &EvaluationRequest,
    ) -> Result<Self, ServiceError> {
        let now = kernel.now();
        let find = |tx: &mut Tx<'_>, lookup: &AccountLookup| {
            let account = lookup.find(tx, caller.reseller)?;
            account.require_active()?;
            Ok::<_, ServiceError>(account.id)
        };
        let (policies, account) = match &request.judges {
            Judges::AllOf(lookup) => {
                let account = find(tx, lookup)?;
                (kernel.policies.read(tx, caller.reseller, account)?, Some(account))
            }
            Judges::One(policy, lookup) => {
                let policy = details(tx, caller, *policy)?.policy;
                let account = lookup.as_ref().map(|lookup| find(tx, lookup)).transpose()?;
                (Arc::new(EffectivePolicies::only(policy.into())), account)
            }
        };
        let profile = request.profile(kernel)?;
        let Some(account) = account else {
            return Ok(Self { policies, exhausted: Violations::default(), paused: Violations::default() });
        };
        let exhausted = policies.exhausted_quotas(tx, account, now)?;
        let reuse = Reuse { settings: &kernel.settings, account, acme: None, profile, now };
        let paused = failures::paused(kernel, tx, &reuse, &policies, &request.identifiers)?;
        Ok(Self { policies, exhausted, paused })
    }
}

/// The policy, for this unit of work alone.
fn claim(tx: &mut Tx<'_>, caller: &Caller, id: PolicyId) -> Result<Policy, ServiceError> {
    tx.claim_policy(caller.reseller, id)?.ok_or_else(|| ServiceError::not_found(Noun::Policy))
}

/// That the policies of a reseller, as they are by now, can all be asked for each order. If they are longer than that already,
/// they may at least not grow.
fn require_room_for_rules(tx: &mut Tx<'_>, caller: &Caller, before: i64) -> Result<(), ServiceError> {
    match tx.length_of_rules(caller.reseller)? > before.max(LONGEST_RULES.into()) {
        true => Err(ServiceError::TooMany(Cap::Rules, LONGEST_RULES)),
        false => Ok(()),
    }
}

fn details(tx: &mut Tx<'_>, caller: &Caller, id: PolicyId) -> Result<PolicyDetails, ServiceError> {
    let policy = tx.policy(caller.reseller, id)?.ok_or_else(|| ServiceError::not_found(Noun::Policy))?;
    Ok(PolicyDetails { groups: tx.groups_of_policy(id, MOST_GROUPS)?, policy })
}

fn describe(policy: &Policy) -> Value {
    json!({
        "name": policy.name.as_str(),
        "description": policy.description.as_ref().map(Description::as_str),
        "rules": describe_rules(&policy.rules),
    })
}

/// By the names that requests have for them, without those that there are not.
fn describe_rules(rules: &PolicyRules) -> Map<String, Value> {
    fn texts<T: ToString>(list: Option<&[T]>) -> Value {
        list.map(|items| items.iter().map(T::to_string).collect::<Vec<_>>()).into()
    }
    let all = [
        ("allowed_domains", texts(rules.allowed_domains.as_deref())),
        ("denied_domains", texts(rules.denied_domains.as_deref())),
        ("allow_wildcards", rules.allow_wildcards.into()),
        ("allow_ip_addresses", rules.allow_ip_addresses.into()),
        ("allowed_profiles", texts(rules.allowed_profiles.as_deref())),
        ("allowed_key_types", texts(rules.allowed_key_types.as_deref())),
        ("allowed_challenge_types", texts(rules.allowed_challenge_types.as_deref())),
        ("max_names", rules.max_names.into()),
        ("max_validity_days", rules.max_validity_days.into()),
        ("max_certificates_per_day", rules.max_certificates_per_day.into()),
        ("max_certificates_per_week", rules.max_certificates_per_week.into()),
        ("max_active_certificates", rules.max_active_certificates.into()),
        ("issuance_enabled", rules.issuance_enabled.into()),
    ];
    all.into_iter().filter(|(_, rule)| !rule.is_null()).map(|(name, rule)| (name.to_owned(), rule)).collect()
}
