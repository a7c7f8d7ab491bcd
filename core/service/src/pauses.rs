//! Pauses: names that a customer gets no new orders for, until somebody lifts it.
//!
//! Every node keeps them in mind, so that an order costs no question more; it hears of what others do within seconds.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chancery_domain::{AccountId, Action, Identifier, Page, Pause, PauseId, Scope};
use chancery_store::Tx;
use parking_lot::RwLock;
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::cursor::{ListName, ListRequest, Listed};
use crate::error::{Noun, ServiceError};
use crate::kernel::Kernel;

/// How often a node asks whether anything has changed.
const LOOK: Duration = Duration::from_secs(2);
/// Failures that lie further apart are not in a row.
pub(crate) const IN_A_ROW: Duration = Duration::from_secs(86_400);
/// Old failures are forgotten so many at a time.
const FORGOTTEN: u32 = 100;

/// The pauses that a node knows.
#[derive(Default)]
pub(crate) struct KnownPauses(RwLock<Known>);

#[derive(Default)]
struct Known {
    epoch: i64,
    all: HashMap<(AccountId, Identifier), PauseId>,
}

impl KnownPauses {
    pub(crate) fn of(&self, account: AccountId, name: &Identifier) -> Option<PauseId> {
        let known = self.0.read();
        if known.all.is_empty() {
            return None;
        }
        known.all.get(&(account, name.clone())).copied()
    }

    pub(crate) fn add(&self, account: AccountId, name: &Identifier, pause: PauseId) {
        self.0.write().all.insert((account, name.clone()), pause);
    }

    fn remove(&self, pause: &Pause) {
        let mut known = self.0.write();
        known.all.remove(&(pause.account, pause.name.clone()));
    }
}

#[derive(Clone)]
pub struct Pauses {
    kernel: Arc<Kernel>,
}

impl Pauses {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel }
    }

    /// A page of the reseller's pauses, newest first.
    pub async fn list(&self, caller: &Caller, request: &ListRequest) -> Result<Listed<Pause>, ServiceError> {
        caller.require(Scope::ReadOrder)?;
        let reseller = caller.reseller;
        let list = ListName::new("pause", reseller, &());
        let page = self.kernel.cursors.open(&list, request)?;
        let read = move |tx: &mut Tx<'_>| Ok::<Page<_>, ServiceError>(tx.pauses(reseller, &page)?);
        self.kernel.read_list(&list, read).await
    }

    /// Lifts a pause: new orders are taken again, and failures are counted from none.
    pub async fn lift(&self, caller: &Caller, id: PauseId) -> Result<Pause, ServiceError> {
        caller.require(Scope::WriteOrder)?;
        let (kernel, by) = (self.kernel.clone(), caller.clone());
        let unit = move |tx: &mut Tx<'_>| {
            let pause = tx.any_pause(id)?.filter(|pause| pause.reseller == by.reseller);
            let pause = lift(tx, pause)?;
            kernel.audit(tx, &by, Action::PauseLift, id, &describe(&pause))?;
            Ok::<_, ServiceError>(pause)
        };
        let pause = self.kernel.store_of(caller.reseller).write(unit).await?;
        self.kernel.pauses.remove(&pause);
        Ok(pause)
    }

    /// Follows what other nodes and the operator do; goes on until it is dropped.
    pub async fn watch(&self) {
        loop {
            if let Err(error) = self.look().await {
                tracing::warn!(%error, "could not ask which names are paused");
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Reads the pauses anew where they have changed.
    pub async fn look(&self) -> Result<(), ServiceError> {
        let known = self.kernel.pauses.0.read().epoch;
        let changed = move |tx: &mut Tx<'_>| match tx.pauses_epoch()? {
            epoch if epoch == known => Ok::<_, ServiceError>(None),
            epoch => Ok(Some((epoch, tx.all_pauses()?))),
        };
        if let Some((epoch, all)) = self.kernel.store.read(changed).await? {
            let all = all.into_iter().map(|(account, name, pause)| ((account, name), pause)).collect();
            *self.kernel.pauses.0.write() = Known { epoch, all };
        }
        Ok(())
    }

    /// Forgets failures that no other can be in a row with any more, and says how many.
    pub async fn sweep(&self) -> Result<u64, ServiceError> {
        let before = self.kernel.now().minus(IN_A_ROW);
        self.kernel.forget(FORGOTTEN, move |tx, most| tx.forget_failures(before, most)).await
    }
}

/// Lifts a pause that was found.
pub(crate) fn lift(tx: &mut Tx<'_>, pause: Option<Pause>) -> Result<Pause, ServiceError> {
    let missing = || ServiceError::not_found(Noun::Pause);
    let pause = pause.ok_or_else(missing)?;
    if tx.lift_pause(pause.id)? { Ok(pause) } else { Err(missing()) }
}

pub(crate) fn describe(pause: &Pause) -> Value {
    json!({
        "account": pause.account.to_string(),
        "name": pause.name.to_string(),
        "failures": pause.failures,
        "problem": pause.problem,
    })
}
