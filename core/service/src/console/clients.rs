//! A reseller's own API clients: seen by whoever is signed in, and the one that is signed in renewed.

use chancery_domain::{Client, Problems, Scope, Secret};
use chancery_store::Tx;
use serde_json::json;

use super::{Console, Person, Session};
use crate::caller::Caller;
use crate::error::{Noun, ServiceError};
use crate::identity::{draw_secret, hash_secret};

impl Console {
    /// The clients of the caller's reseller, newest first, without their secrets.
    pub async fn clients(&self, caller: &Caller) -> Result<Vec<Client>, ServiceError> {
        caller.require(Scope::ReadAccount)?;
        let reseller = caller.reseller;
        self.kernel.store.read(move |tx| Ok::<_, ServiceError>(tx.clients(reseller)?)).await
    }

    /// Adds a second secret to the client that is signed in. The first has to be shown again: a session that was stolen
    /// must not become a secret that outlives it.
    pub async fn begin_rotation(&self, session: &Session, current: &Secret) -> Result<Secret, ServiceError> {
        let secret = draw_secret(self.kernel.entropy.as_ref());
        let (now, fresh) = (self.kernel.now(), hash_secret(secret.reveal()));
        let change =
            move |client: Client| client.begin_rotation(fresh.clone(), now).map_err(|error| refusal("rotation", error));
        self.change(session, current, "client.rotate", change).await?;
        Ok(secret)
    }

    /// Drops the first secret, and with it the sessions that were begun with it. The one that stays has to be shown.
    pub async fn finish_rotation(&self, session: &Session, current: &Secret) -> Result<(), ServiceError> {
        let (now, shown) = (self.kernel.now(), hash_secret(current.reveal()));
        let change = move |client: Client| {
            let newest = client.secrets.last().is_some_and(|newest| newest.hash.matches(&shown));
            if client.secrets.len() > 1 && !newest {
                return Err(refusal("current", "is the old secret; show the new one, which stays"));
            }
            client.finish_rotation(now).map_err(|error| refusal("rotation", error))
        };
        self.change(session, current, "client.finish_rotation", change).await
    }

    async fn change<F>(
        &self,
        session: &Session,
        current: &Secret,
        action: &'static str,
        change: F,
    ) -> Result<(), ServiceError>
    where
        F: Fn(Client) -> Result<Client, ServiceError> + Send + 'static,
    {
        let Person::Client { id, caller, .. } = &session.person else {
            return Err(ServiceError::not_found(Noun::Client));
        };
        // Whoever may only look must not be able to take the secret from those who use it.
        caller.require(Scope::WriteAccount)?;
        let (me, id, caller, shown) = (self.clone(), *id, caller.clone(), hash_secret(current.reveal()));
        self.kernel
            .store
            .write(move |tx: &mut Tx<'_>| {
                let before = tx.client(id)?.ok_or_else(|| ServiceError::not_found(Noun::Client))?;
                if !before.accepts(&shown) {
                    return Err(refusal("current", "is not a secret of this client"));
                }
                let after = change(before)?;
                tx.save_client(&after)?;
                tx.advance_identity_epoch()?;
                let detail = json!({"secrets": after.secrets.len(), "via": "console"});
                me.kernel.audit(tx, &caller, action, id, &detail)
            })
            .await
    }
}

fn refusal(field: &str, why: impl std::fmt::Display) -> ServiceError {
    let mut problems = Problems::default();
    problems.add(field, "invalid", why);
    ServiceError::Invalid(problems)
}
