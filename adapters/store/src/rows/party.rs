use std::sync::LazyLock;

use chancery_domain::{Account, AcmeAccount, AcmeAccountId, EabCredential, Reseller};

use super::{account, acme_account, credential, reseller};
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
         WHERE acme_accounts.id = $1",
        account::COLUMNS
    )
});

impl Tx<'_> {
    pub fn party(&mut self, id: AcmeAccountId) -> Result<Option<Party>, StoreError> {
        self.query_one(&SELECT, params![id], read)
    }

    /// The same, where customer, ACME account and credential stay as they are until the unit of work ends.
    pub fn hold_party(&mut self, id: AcmeAccountId) -> Result<Option<Party>, StoreError> {
        let held = self.query_held_of("accounts, acme_accounts, eab_credentials", &SELECT, params![id], read)?;
        self.with_reseller_of_now(held)
    }

    /// The same, where only the ACME account and the credential stay: for units that claim one of them, which comes after
    /// customers are held.
    pub fn hold_speaker(&mut self, id: AcmeAccountId) -> Result<Option<Party>, StoreError> {
        let held = self.query_held_of("acme_accounts, eab_credentials", &SELECT, params![id], read)?;
        self.with_reseller_of_now(held)
    }

    /// Whoever waits for rows to hold finds those as they are then, and all others as they were before. The reseller is
    /// not held, since every unit of work of all their customers would write on that row; so they are read once more.
    fn with_reseller_of_now(&mut self, held: Option<Party>) -> Result<Option<Party>, StoreError> {
        let Some(mut party) = held else { return Ok(None) };
        if self.is_postgres()
            && let Some(now) = self.reseller(party.reseller.id)?
        {
            party.reseller = now;
        }
        Ok(Some(party))
    }
}

fn qualified(table: &str, columns: &str) -> String {
    let columns: Vec<_> = columns.split(',').map(|column| format!("{table}.{}", column.trim())).collect();
    columns.join(", ")
}

fn read(row: &mut Columns<'_>) -> Result<Party, StoreError> {
    Ok(Party {
        acme_account: acme_account::read(row)?,
        account: account::read(row)?,
        credential: credential::read(row)?,
        reseller: reseller::read(row)?,
    })
}
