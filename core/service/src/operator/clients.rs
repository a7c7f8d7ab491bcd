use chancery_domain::{Action, ApiKey, ApiKeyId, Client, ClientError, ClientId, Name, ResellerId, ScopeSet, Secret};
use chancery_store::Tx;
use serde_json::json;

use super::{Operator, reseller_by_code};
use crate::console::ShutOut;
use crate::error::{Noun, ServiceError};
use crate::identity::{NewClient, NewSecret, api_key_text, draw_secret, hash_secret};
use crate::once::{Once, Outcome};

/// An API key and its only showing.
#[derive(Clone)]
pub struct NewApiKey {
    pub key: ApiKey,
    pub text: Secret,
}

impl Operator {
    pub async fn create_client(&self, reseller: &str, new: NewClient) -> Result<NewSecret, ServiceError> {
        match self.create_client_once(reseller, new, None).await? {
            Outcome::Fresh(made) => Ok(made),
            Outcome::Replayed(_) => {
                Err(ServiceError::internal("a client was made before, without a key to know it by"))
            }
        }
    }

    pub async fn create_client_once(
        &self,
        reseller: &str,
        new: NewClient,
        once: Option<Once<NewSecret>>,
    ) -> Result<Outcome<NewSecret>, ServiceError> {
        let (me, code) = (self.clone(), reseller.to_owned());
        let create = move |tx: &mut Tx<'_>| {
            let reseller = reseller_by_code(tx, &code)?;
            me.kernel.do_once(tx, reseller.id, once.as_ref(), |tx| {
                let made = new.draw(reseller.id, me.kernel.now(), me.kernel.entropy.as_ref());
                tx.insert_client(&made.client)?;
                let detail = json!({"name": new.name.as_str(), "scope": new.scopes.to_string()});
                me.record(tx, Some(reseller.id), Action::ClientCreate, made.client.id, &detail)?;
                Ok(made)
            })
        };
        self.kernel.store.write(create).await
    }

    /// The clients of a reseller, newest first.
    pub async fn clients(&self, reseller: &str) -> Result<Vec<Client>, ServiceError> {
        let code = reseller.to_owned();
        self.kernel
            .store
            .read(move |tx| {
                let reseller = reseller_by_code(tx, &code)?;
                Ok(tx.clients(reseller.id)?)
            })
            .await
    }

    /// Adds a second secret beside the first.
    pub async fn begin_rotation(&self, id: ClientId) -> Result<NewSecret, ServiceError> {
        match self.begin_rotation_once(id, None).await? {
            Outcome::Fresh(made) => Ok(made),
            Outcome::Replayed(_) => {
                Err(ServiceError::internal("a secret was made before, without a key to know it by"))
            }
        }
    }

    pub async fn begin_rotation_once(
        &self,
        id: ClientId,
        once: Option<Once<NewSecret>>,
    ) -> Result<Outcome<NewSecret>, ServiceError> {
        let me = self.clone();
        let rotate = move |tx: &mut Tx<'_>| {
            let before = client(tx, id)?;
            me.kernel.do_once(tx, before.reseller, once.as_ref(), |tx| {
                let secret = draw_secret(me.kernel.entropy.as_ref());
                let (hash, now) = (hash_secret(secret.reveal()), me.kernel.now());
                let (client, _) =
                    me.save_changed(tx, id, Action::ClientRotate, |client| client.begin_rotation(hash.clone(), now))?;
                Ok(NewSecret { client, secret })
            })
        };
        self.kernel.store.write(rotate).await
    }

    /// Drops the first secret.
    pub async fn finish_rotation(&self, id: ClientId) -> Result<Client, ServiceError> {
        let now = self.kernel.now();
        self.change_client(id, Action::ClientFinishRotation, move |client| client.finish_rotation(now)).await
    }

    /// Disables a client, or enables it again: its tokens follow within seconds on every node. Its sessions at the console
    /// end for good.
    pub async fn set_client_disabled(&self, id: ClientId, disabled: bool) -> Result<Client, ServiceError> {
        let now = self.kernel.now();
        let action = if disabled { Action::ClientDisable } else { Action::ClientEnable };
        self.change_client(id, action, move |client| Ok(client.with_disabled(disabled, now))).await
    }

    pub async fn create_api_key(
        &self,
        reseller: &str,
        name: Name,
        scopes: ScopeSet,
    ) -> Result<NewApiKey, ServiceError> {
        let (me, code) = (self.clone(), reseller.to_owned());
        self.kernel
            .store
            .write(move |tx| {
                let now = me.kernel.now();
                let reseller = reseller_by_code(tx, &code)?;
                let id = ApiKeyId::new(now, me.kernel.entropy.as_ref());
                let text = api_key_text(id, me.kernel.entropy.as_ref());
                let key = ApiKey {
                    id,
                    reseller: reseller.id,
                    name: name.clone(),
                    scopes: scopes.clone(),
                    hash: hash_secret(text.reveal()),
                    revoked_at: None,
                    created_at: now,
                };
                tx.insert_api_key(&key)?;
                let detail = json!({"name": key.name.as_str(), "scope": key.scopes.to_string()});
                me.record(tx, Some(reseller.id), Action::ApiKeyCreate, id, &detail)?;
                Ok(NewApiKey { key, text })
            })
            .await
    }

    /// The API keys of a reseller, newest first, revoked ones included.
    pub async fn api_keys(&self, reseller: &str) -> Result<Vec<ApiKey>, ServiceError> {
        let code = reseller.to_owned();
        self.kernel
            .store
            .read(move |tx| {
                let reseller = reseller_by_code(tx, &code)?;
                Ok(tx.api_keys(reseller.id)?)
            })
            .await
    }

    pub async fn revoke_api_key(&self, id: ApiKeyId) -> Result<(), ServiceError> {
        let me = self.clone();
        self.kernel
            .store
            .write(move |tx| {
                let missing = || ServiceError::NotFound(Noun::ApiKey, vec![id.to_string()]);
                let key = tx.api_key(id)?.ok_or_else(missing)?;
                if !tx.revoke_api_key(id, me.kernel.now())? {
                    return Err(missing());
                }
                tx.advance_identity_epoch()?;
                me.record(tx, Some(key.reseller), Action::ApiKeyRevoke, id, &json!({"name": key.name.as_str()}))
            })
            .await
    }

    async fn change_client<F>(&self, id: ClientId, action: Action, change: F) -> Result<Client, ServiceError>
    where
        F: Fn(Client) -> Result<Client, ClientError> + Send + 'static,
    {
        let me = self.clone();
        let (client, more) =
            self.kernel.store.write(move |tx: &mut Tx<'_>| me.save_changed(tx, id, action, &change)).await?;
        ShutOut::Client(id).end_rest(&self.kernel, more).await;
        Ok(client)
    }

    /// The client as it is now, and whether more of its sessions have to be ended.
    fn save_changed(
        &self,
        tx: &mut Tx<'_>,
        id: ClientId,
        action: Action,
        change: impl Fn(Client) -> Result<Client, ClientError>,
    ) -> Result<(Client, bool), ServiceError> {
        let before = client(tx, id)?;
        // When it is enabled too: a sign-in may have been under way when it was disabled.
        let was_disabled = before.disabled;
        let after = change(before).map_err(refusal)?;
        tx.save_client(&after)?;
        tx.advance_identity_epoch()?;
        let reseller: ResellerId = after.reseller;
        let detail = json!({"disabled": after.disabled, "secrets": after.secrets.len()});
        self.record(tx, Some(reseller), action, id, &detail)?;
        let shut_out = was_disabled || after.disabled;
        let more = shut_out && ShutOut::Client(id).end_some(tx, self.kernel.now())?;
        Ok((after, more))
    }
}

fn client(tx: &mut Tx<'_>, id: ClientId) -> Result<Client, ServiceError> {
    tx.client(id)?.ok_or_else(|| ServiceError::NotFound(Noun::Client, vec![id.to_string()]))
}

fn refusal(error: ClientError) -> ServiceError {
    ServiceError::invalid("client", "rotation", error)
}
