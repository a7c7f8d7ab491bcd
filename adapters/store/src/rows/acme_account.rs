use chancery_domain::{AcmeAccount, AcmeAccountId, AcmeAccountState, Contact, Kid, Timestamp};

use super::NEWEST_FIRST;
use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

pub(super) const COLUMNS: &str =
    "id, reseller_id, account_id, kid, jwk, thumbprint, contacts, terms_agreed_at, state, state_at,
    created_at, updated_at, version";

impl Tx<'_> {
    /// Adds an ACME account. A key that another has is a conflict: run again, the unit finds that one.
    pub fn insert_acme_account(&mut self, account: &AcmeAccount) -> Result<(), StoreError> {
        let (state, state_at) = write_state(account);
        self.update(
            "ACME account",
            account.id,
            &format!(
                "INSERT INTO acme_accounts ({COLUMNS})
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) ON CONFLICT DO NOTHING"
            ),
            params![
                account.id,
                account.reseller,
                account.account,
                account.kid,
                account.jwk.as_str(),
                account.thumbprint.as_str(),
                write_contacts(&account.contacts),
                account.terms_agreed_at,
                state,
                state_at,
                account.created_at,
                account.updated_at,
                account.version,
            ],
        )
    }

    pub fn acme_account(&mut self, id: AcmeAccountId) -> Result<Option<AcmeAccount>, StoreError> {
        self.query_one(&format!("SELECT {COLUMNS} FROM acme_accounts WHERE id = ?1"), params![id], read)
    }

    /// Whether any account has this key.
    pub fn is_account_key(&mut self, thumbprint: &str) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM acme_accounts WHERE thumbprint = ?1";
        Ok(self.query_one(sql, params![thumbprint], |_| Ok(()))?.is_some())
    }

    /// The ACME account with this key.
    pub fn acme_account_by_key(&mut self, thumbprint: &str) -> Result<Option<AcmeAccount>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM acme_accounts WHERE thumbprint = ?1");
        self.query_one(&sql, params![thumbprint], read)
    }

    /// The account, which nobody else can hold or change until the unit of work ends.
    pub fn claim_acme_account(&mut self, id: AcmeAccountId) -> Result<Option<AcmeAccount>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM acme_accounts WHERE id = ?1");
        Ok(self.query_claimed(&sql, params![id], read)?.pop())
    }

    /// The newest `most` ACME accounts that a credential has bound.
    pub fn bound_acme_accounts(&mut self, kid: Kid, most: u32) -> Result<Vec<AcmeAccountId>, StoreError> {
        let sql = format!("SELECT id FROM acme_accounts WHERE kid = ?1 ORDER BY id {NEWEST_FIRST} LIMIT ?2");
        self.query(&sql, params![kid, most], |row| row.parsed())
    }

    pub fn save_acme_account(&mut self, account: &AcmeAccount) -> Result<(), StoreError> {
        let (state, state_at) = write_state(account);
        self.update(
            "ACME account",
            account.id,
            "UPDATE acme_accounts SET jwk = ?3, thumbprint = ?4, contacts = ?5, terms_agreed_at = ?6, state = ?7,
             state_at = ?8, updated_at = ?9, version = version + 1 WHERE id = ?1 AND version = ?2",
            params![
                account.id,
                account.version,
                account.jwk.as_str(),
                account.thumbprint.as_str(),
                write_contacts(&account.contacts),
                account.terms_agreed_at,
                state,
                state_at,
                account.updated_at,
            ],
        )
    }
}

fn write_contacts(contacts: &[Contact]) -> String {
    let texts: Vec<_> = contacts.iter().map(ToString::to_string).collect();
    serde_json::to_string(&texts).expect("a list of texts is JSON")
}

fn read_contacts(text: &str) -> Result<Vec<Contact>, StoreError> {
    let texts: Vec<String> = serde_json::from_str(text).map_err(StoreError::corrupt)?;
    texts.iter().map(|text| Contact::parse(text).map_err(StoreError::corrupt)).collect()
}

fn write_state(account: &AcmeAccount) -> (&'static str, Timestamp) {
    match account.state {
        AcmeAccountState::Active => ("active", account.updated_at),
        AcmeAccountState::Deactivated { at } => ("deactivated", at),
        AcmeAccountState::Revoked { at } => ("revoked", at),
    }
}

fn read_state(state: &str, at: Timestamp) -> Result<AcmeAccountState, StoreError> {
    match state {
        "active" => Ok(AcmeAccountState::Active),
        "deactivated" => Ok(AcmeAccountState::Deactivated { at }),
        "revoked" => Ok(AcmeAccountState::Revoked { at }),
        _ => Err(StoreError::corrupt("acme_accounts.state")),
    }
}

pub(super) fn read(row: &mut Columns<'_>) -> Result<AcmeAccount, StoreError> {
    Ok(AcmeAccount {
        id: row.parsed()?,
        reseller: row.parsed()?,
        account: row.parsed()?,
        kid: row.parsed()?,
        jwk: row.text()?,
        thumbprint: row.text()?,
        contacts: row.through(read_contacts)?,
        terms_agreed_at: row.time_or_none()?,
        state: read_state(&row.text()?, row.time()?)?,
        created_at: row.time()?,
        updated_at: row.time()?,
        version: row.int()?,
    })
}
