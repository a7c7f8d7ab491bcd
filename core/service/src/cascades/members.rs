//! Many accounts that change their groups.

use std::collections::BTreeSet;

use chancery_domain::{AccountId, Action, Group, GroupId};
use chancery_store::Tx;
use serde_json::json;

use super::task::{self, Task};
use super::{BATCH_ROWS, Batch, Cascade};
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::kernel::Kernel;

/// Accounts that leave a group, come into one, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemberChange {
    pub(crate) action: Action,
    pub(crate) from: Option<GroupId>,
    pub(crate) to: Option<GroupId>,
    /// Those that are left.
    pub(crate) accounts: Vec<AccountId>,
}

impl MemberChange {
    /// How many accounts one batch changes: a move takes two rows of each.
    pub(crate) fn batch_size(&self) -> usize {
        let rows = if self.from.is_some() && self.to.is_some() { 2 } else { 1 };
        BATCH_ROWS as usize / rows
    }

    /// Changes these accounts, with a line in the audit trail for those of them for which something has changed. One that is not
    /// in the group that it is to leave stays where it is. The groups are claimed, and the accounts held.
    pub(crate) fn apply(
        &self,
        kernel: &Kernel,
        tx: &mut Tx<'_>,
        by: &Caller,
        accounts: &[AccountId],
    ) -> Result<(), ServiceError> {
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
        let changed = if self.from.is_some() { &left } else { &joined };
        let Some(group) = self.from.or(self.to).filter(|_| self.from != self.to && !changed.is_empty()) else {
            return Ok(());
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
        kernel.audit(tx, by, self.action, group, &detail)
    }
}

/// The accounts were found and judged before. One that was terminated since, or is not in the group any more, is left out, as
/// if that had happened after the change.
pub(super) fn batch(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    task: &Task,
    change: &MemberChange,
) -> Result<Batch, ServiceError> {
    let done = Batch { done: true, ..Batch::default() };
    let groups = claim_groups(tx, &task.by, change)?;
    if !task.lock(tx)? {
        return Ok(Batch::default());
    }
    // Of a group that was deleted meanwhile, no memberships are kept.
    if groups.len() < change.from.into_iter().chain(change.to).collect::<BTreeSet<_>>().len() {
        return Ok(done);
    }
    let (accounts, rest) = change.accounts.split_at(change.batch_size().min(change.accounts.len()));
    let held = tx.ask_each(accounts, |tx, id| tx.hold_account(task.by.reseller, *id))?;
    let live = held.into_iter().flatten().filter(|account| !account.is_terminated());
    let live: Vec<_> = live.map(|account| account.id).collect();
    change.apply(kernel, tx, &task.by, &live)?;
    if rest.is_empty() {
        return Ok(done);
    }
    let left = Cascade::ChangeMembers(MemberChange { accounts: rest.to_vec(), ..change.clone() });
    tx.save_cascade(&task.subject, &task::write(&left, &task.by).to_string())?;
    Ok(Batch::default())
}

/// The groups that are there, in the order of their ids, so that two changes cannot wait for each other.
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
