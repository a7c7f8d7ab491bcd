use chancery_domain::{ApiKey, ApiKeyId, Client, ClientId, ClientSecret, Name, ResellerId, SecretHash, Timestamp};

use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

const CLIENT: &str = "id, reseller_id, name, scopes, disabled, expires_at, created_at, updated_at, version";
const API_KEY: &str = "id, reseller_id, name, scopes, hash, revoked_at, created_at";

impl Tx<'_> {
    pub fn insert_client(&mut self, client: &Client) -> Result<(), StoreError> {
        self.put(
            &format!("INSERT INTO clients ({CLIENT}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"),
            params![
                client.id,
                client.reseller,
                client.name.as_str(),
                client.scopes.to_string(),
                client.disabled,
                client.expires_at,
                client.created_at,
                client.updated_at,
                client.version,
            ],
        )?;
        self.write_secrets(client)
    }

    /// The client with its live secrets.
    pub fn client(&mut self, id: ClientId) -> Result<Option<Client>, StoreError> {
        let sql = format!("SELECT {CLIENT} FROM clients WHERE id = ?1");
        let Some(mut client) = self.query_one(&sql, params![id], read_client)? else { return Ok(None) };
        let sql = "SELECT hash, created_at FROM client_secrets WHERE client_id = ?1 ORDER BY created_at, hash";
        client.secrets =
            self.query(sql, params![id], |row| Ok(ClientSecret { hash: read_hash(row)?, created_at: row.time()? }))?;
        Ok(Some(client))
    }

    /// The clients of a reseller, newest first, without their secrets.
    pub fn clients(&mut self, reseller: ResellerId) -> Result<Vec<Client>, StoreError> {
        let sql = format!("SELECT {CLIENT} FROM clients WHERE reseller_id = ?1 ORDER BY id DESC");
        self.query(&sql, params![reseller], read_client)
    }

    /// How many clients of a reseller can sign in, and how many there are with those that cannot.
    pub fn count_clients(&mut self, reseller: ResellerId, now: Timestamp) -> Result<(i64, i64), StoreError> {
        let sql =
            "SELECT COUNT(CASE WHEN disabled = 0 AND (expires_at IS NULL OR expires_at > ?2) THEN 1 END), COUNT(*)
                   FROM clients WHERE reseller_id = ?1";
        let counted = self.query_one(sql, params![reseller, now], |row| Ok((row.int()?, row.int()?)))?;
        Ok(counted.unwrap_or_default())
    }

    pub fn save_client(&mut self, client: &Client) -> Result<(), StoreError> {
        self.update(
            "client",
            client.id,
            "UPDATE clients SET name = ?3, scopes = ?4, disabled = ?5, expires_at = ?6, updated_at = ?7,
             version = version + 1 WHERE id = ?1 AND version = ?2",
            params![
                client.id,
                client.version,
                client.name.as_str(),
                client.scopes.to_string(),
                client.disabled,
                client.expires_at,
                client.updated_at,
            ],
        )?;
        self.put("DELETE FROM client_secrets WHERE client_id = ?1", params![client.id])?;
        self.write_secrets(client)
    }

    pub fn insert_api_key(&mut self, key: &ApiKey) -> Result<(), StoreError> {
        self.put(
            &format!("INSERT INTO api_keys ({API_KEY}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"),
            params![
                key.id,
                key.reseller,
                key.name.as_str(),
                key.scopes.to_string(),
                key.hash.0.as_slice(),
                key.revoked_at,
                key.created_at,
            ],
        )?;
        Ok(())
    }

    pub fn api_key(&mut self, id: ApiKeyId) -> Result<Option<ApiKey>, StoreError> {
        self.query_one(&format!("SELECT {API_KEY} FROM api_keys WHERE id = ?1"), params![id], read_api_key)
    }

    /// The API keys of a reseller, newest first.
    pub fn api_keys(&mut self, reseller: ResellerId) -> Result<Vec<ApiKey>, StoreError> {
        let sql = format!("SELECT {API_KEY} FROM api_keys WHERE reseller_id = ?1 ORDER BY id DESC");
        self.query(&sql, params![reseller], read_api_key)
    }

    /// Revokes a key; `false` when there is none that is live.
    pub fn revoke_api_key(&mut self, id: ApiKeyId, now: Timestamp) -> Result<bool, StoreError> {
        let sql = "UPDATE api_keys SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL";
        Ok(self.execute(sql, params![id, now])? == 1)
    }

    fn write_secrets(&mut self, client: &Client) -> Result<(), StoreError> {
        for secret in &client.secrets {
            self.put(
                "INSERT INTO client_secrets (client_id, hash, created_at) VALUES (?1, ?2, ?3)",
                params![client.id, secret.hash.0.as_slice(), secret.created_at],
            )?;
        }
        Ok(())
    }
}

fn read_client(row: &mut Columns<'_>) -> Result<Client, StoreError> {
    Ok(Client {
        id: row.parsed()?,
        reseller: row.parsed()?,
        name: row.through(Name::parse)?,
        scopes: row.parsed()?,
        disabled: row.flag()?,
        expires_at: row.time_or_none()?,
        created_at: row.time()?,
        updated_at: row.time()?,
        version: row.int()?,
        secrets: Vec::new(),
    })
}

fn read_api_key(row: &mut Columns<'_>) -> Result<ApiKey, StoreError> {
    Ok(ApiKey {
        id: row.parsed()?,
        reseller: row.parsed()?,
        name: row.through(Name::parse)?,
        scopes: row.parsed()?,
        hash: read_hash(row)?,
        revoked_at: row.time_or_none()?,
        created_at: row.time()?,
    })
}

fn read_hash(row: &mut Columns<'_>) -> Result<SecretHash, StoreError> {
    row.bytes()?.try_into().map(SecretHash).map_err(|_| StoreError::corrupt("a secret's hash"))
}
