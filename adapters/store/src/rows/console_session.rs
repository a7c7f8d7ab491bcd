//! Who is signed in to the console.

use chancery_domain::{ClientId, OperatorKeyId, ResellerId, SecretHash, Timestamp};

use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

/// A session as it is kept.
#[derive(Clone)]
pub struct ConsoleSession {
    /// Of the token that the browser has.
    pub token: SecretHash,
    pub holder: SessionHolder,
    /// Of the secret that was shown to sign in.
    pub credential: SecretHash,
    pub created_at: Timestamp,
    pub seen_at: Timestamp,
    pub expires_at: Timestamp,
}

/// Who signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionHolder {
    Client(ClientId),
    Operator(OperatorKeyId),
}

impl SessionHolder {
    /// The column of its id, and the id.
    fn column(self) -> (&'static str, String) {
        match self {
            Self::Client(id) => ("client_id", id.to_string()),
            Self::Operator(id) => ("operator_key_id", id.to_string()),
        }
    }
}

const COLUMNS: &str = "token_hash, client_id, operator_key_id, credential_hash, created_at, seen_at, expires_at";

impl Tx<'_> {
    pub fn insert_console_session(&mut self, session: &ConsoleSession) -> Result<(), StoreError> {
        let (client, operator) = match session.holder {
            SessionHolder::Client(id) => (Some(id), None),
            SessionHolder::Operator(id) => (None, Some(id)),
        };
        self.execute(
            &format!("INSERT INTO console_sessions ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"),
            params![
                session.token.0.as_slice(),
                client,
                operator,
                session.credential.0.as_slice(),
                session.created_at,
                session.seen_at,
                session.expires_at,
            ],
        )?;
        Ok(())
    }

    pub fn console_session(&mut self, token: &SecretHash) -> Result<Option<ConsoleSession>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM console_sessions WHERE token_hash = ?1");
        self.query_one(&sql, params![token.0.as_slice()], read)
    }

    /// Notes that somebody is still there. One that has ended meanwhile stays ended.
    pub fn touch_console_session(&mut self, token: &SecretHash, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE console_sessions SET seen_at = ?2 WHERE token_hash = ?1";
        self.execute(sql, params![token.0.as_slice(), now]).map(drop)
    }

    pub fn delete_console_session(&mut self, token: &SecretHash) -> Result<bool, StoreError> {
        let sql = "DELETE FROM console_sessions WHERE token_hash = ?1";
        Ok(self.execute(sql, params![token.0.as_slice()])? == 1)
    }

    /// Ends up to `most` sessions of a holder, and says how many.
    pub fn delete_console_sessions(&mut self, holder: SessionHolder, most: u32) -> Result<u64, StoreError> {
        let (column, id) = holder.column();
        let sql = format!(
            "DELETE FROM console_sessions WHERE token_hash IN (
                SELECT token_hash FROM console_sessions WHERE {column} = ?1 LIMIT ?2)"
        );
        self.execute(&sql, params![id, most])
    }

    /// Ends sessions of a holder that has more than `keep`, up to `most` of those older than the newest `keep`.
    pub fn delete_oldest_console_sessions(
        &mut self,
        holder: SessionHolder,
        keep: u32,
        most: u32,
    ) -> Result<u64, StoreError> {
        let (column, id) = holder.column();
        let sql = format!(
            "DELETE FROM console_sessions WHERE token_hash IN (
                SELECT token_hash FROM console_sessions WHERE {column} = ?1
                ORDER BY created_at DESC, token_hash LIMIT ?2 OFFSET ?3)"
        );
        self.execute(&sql, params![id, most, keep])
    }

    /// Ends up to `most` sessions of the clients of a reseller, and says how many.
    pub fn delete_console_sessions_of(&mut self, reseller: ResellerId, most: u32) -> Result<u64, StoreError> {
        self.execute(
            "DELETE FROM console_sessions WHERE token_hash IN (
                SELECT token_hash FROM console_sessions
                WHERE client_id IN (SELECT id FROM clients WHERE reseller_id = ?1) LIMIT ?2)",
            params![reseller, most],
        )
    }

    /// Forgets up to `most` sessions that ended before, and says how many.
    pub fn forget_console_sessions(&mut self, before: Timestamp, most: u32) -> Result<u64, StoreError> {
        self.execute(
            "DELETE FROM console_sessions WHERE token_hash IN (
                SELECT token_hash FROM console_sessions WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2)",
            params![before, most],
        )
    }
}

fn read(row: &mut Columns<'_>) -> Result<ConsoleSession, StoreError> {
    let token = hash(row)?;
    let client = row.through_or_none(str::parse::<ClientId>)?;
    let operator = row.through_or_none(str::parse::<OperatorKeyId>)?;
    let holder = match (client, operator) {
        (Some(id), None) => SessionHolder::Client(id),
        (None, Some(id)) => SessionHolder::Operator(id),
        (Some(_), Some(_)) | (None, None) => return Err(StoreError::corrupt("a session's holder")),
    };
    Ok(ConsoleSession {
        token,
        holder,
        credential: hash(row)?,
        created_at: row.time()?,
        seen_at: row.time()?,
        expires_at: row.time()?,
    })
}

fn hash(row: &mut Columns<'_>) -> Result<SecretHash, StoreError> {
    row.bytes()?.try_into().map(SecretHash).map_err(|_| StoreError::corrupt("a secret's hash"))
}
