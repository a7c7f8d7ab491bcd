//! The batches of a change of many group members.

use std::collections::BTreeSet;

use chancery_domain::{AccountId, Action, Group, GroupId};
use chancery_store::Tx;
use serde_json::json;

use super::task::{self, Task};
use super::{BATCH_ROWS, Batch, Cascade};
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::kernel::Kernel;
use crate::members::{fit_into, hold_accounts};

/// Accounts that leave a group, join one, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemberChange {
    pub(crate) action: Action,
    pub(crate) from: Option<GroupId>,
    pub(crate) to: Option<GroupId>,
    /// The accounts that are still to be changed.
    pub(crate) accounts: Vec<AccountId>,
}

impl MemberChange {
    /// The number of accounts in one batch: a move changes two rows per account.
    pub(crate) fn batch_size(&self) -> usize {
        let rows = if self.from.is_some() && self.to.is_some() { 2 } else { 1 };
        BATCH_ROWS as usize / rows
    }

    /// Changes these accounts and writes one audit record with those that have changed. An account that is not in the group to leave is
    /// skipped. The caller has locked the groups, and the accounts in shared mode. Returns the number of accounts that left `from` or,
    /// without `from`, that are in `to`.
    pub(crate) fn apply(
        &self,
        kernel: &Kernel,
        tx: &mut Tx<'_>,
        by: &Caller,
        accounts: &[AccountId],
    ) -> Result<usize, ServiceError> {
        let (now, mut left, mut joined) = (kernel.now(), Vec::new(), Vec::new());
        for account in accounts {
            if let Some(from) = self.from {
                if !tx.remove_member(from, *account)? {
                    continue;
                }
                left.push(*account);
            }
            if let Some(to) = self.to
                && tx.add_member(to, *account, now)?
            {
                joined.push(*account);
            }
        }
        let count = if self.from.is_some() { left.len() } else { accounts.len() };
        let changed = if self.from.is_some() { &left } else { &joined };
        let Some(group) = self.from.or(self.to).filter(|_| self.from != self.to && !changed.is_empty()) else {
            return Ok(count);
        };
        for (group, by) in [(self.from, -size(&left)?), (self.to, size(&joined)?)] {
            if let Some(group) = group.filter(|_| by != 0) {
                tx.change_member_count(group, by, now)?;
            }
        }
        let accounts: Vec<_> = changed.iter().map(ToString::to_string).collect();
        let mut detail = json!({"accounts": accounts});
        if let (Some(_), Some(to)) = (self.from, self.to) {
            detail["to"] = to.to_string().into();
        }
        kernel.audit(tx, by, self.action, group, &detail)?;
        Ok(count)
    }
}

/// The request has checked all accounts. An account is left out if it was terminated since, left the group, or is in too many groups
/// now.
pub(super) fn batch(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    task: &Task,
    change: &MemberChange,
) -> Result<Batch, ServiceError> {
    let groups = claim_groups(tx, &task.by, change)?;
    if !task.lock(tx)? {
        return Ok(Batch::default());
    }
    // A deleted group has no memberships.
    if groups.len() < change.from.into_iter().chain(change.to).collect::<BTreeSet<_>>().len() {
        return Ok(Batch { done: true, left_out: change.accounts.len(), ..Batch::default() });
    }
    let (accounts, rest) = change.accounts.split_at(change.batch_size().min(change.accounts.len()));
    let mut able = only(accounts, hold_accounts(tx, task.by.reseller, accounts)?);
    // A move leaves an account in as many groups as before.
    if let (None, Some(to)) = (change.from, change.to) {
        able = only(&able, fit_into(tx, to, &able)?);
    }
    let changed = change.apply(kernel, tx, &task.by, &able)?;
    if !rest.is_empty() {
        let left = Cascade::ChangeMembers(MemberChange { accounts: rest.to_vec(), ..change.clone() });
        tx.save_cascade(&task.subject, &task::write(&left, &task.by).to_string())?;
    }
    Ok(Batch { done: rest.is_empty(), left_out: accounts.len() - changed, ..Batch::default() })
}

fn only(accounts: &[AccountId], keep: Vec<bool>) -> Vec<AccountId> {
    accounts.iter().zip(keep).filter(|(_, keep)| *keep).map(|(account, _)| *account).collect()
}

/// Locks the groups that exist, in the order of their ids, which prevents deadlocks.
fn claim_groups(tx: &mut Tx<'_>, by: &Caller, change: &MemberChange) -> Result<Vec<Group>, ServiceError> {
    let mut claimed = Vec::new();
    for group in change.from.into_iter().chain(change.to).collect::<BTreeSet<_>>() {
        claimed.extend(tx.claim_group(by.reseller, group)?);
    }
    Ok(claimed)
}

fn size(list: &[AccountId]) -> Result<i64, ServiceError> {
    i64::try_from(list.len()).map_err(ServiceError::internal)
}
