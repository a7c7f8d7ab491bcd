//! Who is in a group: added, removed and moved all together or not at all.

use std::collections::BTreeSet;

use chancery_domain::{Account, AccountId, GroupId, Page, Scope};
use chancery_store::Tx;
use serde_json::json;

use crate::account_lookup::AccountLookup;
use crate::caller::Caller;
use crate::cursor::{ListName, ListRequest, Listed};
use crate::error::{Noun, ServiceError};
use crate::groups::{Groups, hold};
use crate::kernel::Kernel;

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
        Ok(self.kernel.cursors.close(&list, self.kernel.store.read(read).await?))
    }

    /// Adds accounts; one that is in the group already stays there.
    pub async fn add_members(
        &self,
        caller: &Caller,
        group: GroupId,
        accounts: Vec<String>,
    ) -> Result<usize, ServiceError> {
        self.change_members(caller, accounts, "account_group.add_members", group, None, move |kernel, tx, members| {
            let mut added = 0;
            for member in members {
                added += i64::from(tx.add_member(group, *member, kernel.now())?);
            }
            Ok(tx.change_member_count(group, added, kernel.now())?)
        })
        .await
    }

    /// Removes accounts; one that is not in the group is not found, and then none is removed.
    pub async fn remove_members(
        &self,
        caller: &Caller,
        group: GroupId,
        accounts: Vec<String>,
    ) -> Result<usize, ServiceError> {
        self.change_members(
            caller,
            accounts,
            "account_group.remove_members",
            group,
            None,
            move |kernel, tx, members| leave(kernel, tx, group, members),
        )
        .await
    }

    /// Moves accounts from one group to another.
    pub async fn move_members(
        &self,
        caller: &Caller,
        from: GroupId,
        to: GroupId,
        accounts: Vec<String>,
    ) -> Result<usize, ServiceError> {
        let action = "account_group.move_members";
        self.change_members(caller, accounts, action, from, Some(to), move |kernel, tx, members| {
            leave(kernel, tx, from, members)?;
            let mut added = 0;
            for member in members {
                added += i64::from(tx.add_member(to, *member, kernel.now())?);
            }
            Ok(tx.change_member_count(to, added, kernel.now())?)
        })
        .await
    }

    async fn change_members<F>(
        &self,
        caller: &Caller,
        names: Vec<String>,
        action: &'static str,
        group: GroupId,
        other: Option<GroupId>,
        change: F,
    ) -> Result<usize, ServiceError>
    where
        F: Fn(&Kernel, &mut Tx<'_>, &[AccountId]) -> Result<(), ServiceError> + Send + 'static,
    {
        caller.require(Scope::WriteAccount)?;
        let (kernel, caller) = (self.kernel.clone(), caller.clone());
        self.kernel
            .store
            .write(move |tx| {
                for group in [Some(group), other].into_iter().flatten() {
                    hold(tx, &caller, group)?;
                }
                let members = find_all(tx, &caller, &names)?;
                change(&kernel, tx, &members)?;
                let detail = json!({"accounts": texts(&members), "to": other.map(|to| to.to_string())});
                kernel.audit(tx, &caller, action, group, &detail)?;
                Ok(members.len())
            })
            .await
    }
}

/// Every account that is named, once each and in one order (so that two such changes cannot wait for each other), or
/// the names of all that are missing. A terminated account is missing.
fn find_all(tx: &mut Tx<'_>, caller: &Caller, names: &[String]) -> Result<Vec<AccountId>, ServiceError> {
    let (mut found, mut missing) = (BTreeSet::new(), Vec::new());
    for name in names {
        match AccountLookup::parse(name).find(tx, caller.reseller) {
            Ok(account) => drop(found.insert(account.id)),
            Err(ServiceError::NotFound(..)) => missing.push(name.clone()),
            Err(other) => return Err(other),
        }
    }
    for id in &found {
        let live = tx.hold_account(caller.reseller, *id)?.is_some_and(|account| account.deleted_at.is_none());
        if !live {
            missing.push(id.to_string());
        }
    }
    if missing.is_empty() {
        Ok(found.into_iter().collect())
    } else {
        Err(ServiceError::NotFound(Noun::Account, missing))
    }
}

fn leave(kernel: &Kernel, tx: &mut Tx<'_>, group: GroupId, members: &[AccountId]) -> Result<(), ServiceError> {
    let mut strangers = Vec::new();
    for member in members {
        if !tx.remove_member(group, *member)? {
            strangers.push(member.to_string());
        }
    }
    if !strangers.is_empty() {
        return Err(ServiceError::NotFound(Noun::Member, strangers));
    }
    let left = i64::try_from(members.len()).map_err(ServiceError::internal)?;
    Ok(tx.change_member_count(group, -left, kernel.now())?)
}

fn texts(ids: &[AccountId]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}
