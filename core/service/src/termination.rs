//! What ends with an account: its open orders and, where that is asked for, its certificates.

use std::sync::Arc;

use chancery_domain::{AccountId, Order, RevocationReason};
use chancery_store::Tx;

use crate::accounts::{Ending, claim_live};
use crate::caller::Caller;
use crate::certificates::revocation_detail;
use crate::error::ServiceError;
use crate::kernel::Kernel;
use crate::orders::{cancel_order, describe_with};
use crate::telling;

/// What is ended in one unit of work, as long as there is more.
const FEW: u32 = 100;
pub(crate) const BECAUSE: &str = "the account was terminated";
const REASON: RevocationReason = RevocationReason::CessationOfOperation;

/// How many were ended.
#[derive(Clone, Copy, Default)]
pub(crate) struct Ended {
    pub(crate) cancelled: usize,
    pub(crate) revoked: usize,
}

/// Ends orders, and certificates where that is asked for, until few are left. The account is the caller's, or nothing is done.
pub(crate) async fn end_most(
    kernel: &Arc<Kernel>,
    caller: &Caller,
    id: AccountId,
    ending: Ending,
) -> Result<Ended, ServiceError> {
    let mut ended = Ended::default();
    while kernel.store.read(many_orders(kernel, id)).await? {
        let (kernel, caller) = (kernel.clone(), caller.clone());
        let (store, by) = (kernel.store.clone(), caller.clone());
        let cancelled = store
            .write(move |tx| {
                // Orders before accounts, as everybody does.
                let few = tx.lock_open_orders(id, kernel.now(), FEW)?;
                claim_live(tx, &caller, id)?;
                cancel(&kernel, tx, &caller, few)
            })
            .await?;
        telling::cancelled(&by, &cancelled, BECAUSE);
        ended.cancelled += cancelled.len();
    }
    while ending.revoke_certificates && kernel.store.read(many_certificates(kernel, id)).await? {
        let (kernel, caller) = (kernel.clone(), caller.clone());
        let store = kernel.store.clone();
        ended.revoked += store
            .write(move |tx| {
                claim_live(tx, &caller, id)?;
                revoke(&kernel, tx, &caller, id, FEW)
            })
            .await?;
    }
    Ok(ended)
}

/// Cancels them; an order that is being issued fails by itself, since nothing is signed for a terminated account.
pub(crate) fn cancel(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    caller: &Caller,
    orders: Vec<Order>,
) -> Result<Vec<Order>, ServiceError> {
    let mut cancelled = Vec::with_capacity(orders.len());
    for order in orders {
        let order = cancel_order(tx, order, kernel.now())?;
        kernel.audit(tx, caller, "order.cancel", order.id, &describe_with(&order, "because", "account.terminate"))?;
        cancelled.push(order);
    }
    Ok(cancelled)
}

/// Revokes up to `most` certificates, each with a line of its own in the trail that says what that of any other revocation
/// says. They are counted off in the same unit of work: who is cut off after it may never ask again.
pub(crate) fn revoke(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    caller: &Caller,
    id: AccountId,
    most: u32,
) -> Result<usize, ServiceError> {
    let revoked = tx.revoke_some(id, REASON, kernel.now(), most)?;
    for certificate in &revoked {
        let mut detail = revocation_detail(certificate);
        detail["because"] = "account.terminate".into();
        kernel.audit(tx, caller, "certificate.revoke", certificate.id, &detail)?;
    }
    Ok(revoked.len())
}

fn many_orders(
    kernel: &Arc<Kernel>,
    id: AccountId,
) -> impl FnMut(&mut Tx<'_>) -> Result<bool, ServiceError> + Send + 'static {
    let now = kernel.now();
    move |tx| Ok(tx.has_open_orders(id, now, 2 * FEW)?)
}

fn many_certificates(
    kernel: &Arc<Kernel>,
    id: AccountId,
) -> impl FnMut(&mut Tx<'_>) -> Result<bool, ServiceError> + Send + 'static {
    let now = kernel.now();
    move |tx| Ok(tx.has_live_certificates(id, now, 2 * FEW)?)
}
