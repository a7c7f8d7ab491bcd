use chancery_domain::{
    AccountId, AccountNumber, EabCredential, EabTerms, Kid, Label, Page, PageRequest, ResellerId, Timestamp,
};

use super::{NEWEST_FIRST, OWN_KID};
use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

pub(super) const COLUMNS: &str =
    "id, number, reseller_id, account_id, kid, is_root, label, expires_at, max_bindings, bindings,
    last_used_at, revoked_at, created_at, updated_at, version";

impl Tx<'_> {
    /// Adds a credential with its sealed HMAC key.
    pub fn insert_credential(&mut self, credential: &EabCredential, sealed: &[u8]) -> Result<(), StoreError> {
        self.put(
            &format!(
                "INSERT INTO eab_credentials ({COLUMNS}, sealed)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"
            ),
            params![
                credential.id,
                credential.number.0,
                credential.reseller,
                credential.account,
                credential.kid,
                credential.is_root,
                credential.terms.label.as_ref().map(Label::as_str),
                credential.terms.expires_at,
                credential.terms.max_bindings,
                credential.bindings,
                credential.last_used_at,
                credential.revoked_at,
                credential.created_at,
                credential.updated_at,
                credential.version,
                sealed,
            ],
        )?;
        Ok(())
    }

    pub fn credential(&mut self, reseller: ResellerId, kid: Kid) -> Result<Option<EabCredential>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM eab_credentials WHERE {OWN_KID}");
        self.query_one(&sql, params![kid, reseller], read)
    }

    /// The credential with this key id, whosesoever it is, and its sealed HMAC key.
    pub fn any_credential(&mut self, kid: Kid) -> Result<Option<(EabCredential, Vec<u8>)>, StoreError> {
        let sql = format!("SELECT {COLUMNS}, sealed FROM eab_credentials WHERE kid = ?1");
        self.query_one(&sql, params![kid], |row| Ok((read(row)?, row.bytes()?)))
    }

    /// Notes that a credential was in use. Nothing depends on it, so it neither waits nor makes others wait.
    pub fn touch_credential(&mut self, kid: Kid, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE eab_credentials SET last_used_at = ?2
                   WHERE kid = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)";
        self.put(sql, params![kid, now])
    }

    /// The credential, which stays as it is until the unit of work ends: whoever revokes it waits.
    pub fn hold_credential(&mut self, reseller: ResellerId, kid: Kid) -> Result<Option<EabCredential>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM eab_credentials WHERE {OWN_KID}");
        self.query_held(&sql, params![kid, reseller], read)
    }

    /// A page of an account's credentials, newest first, its first one included.
    pub fn credentials_of_account(
        &mut self,
        account: AccountId,
        page: &PageRequest,
    ) -> Result<Page<EabCredential>, StoreError> {
        self.credential_page("account_id", &account.to_string(), page)
    }

    /// A page of all credentials of a reseller, newest first.
    pub fn credentials_of_reseller(
        &mut self,
        reseller: ResellerId,
        page: &PageRequest,
    ) -> Result<Page<EabCredential>, StoreError> {
        self.credential_page("reseller_id", &reseller.to_string(), page)
    }

    pub fn save_credential(&mut self, credential: &EabCredential) -> Result<(), StoreError> {
        self.update(
            "EAB credential",
            credential.kid,
            "UPDATE eab_credentials SET bindings = ?3, last_used_at = ?4, revoked_at = ?5, updated_at = ?6,
             version = version + 1 WHERE id = ?1 AND version = ?2",
            params![
                credential.id,
                credential.version,
                credential.bindings,
                credential.last_used_at,
                credential.revoked_at,
                credential.updated_at,
            ],
        )
    }

    fn credential_page(&mut self, of: &str, id: &str, page: &PageRequest) -> Result<Page<EabCredential>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM eab_credentials WHERE {of} = ?1 AND id < ?2 ORDER BY id {NEWEST_FIRST} LIMIT ?3"
        );
        let rows = |tx: &mut Self, after, limit| tx.query(&sql, params![id, after, limit], read);
        self.page(page, rows, |credential| credential.id.to_string())
    }
}

pub(super) fn read(row: &mut Columns<'_>) -> Result<EabCredential, StoreError> {
    Ok(EabCredential {
        id: row.parsed()?,
        number: AccountNumber(row.int()?),
        reseller: row.parsed()?,
        account: row.parsed()?,
        kid: row.parsed()?,
        is_root: row.flag()?,
        terms: EabTerms {
            label: row.through_or_none(Label::parse)?,
            expires_at: row.time_or_none()?,
            max_bindings: match row.int_or_none()? {
                Some(most) => Some(u32::try_from(most).map_err(StoreError::corrupt)?),
                None => None,
            },
        },
        bindings: row.int()?,
        last_used_at: row.time_or_none()?,
        revoked_at: row.time_or_none()?,
        created_at: row.time()?,
        updated_at: row.time()?,
        version: row.int()?,
    })
}
