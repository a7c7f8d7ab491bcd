//! A reseller's own API clients: seen, made, renewed and revoked by whoever is signed in, within what they may do themselves.

use std::sync::Arc;
use std::time::Duration;

use chancery_domain::{Action, Client, ClientId, Scope, ScopeSet, Secret, SecretHash, Timestamp};
use chancery_store::Tx;
use serde_json::json;

use super::{Console, Person, Session, ShutOut};
use crate::caller::Caller;
use crate::error::{Noun, ServiceError};
use crate::identity::{NewClient, NewSecret, draw_secret, hash_secret};
use crate::once::{Once, Outcome};

/// Who has no secret of ours to show again must have signed in so lately.
const FRESH: Duration = Duration::from_secs(15 * 60);
/// Clients of one reseller that can sign in at a time, and with those that no longer can.
const MOST: i64 = 100;
const MOST_EVER: i64 = 1000;
/// How long a client may last that was made or renewed by somebody from a provider, who may be gone there tomorrow.
const BY_OTHERS: Duration = Duration::from_secs(90 * 86_400);

impl Console {
    /// The clients of the caller's reseller, newest first, without their secrets.
    pub async fn clients(&self, caller: &Caller) -> Result<Vec<Client>, ServiceError> {
        caller.require(Scope::ReadAccount)?;
        let reseller = caller.reseller;
        self.kernel.read_in_turn(reseller, move |tx| Ok(tx.clients(reseller)?)).await
    }

    /// One of them.
    pub async fn client_of(&self, caller: &Caller, id: ClientId) -> Result<Client, ServiceError> {
        caller.require(Scope::ReadAccount)?;
        let caller = caller.clone();
        self.kernel.store_of(caller.reseller).read(move |tx| owned(tx, &caller, id)).await
    }

    /// Makes a client that may do no more and lives no longer than whoever makes it.
    pub async fn create_client(
        &self,
        session: &Session,
        current: &Secret,
        new: NewClient,
        once: Option<Once<NewSecret>>,
    ) -> Result<Outcome<NewSecret>, ServiceError> {
        let maker = Arc::new(self.maker(session, current)?);
        let (me, now, by) = (self.clone(), self.kernel.now(), maker.clone());
        let create = move |tx: &mut Tx<'_>, latest: Option<Timestamp>| {
            within(&by.caller, &new.scopes, "scope")?;
            let expires_at = new.expires_at(now);
            if let Some(end) = latest.filter(|end| expires_at.is_none_or(|own| own > *end)) {
                return Err(refusal("days", format!("must end by {end}, as what you signed in with allows")));
            }
            let (live, ever) = tx.count_clients(by.caller.reseller, now)?;
            if live >= MOST {
                return Err(refusal("client", format!("there are {MOST} clients already; revoke some first")));
            }
            if ever >= MOST_EVER {
                let why = format!("there have been {MOST_EVER} clients already; renew one, or ask the operator");
                return Err(refusal("client", why));
            }
            let made = new.draw(by.caller.reseller, now, me.kernel.entropy.as_ref());
            tx.insert_client(&made.client)?;
            let detail = json!({"name": new.name.as_str(), "scope": new.scopes.to_string(), "via": "console"});
            me.kernel.audit(tx, &by.caller, Action::ClientCreate, made.client.id, &detail)?;
            Ok(made)
        };
        self.once_proven(maker, once, create).await
    }

    /// Adds a second secret to a client.
    pub async fn begin_rotation(
        &self,
        session: &Session,
        current: &Secret,
        id: ClientId,
        once: Option<Once<NewSecret>>,
    ) -> Result<Outcome<NewSecret>, ServiceError> {
        let by = Arc::new(self.maker(session, current)?);
        let (me, maker) = (self.clone(), by.clone());
        let rotate = move |tx: &mut Tx<'_>, _| {
            let secret = draw_secret(me.kernel.entropy.as_ref());
            let (now, fresh) = (me.kernel.now(), hash_secret(secret.reveal()));
            let begin =
                |client: Client| client.begin_rotation(fresh.clone(), now).map_err(|error| refusal("rotation", error));
            let client = me.save_changed(tx, &maker, id, Change::Renew(Action::ClientRotate), begin)?;
            Ok(NewSecret { client, secret })
        };
        self.once_proven(by, once, rotate).await
    }

    /// Does what makes a secret. Also what was made before is shown again to somebody alone who proves who they are: a session
    /// that was stolen must not see it.
    async fn once_proven<F>(
        &self,
        by: Arc<Maker>,
        once: Option<Once<NewSecret>>,
        unit: F,
    ) -> Result<Outcome<NewSecret>, ServiceError>
    where
        F: Fn(&mut Tx<'_>, Option<Timestamp>) -> Result<NewSecret, ServiceError> + Send + 'static,
    {
        let (kernel, reseller) = (self.kernel.clone(), by.caller.reseller);
        let proven = move |tx: &mut Tx<'_>| {
            let latest = by.prove(tx, kernel.now())?;
            kernel.do_once(tx, by.caller.reseller, once.as_ref(), |tx| unit(tx, latest))
        };
        self.kernel.store_of(reseller).write(proven).await
    }

    /// Drops the first secret, and with it the sessions that were begun with it. Of the client that is signed in, the one
    /// that stays has to be shown.
    pub async fn finish_rotation(&self, session: &Session, current: &Secret, id: ClientId) -> Result<(), ServiceError> {
        let (now, shown) = (self.kernel.now(), hash_secret(current.reveal()));
        let own = session.person.client() == Some(id);
        let change = move |client: Client| {
            let newest = client.secrets.last().is_some_and(|newest| newest.hash.matches(&shown));
            if own && client.secrets.len() > 1 && !newest {
                return Err(refusal("current", "is the old secret; show the new one, which stays"));
            }
            client.finish_rotation(now).map_err(|error| refusal("rotation", error))
        };
        self.change(session, current, id, Change::Renew(Action::ClientFinishRotation), change).await
    }

    /// Ends a client, its tokens and its sessions. Only the operator can enable it again.
    pub async fn revoke_client(&self, session: &Session, current: &Secret, id: ClientId) -> Result<(), ServiceError> {
        let now = self.kernel.now();
        self.change(session, current, id, Change::Revoke, move |client| Ok(client.with_disabled(true, now))).await
    }

    async fn change<F>(
        &self,
        session: &Session,
        current: &Secret,
        id: ClientId,
        kind: Change,
        change: F,
    ) -> Result<(), ServiceError>
    where
        F: Fn(Client) -> Result<Client, ServiceError> + Send + 'static,
    {
        let (me, by, now) = (self.clone(), self.maker(session, current)?, self.kernel.now());
        let more = self
            .kernel
            .store_of(by.caller.reseller)
            .write(move |tx: &mut Tx<'_>| {
                let after = me.save_changed(tx, &by, id, kind, &change)?;
                Ok::<_, ServiceError>(after.disabled && ShutOut::Client(id).end_some(tx, now)?)
            })
            .await?;
        ShutOut::Client(id).end_rest(&self.kernel, more).await;
        Ok(())
    }

    fn save_changed(
        &self,
        tx: &mut Tx<'_>,
        by: &Maker,
        id: ClientId,
        kind: Change,
        change: impl Fn(Client) -> Result<Client, ServiceError>,
    ) -> Result<Client, ServiceError> {
        let latest = by.prove(tx, self.kernel.now())?;
        let before = owned(tx, &by.caller, id)?;
        // A secret of one that may do more, or lasts longer, would make its holder able to.
        within(&by.caller, &before.scopes, "client")?;
        let action = match kind {
            Change::Renew(action) => {
                if latest.is_some_and(|end| before.expires_at.is_none_or(|own| own > end)) {
                    let why = "lasts longer than what you signed in with allows; ask somebody whose client does";
                    return Err(refusal("client", why));
                }
                action
            }
            Change::Revoke => Action::ClientRevoke,
        };
        let after = change(before)?;
        tx.save_client(&after)?;
        tx.advance_identity_epoch()?;
        let detail = json!({"secrets": after.secrets.len(), "disabled": after.disabled, "via": "console"});
        self.kernel.audit(tx, &by.caller, action, id, &detail)?;
        Ok(after)
    }

    /// Whoever may only look must not be able to take the secret from those who use it.
    fn maker(&self, session: &Session, current: &Secret) -> Result<Maker, ServiceError> {
        let (caller, client) = match &session.person {
            Person::Client { id, caller, .. } => (caller, Some(*id)),
            Person::External { caller, .. } => (caller, None),
            Person::Operator { .. } => return Err(ServiceError::not_found(Noun::Client)),
        };
        caller.require(Scope::WriteAccount)?;
        let fresh = self.kernel.now().since(session.signed_in_at) < FRESH;
        Ok(Maker { caller: caller.clone(), client, shown: hash_secret(current.reveal()), fresh })
    }
}

/// Somebody who makes or changes a client, and what they show for it: a session that was stolen must not become a secret
/// that outlives it.
struct Maker {
    caller: Caller,
    client: Option<ClientId>,
    shown: SecretHash,
    fresh: bool,
}

/// What is done to a client: a secret is given or taken, or it is ended.
#[derive(Clone, Copy)]
enum Change {
    Renew(Action),
    Revoke,
}

impl Maker {
    /// Until when what they make may last; none where that is for ever. They show the secret of the client again that they
    /// signed in with, which still has to be good for it, or have signed in lately.
    fn prove(&self, tx: &mut Tx<'_>, now: Timestamp) -> Result<Option<Timestamp>, ServiceError> {
        let Some(id) = self.client else {
            let late = || refusal("current", "sign out and in again first: it is some time since you signed in");
            return self.fresh.then_some(Some(now.plus(BY_OTHERS))).ok_or_else(late);
        };
        let client = tx.client(id)?.filter(|client| client.is_live(now));
        let client = client.ok_or_else(|| ServiceError::not_found(Noun::Client))?;
        if !self.caller.scopes.is_subset(&client.scopes) {
            return Err(refusal("current", "is of a client that has lost scopes; sign in again"));
        }
        match client.accepts(&self.shown) {
            true => Ok(client.expires_at),
            false => Err(refusal("current", "is not a secret of the client that you signed in with")),
        }
    }
}

fn owned(tx: &mut Tx<'_>, caller: &Caller, id: ClientId) -> Result<Client, ServiceError> {
    let client = tx.client(id)?.filter(|client| client.reseller == caller.reseller);
    client.ok_or_else(|| ServiceError::not_found(Noun::Client))
}

fn within(caller: &Caller, scopes: &ScopeSet, field: &str) -> Result<(), ServiceError> {
    match scopes.is_subset(&caller.scopes) {
        true => Ok(()),
        false => Err(refusal(field, "has scopes that you do not have")),
    }
}

fn refusal(field: &str, why: impl std::fmt::Display) -> ServiceError {
    ServiceError::invalid(field, "invalid", why)
}
