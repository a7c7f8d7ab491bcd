//! Sealing every secret anew after the key-encryption key was rotated.

use chancery_domain::Action;
use chancery_seal::key_id;
use chancery_store::{SEALED_COLUMNS, SealedColumn, Tx};
use serde_json::json;

use super::Operator;
use crate::error::ServiceError;

/// What a run of sealing anew did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resealed {
    pub already: u64,
    pub resealed: u64,
}

const BATCH: u32 = 500;

impl Operator {
    /// Seals every stored secret with the primary key, a batch at a time, beside a running service.
    ///
    /// Runs until a whole pass finds nothing to do, so that what a service sealed with the old key a moment ago is
    /// caught as well. Afterwards no row needs the old key.
    pub async fn reseal(&self) -> Result<Resealed, ServiceError> {
        let mut total = Resealed::default();
        loop {
            let mut pass = Resealed::default();
            for column in SEALED_COLUMNS {
                self.reseal_column(*column, &mut pass).await?;
            }
            total.resealed += pass.resealed;
            if pass.resealed == 0 {
                total.already = pass.already.saturating_sub(total.resealed);
                let (me, detail) = (self.clone(), json!({"resealed": total.resealed}));
                let note = move |tx: &mut Tx<'_>| {
                    me.record(tx, None, Action::KekReseal, me.kernel.keyring.primary_id(), &detail)
                };
                self.kernel.store.write(note).await?;
                return Ok(total);
            }
        }
    }

    async fn reseal_column(&self, column: SealedColumn, pass: &mut Resealed) -> Result<(), ServiceError> {
        let mut after = String::new();
        loop {
            let from = after.clone();
            let read = move |tx: &mut Tx<'_>| Ok::<_, ServiceError>(tx.sealed_values(column, &from, BATCH)?);
            let values = self.kernel.store.read(read).await?;
            let Some(last) = values.last() else { return Ok(()) };
            after.clone_from(&last.id);
            let keyring = &self.kernel.keyring;
            let primary = keyring.primary_id();
            let mut changes = Vec::new();
            for value in values {
                if key_id(&value.sealed).map_err(ServiceError::internal)? == primary {
                    pass.already += 1;
                    continue;
                }
                let context = column.context(&value.id);
                let opened = keyring.open(&context, &value.sealed).map_err(ServiceError::internal)?;
                let sealed = keyring.seal(&context, &opened);
                changes.push((value, sealed));
            }
            pass.resealed += changes.len() as u64;
            let write = move |tx: &mut Tx<'_>| {
                for (old, new) in &changes {
                    tx.replace_sealed(column, &old.id, &old.sealed, new)?;
                }
                Ok::<_, ServiceError>(())
            };
            self.kernel.store.write(write).await?;
        }
    }
}
