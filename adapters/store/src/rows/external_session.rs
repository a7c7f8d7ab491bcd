//! Who is signed in to the console through an external OpenID provider.

use chancery_domain::{ResellerId, ScopeSet, SecretHash, Timestamp};

use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

/// A session as it is kept.
#[derive(Clone)]
pub struct ExternalSession {
    /// Of the token that the browser has.
    pub token: SecretHash,
    /// Of what the sign-in was begun with.
    pub state: SecretHash,
    pub issuer: String,
    pub subject: String,
    /// What the provider calls the person.
    pub name: String,
    pub reseller: ResellerId,
    pub scopes: ScopeSet,
    pub created_at: Timestamp,
    pub seen_at: Timestamp,
    pub expires_at: Timestamp,
}

const COLUMNS: &str =
    "token_hash, state_hash, issuer, subject, name, reseller_id, scopes, created_at, seen_at, expires_at";

impl Tx<'_> {
    /// Says whether it was kept: a sign-in begins one session, and this one had begun one before.
    pub fn insert_external_session(&mut self, session: &ExternalSession) -> Result<bool, StoreError> {
        let kept = self.execute(
            &format!(
                "INSERT INTO console_external_sessions ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
                 ON CONFLICT (state_hash) DO NOTHING"
            ),
            params![
                session.token.0.as_slice(),
                session.state.0.as_slice(),
                session.issuer.as_str(),
                session.subject.as_str(),
                session.name.as_str(),
                session.reseller,
                session.scopes.to_string(),
                session.created_at,
                session.seen_at,
                session.expires_at,
            ],
        )?;
        Ok(kept == 1)
    }

    /// One that was not ended.
    pub fn external_session(&mut self, token: &SecretHash) -> Result<Option<ExternalSession>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM console_external_sessions WHERE token_hash = ?1 AND ended_at IS NULL");
        self.query_one(&sql, params![token.0.as_slice()], read)
    }

    /// Notes that somebody is still there.
    pub fn touch_external_session(&mut self, token: &SecretHash, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE console_external_sessions SET seen_at = ?2 WHERE token_hash = ?1";
        self.execute(sql, params![token.0.as_slice(), now]).map(drop)
    }

    /// Ends a session. What it was begun with is remembered until it would have expired.
    pub fn end_external_session(&mut self, token: &SecretHash, now: Timestamp) -> Result<bool, StoreError> {
        let sql = "UPDATE console_external_sessions SET ended_at = ?2 WHERE token_hash = ?1 AND ended_at IS NULL";
        Ok(self.execute(sql, params![token.0.as_slice(), now])? == 1)
    }

    /// Ends sessions of a person, and says how many: up to `most` of those older than the newest `keep`.
    pub fn end_external_sessions(
        &mut self,
        issuer: &str,
        subject: &str,
        now: Timestamp,
        keep: u32,
        most: u32,
    ) -> Result<u64, StoreError> {
        self.execute(
            "UPDATE console_external_sessions SET ended_at = ?3 WHERE token_hash IN (
                SELECT token_hash FROM console_external_sessions
                WHERE issuer = ?1 AND subject = ?2 AND ended_at IS NULL
                ORDER BY created_at DESC, token_hash LIMIT ?4 OFFSET ?5)",
            params![issuer, subject, now, most, keep],
        )
    }

    /// Sessions of a person that are remembered, those that have ended included; counts to `most`.
    pub fn count_external_sessions(&mut self, issuer: &str, subject: &str, most: u32) -> Result<i64, StoreError> {
        let sql = "SELECT count(*) FROM (SELECT 1 FROM console_external_sessions
                   WHERE issuer = ?1 AND subject = ?2 LIMIT ?3) AS remembered";
        let count = self.query_one(sql, params![issuer, subject, most], |row| row.int())?;
        Ok(count.unwrap_or(0))
    }

    /// Ends up to `most` sessions of people of a reseller, and says how many. Those that have expired by now need no end.
    pub fn end_external_sessions_of(
        &mut self,
        reseller: ResellerId,
        now: Timestamp,
        most: u32,
    ) -> Result<u64, StoreError> {
        self.execute(
            "UPDATE console_external_sessions SET ended_at = ?2 WHERE token_hash IN (
                SELECT token_hash FROM console_external_sessions
                WHERE reseller_id = ?1 AND ended_at IS NULL AND expires_at > ?2 LIMIT ?3)",
            params![reseller, now, most],
        )
    }

    /// Forgets up to `most` sessions that expired before, and says how many.
    pub fn forget_external_sessions(&mut self, before: Timestamp, most: u32) -> Result<u64, StoreError> {
        self.execute(
            "DELETE FROM console_external_sessions WHERE token_hash IN (
                SELECT token_hash FROM console_external_sessions WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2)",
            params![before, most],
        )
    }
}

fn read(row: &mut Columns<'_>) -> Result<ExternalSession, StoreError> {
    Ok(ExternalSession {
        token: hash(row)?,
        state: hash(row)?,
        issuer: row.text()?,
        subject: row.text()?,
        name: row.text()?,
        reseller: row.parsed()?,
        scopes: ScopeSet::from_foreign(&row.text()?),
        created_at: row.time()?,
        seen_at: row.time()?,
        expires_at: row.time()?,
    })
}

fn hash(row: &mut Columns<'_>) -> Result<SecretHash, StoreError> {
    row.bytes()?.try_into().map(SecretHash).map_err(|_| StoreError::corrupt("a secret's hash"))
}
