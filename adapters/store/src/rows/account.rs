use chancery_domain::{
    Account, AccountId, AccountNumber, EmailAddress, ExternalId, Kid, Metadata, Page, PageRequest, ResellerId,
};

use super::{NEWEST_FIRST, OWN, OWN_KID};
use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::{Value, params};

/// Which accounts of a reseller to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountFilter {
    /// The key of an e-mail address.
    pub email_key: Option<String>,
    pub suspended: Option<bool>,
    pub include_deleted: bool,
}

/// Read in this order by `read`; the fifth says whether the root credential is revoked. That is looked up by the account
/// and not by the key id: key ids are random, so each of a page's would lie on another page of the index.
macro_rules! columns {
    () => {
        "accounts.id, accounts.number, accounts.reseller_id, accounts.kid,
        (SELECT revoked_at FROM eab_credentials WHERE eab_credentials.account_id = accounts.id AND is_root = 1),
        accounts.email, accounts.external_id, accounts.metadata, accounts.suspended, accounts.deleted_at,
        accounts.created_at, accounts.updated_at, accounts.version"
    };
}
pub(super) const COLUMNS: &str = columns!();
pub(super) const SELECT: &str = concat!("SELECT ", columns!(), " FROM accounts");

impl Tx<'_> {
    /// The next integer `id` of an account or a credential.
    pub fn next_account_number(&mut self) -> Result<AccountNumber, StoreError> {
        self.next_number("account_number").map(AccountNumber)
    }

    /// Adds an account; `false` when another live one has its e-mail address or its external id.
    pub fn insert_account(&mut self, account: &Account) -> Result<bool, StoreError> {
        let added = self.execute(
            "INSERT INTO accounts (id, number, reseller_id, kid, email, email_key, external_id, metadata, suspended,
             deleted_at, created_at, updated_at, version)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) ON CONFLICT DO NOTHING",
            params![
                account.id,
                account.number.0,
                account.reseller,
                account.kid,
                account.email.as_str(),
                account.email.key(),
                account.external_id.as_ref().map(ExternalId::as_str),
                write_metadata(&account.metadata),
                account.suspended,
                account.terminated_at,
                account.created_at,
                account.updated_at,
                account.version,
            ],
        )?;
        Ok(added == 1)
    }

    pub fn account(&mut self, reseller: ResellerId, id: AccountId) -> Result<Option<Account>, StoreError> {
        self.query_one(&format!("{SELECT} WHERE {OWN}"), params![id, reseller], read)
    }

    /// The account, which then stays as it is until the unit of work ends.
    pub fn hold_account(&mut self, reseller: ResellerId, id: AccountId) -> Result<Option<Account>, StoreError> {
        self.query_held(&format!("{SELECT} WHERE {OWN}"), params![id, reseller], read)
    }

    /// The account, which nobody else can hold or change until the unit of work ends: of many who change one at the
    /// same instant, each finds it as the one before has left it. Claimed after the groups that are claimed.
    pub fn claim_account(&mut self, reseller: ResellerId, id: AccountId) -> Result<Option<Account>, StoreError> {
        let sql = format!("{SELECT} WHERE {OWN}");
        Ok(self.query_claimed(&sql, params![id, reseller], read)?.pop())
    }

    pub fn account_by_number(&mut self, reseller: ResellerId, number: i64) -> Result<Option<Account>, StoreError> {
        self.query_one(&format!("{SELECT} WHERE number = ?1 AND reseller_id = ?2"), params![number, reseller], read)
    }

    pub fn account_by_kid(&mut self, reseller: ResellerId, kid: Kid) -> Result<Option<Account>, StoreError> {
        self.query_one(&format!("{SELECT} WHERE {OWN_KID}"), params![kid, reseller], read)
    }

    /// The live account with this address, or else the one that had it last.
    pub fn account_by_email(&mut self, reseller: ResellerId, key: &str) -> Result<Option<Account>, StoreError> {
        let live = format!("{SELECT} WHERE reseller_id = ?1 AND email_key = ?2 AND deleted_at IS NULL");
        if let Some(found) = self.query_one(&live, params![reseller, key], read)? {
            return Ok(Some(found));
        }
        let last = format!("{SELECT} WHERE reseller_id = ?1 AND email_key = ?2 ORDER BY id DESC LIMIT 1");
        self.query_one(&last, params![reseller, key], read)
    }

    /// The live account with this external id.
    pub fn account_by_external_id(
        &mut self,
        reseller: ResellerId,
        external_id: &str,
    ) -> Result<Option<Account>, StoreError> {
        let sql = format!("{SELECT} WHERE reseller_id = ?1 AND external_id = ?2 AND deleted_at IS NULL");
        self.query_one(&sql, params![reseller, external_id], read)
    }

    /// A page of a reseller's accounts, newest first.
    pub fn accounts(
        &mut self,
        reseller: ResellerId,
        filter: &AccountFilter,
        page: &PageRequest,
    ) -> Result<Page<Account>, StoreError> {
        let mut sql = format!("{SELECT} WHERE reseller_id = ?1 AND id < ?2");
        let mut params = vec![Value::from(reseller), Value::Null, Value::Null];
        if !filter.include_deleted {
            sql.push_str(" AND deleted_at IS NULL");
        }
        if let Some(key) = &filter.email_key {
            params.push(Value::from(key.as_str()));
            sql.push_str(&format!(" AND email_key = ?{}", params.len()));
        }
        if let Some(suspended) = filter.suspended {
            params.push(Value::from(suspended));
            // An address is the narrower of the two: the sign keeps the index on suspension out of its way.
            let sign = if filter.email_key.is_some() { "+" } else { "" };
            sql.push_str(&format!(" AND {sign}suspended = ?{}", params.len()));
        }
        sql.push_str(&format!(" ORDER BY id {NEWEST_FIRST} LIMIT ?3"));
        let rows = |tx: &mut Self, after: String, limit: i64| {
            let mut params = params.clone();
            (params[1], params[2]) = (after.into(), limit.into());
            tx.query(&sql, &params, read)
        };
        self.page(page, rows, |account| account.id.to_string())
    }

    /// Saves what may change of an account. The caller has made sure that its address and external id are free.
    pub fn save_account(&mut self, account: &Account) -> Result<(), StoreError> {
        self.update(
            "account",
            account.id,
            "UPDATE accounts SET email = ?3, email_key = ?4, external_id = ?5, metadata = ?6, suspended = ?7,
             deleted_at = ?8, updated_at = ?9, version = version + 1 WHERE id = ?1 AND version = ?2",
            params![
                account.id,
                account.version,
                account.email.as_str(),
                account.email.key(),
                account.external_id.as_ref().map(ExternalId::as_str),
                write_metadata(&account.metadata),
                account.suspended,
                account.terminated_at,
                account.updated_at,
            ],
        )
    }
}

pub(super) fn read(row: &mut Columns<'_>) -> Result<Account, StoreError> {
    Ok(Account {
        id: row.parsed()?,
        number: AccountNumber(row.int()?),
        reseller: row.parsed()?,
        kid: row.parsed()?,
        root_revoked: row.int_or_none()?.is_some(),
        email: row.through(EmailAddress::parse)?,
        external_id: row.through_or_none(ExternalId::parse)?,
        metadata: Metadata::from_stored(row.through(|text| serde_json::from_str(text))?),
        suspended: row.flag()?,
        terminated_at: row.time_or_none()?,
        created_at: row.time()?,
        updated_at: row.time()?,
        version: row.int()?,
    })
}

fn write_metadata(metadata: &Metadata) -> String {
    serde_json::to_string(metadata.pairs()).expect("a map of texts is JSON")
}
