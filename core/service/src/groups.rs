//! Account groups and the policies assigned to them. Members have a file of their own.

use std::sync::Arc;

use chancery_domain::{Action, Description, Group, GroupId, Name, PolicyId, Scope};
use chancery_store::Tx;
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::cascades::{self, Cascade};
use crate::cursor::{ListName, ListRequest, Listed};
use crate::error::{Cap, Noun, ServiceError};
use crate::kernel::Kernel;
use crate::once::{Once, Outcome};

/// What a group is to be.
#[derive(Clone, Debug)]
pub struct GroupInput {
    pub name: Name,
    pub description: Option<Description>,
}

/// Policies of one group.
const MOST_POLICIES: u32 = 100;

/// A group and the policies assigned to it.
#[derive(Clone, Debug)]
pub struct GroupDetails {
    pub group: Group,
    /// By name.
    pub policies: Vec<(PolicyId, Name)>,
}

#[derive(Clone)]
pub struct Groups {
    pub(crate) kernel: Arc<Kernel>,
}

impl Groups {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel }
    }

    pub async fn create(
        &self,
        caller: &Caller,
        input: GroupInput,
        once: Option<Once<GroupDetails>>,
    ) -> Result<Outcome<GroupDetails>, ServiceError> {
        caller.require(Scope::WriteAccount)?;
        let (kernel, by) = (self.kernel.clone(), caller.clone());
        let unit = move |tx: &mut Tx<'_>| {
            let now = kernel.now();
            let group = Group {
                id: GroupId::new(now, kernel.entropy.as_ref()),
                reseller: by.reseller,
                name: input.name.clone(),
                description: input.description.clone(),
                member_count: 0,
                created_at: now,
                updated_at: now,
                version: 1,
            };
            let most = kernel.limits.settings().caps.groups;
            if most > 0 && tx.groups_up_to(by.reseller, most)? >= i64::from(most) {
                return Err(ServiceError::TooMany(Cap::Groups, most));
            }
            if !tx.insert_group(&group)? {
                return Err(ServiceError::NameInUse(Noun::Group, group.name.to_string()));
            }
            kernel.audit(tx, &by, Action::AccountGroupCreate, group.id, &json!({"after": describe(&group)}))?;
            Ok(GroupDetails { group, policies: Vec::new() })
        };
        self.kernel.write_once(caller, once, unit).await
    }

    pub async fn show(&self, caller: &Caller, id: GroupId) -> Result<GroupDetails, ServiceError> {
        caller.require_either(Scope::ReadAccount, Scope::WriteAccount)?;
        let caller = caller.clone();
        self.kernel.store_of(caller.reseller).read(move |tx| details(tx, &caller, id)).await
    }

    /// A page of the reseller's groups, newest first.
    pub async fn list(&self, caller: &Caller, request: &ListRequest) -> Result<Listed<GroupDetails>, ServiceError> {
        caller.require(Scope::ReadAccount)?;
        let reseller = caller.reseller;
        let list = ListName::new("account-group", reseller, &());
        let page = self.kernel.cursors.open(&list, request)?;
        let read = move |tx: &mut Tx<'_>| {
            let groups = tx.groups(reseller, &page)?;
            // Up to 100 policies, each with a name of up to 1 KiB.
            let weight = |_: &Group| 10;
            tx.complete(groups, weight, |tx, groups| {
                let policies = tx.ask_each(&groups, |tx, group| tx.policies_of_group(group.id))?;
                let details = groups.into_iter().zip(policies);
                Ok::<_, ServiceError>(details.map(|(group, policies)| GroupDetails { group, policies }).collect())
            })
        };
        self.kernel.read_list(&list, read).await
    }

    /// Gives the group a new name and description.
    pub async fn replace(&self, caller: &Caller, id: GroupId, input: GroupInput) -> Result<GroupDetails, ServiceError> {
        caller.require(Scope::WriteAccount)?;
        let (kernel, caller) = (self.kernel.clone(), caller.clone());
        self.kernel
            .store_of(caller.reseller)
            .write(move |tx| {
                let before = claim(tx, &caller, id)?;
                if tx.group_by_name(caller.reseller, &input.name)?.is_some_and(|other| other.id != id) {
                    return Err(ServiceError::NameInUse(Noun::Group, input.name.to_string()));
                }
                let GroupInput { name, description } = input.clone();
                let after = Group { name, description, updated_at: kernel.now(), ..before.clone() };
                tx.save_group(&after)?;
                let detail = json!({"before": describe(&before), "after": describe(&after)});
                kernel.audit(tx, &caller, Action::AccountGroupReplace, id, &detail)?;
                Ok(GroupDetails { policies: tx.policies_of_group(id)?, group: after })
            })
            .await
    }

    /// Deletes the group; its accounts and policies stay. The memberships, which count for nothing any more, are deleted in
    /// batches.
    pub async fn delete(&self, caller: &Caller, id: GroupId) -> Result<(), ServiceError> {
        caller.require(Scope::WriteAccount)?;
        let (kernel, by) = (self.kernel.clone(), caller.clone());
        let delete = move |tx: &mut Tx<'_>| {
            let before = claim(tx, &by, id)?;
            let policies: Vec<_> = tx.policies_of_group(id)?.iter().map(|(policy, _)| policy.to_string()).collect();
            tx.delete_group(id)?;
            let detail = json!({"before": describe(&before), "members": before.member_count, "policies": policies});
            kernel.audit(tx, &by, Action::AccountGroupDelete, id, &detail)?;
            kernel.enqueue_cascade(tx, &by, &Cascade::DeleteGroup(id), kernel.now())
        };
        let cascade = self.kernel.store_of(caller.reseller).write(delete).await?;
        cascades::begin(&self.kernel, caller.reseller, vec![cascade]).await;
        Ok(())
    }

    /// Assigns a policy to the group; doing it twice is fine.
    pub async fn assign_policy(&self, caller: &Caller, id: GroupId, policy: PolicyId) -> Result<(), ServiceError> {
        self.change_policy(caller, id, policy, Action::AccountGroupAssignPolicy, |kernel, tx, id, policy| {
            let new = tx.assign_policy(id, policy, kernel.now())?;
            if new && tx.policies_of_group_up_to(id, MOST_POLICIES + 1)? > i64::from(MOST_POLICIES) {
                return Err(ServiceError::TooMany(Cap::PoliciesOfGroup, MOST_POLICIES));
            }
            Ok(new)
        })
        .await
    }

    /// Takes a policy off the group; one that is not assigned is not found.
    pub async fn unassign_policy(&self, caller: &Caller, id: GroupId, policy: PolicyId) -> Result<(), ServiceError> {
        self.change_policy(caller, id, policy, Action::AccountGroupUnassignPolicy, |_, tx, id, policy| {
            if tx.unassign_policy(id, policy)? { Ok(true) } else { Err(ServiceError::not_found(Noun::AssignedPolicy)) }
        })
        .await
    }

    async fn change_policy(
        &self,
        caller: &Caller,
        id: GroupId,
        policy: PolicyId,
        action: Action,
        change: fn(&Kernel, &mut Tx<'_>, GroupId, PolicyId) -> Result<bool, ServiceError>,
    ) -> Result<(), ServiceError> {
        caller.require(Scope::WriteAccount)?;
        let (kernel, caller) = (self.kernel.clone(), caller.clone());
        self.kernel
            .store_of(caller.reseller)
            .write(move |tx| {
                let group = tx.hold_group(caller.reseller, id)?;
                group.ok_or_else(|| ServiceError::not_found(Noun::Group))?;
                let held = tx.hold_policy(caller.reseller, policy)?;
                held.ok_or_else(|| ServiceError::not_found(Noun::Policy))?;
                if change(&kernel, tx, id, policy)? {
                    kernel.audit(tx, &caller, action, id, &json!({"policy": policy.to_string()}))?;
                }
                Ok(())
            })
            .await
    }
}

/// The group, for this unit of work alone.
pub(crate) fn claim(tx: &mut Tx<'_>, caller: &Caller, id: GroupId) -> Result<Group, ServiceError> {
    tx.claim_group(caller.reseller, id)?.ok_or_else(|| ServiceError::not_found(Noun::Group))
}

fn details(tx: &mut Tx<'_>, caller: &Caller, id: GroupId) -> Result<GroupDetails, ServiceError> {
    let group = tx.group(caller.reseller, id)?.ok_or_else(|| ServiceError::not_found(Noun::Group))?;
    Ok(GroupDetails { policies: tx.policies_of_group(id)?, group })
}

fn describe(group: &Group) -> Value {
    json!({"name": group.name.as_str(), "description": group.description.as_ref().map(Description::as_str)})
}
