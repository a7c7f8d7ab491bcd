//! People at the console: who is signed in, and what they look at first.

mod clients;
mod departure;
mod eviction;
mod login_throttle;
mod overview;
mod provider;
mod sign_in;

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::hmac;
use chancery_domain::{
    Action, Client, ClientId, Name, OperatorKey, OperatorKeyId, Reseller, ResellerId, ScopeSet, Secret, SecretHash,
    Timestamp,
};
use chancery_store::{ConsoleSession, ExternalSession, SessionHolder, Tx};
use data_encoding::BASE64URL_NOPAD;
use serde_json::json;

pub use departure::Departure;
pub(crate) use eviction::ShutOut;
pub use overview::{Counted, Ending, IssuedOn, Summary};
pub use provider::{ProviderAnswer, ProviderChoice};
pub use sign_in::{Credentials as SignInCredentials, SignInRefusal};

use crate::caller::{Actor, Caller, Origin};
use crate::error::ServiceError;
use crate::identity::{Identity, hash_secret};
use crate::kernel::Kernel;
use login_throttle::LoginThrottle;

/// A session ends when nobody has used it for so long.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// A session ends after so long, however much it is used.
const LONGEST: Duration = Duration::from_secs(12 * 60 * 60);
/// That somebody is still there is written down no oftener.
const TOUCH: Duration = Duration::from_secs(60);
/// Sessions that are ended or forgotten at a time.
const BATCH: u32 = 100;
/// Sessions of one client, operator key or person; one more ends the oldest.
const MAX_SESSIONS: u32 = 100;

/// A new session: the token is for the browser alone.
pub struct NewSession {
    pub token: Secret,
    /// How long it can last at most.
    pub lasts: Duration,
}

/// Somebody who is signed in.
pub struct Session {
    pub person: Person,
    /// What every change has to bring along.
    pub csrf: String,
    /// What forms of this page are called: one that is sent twice is known by it.
    pub form: String,
    pub signed_in_at: Timestamp,
    holder: Holder,
}

/// By what somebody is signed in.
#[derive(Clone)]
enum Holder {
    Key(SessionHolder),
    External { issuer: String, subject: String },
}

/// As whom.
pub enum Person {
    /// A client of a reseller, with all of its scopes.
    Client { id: ClientId, name: Name, reseller: Reseller, caller: Caller },
    /// Somebody that an external provider vouches for, with the scopes that the operator lets it give.
    External { name: String, subject: String, reseller: Reseller, caller: Caller },
    /// The operator of this service.
    Operator { id: OperatorKeyId, name: Name, origin: Origin },
}

#[derive(Clone)]
pub struct Console {
    kernel: Arc<Kernel>,
    identity: Arc<Identity>,
    throttle: Arc<LoginThrottle>,
}

impl Console {
    pub(crate) fn new(kernel: Arc<Kernel>, identity: Arc<Identity>) -> Self {
        Self { kernel, identity, throttle: Arc::default() }
    }

    /// Who has this token; nobody once the session, the client, its secret or its reseller has ended.
    pub async fn resume(&self, token: &str, origin: Origin) -> Result<Option<Session>, ServiceError> {
        let (me, now, hash) = (self.clone(), self.kernel.now(), hash_secret(token));
        let wanted = hash.clone();
        let found = self.kernel.anonymous_store().glance(move |tx| me.find(tx, &wanted, &origin, now)).await?;
        let Some(Found { person, holder, created_at, seen_at }) = found else { return Ok(None) };
        if now.since(seen_at) >= TOUCH {
            let external = matches!(holder, Holder::External { .. });
            let touch = move |tx: &mut Tx<'_>| match external {
                true => tx.touch_external_session(&hash, now),
                false => tx.touch_console_session(&hash, now),
            };
            // Good to know, and no reason to keep anybody from a page.
            let reseller = person.caller().map(|caller| caller.reseller);
            if let Err(error) = self.kernel.store_of(reseller).write(touch).await {
                tracing::warn!(%error, "could not note that a session of the console is in use");
            }
        }
        let form = BASE64URL_NOPAD.encode(&self.kernel.entropy.bytes::<16>());
        Ok(Some(Session { person, csrf: csrf_of(token), form, signed_in_at: created_at, holder }))
    }

    /// Ends one session.
    pub async fn sign_out(&self, session: &Session, token: &str) -> Result<(), ServiceError> {
        let (me, hash, by) = (self.clone(), hash_secret(token), session.person.trace());
        let (now, holder) = (self.kernel.now(), session.holder.clone());
        self.kernel
            .store_of(session.person.reseller())
            .write(move |tx| {
                let ended = match &holder {
                    Holder::Key(_) => tx.delete_console_session(&hash)?,
                    Holder::External { .. } => tx.end_external_session(&hash, now)?,
                };
                if ended { by.record(&me.kernel, tx, Action::ConsoleSignOut, &json!({})) } else { Ok(()) }
            })
            .await
    }

    /// Ends every session of whoever is signed in, wherever it is. A batch is a transaction of its own; the last one is recorded
    /// with the number of all.
    pub async fn sign_out_everywhere(&self, session: &Session) -> Result<u64, ServiceError> {
        let store = self.kernel.store_of(session.person.reseller());
        let mut before = 0_u64;
        loop {
            let (me, now, by) = (self.clone(), self.kernel.now(), session.person.trace());
            let holder = session.holder.clone();
            let batch = move |tx: &mut Tx<'_>| {
                let ended = match &holder {
                    Holder::Key(holder) => tx.delete_console_sessions(*holder, BATCH)?,
                    Holder::External { issuer, subject } => tx.end_external_sessions(issuer, subject, now, 0, BATCH)?,
                };
                let last = ended < u64::from(BATCH);
                if last {
                    let sessions = before + ended;
                    by.record(&me.kernel, tx, Action::ConsoleSignOutEverywhere, &json!({"sessions": sessions}))?;
                }
                Ok::<_, ServiceError>((ended, last))
            };
            let (ended, last) = store.write(batch).await?;
            before += ended;
            if last {
                return Ok(before);
            }
        }
    }

    /// Forgets sessions that have ended, and says how many.
    pub async fn sweep(&self) -> Result<u64, ServiceError> {
        let now = self.kernel.now();
        let by_key = self.kernel.forget(BATCH, move |tx, most| tx.forget_console_sessions(now, most)).await?;
        let external = self.kernel.forget(BATCH, move |tx, most| tx.forget_external_sessions(now, most)).await?;
        Ok(by_key + external)
    }

    /// The person of a session, if both are still good.
    fn find(
        &self,
        tx: &mut Tx<'_>,
        token: &SecretHash,
        origin: &Origin,
        now: Timestamp,
    ) -> Result<Option<Found>, ServiceError> {
        if let Some(stored) = tx.console_session(token)? {
            return find_key(tx, stored, origin, now);
        }
        match tx.external_session(token)? {
            Some(stored) => self.find_external(tx, stored, origin, now),
            None => Ok(None),
        }
    }

    /// What the operator has taken from the provider since is gone from its sessions too.
    fn find_external(
        &self,
        tx: &mut Tx<'_>,
        stored: ExternalSession,
        origin: &Origin,
        now: Timestamp,
    ) -> Result<Option<Found>, ServiceError> {
        let Some(reseller) = tx.reseller(stored.reseller)? else { return Ok(None) };
        let known = self.identity.external().iter().find(|external| external.provider.issuer == stored.issuer);
        let Some(provider) = known.map(|external| &external.provider) else { return Ok(None) };
        let Some(sign_in) = &provider.sign_in else { return Ok(None) };
        let over = has_ended(stored.expires_at, stored.seen_at, now);
        if over || reseller.suspended || !provider.resellers.includes(&reseller.code) {
            return Ok(None);
        }
        let ExternalSession { issuer, subject, name, created_at, seen_at, .. } = stored;
        let scopes = stored.scopes.intersection(&sign_in.scopes);
        let person = Person::of_external(&issuer, &subject, name, scopes, reseller, origin.clone());
        Ok(Some(Found { person, holder: Holder::External { issuer, subject }, created_at, seen_at }))
    }
}

impl Session {
    /// Whether a change came from a page of this very session.
    pub fn accepts(&self, csrf: &str) -> bool {
        aws_lc_rs::constant_time::verify_slices_are_equal(self.csrf.as_bytes(), csrf.as_bytes()).is_ok()
    }
}

/// Somebody who has a session.
struct Found {
    person: Person,
    holder: Holder,
    created_at: Timestamp,
    seen_at: Timestamp,
}

fn has_ended(expires_at: Timestamp, seen_at: Timestamp, now: Timestamp) -> bool {
    now >= expires_at || now.since(seen_at) >= IDLE
}

fn find_key(
    tx: &mut Tx<'_>,
    stored: ConsoleSession,
    origin: &Origin,
    now: Timestamp,
) -> Result<Option<Found>, ServiceError> {
    if has_ended(stored.expires_at, stored.seen_at, now) {
        return Ok(None);
    }
    let person = match stored.holder {
        SessionHolder::Client(id) => {
            let Some(client) = tx.client(id)? else { return Ok(None) };
            let Some(reseller) = tx.reseller(client.reseller)? else { return Ok(None) };
            let good = client.is_live(now) && client.accepts(&stored.credential) && !reseller.suspended;
            good.then(|| Person::of_client(client, reseller, origin.clone()))
        }
        SessionHolder::Operator(id) => {
            let key = tx.operator_key(id)?.filter(|key| key.revoked_at.is_none());
            key.filter(|key| key.hash.matches(&stored.credential)).map(|key| Person::of_operator(key, origin.clone()))
        }
    };
    let (holder, created_at, seen_at) = (Holder::Key(stored.holder), stored.created_at, stored.seen_at);
    Ok(person.map(|person| Found { person, holder, created_at, seen_at }))
}

impl Person {
    fn of_client(client: Client, reseller: Reseller, origin: Origin) -> Self {
        let caller = Caller::of_reseller(&reseller, Actor::Client(client.id.to_string()), client.scopes, origin);
        Self::Client { id: client.id, name: client.name, reseller, caller }
    }

    fn of_external(
        issuer: &str,
        subject: &str,
        name: String,
        scopes: ScopeSet,
        reseller: Reseller,
        origin: Origin,
    ) -> Self {
        // As the trail calls whoever shows a token of this provider.
        let actor = Actor::External(format!("{issuer}#{subject}"));
        let caller = Caller::of_reseller(&reseller, actor, scopes, origin);
        Self::External { name, subject: subject.to_owned(), reseller, caller }
    }

    fn of_operator(key: OperatorKey, origin: Origin) -> Self {
        Self::Operator { id: key.id, name: key.name, origin }
    }

    /// The client that was signed in with, if it was one.
    pub fn client(&self) -> Option<ClientId> {
        match self {
            Self::Client { id, .. } => Some(*id),
            Self::External { .. } | Self::Operator { .. } => None,
        }
    }

    /// The reseller that they act for, if they act for one.
    fn reseller(&self) -> Option<ResellerId> {
        self.caller().map(|caller| caller.reseller)
    }

    /// For whom they act, where they act for a reseller.
    pub fn caller(&self) -> Option<&Caller> {
        match self {
            Self::Client { caller, .. } | Self::External { caller, .. } => Some(caller),
            Self::Operator { .. } => None,
        }
    }

    /// What the audit trail says of it.
    fn trace(&self) -> Trace {
        match self {
            Self::Client { id, caller, .. } => Trace {
                reseller: Some(caller.reseller),
                actor: caller.actor.clone(),
                origin: caller.origin.clone(),
                subject: id.to_string(),
            },
            Self::External { caller, subject, .. } => Trace {
                reseller: Some(caller.reseller),
                actor: caller.actor.clone(),
                origin: caller.origin.clone(),
                subject: subject.clone(),
            },
            Self::Operator { id, name, origin } => Trace {
                reseller: None,
                actor: Actor::Operator(name.to_string()),
                origin: origin.clone(),
                subject: id.to_string(),
            },
        }
    }
}

struct Trace {
    reseller: Option<ResellerId>,
    actor: Actor,
    origin: Origin,
    subject: String,
}

impl Trace {
    fn record(
        &self,
        kernel: &Kernel,
        tx: &mut Tx<'_>,
        action: Action,
        detail: &serde_json::Value,
    ) -> Result<(), ServiceError> {
        kernel.audit_as(tx, self.reseller, &self.actor, &self.origin, action, self.subject.clone(), detail)
    }
}

/// Follows from the token, which nobody but the browser has: nothing else need be kept.
fn csrf_of(token: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, token.as_bytes());
    BASE64URL_NOPAD.encode(hmac::sign(&key, b"console csrf").as_ref())
}
