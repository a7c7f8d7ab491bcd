//! People at the console: who is signed in, and what they look at first.

mod attempts;
mod clients;
mod overview;
mod sign_in;

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::hmac;
use chancery_domain::{Client, ClientId, Name, OperatorKey, OperatorKeyId, Reseller, Secret, Timestamp};
use chancery_store::{ConsoleSession, SessionHolder, Tx};
use data_encoding::BASE64URL_NOPAD;
use serde_json::json;

pub use overview::{Counted, DayOfOrders, Ending, Summary};
pub use sign_in::{Credentials as SignInCredentials, SignInRefusal};

use crate::caller::{Actor, Caller, Origin};
use crate::error::ServiceError;
use crate::identity::hash_secret;
use crate::kernel::Kernel;
use attempts::Attempts;

/// A session ends when nobody has used it for so long.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// And after so long whatever happens.
const LONGEST: Duration = Duration::from_secs(12 * 60 * 60);
/// That somebody is still there is written down no oftener.
const TOUCH: Duration = Duration::from_secs(60);
/// Sessions that one sweep forgets at a time.
const BATCH: u32 = 1000;

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
    pub signed_in_at: Timestamp,
    holder: SessionHolder,
}

/// As whom.
pub enum Person {
    /// A client of a reseller, with all of its scopes.
    Client { id: ClientId, name: Name, reseller: Reseller, caller: Caller },
    /// The operator of this service.
    Operator { id: OperatorKeyId, name: Name, origin: Origin },
}

#[derive(Clone)]
pub struct Console {
    kernel: Arc<Kernel>,
    attempts: Arc<Attempts>,
}

impl Console {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel, attempts: Arc::default() }
    }

    /// Who has this token; nobody once the session, the client, its secret or its reseller has ended.
    pub async fn resume(&self, token: &str, origin: Origin) -> Result<Option<Session>, ServiceError> {
        let (now, hash) = (self.kernel.now(), hash_secret(token));
        let wanted = hash.clone();
        let found = self.kernel.store.glance(move |tx| find(tx, &wanted, &origin, now)).await?;
        let Some((person, stored)) = found else { return Ok(None) };
        if now.since(stored.seen_at) >= TOUCH {
            self.kernel.store.write(move |tx| Ok::<_, ServiceError>(tx.touch_console_session(&hash, now)?)).await?;
        }
        let csrf = csrf_of(token);
        Ok(Some(Session { person, csrf, signed_in_at: stored.created_at, holder: stored.holder }))
    }

    /// Ends one session.
    pub async fn sign_out(&self, session: &Session, token: &str) -> Result<(), ServiceError> {
        let (me, hash, by) = (self.clone(), hash_secret(token), session.person.trace());
        self.kernel
            .store
            .write(move |tx| {
                tx.delete_console_session(&hash)?;
                by.record(&me.kernel, tx, "console.sign_out", &json!({}))
            })
            .await
    }

    /// Ends every session of whoever is signed in, wherever it is.
    pub async fn sign_out_everywhere(&self, session: &Session) -> Result<u64, ServiceError> {
        let (me, holder, by) = (self.clone(), session.holder, session.person.trace());
        self.kernel
            .store
            .write(move |tx| {
                let ended = tx.delete_console_sessions(holder)?;
                by.record(&me.kernel, tx, "console.sign_out_everywhere", &json!({"sessions": ended}))?;
                Ok(ended)
            })
            .await
    }

    /// Forgets sessions that have ended, and says how many.
    pub async fn sweep(&self) -> Result<u64, ServiceError> {
        let (now, mut forgotten) = (self.kernel.now(), 0);
        loop {
            let unit = move |tx: &mut Tx<'_>| Ok::<_, ServiceError>(tx.forget_console_sessions(now, BATCH)?);
            let some = self.kernel.store.write(unit).await?;
            forgotten += some;
            if some < u64::from(BATCH) {
                return Ok(forgotten);
            }
        }
    }
}

impl Session {
    /// Whether a change came from a page of this very session.
    pub fn accepts(&self, csrf: &str) -> bool {
        aws_lc_rs::constant_time::verify_slices_are_equal(self.csrf.as_bytes(), csrf.as_bytes()).is_ok()
    }
}

/// The session's row and the person, if both are still good.
fn find(
    tx: &mut Tx<'_>,
    token: &chancery_domain::SecretHash,
    origin: &Origin,
    now: Timestamp,
) -> Result<Option<(Person, ConsoleSession)>, ServiceError> {
    let Some(stored) = tx.console_session(token)? else { return Ok(None) };
    if now >= stored.expires_at || now.since(stored.seen_at) >= IDLE {
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
    Ok(person.map(|person| (person, stored)))
}

impl Person {
    fn of_client(client: Client, reseller: Reseller, origin: Origin) -> Self {
        let caller = Caller {
            reseller: reseller.id,
            code: reseller.code.clone(),
            actor: Actor::Client(client.id.to_string()),
            scopes: client.scopes,
            acme_account: None,
            acme_key: None,
            origin,
        };
        Self::Client { id: client.id, name: client.name, reseller, caller }
    }

    fn of_operator(key: OperatorKey, origin: Origin) -> Self {
        Self::Operator { id: key.id, name: key.name, origin }
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
    reseller: Option<chancery_domain::ResellerId>,
    actor: Actor,
    origin: Origin,
    subject: String,
}

impl Trace {
    fn record(
        &self,
        kernel: &Kernel,
        tx: &mut Tx<'_>,
        action: &str,
        detail: &serde_json::Value,
    ) -> Result<(), ServiceError> {
        kernel.audit_as(tx, self.reseller, &self.actor, &self.origin, action, &self.subject, detail)
    }
}

/// Follows from the token, which nobody but the browser has: nothing else need be kept.
fn csrf_of(token: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, token.as_bytes());
    BASE64URL_NOPAD.encode(hmac::sign(&key, b"console csrf").as_ref())
}
