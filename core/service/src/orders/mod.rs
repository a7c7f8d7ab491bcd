//! Certificate orders: one machine behind both doors.
//!
//! Every change to an order or to one of its authorizations locks the order's row first. So two changes to one order
//! happen one after the other, and nobody can see a valid authorization beside an order that does not know of it.

mod authorize;
mod create;
mod ending;
mod reuse;
pub(crate) mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chancery_domain::{
    AccountId, AcmeAccountId, Action, Authorization, AuthorizationError, AuthorizationState, AuthorizationStatus,
    ExternalId, Finalization, Order, OrderError, OrderId, OrderState, OrderStatus, Page, Problem, Scope, Timestamp,
    ValidationProblem,
};
use chancery_store::{Job, JobKind, OrderFilter, Tx};
use serde_json::{Value, json};

pub use create::NewOrder;
pub(crate) use create::{DateNames, Dates, Draft, Wanted, days_between};
pub(crate) use ending::{cancel_order, fail_if_hopeless, fail_order, hopeless, put_back_order, redraft_order};
pub(crate) use reuse::{Reuse, covers, has_shown};

use crate::account_lookup::AccountLookup;
use crate::accounts::standing_account;
use crate::acme::hold_applicant;
use crate::caller::Caller;
use crate::cursor::{ListName, ListRequest, Listed};
use crate::error::{Noun, ServiceError};
use crate::fault::{self, Step};
use crate::kernel::Kernel;
use crate::policies::{Decision, PolicyEvaluation};
use crate::refused::{Asked, Refused};
use crate::telling::{self, About};
use crate::to_the_end::to_the_end;

/// An order with its authorizations, and what is needed to show their challenges.
#[derive(Clone, Debug)]
pub struct OrderDetails {
    pub order: Order,
    pub authorizations: Vec<Authorization>,
    /// The thumbprint that key authorizations end in; none until codes were asked for.
    pub thumbprint: Option<String>,
    /// Logs are shown what is going to be issued, and too few have promised to show it so far.
    pub waits_for_logs: bool,
}

/// Whether finalizing was new.
#[derive(Clone, Debug)]
pub enum Finalized<T = OrderDetails> {
    Accepted(T),
    AlreadyAccepted(T),
}

#[derive(Clone)]
pub struct Orders {
    pub(crate) kernel: Arc<Kernel>,
}

impl Orders {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel }
    }

    pub async fn show(&self, caller: &Caller, id: OrderId) -> Result<OrderDetails, ServiceError> {
        let (reseller, caller) = (caller.reseller, may_look(caller)?);
        let now = self.kernel.now();
        let see = move |tx: &mut Tx<'_>| own(tx, &caller, id).and_then(|order| details(tx, order));
        Ok(as_it_stands(self.kernel.store_of(reseller).glance(see).await?, now))
    }

    /// The order alone.
    pub(crate) async fn glimpse(&self, caller: &Caller, id: OrderId) -> Result<Order, ServiceError> {
        let (reseller, caller) = (caller.reseller, may_look(caller)?);
        let now = self.kernel.now();
        let see = move |tx: &mut Tx<'_>| {
            tx.foresee(|tx| drop(caller.acme_account.map(|acme_account| tx.gives_up(acme_account))));
            let order = own(tx, &caller, id)?;
            match given_up(tx, &order, now)? {
                Some(problem) => Ok(order.fail(problem, now)),
                None => Ok(order),
            }
        };
        self.kernel.store_of(reseller).peek(see).await
    }

    /// That an order has not ended without a certificate.
    pub async fn require_alive(&self, caller: &Caller, id: OrderId) -> Result<(), ServiceError> {
        Ok(self.glimpse(caller, id).await?.require_alive(self.kernel.now())?)
    }

    /// A page of the reseller's orders, newest first. An account that does not exist has none.
    pub async fn list(
        &self,
        caller: &Caller,
        account: Option<AccountLookup>,
        filter: OrderFilter,
        request: &ListRequest,
    ) -> Result<Listed<OrderDetails>, ServiceError> {
        caller.require(Scope::ReadOrder)?;
        let reseller = caller.reseller;
        let OrderFilter { status, external_id, .. } = &filter;
        let list = ListName::new("order", reseller, &(&account, status.map(OrderStatus::as_str), external_id));
        let page = self.kernel.cursors.open(&list, request)?;
        let read = move |tx: &mut Tx<'_>| {
            let account = match &account {
                None => None,
                Some(lookup) => match lookup.find_any(tx, reseller)? {
                    Some(account) => Some(account.id),
                    None => return Ok(Page::empty(None)),
                },
            };
            let filter = OrderFilter { account, ..filter.clone() };
            let orders = tx.orders(reseller, &filter, &page)?;
            let mut page = tx.complete(
                orders,
                |order| order.identifiers.len(),
                |tx, orders| {
                    let details = details_of_all(tx, orders)?.into_iter();
                    Ok::<_, ServiceError>(details.map(|details| as_it_stands(details, filter.now)).collect())
                },
            )?;
            // A row that a cascade has not reached yet may have another state than the order.
            page.retain(|details| filter.status.is_none_or(|status| details.order.status(filter.now) == status));
            Ok(page)
        };
        self.kernel.read_list(&list, read).await
    }

    /// Asks for the certificate of an order whose names are all authorized. It is issued at once, behind the answer.
    pub async fn finalize(&self, caller: &Caller, id: OrderId) -> Result<Finalized, ServiceError> {
        caller.require(Scope::WriteOrder)?;
        let refused = Refused::default();
        let noted = refused.clone();
        // Asked again when it is drafted: this one may be the last that fits. What is known now is told now, and the order
        // stays ready.
        let complete = move |kernel: &Kernel, tx: &mut Tx<'_>, order: Order, decision: &Decision<()>| {
            if order.csr.is_none() {
                return Ok((order, ()));
            }
            let policies = decision.policies(tx, order.reseller, order.account)?;
            let verdict = policies.require_quota(tx, order.account, kernel.now());
            noted.note(&Asked::of(&order), verdict)?;
            Ok((order, ()))
        };
        let tell = |tx: &mut Tx<'_>, order: Order, accepted: Option<()>| {
            if accepted.is_some() {
                tx.await_certificate(order.certificate)?;
            }
            details(tx, order)
        };
        let (me, caller) = (self.clone(), caller.clone());
        to_the_end(async move {
            match me.finalize_with(&caller, id, &PolicyEvaluation::none(), complete, tell).await {
                Err(error) => Err(refused.settle(&me.kernel, &caller, error).await),
                Ok(Finalized::Accepted(accepted)) => {
                    me.begin(&caller, id);
                    Ok(Finalized::Accepted(accepted))
                }
                Ok(already) => Ok(already),
            }
        })
        .await
    }

    /// Has a finalized order issued, behind the answer.
    pub(crate) fn begin(&self, caller: &Caller, id: OrderId) {
        let reseller = Some(caller.reseller);
        self.kernel.start(Job { kind: JobKind::Issue, subject: id.to_string(), attempts: 1, reseller });
    }

    /// Finalizes without starting the job. `complete` gives the CSR to an order that is ready and has none. `tell` makes the
    /// answer of what `complete` found, where that was asked; it also drafts the certificate, or notes that it is awaited.
    pub(crate) async fn finalize_with<D, F, G, X, T>(
        &self,
        caller: &Caller,
        id: OrderId,
        evaluation: &PolicyEvaluation<D>,
        complete: F,
        tell: G,
    ) -> Result<Finalized<T>, ServiceError>
    where
        D: Send + Sync + 'static,
        F: Fn(&Kernel, &mut Tx<'_>, Order, &Decision<D>) -> Result<(Order, X), ServiceError> + Send + 'static,
        G: Fn(&mut Tx<'_>, Order, Option<X>) -> Result<T, ServiceError> + Send + 'static,
        T: Send + 'static,
    {
        let (kernel, by) = (self.kernel.clone(), caller.clone());
        let finalized = self
            .kernel
            .write_decided(caller.reseller, evaluation, move |tx, decision| {
                let order = lock_own(tx, &by, id)?;
                let now = kernel.now();
                tx.foresee(|tx| {
                    drop(order.acme_account.map(|acme_account| tx.gives_up(acme_account)));
                    drop(tx.policy_versions(order.account));
                    drop(tx.authorizations(id));
                });
                let (account, still) = hold_applicant(tx, &by, order.account)?;
                still?;
                if given_up(tx, &order, now)?.is_some() {
                    account.require_active()?;
                    return Ok(Err(fail_if_hopeless(&kernel, tx, &by, order, now)?.ok_or_else(overtaken)?));
                }
                let order = match order.finalize(now) {
                    Ok(Finalization::Accepted(order)) => order,
                    Ok(Finalization::AlreadyAccepted(order)) => {
                        return Ok(Ok(Finalized::AlreadyAccepted(tell(tx, order, None)?)));
                    }
                    Err(OrderError::NotReady) => {
                        account.require_active()?;
                        let order = lock_own(tx, &by, id)?;
                        return match fail_if_hopeless(&kernel, tx, &by, order, now)? {
                            Some(problem) => Ok(Err(problem)),
                            None => Err(ServiceError::OrderNotReady(missing(&tx.authorizations(id)?, now))),
                        };
                    }
                    Err(other) => return Err(other.into()),
                };
                account.require_active()?;
                let (order, found) = complete(&kernel, tx, order, decision)?;
                if order.csr.is_none() {
                    return Err(ServiceError::invalid("csr", "missing", NO_CSR));
                }
                tx.save_order(&order)?;
                kernel.enqueue(tx, JobKind::Issue, order.id)?;
                kernel.audit(tx, &by, Action::OrderFinalize, order.id, &describe(&order))?;
                Ok(Ok(Finalized::Accepted(tell(tx, order, Some(found))?)))
            })
            .await;
        let finalized = match finalized {
            Ok(Ok(finalized)) => finalized,
            Ok(Err(problem)) => {
                self.kernel.tell_failed(id, "finalize", &problem).await;
                return Err(OrderError::Failed(problem).into());
            }
            Err(error) => return Err(self.kernel.tell_refused(caller, About::Order(id), "finalize", error).await),
        };
        if let Finalized::Accepted(_) = &finalized {
            fault::reached(Step::Finalized);
        }
        Ok(finalized)
    }

    /// Cancels an order that is not being issued yet: its authorizations are deactivated.
    pub async fn cancel(&self, caller: &Caller, id: OrderId) -> Result<OrderDetails, ServiceError> {
        caller.require(Scope::WriteOrder)?;
        let (kernel, by) = (self.kernel.clone(), caller.clone());
        let cancelled = self
            .kernel
            .store_of(caller.reseller)
            .write(move |tx| {
                let order = lock_own(tx, &by, id)?;
                standing_account(tx, &order)?.require_alive()?;
                let order = match cancel_order(tx, order, kernel.now()) {
                    Err(ServiceError::Order(OrderError::NotCancellable)) if has_given_up(tx, id)? => {
                        return Err(AuthorizationError::Deactivated.into());
                    }
                    cancelled => cancelled?,
                };
                kernel.audit(tx, &by, Action::OrderCancel, order.id, &describe(&order))?;
                details(tx, order)
            })
            .await;
        match cancelled {
            Ok(cancelled) => {
                telling::cancelled(caller, [&cancelled.order], "as was asked for");
                Ok(cancelled)
            }
            Err(error) => Err(self.kernel.tell_refused(caller, About::Order(id), "cancellation", error).await),
        }
    }
}

/// Why an open order has failed that the cascade of what was given up has not reached yet.
fn given_up(tx: &mut Tx<'_>, order: &Order, now: Timestamp) -> Result<Option<ValidationProblem>, ServiceError> {
    match order.acme_account.filter(|_| order.is_open(now)) {
        Some(acme_account) if tx.gives_up(acme_account)? => Ok(hopeless(&tx.authorizations(order.id)?, now)),
        Some(_) | None => Ok(None),
    }
}

/// The order as it stands by what was given up, even if the cascade of that has not reached it yet.
fn as_it_stands(details: OrderDetails, now: Timestamp) -> OrderDetails {
    let OrderDetails { order, authorizations, .. } = &details;
    let is_given_up = |each: &Authorization| matches!(each.state, AuthorizationState::Deactivated { .. });
    if order.acme_account.is_none() || !order.is_open(now) || !authorizations.iter().any(is_given_up) {
        return details;
    }
    match hopeless(authorizations, now) {
        Some(problem) => OrderDetails { order: details.order.fail(problem, now), ..details },
        None => details,
    }
}

fn overtaken() -> ServiceError {
    ServiceError::Overtaken("the order is about to fail".to_owned())
}

/// Whether a permission of the order's own was given up, which ends no order that has its certificate.
fn has_given_up(tx: &mut Tx<'_>, id: OrderId) -> Result<bool, ServiceError> {
    let given_up = |one: &Authorization| matches!(one.state, AuthorizationState::Deactivated { .. });
    Ok(tx.authorizations(id)?.iter().any(given_up))
}

/// Why an order of the other door waits.
const NO_CSR: &str = "this order came through ACME and gets its CSR there";

/// The caller, if it may look at orders.
fn may_look(caller: &Caller) -> Result<Caller, ServiceError> {
    caller.require_either(Scope::ReadOrder, Scope::WriteOrder)?;
    Ok(caller.clone())
}

/// The caller's order.
fn own(tx: &mut Tx<'_>, caller: &Caller, id: OrderId) -> Result<Order, ServiceError> {
    let order = tx.order(caller.reseller, id)?.filter(|order| caller.sees(order.acme_account));
    order.ok_or_else(|| ServiceError::not_found(Noun::Order))
}

/// The caller's order, locked until the unit of work ends.
pub(crate) fn lock_own(tx: &mut Tx<'_>, caller: &Caller, id: OrderId) -> Result<Order, ServiceError> {
    let order = tx.lock_order(id)?.filter(|order| order.reseller == caller.reseller && caller.sees(order.acme_account));
    order.ok_or_else(|| ServiceError::not_found(Noun::Order))
}

/// The names of a pending order that are still to be shown.
fn missing(authorizations: &[Authorization], now: Timestamp) -> Vec<Problem> {
    let waiting =
        authorizations.iter().enumerate().filter(|(_, each)| each.status(now) == AuthorizationStatus::Pending);
    let problem = |(place, each): (usize, &Authorization)| {
        let what = match each.tried() {
            Some(_) => "is being verified; ask again in a moment",
            None if each.challenges.is_empty() => "needs its challenge codes, and one of them chosen",
            None => "needs one of its challenges chosen",
        };
        let message = format!("{}: the authorization {} {what}", each.identifier, each.id);
        Problem::new(format!("authorizations[{place}]"), each.status(now).as_str(), message)
    };
    waiting.map(problem).collect()
}

pub(crate) fn details(tx: &mut Tx<'_>, order: Order) -> Result<OrderDetails, ServiceError> {
    let authorizations = tx.authorizations(order.id)?;
    let thumbprint = thumbprint(tx, order.account, order.acme_account)?;
    let waits_for_logs = waits_for_logs(tx, &order)?;
    Ok(OrderDetails { order, authorizations, thumbprint, waits_for_logs })
}

/// The details of many orders, asked about together.
fn details_of_all(tx: &mut Tx<'_>, orders: Vec<Order>) -> Result<Vec<OrderDetails>, ServiceError> {
    let authorizations = tx.ask_each(&orders, |tx, order| tx.authorizations(order.id))?;
    let owner = |order: &Order| (order.account, order.acme_account);
    let owners: Vec<_> = orders.iter().map(owner).collect::<BTreeSet<_>>().into_iter().collect();
    let thumbprints = tx.ask_each(&owners, |tx, (account, acme)| thumbprint(tx, *account, *acme))?;
    let thumbprints: BTreeMap<_, _> = owners.into_iter().zip(thumbprints).collect();
    let waits = tx.ask_each(&orders, waits_for_logs)?;
    let all = orders.into_iter().zip(authorizations).zip(waits);
    let detail = |((order, authorizations), waits_for_logs)| {
        let thumbprint = thumbprints.get(&owner(&order)).cloned().flatten();
        OrderDetails { order, authorizations, thumbprint, waits_for_logs }
    };
    Ok(all.map(detail).collect())
}

fn waits_for_logs(tx: &mut Tx<'_>, order: &Order) -> Result<bool, ServiceError> {
    match order.state {
        OrderState::Processing { .. } => Ok(tx.waits_for_logs(order.certificate)?),
        _ => Ok(false),
    }
}

/// The thumbprint that key authorizations end in: that of the ACME account's own key, or of the one that the service
/// keeps for the customer, where it has made one.
pub(crate) fn thumbprint(
    tx: &mut Tx<'_>,
    account: AccountId,
    acme_account: Option<AcmeAccountId>,
) -> Result<Option<String>, ServiceError> {
    match acme_account {
        Some(id) => Ok(tx.acme_account(id)?.map(|account| account.thumbprint)),
        None => Ok(tx.account_thumbprint(account)?),
    }
}

pub(crate) fn describe(order: &Order) -> Value {
    let names: Vec<_> = order.identifiers.iter().map(ToString::to_string).collect();
    json!({
        "account": order.account.to_string(),
        "profile": order.profile.as_str(),
        "names": names,
        "via": order.via.as_str(),
        "certificate": order.certificate.to_string(),
        "externalId": order.external_id.as_ref().map(ExternalId::as_str),
    })
}

/// What the audit trail tells of an order, with why something became of it.
pub(crate) fn describe_with(order: &Order, member: &str, why: impl Into<Value>) -> Value {
    let mut told = describe(order);
    told[member] = why.into();
    told
}
