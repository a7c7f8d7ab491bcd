use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use chancery_domain::{Account, AcmeAccount, AcmeAccountId, EabCredential, Reseller, Timestamp};

use super::{account, acme_account, credential, qualified, reseller};
use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

/// Everybody who has to be in good standing for an ACME account to get anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    pub acme_account: AcmeAccount,
    /// The customer that it belongs to.
    pub account: Account,
    /// The credential that bound it.
    pub credential: EabCredential,
    pub reseller: Reseller,
}

/// Parties as they were read, and at which epoch: who finds the same epoch need not read them again. Triggers move it on with
/// whatever changes one of them, so it holds for every process that writes to the file.
#[derive(Default)]
pub(crate) struct KnownParties(Mutex<HashMap<AcmeAccountId, (i64, Arc<Party>)>>);

/// How many are remembered; then it begins anew.
const MOST_KNOWN: usize = 4_000;
/// Whoever has more text than this noted about them is read each time: what is remembered stays small.
const MOST_TEXT: usize = 2_000;

impl KnownParties {
    fn get(&self, id: AcmeAccountId, epoch: i64) -> Option<Party> {
        let found = self.all().get(&id).filter(|(at, _)| *at == epoch).map(|(_, party)| party.clone());
        found.map(Arc::unwrap_or_clone)
    }

    fn keep(&self, id: AcmeAccountId, epoch: i64, party: &Party) {
        let noted = party.account.metadata.pairs().iter().map(|(key, value)| key.len() + value.len());
        if noted.sum::<usize>() + party.acme_account.jwk.len() > MOST_TEXT {
            return;
        }
        let mut all = self.all();
        if all.len() >= MOST_KNOWN {
            all.clear();
        }
        all.insert(id, (epoch, Arc::new(party.clone())));
    }

    fn all(&self) -> MutexGuard<'_, HashMap<AcmeAccountId, (i64, Arc<Party>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One statement, since every request asks for all of them.
static SELECT: LazyLock<String> = LazyLock::new(|| {
    let [acme, credential, reseller] = [
        ("acme_accounts", acme_account::COLUMNS),
        ("eab_credentials", credential::COLUMNS),
        ("resellers", reseller::COLUMNS),
    ]
    .map(|(table, columns)| qualified(table, columns));
    format!(
        "SELECT {acme}, {}, {credential}, {reseller} FROM acme_accounts
         JOIN accounts ON accounts.id = acme_accounts.account_id
         JOIN eab_credentials ON eab_credentials.kid = acme_accounts.kid
         JOIN resellers ON resellers.id = acme_accounts.reseller_id
         WHERE acme_accounts.id = ?1",
        account::COLUMNS
    )
});

/// Their reseller alone.
static RESELLER: LazyLock<String> = LazyLock::new(|| {
    let columns = reseller::COLUMNS;
    format!("SELECT {columns} FROM resellers WHERE id = (SELECT reseller_id FROM acme_accounts WHERE id = ?1)")
});

static REDEEM: LazyLock<String> = LazyLock::new(|| {
    let party = SELECT.strip_prefix("SELECT ").unwrap_or(&SELECT);
    format!(
        "WITH soon AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)),
         taken AS (INSERT INTO acme_nonces (nonce, expires_at) SELECT ?2::text, ?3::bigint FROM soon ON CONFLICT DO NOTHING RETURNING 1)
         SELECT (SELECT COUNT(*) FROM taken), {party}"
    )
});

impl Tx<'_> {
    pub fn party(&mut self, id: AcmeAccountId) -> Result<Option<Party>, StoreError> {
        let Some(known) = self.known() else { return self.query_one(&SELECT, params![id], read) };
        // Before them: where there is no transaction around both, they may be newer than it says, and are read once more.
        let epoch = self.epoch("parties")?;
        if let Some(party) = known.parties.get(id, epoch) {
            return Ok(Some(party));
        }
        let found = self.query_one(&SELECT, params![id], read)?;
        if let Some(party) = found.as_ref().filter(|_| known.keeps) {
            known.parties.keep(id, epoch, party);
        }
        Ok(found)
    }

    /// The same, where customer, ACME account and credential stay as they are until the unit of work ends.
    pub fn hold_party(&mut self, id: AcmeAccountId) -> Result<Option<Party>, StoreError> {
        self.hold("accounts, acme_accounts, eab_credentials", id)
    }

    /// The same, where only the ACME account and the credential stay: for units that claim one of them, which comes after
    /// customers are held.
    pub fn hold_speaker(&mut self, id: AcmeAccountId) -> Result<Option<Party>, StoreError> {
        self.hold("acme_accounts, eab_credentials", id)
    }

    /// Whoever waits for rows to hold finds those as they are then, and all others as they were before. The reseller is
    /// not held, since every unit of work of all their customers would write on that row; so they are read once more.
    fn hold(&mut self, tables: &str, id: AcmeAccountId) -> Result<Option<Party>, StoreError> {
        if !self.is_postgres() {
            return self.party(id);
        }
        let held = self.locking(&SELECT, &format!("FOR SHARE OF {tables}"));
        self.foresee(|tx| drop(tx.query_one(&RESELLER, params![id], reseller::read)));
        let party = self.query_one(&held, params![id], read)?;
        let reseller = self.query_one(&RESELLER, params![id], reseller::read)?;
        Ok(party.map(|party| Party { reseller: reseller.unwrap_or(party.reseller), ..party }))
    }

    /// Uses a nonce up and reads who speaks, in one statement by itself; `false` where the nonce was used before, by
    /// whichever node. The disk is not waited for: a nonce need not outlast a crash of the database's machine. For
    /// PostgreSQL, where several nodes may share the database.
    pub fn redeem_and_find(
        &mut self,
        nonce: &str,
        expires_at: Timestamp,
        id: AcmeAccountId,
    ) -> Result<(bool, Option<Party>), StoreError> {
        let params = params![id, nonce, expires_at];
        let found = self.query_one(&REDEEM, params, |row| Ok((row.flag()?, read(row)?)))?;
        Ok(found.map_or((true, None), |(taken, party)| (taken, Some(party))))
    }
}

fn read(row: &mut Columns<'_>) -> Result<Party, StoreError> {
    Ok(Party {
        acme_account: acme_account::read(row)?,
        account: account::read(row)?,
        credential: credential::read(row)?,
        reseller: reseller::read(row)?,
    })
}
