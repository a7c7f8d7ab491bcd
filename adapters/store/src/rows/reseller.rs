use chancery_domain::{Name, Page, PageRequest, Reseller, ResellerCode, ResellerId};

use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

pub(super) const COLUMNS: &str = "id, code, name, suspended, created_at, updated_at, version";

impl Tx<'_> {
    /// Adds a reseller; `false` when the code is taken.
    pub fn insert_reseller(&mut self, reseller: &Reseller) -> Result<bool, StoreError> {
        let added = self.execute(
            &format!("INSERT INTO resellers ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING"),
            params![
                reseller.id,
                reseller.code.as_str(),
                reseller.name.as_str(),
                reseller.suspended,
                reseller.created_at,
                reseller.updated_at,
                reseller.version,
            ],
        )?;
        Ok(added == 1)
    }

    pub fn reseller(&mut self, id: ResellerId) -> Result<Option<Reseller>, StoreError> {
        self.query_one(&format!("SELECT {COLUMNS} FROM resellers WHERE id = ?1"), params![id], read)
    }

    pub fn reseller_by_code(&mut self, code: &str) -> Result<Option<Reseller>, StoreError> {
        self.query_one(&format!("SELECT {COLUMNS} FROM resellers WHERE code = ?1"), params![code], read)
    }

    /// All of them, newest first.
    pub fn resellers(&mut self, page: &PageRequest) -> Result<Page<Reseller>, StoreError> {
        let sql = &format!("SELECT {COLUMNS} FROM resellers WHERE id < ?1 ORDER BY id DESC LIMIT ?2");
        let rows = |tx: &mut Self, after, limit| tx.query(sql, params![after, limit], read);
        self.page(page, rows, |reseller| reseller.id.to_string())
    }

    pub fn save_reseller(&mut self, reseller: &Reseller) -> Result<(), StoreError> {
        self.update(
            "reseller",
            reseller.id,
            "UPDATE resellers SET name = ?3, suspended = ?4, updated_at = ?5, version = version + 1
             WHERE id = ?1 AND version = ?2",
            params![reseller.id, reseller.version, reseller.name.as_str(), reseller.suspended, reseller.updated_at],
        )
    }
}

pub(super) fn read(row: &mut Columns<'_>) -> Result<Reseller, StoreError> {
    Ok(Reseller {
        id: row.parsed()?,
        code: row.through(ResellerCode::parse)?,
        name: row.through(Name::parse)?,
        suspended: row.flag()?,
        created_at: row.time()?,
        updated_at: row.time()?,
        version: row.int()?,
    })
}
