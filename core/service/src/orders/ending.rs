//! How an order ends without a certificate.

use chancery_domain::{AuthorizationState, Order, Timestamp, ValidationProblem};
use chancery_pki::Draft;
use chancery_store::{JobKind, Tx};

use crate::error::ServiceError;

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
    if let Some(draft) = tx.draft(order.certificate)?
        && let Some(drafted) = tx.certificate_of_order(order.id)?
    {
        // It was counted when it was drafted. A draft that nobody can read must not keep its order from ending.
        match Draft::from_stored(&draft.tbs) {
            Ok(draft) => {
                let not_after = Timestamp::from_secs(draft.validity().not_after());
                tx.uncount_issued(order.account, not_after, drafted.updated_at)?;
            }
            Err(error) => tracing::error!(order = %order.id, %error, "a draft cannot be read, and stays counted"),
        }
    }
    tx.cancel_certificate(order.certificate, now)?;
    tx.finish_job(JobKind::Issue, order.id)?;
    Ok(order)
}
