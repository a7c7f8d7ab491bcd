use chancery_domain::{Action, PageRequest, Pause, PauseId};
use chancery_store::Tx;

use super::{Operator, reseller_by_code};
use crate::error::ServiceError;
use crate::pauses::{describe, lift};

impl Operator {
    /// The newest pauses of a reseller.
    pub async fn pauses(&self, reseller: &str, most: u32) -> Result<Vec<Pause>, ServiceError> {
        let code = reseller.to_owned();
        let read = move |tx: &mut Tx<'_>| {
            let reseller = reseller_by_code(tx, &code)?;
            Ok(tx.pauses(reseller.id, &PageRequest { limit: most, after: None })?.items)
        };
        self.kernel.store.read(read).await
    }

    /// Lifts a pause of any reseller's customer.
    pub async fn lift_pause(&self, id: PauseId) -> Result<Pause, ServiceError> {
        let me = self.clone();
        let unit = move |tx: &mut Tx<'_>| {
            let pause = tx.any_pause(id)?;
            let pause = lift(tx, pause)?;
            me.record(tx, Some(pause.reseller), Action::PauseLift, id, &describe(&pause))?;
            Ok(pause)
        };
        self.kernel.store.write(unit).await
    }
}
