//! The batches of a terminated account and of a deactivated ACME account.

use chancery_domain::{AccountId, AcmeAccountId, Action, Order, OrderId, Revocation, RevocationReason, Timestamp};
use chancery_store::{OrdersOf, Turned, Tx};

use super::task::Task;
use super::{Batch, Page, Progress, RowBudget};
use crate::certificates::revocation_detail;
use crate::error::ServiceError;
use crate::kernel::Kernel;
use crate::orders::{cancel_order, describe_with};

/// The rows of a cancelled order, besides one per name: order, certificate and audit record.
const ORDER_ROWS: u32 = 3;
/// The rows of a revoked certificate: certificate, audit record, and at most one CRL and one count per day.
const CERTIFICATE_ROWS: u32 = 4;
/// The rows of a membership, credential or ACME account: the row and a counter.
const COUNTED_ROWS: u32 = 2;
const REASON: RevocationReason = RevocationReason::CessationOfOperation;

/// One batch of a terminated account. Certificates are revoked first, in separate batches, because a batch locks memberships and orders
/// before any other row.
pub(super) fn account(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    task: &Task,
    account: AccountId,
    revoke_certificates: bool,
    progress: &Progress,
) -> Result<Batch, ServiceError> {
    let (now, mut budget, mut progress) = (kernel.now(), RowBudget::new(), progress.clone());
    if revoke_certificates && !progress.revoked {
        if task.lock(tx)? {
            let most = budget.fits(CERTIFICATE_ROWS);
            progress.revoked = revoke(kernel, tx, task, account, most)? < most;
        }
        return Ok(Batch { progress, ..Batch::default() });
    }
    let most = budget.fits(COUNTED_ROWS);
    let groups = tx.claim_groups_of_account(account, most)?;
    budget.spend(COUNTED_ROWS * count(groups.len()));
    let (orders, mut done) = lock_orders(tx, OrdersOf::Account(account), &mut budget, now)?;
    done &= count(groups.len()) < most;
    if !task.lock(tx)? {
        return Ok(Batch { progress, ..Batch::default() });
    }
    for group in groups {
        if tx.remove_member(group.id, account)? {
            tx.change_member_count(group.id, -1, now)?;
        }
    }
    let cancelled = cancel(kernel, tx, task, orders, Action::AccountTerminate)?;
    // Once more: certificates may have been signed while the account was being terminated.
    if done && revoke_certificates {
        let most = budget.fits(CERTIFICATE_ROWS);
        let revoked = revoke(kernel, tx, task, account, most)?;
        budget.spend(CERTIFICATE_ROWS * revoked);
        done = revoked < most;
    }
    done = done
        && change_next_page(&mut progress.acme_accounts, &mut budget, |after, most| {
            Ok(tx.revoke_acme_accounts(account, after, now, most)?)
        })?;
    done = done
        && change_next_page(&mut progress.credentials, &mut budget, |after, most| {
            Ok(tx.revoke_credentials(account, after, now, most)?)
        })?;
    let most = budget.fits(1);
    done = done && tx.forget_failures_of(account, most)? < u64::from(most);
    Ok(Batch { done, progress, cancelled, because: "the account was terminated", ..Batch::default() })
}

/// One batch of a deactivated ACME account.
pub(super) fn acme_account(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    task: &Task,
    account: AccountId,
    acme_account: AcmeAccountId,
) -> Result<Batch, ServiceError> {
    let whose = OrdersOf::AcmeAccount(account, acme_account);
    let (orders, done) = lock_orders(tx, whose, &mut RowBudget::new(), kernel.now())?;
    if !task.lock(tx)? {
        return Ok(Batch::default());
    }
    let cancelled = cancel(kernel, tx, task, orders, Action::AcmeAccountDeactivate)?;
    Ok(Batch { done, cancelled, because: "the ACME account was deactivated", ..Batch::default() })
}

/// Locks the open orders that fit the budget; `true` if there are no others.
fn lock_orders(
    tx: &mut Tx<'_>,
    whose: OrdersOf,
    budget: &mut RowBudget,
    now: Timestamp,
) -> Result<(Vec<Order>, bool), ServiceError> {
    let most = budget.fits(ORDER_ROWS + 1) + 1;
    let found = tx.open_orders(whose, now, most)?;
    let mut all = count(found.len()) < most;
    let mut ids: Vec<OrderId> = Vec::new();
    for (id, names) in found {
        if !budget.spend_whole(ORDER_ROWS + u32::try_from(names).unwrap_or(u32::MAX - ORDER_ROWS)) {
            all = false;
            break;
        }
        ids.push(id);
    }
    // Every transaction locks several orders in this sequence, which prevents deadlocks.
    ids.sort();
    let locked = tx.ask_each(&ids, |tx, id| tx.lock_order(*id))?;
    Ok((locked.into_iter().flatten().filter(|order| order.is_open(now)).collect(), all))
}

/// Cancels orders. An order in issuance fails by itself: the checks before signing refuse a terminated account.
fn cancel(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    task: &Task,
    orders: Vec<Order>,
    because: Action,
) -> Result<Vec<Order>, ServiceError> {
    let mut cancelled = Vec::with_capacity(orders.len());
    for order in orders {
        let order = cancel_order(tx, order, kernel.now())?;
        let detail = describe_with(&order, "because", because.as_str());
        kernel.audit(tx, &task.by, Action::OrderCancel, order.id, &detail)?;
        cancelled.push(order);
    }
    Ok(cancelled)
}

/// Revokes at most `most` certificates, with one audit record each, as any other revocation writes it. The counts of valid
/// certificates are updated in the same transaction.
fn revoke(kernel: &Kernel, tx: &mut Tx<'_>, task: &Task, account: AccountId, most: u32) -> Result<u32, ServiceError> {
    let revocation = Revocation { at: kernel.now(), reason: REASON, comment: None };
    let revoked = tx.revoke_some(account, revocation.reason, revocation.at, most)?;
    for certificate in &revoked {
        let mut detail = revocation_detail(certificate, &revocation);
        detail["because"] = Action::AccountTerminate.as_str().into();
        kernel.audit(tx, &task.by, Action::CertificateRevoke, certificate.id, &detail)?;
    }
    Ok(count(revoked.len()))
}

/// Changes the next page of a list; `true` if it was the last.
fn change_next_page(
    page: &mut Page,
    budget: &mut RowBudget,
    change: impl FnOnce(Option<&str>, u32) -> Result<Turned, ServiceError>,
) -> Result<bool, ServiceError> {
    let most = budget.fits(COUNTED_ROWS);
    let after = match page {
        Page::Done => return Ok(true),
        _ if most == 0 => return Ok(false),
        Page::First => None,
        Page::After(id) => Some(id.as_str()),
    };
    let Turned { rows, next } = change(after, most)?;
    budget.spend(COUNTED_ROWS * rows);
    *page = next.map_or(Page::Done, Page::After);
    Ok(matches!(page, Page::Done))
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
