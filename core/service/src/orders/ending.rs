//! How an order ends without a certificate.

use chancery_domain::{
    Action, Authorization, AuthorizationState, AuthorizationStatus, Order, ProblemKind, Timestamp, ValidationProblem,
};
use chancery_pki::Draft;
use chancery_store::{JobKind, Tx};

use super::describe_with;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::kernel::Kernel;

/// Cancels an order: its authorizations are deactivated, its certificate will not come. The order is locked.
pub(crate) fn cancel_order(tx: &mut Tx<'_>, order: Order, now: Timestamp) -> Result<Order, ServiceError> {
    let order = order.cancel(now)?;
    tx.save_order(&order)?;
    tx.cancel_certificate(order.certificate, now)?;
    for authorization in tx.authorizations(order.id)? {
        let open = matches!(authorization.state, AuthorizationState::Pending | AuthorizationState::Valid(_));
        if open {
            tx.save_authorization(&authorization.deactivate(now)?)?;
        }
    }
    Ok(order)
}

/// Ends an order that has failed. One that has ended otherwise stays as it ended. The order is locked.
pub(crate) fn fail_order(
    tx: &mut Tx<'_>,
    order: Order,
    problem: ValidationProblem,
    now: Timestamp,
) -> Result<Order, ServiceError> {
    let order = order.fail(problem, now);
    tx.save_order(&order)?;
    uncount_draft(tx, &order)?;
    tx.cancel_certificate(order.certificate, now)?;
    tx.finish_job(JobKind::Issue, order.id)?;
    Ok(order)
}

/// Fails an open order if it can never become ready, and says why. The order is locked.
pub(crate) fn fail_if_hopeless(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    by: &Caller,
    order: Order,
    now: Timestamp,
) -> Result<Option<ValidationProblem>, ServiceError> {
    let Some(problem) = hopeless(&tx.authorizations(order.id)?, now) else { return Ok(None) };
    let order = fail_order(tx, order, problem.clone(), now)?;
    kernel.audit(tx, by, Action::OrderFail, order.id, &describe_with(&order, "problem", problem.to_string()))?;
    Ok(Some(problem))
}

/// Why an open order with these authorizations can never become ready: one of them has ended (RFC 8555 section 7.1.6).
pub(crate) fn hopeless(authorizations: &[Authorization], now: Timestamp) -> Option<ValidationProblem> {
    authorizations.iter().find_map(|authorization| {
        let how = match authorization.status(now) {
            AuthorizationStatus::Pending | AuthorizationStatus::Valid => return None,
            AuthorizationStatus::Invalid => "has failed",
            AuthorizationStatus::Deactivated => "was deactivated",
            AuthorizationStatus::Revoked => "was revoked",
            AuthorizationStatus::Expired => "has expired",
        };
        let detail = format!("the authorization for {} {how}", authorization.identifier);
        Some(ValidationProblem { kind: ProblemKind::Unauthorized, detail })
    })
}

/// Puts an order that is being issued back to where it can be finalized again: its draft is dropped and does not count.
/// The serial number of that draft is given back, where there was one. The order is locked.
pub(crate) fn put_back_order(tx: &mut Tx<'_>, order: Order, now: Timestamp) -> Result<Option<String>, ServiceError> {
    let order = order.put_back(now);
    tx.save_order(&order)?;
    let serial = uncount_draft(tx, &order)?;
    tx.drop_draft(order.certificate, order.expires_at, now)?;
    tx.finish_job(JobKind::Issue, order.id)?;
    Ok(serial)
}

/// Drops the draft of an order that is still to be issued: it is drafted anew, with another serial number. The one that
/// was dropped is given back.
pub(crate) fn redraft_order(tx: &mut Tx<'_>, order: &Order, now: Timestamp) -> Result<Option<String>, ServiceError> {
    let serial = uncount_draft(tx, order)?;
    tx.drop_draft(order.certificate, order.expires_at, now)?;
    tx.await_certificate(order.certificate)?;
    Ok(serial)
}

/// Takes back what was counted when the certificate was drafted; the serial number of the draft, where there is one.
fn uncount_draft(tx: &mut Tx<'_>, order: &Order) -> Result<Option<String>, ServiceError> {
    let Some(row) = tx.draft(order.certificate)? else { return Ok(None) };
    let Some(drafted) = tx.certificate_of_order(order.id)? else { return Ok(None) };
    // A draft that nobody can read must not keep its order from ending.
    match Draft::from_stored(&row.tbs) {
        Ok(draft) => {
            let not_after = Timestamp::from_secs(draft.validity().not_after());
            tx.uncount_issued(order.account, not_after, drafted.updated_at)?;
        }
        Err(error) => tracing::error!(order = %order.id, %error, "a draft cannot be read, and stays counted"),
    }
    Ok(Some(row.serial))
}
