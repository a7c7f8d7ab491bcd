use std::sync::LazyLock;

use chancery_domain::{IssuerId, RevocationReason, Timestamp};

use super::certificate::read_reason;
use super::issuer_chain::narrow;
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
    /// Of an issuing CA whose certificate its parent has revoked.
    pub revocation: Option<IssuerRevocation>,
    /// What its certificates come with, instead of the chain of its own certificate.
    pub preferred: Option<PreferredChain>,
}

impl IssuerRecord {
    /// The number of the chain that is preferred.
    pub fn preferred_number(&self) -> Option<u32> {
        self.preferred.as_ref().map(|preferred| preferred.number)
    }
}

/// The chain of a CA that is given to whoever asks for none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreferredChain {
    pub number: u32,
    /// The certificates up to the root, and with it.
    pub pem: String,
}

/// Where an issuing CA stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssuerStanding {
    pub id: IssuerId,
    pub state: IssuerState,
    pub revoked: bool,
    /// The number of the chain that is preferred.
    pub preferred: Option<u32>,
}

/// Since when a CA is revoked, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssuerRevocation {
    pub at: Timestamp,
    pub reason: RevocationReason,
}

/// Whether it signs CAs, or subscribers' certificates.
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
const REVOCATION: &str = "revoked_at, revocation_reason";

/// Something of the chain that is preferred: an earlier release, which knows of no preference, may have removed it.
fn of_preferred(column: &str) -> String {
    format!(
        "(SELECT {column} FROM issuer_chains
          WHERE issuer_chains.issuer_id = issuers.id AND issuer_chains.number = issuers.preferred_chain)"
    )
}

/// All of an issuer.
static SELECT: LazyLock<String> = LazyLock::new(|| {
    let (number, pem) = (of_preferred("number"), of_preferred("pem"));
    format!("SELECT {COLUMNS}, {REVOCATION}, {number}, {pem} FROM issuers")
});

impl Tx<'_> {
    /// Adds an issuer; `false` when the name is taken.
    pub fn insert_issuer(&mut self, issuer: &IssuerRecord) -> Result<bool, StoreError> {
        let added = self.execute(
            &format!("INSERT INTO issuers ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING"),
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

    /// All of them: roots (the last in the alphabet) before what they signed, each kind oldest first.
    pub fn issuers(&mut self) -> Result<Vec<IssuerRecord>, StoreError> {
        self.query(&format!("{} ORDER BY kind DESC, id", *SELECT), params![], read)
    }

    /// All CAs; whoever else claims them waits until this unit ends: for adding one, or changing where one stands.
    pub fn claim_issuers(&mut self) -> Result<Vec<IssuerRecord>, StoreError> {
        self.query_claimed(&format!("{} ORDER BY id", *SELECT), params![], read)
    }

    /// All CAs; nobody else adds or changes one until this unit ends: for adding the first.
    pub fn claim_hierarchy(&mut self) -> Result<Vec<IssuerRecord>, StoreError> {
        self.claim_table("issuers")?;
        self.issuers()
    }

    /// Which issuing CAs there are and where they stand, cheap enough to be asked every other second.
    pub fn issuer_standings(&mut self) -> Result<Vec<IssuerStanding>, StoreError> {
        let number = of_preferred("number");
        let sql = format!("SELECT id, state, revoked_at, {number} FROM issuers WHERE kind = ?1 ORDER BY id");
        self.query(&sql, params![IssuerKind::Issuing.as_str()], |row| {
            Ok(IssuerStanding {
                id: row.parsed()?,
                state: row.through(read_state)?,
                revoked: row.time_or_none()?.is_some(),
                preferred: row.int_or_none()?.map(narrow).transpose()?,
            })
        })
    }

    /// Notes that a CA is revoked, which retires it as well, and counts that on the list of its parent it belongs on;
    /// `false` where it is revoked already. That its key is compromised is noted all the same, as of the time it was
    /// revoked for something else.
    pub fn revoke_issuer(
        &mut self,
        id: IssuerId,
        list: (IssuerId, i64),
        revocation: IssuerRevocation,
    ) -> Result<bool, StoreError> {
        self.bar("?1", params![id])?;
        let sql = "UPDATE issuers SET state = ?2, revoked_at = ?3, revocation_reason = ?4
                   WHERE id = ?1 AND revoked_at IS NULL";
        let IssuerRevocation { at, reason } = revocation;
        let params = params![id, IssuerState::Retired.as_str(), at, i64::from(reason.code())];
        let revoked = self.execute(sql, params)? == 1;
        let changed = revoked || (reason == RevocationReason::KeyCompromise && self.compromise_issuer(id)?);
        if changed {
            self.count_change(list.0, list.1)?;
        }
        Ok(changed)
    }

    fn compromise_issuer(&mut self, id: IssuerId) -> Result<bool, StoreError> {
        let sql = "UPDATE issuers SET revocation_reason = ?2 WHERE id = ?1 AND revocation_reason <> ?2";
        let reason = i64::from(RevocationReason::KeyCompromise.code());
        Ok(self.execute(sql, params![id, reason])? == 1)
    }

    /// Prefers one of its further chains, or the one of its own certificate.
    pub fn prefer_chain(&mut self, id: IssuerId, number: Option<u32>) -> Result<(), StoreError> {
        let sql = "UPDATE issuers SET preferred_chain = ?2 WHERE id = ?1";
        self.update("issuer", id, sql, params![id, number.map(i64::from)])
    }

    pub fn set_issuer_state(&mut self, id: IssuerId, state: IssuerState) -> Result<(), StoreError> {
        self.update("issuer", id, "UPDATE issuers SET state = ?2 WHERE id = ?1", params![id, state.as_str()])
    }
}

fn read_state(text: &str) -> Result<IssuerState, String> {
    match text {
        "active" => Ok(IssuerState::Active),
        "retired" => Ok(IssuerState::Retired),
        other => Err(format!("issuers.state {other}")),
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
        state: row.through(read_state)?,
        certificate: row.bytes()?,
        sealed: row.bytes()?,
        created_at: row.time()?,
        revocation: match (row.time_or_none()?, row.int_or_none()?) {
            (Some(at), Some(reason)) => Some(IssuerRevocation { at, reason: read_reason(reason)? }),
            (None, _) => None,
            (Some(_), None) => return Err(StoreError::corrupt("issuers.revocation_reason")),
        },
        preferred: match (row.int_or_none()?, row.text_or_none()?) {
            (Some(number), Some(pem)) => Some(PreferredChain { number: narrow(number)?, pem }),
            (None, _) | (_, None) => None,
        },
    })
}
