//! The batches of a deactivated authorization (RFC 8555 section 7.5.2): its ACME account's other authorizations for the name are
//! deactivated, and open orders that depend on them fail.

use std::collections::BTreeMap;

use chancery_domain::{AccountId, AcmeAccountId, Action, OrderId, ProblemKind, ValidationProblem};
use chancery_store::{GivenUp, Tx};

use super::task::Task;
use super::{BATCH_ROWS, Batch, RowBudget};
use crate::error::ServiceError;
use crate::kernel::Kernel;
use crate::orders::{describe_with, fail_order};

/// The rows of an order that fails: order, certificate and audit record.
const ORDER_ROWS: u32 = 3;

pub(super) fn batch(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    task: &Task,
    account: AccountId,
    acme_account: AcmeAccountId,
    given_up: &GivenUp,
) -> Result<Batch, ServiceError> {
    let (now, since, mut budget) = (kernel.now(), task.row.since, RowBudget::new());
    let found = tx.reached_by_giving_up(account, acme_account, given_up, since, now, BATCH_ROWS)?;
    let mut all = found.len() < BATCH_ROWS as usize;
    let (mut reached, mut orders) = (Vec::new(), BTreeMap::new());
    for each in found {
        let ends = each.open_order.filter(|order| !orders.contains_key(order));
        if !budget.spend_whole(1 + if ends.is_some() { ORDER_ROWS } else { 0 }) {
            all = false;
            break;
        }
        if let Some(order) = ends {
            orders.insert(order, deactivated(&each.name));
        }
        reached.push(each.id);
    }
    let ids: Vec<OrderId> = orders.keys().copied().collect();
    let locked = tx.ask_each(&ids, |tx, id| tx.lock_order(*id))?;
    if !task.lock(tx)? {
        return Ok(Batch::default());
    }
    for id in reached {
        tx.deactivate_authorization(id, since, now)?;
    }
    let mut batch = Batch { done: all, ..Batch::default() };
    for order in locked.into_iter().flatten().filter(|order| order.is_open(now)) {
        let (id, problem) = (order.id, orders[&order.id].clone());
        let order = fail_order(tx, order, problem.clone(), now)?;
        kernel.audit(tx, &task.by, Action::OrderFail, id, &describe_with(&order, "problem", problem.to_string()))?;
        batch.failed.push((id, problem));
    }
    Ok(batch)
}

/// The problem of an order that fails because one of its authorizations was deactivated.
pub(crate) fn deactivated(name: &chancery_domain::Identifier) -> ValidationProblem {
    let detail = format!("the authorization for {name} was deactivated");
    ValidationProblem { kind: ProblemKind::Unauthorized, detail }
}
