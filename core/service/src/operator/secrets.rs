//! Whether every stored secret opens with the key-encryption keys that are here.

use chancery_seal::Keyring;
use chancery_store::{SEALED_COLUMNS, SealedColumn, Store, Tx};

use super::Operator;
use crate::error::ServiceError;

/// What opening every secret came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secrets {
    pub opened: u64,
    /// Those that do not open: the first few, by table and row, and why.
    pub shut: Vec<String>,
}

const BATCH: u32 = 500;
/// How many of those that do not open are told.
const TOLD: usize = 5;

impl Operator {
    /// Opens every stored secret and forgets it again. Changes nothing.
    pub async fn try_secrets(&self) -> Result<Secrets, ServiceError> {
        try_secrets(&self.kernel.store, &self.kernel.keyring).await
    }
}

/// Opens every stored secret and forgets it again, for who has no more than a database and keys. Changes nothing.
pub(crate) async fn try_secrets(store: &Store, keyring: &Keyring) -> Result<Secrets, ServiceError> {
    let mut secrets = Secrets::default();
    for column in SEALED_COLUMNS {
        try_column(store, keyring, *column, &mut secrets).await?;
    }
    Ok(secrets)
}

async fn try_column(
    store: &Store,
    keyring: &Keyring,
    column: SealedColumn,
    secrets: &mut Secrets,
) -> Result<(), ServiceError> {
    let mut after = String::new();
    loop {
        let from = after.clone();
        let read = move |tx: &mut Tx<'_>| Ok::<_, ServiceError>(tx.sealed_values(column, &from, BATCH)?);
        let values = store.read(read).await?;
        let Some(last) = values.last() else { return Ok(()) };
        after.clone_from(&last.id);
        for value in &values {
            match keyring.open(&column.context(&value.id), &value.sealed) {
                Ok(_) => secrets.opened += 1,
                Err(error) if secrets.shut.len() < TOLD => {
                    secrets.shut.push(format!("{} {}: {error}", column.table, value.id));
                }
                Err(_) => {}
            }
        }
    }
}
