//! What ends with an account, a customer's or one of ACME: its open orders and, where that is asked for, its certificates.

use std::sync::Arc;

use chancery_domain::{AccountId, Action, Order, Revocation, RevocationReason};
use chancery_store::{OrdersOf, Tx};

use crate::accounts::{Ending, claim_live};
use crate::caller::Caller;
use crate::certificates::revocation_detail;
use crate::error::ServiceError;
use crate::kernel::Kernel;
use crate::orders::{cancel_order, describe_with};
use crate::telling;

/// What is ended in one unit of work, as long as there is more.
const FEW: u32 = 100;
const REASON: RevocationReason = RevocationReason::CessationOfOperation;

/// How many were ended.
#[derive(Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) cancelled: usize,
    pub(crate) revoked: usize,
}

/// Why orders end that belonged to somebody, for people.
pub(crate) const fn because(whose: OrdersOf) -> &'static str {
    match whose {
        OrdersOf::Account(_) => "the account was terminated",
        OrdersOf::AcmeAccount(_) => "the ACME account was deactivated",
    }
}

/// Why orders end that belonged to somebody, for the audit trail.
const fn action(whose: OrdersOf) -> Action {
    match whose {
        OrdersOf::Account(_) => Action::AccountTerminate,
        OrdersOf::AcmeAccount(_) => Action::AcmeAccountDeactivate,
    }
}

/// Ends orders, a few at a time, until not many are left, so that nobody else waits for long; says how many. The caller may do
/// it, as `require` finds with the orders locked, or nothing is done.
pub(crate) async fn end_most_orders(
    kernel: &Arc<Kernel>,
    caller: &Caller,
    whose: OrdersOf,
    require: impl Fn(&mut Tx<'_>, &Caller) -> Result<(), ServiceError> + Copy + Send + 'static,
) -> Result<usize, ServiceError> {
    let mut ended = 0;
    loop {
        let now = kernel.now();
        let many = move |tx: &mut Tx<'_>| Ok::<_, ServiceError>(tx.has_open_orders(whose, now, 2 * FEW)?);
        if !kernel.store.read(many).await? {
            return Ok(ended);
        }
        let (inner, by) = (kernel.clone(), caller.clone());
        let unit = move |tx: &mut Tx<'_>| {
            // Orders before accounts, as everybody does.
            let few = tx.lock_open_orders(whose, inner.now(), FEW)?;
            require(tx, &by)?;
            cancel(&inner, tx, &by, few, whose)
        };
        let cancelled = kernel.store.write(unit).await?;
        telling::cancelled(caller, &cancelled, because(whose));
        ended += cancelled.len();
    }
}

/// Ends orders, and certificates where that is asked for, until few are left. The account is the caller's, or nothing is done.
pub(crate) async fn end_most(
    kernel: &Arc<Kernel>,
    caller: &Caller,
    id: AccountId,
    ending: Ending,
) -> Result<Ended, ServiceError> {
    let require = move |tx: &mut Tx<'_>, caller: &Caller| claim_live(tx, caller, id).map(drop);
    let cancelled = end_most_orders(kernel, caller, OrdersOf::Account(id), require).await?;
    let mut ended = Ended { cancelled, revoked: 0 };
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

/// Cancels them; an order that is being issued fails by itself, since nothing is signed for an account that has ended.
pub(crate) fn cancel(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    caller: &Caller,
    orders: Vec<Order>,
    whose: OrdersOf,
) -> Result<Vec<Order>, ServiceError> {
    let mut cancelled = Vec::with_capacity(orders.len());
    for order in orders {
        let order = cancel_order(tx, order, kernel.now())?;
        kernel.audit(
            tx,
            caller,
            Action::OrderCancel,
            order.id,
            &describe_with(&order, "because", action(whose).as_str()),
        )?;
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
    let revocation = Revocation { at: kernel.now(), reason: REASON, comment: None };
    let revoked = tx.revoke_some(id, revocation.reason, revocation.at, most)?;
    for certificate in &revoked {
        let mut detail = revocation_detail(certificate, &revocation);
        detail["because"] = Action::AccountTerminate.as_str().into();
        kernel.audit(tx, caller, Action::CertificateRevoke, certificate.id, &detail)?;
    }
    Ok(revoked.len())
}

fn many_certificates(
    kernel: &Arc<Kernel>,
    id: AccountId,
) -> impl FnMut(&mut Tx<'_>) -> Result<bool, ServiceError> + Send + 'static {
    let now = kernel.now();
    move |tx| Ok(tx.has_live_certificates(id, now, 2 * FEW)?)
}
