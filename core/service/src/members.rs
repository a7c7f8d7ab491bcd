//! Group members. At most 100 accounts are added or removed (50 moved) in one transaction, all or none. A larger change is checked as
//! a whole and then applied in batches, which continue after a crash. A batch leaves out accounts that can no longer be changed.

use std::collections::{BTreeMap, BTreeSet};

use chancery_domain::{Account, AccountId, Action, GroupId, Page, ResellerId, Scope};
use chancery_store::Tx;

use crate::account_lookup::AccountLookup;
use crate::caller::Caller;
use crate::cascades::{self, Cascade, MemberChange};
use crate::cursor::{ListName, ListRequest, Listed};
use crate::error::{Cap, Noun, ServiceError};
use crate::groups::{Groups, claim};

/// Each order asks the policies of all groups that its account is in.
pub(crate) const MOST_GROUPS: u32 = 100;

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

    /// Removes accounts; if one is not in the group, none is removed.
    pub async fn remove_members(
        &self,
        caller: &Caller,
        group: GroupId,
        accounts: Vec<String>,
    ) -> Result<usize, ServiceError> {
        self.change_members(caller, Action::AccountGroupRemoveMembers, Some(group), None, accounts).await
    }

    /// Moves accounts from one group to another; if one is not in the first group, none is moved.
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
        mut names: Vec<String>,
    ) -> Result<usize, ServiceError> {
        caller.require(Scope::WriteAccount)?;
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        let change = MemberChange { action, from, to, accounts: Vec::new() };
        if names.len() > change.batch_size() {
            return self.change_many_members(caller, change, names).await;
        }
        let (kernel, caller) = (self.kernel.clone(), caller.clone());
        self.kernel
            .store_of(caller.reseller)
            .write(move |tx| {
                for group in groups_of(&change) {
                    claim(tx, &caller, group)?;
                }
                let members = find_all(tx, &caller, &names)?;
                hold_all(tx, &caller, &members)?;
                judge(tx, &change, &members)?;
                let accounts: Vec<_> = members.into_keys().collect();
                change.apply(&kernel, tx, &caller, &accounts)
            })
            .await
    }

    /// Changes more members than one transaction may: all are judged first, and the answer comes after the last batch. It counts
    /// the accounts that were changed.
    async fn change_many_members(
        &self,
        caller: &Caller,
        change: MemberChange,
        names: Vec<String>,
    ) -> Result<usize, ServiceError> {
        let (by, asked) = (caller.clone(), change.clone());
        let judge_all = move |tx: &mut Tx<'_>| {
            for group in groups_of(&asked) {
                let known = tx.group(by.reseller, group)?;
                known.ok_or_else(|| ServiceError::not_found(Noun::Group))?;
            }
            let members = find_all(tx, &by, &names)?;
            judge(tx, &asked, &members)?;
            Ok::<_, ServiceError>(members.into_keys().collect::<Vec<_>>())
        };
        let accounts = self.kernel.read_in_turn(caller.reseller, judge_all).await?;
        let (count, change) = (accounts.len(), MemberChange { accounts, ..change });
        let (kernel, by) = (self.kernel.clone(), caller.clone());
        let begin = move |tx: &mut Tx<'_>| {
            for group in groups_of(&change) {
                claim(tx, &by, group)?;
            }
            kernel.enqueue_cascade(tx, &by, &Cascade::ChangeMembers(change.clone()), kernel.now())
        };
        let cascade = self.kernel.store_of(caller.reseller).write(begin).await?;
        let left_out = cascades::finish(&self.kernel, caller.reseller, cascade).await?;
        Ok(count.saturating_sub(left_out))
    }
}

/// In the order of their ids, so that two changes cannot wait for each other.
fn groups_of(change: &MemberChange) -> BTreeSet<GroupId> {
    change.from.into_iter().chain(change.to).collect()
}

/// Accounts, and by what names the caller called them. Sorted, so that all units hold accounts in one order.
type Members = BTreeMap<AccountId, Vec<String>>;

/// Every account that is named, or the names of all that are missing. A terminated account is missing.
fn find_all(tx: &mut Tx<'_>, caller: &Caller, names: &[String]) -> Result<Members, ServiceError> {
    let (mut found, mut missing) = (Members::new(), BTreeSet::new());
    // Their ids alone: the metadata of a thousand accounts is long.
    let live = |tx: &mut Tx<'_>, name: &String| {
        let account = AccountLookup::parse(name).find_any(tx, caller.reseller)?;
        Ok::<_, ServiceError>(account.filter(|account| !account.is_terminated()).map(|account| account.id))
    };
    let accounts = tx.ask_each(names, live)?;
    for (name, account) in names.iter().zip(accounts) {
        match account {
            Some(account) => found.entry(account).or_default().push(name.clone()),
            None => drop(missing.insert(name.clone())),
        }
    }
    if missing.is_empty() {
        Ok(found)
    } else {
        Err(ServiceError::NotFound(Noun::Account, missing.into_iter().collect()))
    }
}

/// Holds every account until the unit of work ends, or tells of those that were terminated meanwhile.
fn hold_all(tx: &mut Tx<'_>, caller: &Caller, members: &Members) -> Result<(), ServiceError> {
    let ids: Vec<_> = members.keys().copied().collect();
    let held = hold_accounts(tx, caller.reseller, &ids)?;
    let missing: Vec<_> = members.values().zip(held).filter(|(_, live)| !live).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: BTreeSet<_> = missing.into_iter().flat_map(|(names, _)| names.iter().cloned()).collect();
    Err(ServiceError::NotFound(Noun::Account, names.into_iter().collect()))
}

/// What stands against a change, before anything is changed.
fn judge(tx: &mut Tx<'_>, change: &MemberChange, members: &Members) -> Result<(), ServiceError> {
    let ids: Vec<_> = members.keys().copied().collect();
    if let Some(from) = change.from {
        let known = tx.ask_each(&ids, |tx, id| tx.is_member(from, *id))?;
        let strangers = members.values().zip(known).filter(|(_, known)| !known).flat_map(|(names, _)| names.clone());
        let strangers: Vec<_> = strangers.collect();
        return if strangers.is_empty() { Ok(()) } else { Err(ServiceError::NotFound(Noun::Member, strangers)) };
    }
    let Some(to) = change.to else { return Ok(()) };
    let fit = fit_into(tx, to, &ids)?;
    match members.values().zip(fit).find(|(_, fits)| !fits) {
        Some((names, _)) => {
            let called = names.first().cloned().unwrap_or_default();
            Err(ServiceError::TooMany(Cap::GroupsOfAccount(called), MOST_GROUPS))
        }
        None => Ok(()),
    }
}

/// Locks accounts in shared mode; for each of them, whether it exists and is not terminated.
pub(crate) fn hold_accounts(
    tx: &mut Tx<'_>,
    reseller: ResellerId,
    ids: &[AccountId],
) -> Result<Vec<bool>, ServiceError> {
    tx.ask_each(ids, |tx, id| {
        let account = tx.hold_account(reseller, *id)?;
        Ok(account.is_some_and(|account| !account.is_terminated()))
    })
}

/// For each account, whether it can be in a group: it is a member already, or is in fewer groups than the maximum.
pub(crate) fn fit_into(tx: &mut Tx<'_>, to: GroupId, ids: &[AccountId]) -> Result<Vec<bool>, ServiceError> {
    let known = tx.ask_each(ids, |tx, id| tx.is_member(to, *id))?;
    let groups = tx.ask_each(ids, |tx, id| tx.groups_of_account_up_to(*id, MOST_GROUPS))?;
    Ok(known.into_iter().zip(groups).map(|(known, groups)| known || groups < i64::from(MOST_GROUPS)).collect())
}
