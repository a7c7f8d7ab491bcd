use chancery_domain::{IssuerId, Timestamp};

use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

/// A CA certificate and its sealed key.
#[derive(Clone)]
pub struct IssuerRecord {
    pub id: IssuerId,
    pub parent: Option<IssuerId>,
    pub name: String,
    pub kind: IssuerKind,
    pub state: IssuerState,
    pub certificate: Vec<u8>,
    pub sealed: Vec<u8>,
    pub created_at: Timestamp,
}

/// Whether it signs CAs, the service's own TLS certificates, or subscribers' certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssuerKind {
    Root,
    Issuing,
}

/// Whether it signs anything new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssuerState {
    Active,
    Retired,
}

impl IssuerKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Issuing => "issuing",
        }
    }
}

impl IssuerState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Retired => "retired",
        }
    }
}

const COLUMNS: &str = "id, parent_id, name, kind, state, certificate, sealed, created_at";

impl Tx<'_> {
    /// Adds an issuer; `false` when the name is taken.
    pub fn insert_issuer(&mut self, issuer: &IssuerRecord) -> Result<bool, StoreError> {
        let added = self.execute(
            &format!("INSERT INTO issuers ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING"),
            params![
                issuer.id,
                issuer.parent,
                issuer.name.as_str(),
                issuer.kind.as_str(),
                issuer.state.as_str(),
                issuer.certificate.as_slice(),
                issuer.sealed.as_slice(),
                issuer.created_at,
            ],
        )?;
        Ok(added == 1)
    }

    /// All of them, oldest first: roots before what they signed.
    pub fn issuers(&mut self) -> Result<Vec<IssuerRecord>, StoreError> {
        self.query(&format!("SELECT {COLUMNS} FROM issuers ORDER BY id"), params![], read)
    }
}

fn read(row: &mut Columns<'_>) -> Result<IssuerRecord, StoreError> {
    Ok(IssuerRecord {
        id: row.parsed()?,
        parent: row.through_or_none(str::parse::<IssuerId>)?,
        name: row.text()?,
        kind: match row.text()?.as_str() {
            "root" => IssuerKind::Root,
            "issuing" => IssuerKind::Issuing,
            other => return Err(StoreError::corrupt(format!("issuers.kind {other}"))),
        },
        state: match row.text()?.as_str() {
            "active" => IssuerState::Active,
            "retired" => IssuerState::Retired,
            other => return Err(StoreError::corrupt(format!("issuers.state {other}"))),
        },
        certificate: row.bytes()?,
        sealed: row.bytes()?,
        created_at: row.time()?,
    })
}
