//! Who is in a group: added, removed and moved all together or not at all.

use std::collections::{BTreeMap, BTreeSet};

use chancery_domain::{Account, AccountId, Action, GroupId, Page, Scope};
use chancery_store::Tx;
use serde_json::json;

use crate::account_lookup::AccountLookup;
use crate::caller::Caller;
use crate::cursor::{ListName, ListRequest, Listed};
use crate::error::{Cap, Noun, ServiceError};
use crate::groups::{Groups, claim};
use crate::kernel::Kernel;

/// Each order asks the policies of all groups that its account is in.
const MOST_GROUPS: u32 = 100;

impl Groups {
    /// A page of the accounts in a group, newest account first.
    pub async fn members(
        &self,
        caller: &Caller,
        group: GroupId,
        request: &ListRequest,
    ) -> Result<Listed<Account>, ServiceError> {
        caller.require(Scope::ReadAccount)?;
        let list = ListName::new("account-group/member", caller.reseller, &group);
        let (caller, page) = (caller.clone(), self.kernel.cursors.open(&list, request));
        let read = move |tx: &mut Tx<'_>| {
            let known = tx.group(caller.reseller, group)?;
            known.ok_or_else(|| ServiceError::not_found(Noun::Group))?;
            Ok::<Page<_>, ServiceError>(tx.members(caller.reseller, group, &page.clone()?)?)
        };
        self.kernel.read_list(&list, read).await
    }

    /// Adds accounts; one that is in the group already stays there.
    pub async fn add_members(
        &self,
        caller: &Caller,
        group: GroupId,
        accounts: Vec<String>,
    ) -> Result<usize, ServiceError> {
        self.change_members(caller, Action::AccountGroupAddMembers, None, Some(group), accounts).await
    }

    /// Removes accounts; one that is not in the group is not found, and then none is removed.
    pub async fn remove_members(
        &self,
        caller: &Caller,
        group: GroupId,
        accounts: Vec<String>,
    ) -> Result<usize, ServiceError> {
        self.change_members(caller, Action::AccountGroupRemoveMembers, Some(group), None, accounts).await
    }

    /// Moves accounts from one group to another; one that is not in the first is not found, and then none is moved.
    pub async fn move_members(
        &self,
        caller: &Caller,
        from: GroupId,
        to: GroupId,
        accounts: Vec<String>,
    ) -> Result<usize, ServiceError> {
        self.change_members(caller, Action::AccountGroupMoveMembers, Some(from), Some(to), accounts).await
    }

    async fn change_members(
        &self,
        caller: &Caller,
        action: Action,
        from: Option<GroupId>,
        to: Option<GroupId>,
        names: Vec<String>,
    ) -> Result<usize, ServiceError> {
        caller.require(Scope::WriteAccount)?;
        let (kernel, caller) = (self.kernel.clone(), caller.clone());
        self.kernel
            .store
            .write(move |tx| {
                // In the order of their ids, so that two such changes cannot wait for each other.
                for group in from.into_iter().chain(to).collect::<BTreeSet<_>>() {
                    claim(tx, &caller, group)?;
                }
                let members = find_all(tx, &caller, &names)?;
                let changed = transfer(&kernel, tx, from, to, &members)?;
                if let Some(group) = from.or(to).filter(|_| !changed.is_empty()) {
                    let mut detail = json!({"accounts": changed});
                    if let (Some(_), Some(to)) = (from, to) {
                        detail["to"] = to.to_string().into();
                    }
                    kernel.audit(tx, &caller, action, group, &detail)?;
                }
                Ok(members.len())
            })
            .await
    }
}

/// Accounts, and by what names the caller called them. Sorted, so that all units hold accounts in one order.
type Members = BTreeMap<AccountId, Vec<String>>;

/// Every account that is named, or the names of all that are missing. A terminated account is missing.
fn find_all(tx: &mut Tx<'_>, caller: &Caller, names: &[String]) -> Result<Members, ServiceError> {
    let (mut found, mut missing) = (Members::new(), BTreeSet::new());
    let accounts = tx.ask_each(names, |tx, name| AccountLookup::parse(name).find_any(tx, caller.reseller))?;
    for (name, account) in names.iter().zip(accounts) {
        match account {
            Some(account) => found.entry(account.id).or_default().push(name.clone()),
            None => drop(missing.insert(name.clone())),
        }
    }
    let ids: Vec<_> = found.keys().copied().collect();
    let held = tx.ask_each(&ids, |tx, id| tx.hold_account(caller.reseller, *id))?;
    for (names, account) in found.values().zip(held) {
        if account.is_none_or(|account| account.is_terminated()) {
            missing.extend(names.iter().cloned());
        }
    }
    if missing.is_empty() {
        Ok(found)
    } else {
        Err(ServiceError::NotFound(Noun::Account, missing.into_iter().collect()))
    }
}

/// Takes members out of one group, where there is one, and puts them into the other; gives those for whom something
/// has changed.
fn transfer(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    from: Option<GroupId>,
    to: Option<GroupId>,
    members: &Members,
) -> Result<Vec<String>, ServiceError> {
    let now = kernel.now();
    let (mut left, mut strangers, mut joined) = (Vec::new(), Vec::new(), Vec::new());
    for (member, names) in members {
        match from {
            Some(from) if tx.remove_member(from, *member)? => left.push(*member),
            Some(_) => strangers.extend(names.iter().cloned()),
            None => {}
        }
        if let Some(to) = to
            && tx.add_member(to, *member, now)?
        {
            joined.push(*member);
        }
    }
    if !strangers.is_empty() {
        return Err(ServiceError::NotFound(Noun::Member, strangers));
    }
    if from == to {
        return Ok(Vec::new());
    }
    // Whoever has moved is in as many as before.
    if from.is_none() {
        let groups = tx.ask_each(&joined, |tx, member| tx.groups_of_account_up_to(*member, MOST_GROUPS + 1))?;
        let full = joined.iter().zip(groups).find(|(_, groups)| *groups > i64::from(MOST_GROUPS));
        if let Some((account, _)) = full {
            let called = members[account].first().cloned().unwrap_or_default();
            return Err(ServiceError::TooMany(Cap::GroupsOfAccount(called), MOST_GROUPS));
        }
    }
    for (group, by) in [(from, -size(&left)?), (to, size(&joined)?)] {
        if let Some(group) = group.filter(|_| by != 0) {
            tx.change_member_count(group, by, now)?;
        }
    }
    let changed = if from.is_some() { left } else { joined };
    Ok(changed.iter().map(ToString::to_string).collect())
}

fn size(list: &[AccountId]) -> Result<i64, ServiceError> {
    i64::try_from(list.len()).map_err(ServiceError::internal)
}
