//! Signing in: with a client's id and secret, or with an operator's key.

use std::sync::Arc;

use chancery_domain::{Action, ClientId, Secret, SecretHash};
use chancery_overload::Limit;
use chancery_store::{ConsoleSession, SessionHolder, Tx};
use data_encoding::BASE64URL_NOPAD;
use serde_json::json;

use super::login_throttle::Throttled;
use super::{BATCH, Console, LONGEST, MAX_SESSIONS, NewSession, Person};
use crate::caller::Origin;
use crate::error::ServiceError;
use crate::identity::{hash_secret, operator_key_id};

/// What somebody shows.
pub enum Credentials {
    Client { id: String, secret: Secret },
    Operator { key: Secret },
}

/// Why somebody is not let in.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SignInRefusal {
    #[error("unknown client, wrong secret, or the client is disabled or has expired")]
    Client,
    #[error("the operator key is not known, or it is revoked")]
    Operator,
    #[error("the reseller {0} is suspended; ask the operator of this service")]
    Suspended(String),
    #[error("this sign-in was not begun in this browser, or too long ago; begin again")]
    Departure,
    /// With the provider's word for it.
    #[error("the provider did not sign you in ({0}); begin again")]
    Provider(String),
    #[error("what the provider said of you could not be verified; begin again")]
    Unverified,
    #[error("the provider knows you, and says of no reseller here that you may act for it; ask whoever administers it")]
    NoAccess,
    #[error("the provider cannot be reached at the moment; try again")]
    Unavailable,
    #[error("too many attempts; try again in {wait_seconds} s")]
    TooMany { limit: Limit, wait_seconds: u64 },
    #[error(transparent)]
    Service(#[from] ServiceError),
}

impl From<Throttled> for SignInRefusal {
    fn from(Throttled { limit, wait }: Throttled) -> Self {
        Self::TooMany { limit, wait_seconds: (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1) }
    }
}

impl Console {
    /// Begins a session for whoever shows good credentials.
    pub async fn sign_in(&self, shown: Credentials, origin: Origin) -> Result<NewSession, SignInRefusal> {
        let now = self.kernel.now();
        let name = match &shown {
            // Only what is an id: anything else that was typed here may be a secret.
            Credentials::Client { id, .. } => client_id(id).map_or_else(|| "client".to_owned(), |id| id.to_string()),
            Credentials::Operator { .. } => "operator".to_owned(),
        };
        self.throttle.check(&origin.address, &name, now)?;
        let address = origin.address.clone();
        let begun = self.begin(shown, origin).await;
        if let Err(SignInRefusal::Client | SignInRefusal::Operator) = &begun {
            self.throttle.failed(&address, &name, now);
        }
        begun
    }

    async fn begin(&self, shown: Credentials, origin: Origin) -> Result<NewSession, SignInRefusal> {
        // Verify before writing: only good credentials cost a write, and it counts as a request of their reseller.
        let shown = Arc::new(shown);
        let (me, read, from) = (self.clone(), shown.clone(), origin.clone());
        let verify = move |tx: &mut Tx<'_>| {
            let (person, ..) = me.verify(tx, &read, &from)?;
            Ok::<_, SignInRefusal>(person.reseller())
        };
        let reseller = self.kernel.store.glance(verify).await?;
        if let Some(reseller) = reseller {
            self.kernel.rates.request(reseller).await?;
        }
        let token = Secret::new(BASE64URL_NOPAD.encode(&self.kernel.entropy.bytes::<32>()));
        let (me, hash) = (self.clone(), hash_secret(token.reveal()));
        let unit = move |tx: &mut Tx<'_>| {
            let (person, holder, credential) = me.verify(tx, &shown, &origin)?;
            let now = me.kernel.now();
            tx.delete_oldest_console_sessions(holder, MAX_SESSIONS - 1, BATCH).map_err(ServiceError::from)?;
            tx.insert_console_session(&ConsoleSession {
                token: hash.clone(),
                holder,
                credential,
                created_at: now,
                seen_at: now,
                expires_at: now.plus(LONGEST),
            })
            .map_err(ServiceError::from)?;
            person.trace().record(&me.kernel, tx, Action::ConsoleSignIn, &json!({}))?;
            Ok::<_, SignInRefusal>(())
        };
        self.kernel.store_of(reseller).write(unit).await?;
        Ok(NewSession { token, lasts: LONGEST })
    }

    fn verify(&self, tx: &mut Tx<'_>, shown: &Credentials, origin: &Origin) -> Result<Let, SignInRefusal> {
        match shown {
            Credentials::Client { id, secret } => self.client(tx, id, secret, origin),
            Credentials::Operator { key } => self.operator(tx, key, origin),
        }
    }

    fn client(&self, tx: &mut Tx<'_>, id: &str, secret: &Secret, origin: &Origin) -> Result<Let, SignInRefusal> {
        let id = client_id(id).ok_or(SignInRefusal::Client)?;
        let hash = hash_secret(secret.reveal());
        let client = tx.client(id).map_err(ServiceError::from)?;
        let client = client.filter(|client| client.accepts(&hash) && client.is_live(self.kernel.now()));
        let client = client.ok_or(SignInRefusal::Client)?;
        let reseller = tx.reseller(client.reseller).map_err(ServiceError::from)?.ok_or(SignInRefusal::Client)?;
        if reseller.suspended {
            return Err(SignInRefusal::Suspended(reseller.code.to_string()));
        }
        Ok((Person::of_client(client, reseller, origin.clone()), SessionHolder::Client(id), hash))
    }

    fn operator(&self, tx: &mut Tx<'_>, key: &Secret, origin: &Origin) -> Result<Let, SignInRefusal> {
        let id = operator_key_id(key.reveal()).ok_or(SignInRefusal::Operator)?;
        let hash = hash_secret(key.reveal());
        let known = tx.operator_key(id).map_err(ServiceError::from)?;
        let known = known.filter(|known| known.hash.matches(&hash) && known.revoked_at.is_none());
        let known = known.ok_or(SignInRefusal::Operator)?;
        Ok((Person::of_operator(known, origin.clone()), SessionHolder::Operator(id), hash))
    }
}

/// Who is let in, and by what.
type Let = (Person, SessionHolder, SecretHash);

impl From<chancery_store::StoreError> for SignInRefusal {
    fn from(error: chancery_store::StoreError) -> Self {
        Self::Service(error.into())
    }
}

/// The id that was typed, which may have come with a space from where it was copied.
fn client_id(typed: &str) -> Option<ClientId> {
    typed.trim().parse().ok()
}
