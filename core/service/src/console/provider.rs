//! Signing in through an external OpenID provider: authorization code with PKCE (OpenID Connect Core section 3.1, RFC 9700).

use std::time::Duration;

use chancery_domain::{Action, Scope, Secret};
use chancery_overload::Limit;
use chancery_store::{ExternalSession, Tx};
use data_encoding::BASE64URL_NOPAD;
use serde_json::json;

use super::departure::{Departure, Ticket};
use super::sign_in::SignInRefusal;
use super::{BATCH, Console, MAX_SESSIONS, NewSession, Person};
use crate::caller::Origin;
use crate::identity::{AuthError, CodeExchange, External, RedeemError, hash_secret};
use crate::settings::ProviderSignIn;

/// Shorter than other sessions: nobody tells us when the provider no longer knows somebody, and asking it again costs the
/// person a click.
const LONGEST: Duration = Duration::from_secs(4 * 60 * 60);
/// Sign-ins of one person that are remembered. Each is until its session would have expired, so that it cannot be repeated.
const MAX_REMEMBERED: u32 = 1_000;
/// Seconds after which a person with so many is asked to try again.
const WAIT_SECONDS: u64 = 300;
/// Longer codes are not passed on.
const LONGEST_CODE: usize = 4096;
/// Under which name failures are counted.
const COUNTED_AS: &str = "provider";

/// A provider that people may sign in through.
pub struct ProviderChoice {
    pub slug: String,
    pub label: String,
}

/// What somebody comes back with (RFC 6749 section 4.1.2, RFC 9207).
pub struct ProviderAnswer {
    pub state: String,
    pub code: Option<Secret>,
    pub issuer: Option<String>,
    /// Why the provider did not sign in the person.
    pub error: Option<String>,
}

impl Console {
    /// The providers that people may sign in through.
    pub fn providers(&self) -> Vec<ProviderChoice> {
        let sign_ins = self.identity.external().iter().filter_map(|external| external.provider.sign_in.as_ref());
        sign_ins.map(|found| ProviderChoice { slug: found.slug.clone(), label: found.label.clone() }).collect()
    }

    /// Leaves for a provider, if there is one of this name.
    pub fn depart(&self, slug: &str, next: &str) -> Option<Departure> {
        let (_, sign_in, _) = self.provider(slug)?;
        let (key, entropy) = (&self.kernel.sign_in_key, self.kernel.entropy.as_ref());
        Some(Departure::new(key, entropy, sign_in, next, self.kernel.now()))
    }

    /// Begins a session for whoever comes back with a good answer, and says which page was asked for.
    pub async fn arrive(
        &self,
        slug: &str,
        cookie: &str,
        answer: ProviderAnswer,
        origin: Origin,
    ) -> Result<(NewSession, String), SignInRefusal> {
        let now = self.kernel.now();
        self.throttle.check(&origin.address, COUNTED_AS, now)?;
        let address = origin.address.clone();
        let begun = self.begin_external(slug, cookie, answer, origin).await;
        // What any page can send a browser here with, or a person who thinks better of it, is nobody's attempt.
        if let Err(SignInRefusal::Unverified) = &begun {
            self.throttle.failed(&address, COUNTED_AS, now);
        }
        begun
    }

    async fn begin_external(
        &self,
        slug: &str,
        cookie: &str,
        answer: ProviderAnswer,
        origin: Origin,
    ) -> Result<(NewSession, String), SignInRefusal> {
        let (key, now) = (&self.kernel.sign_in_key, self.kernel.now());
        let (external, sign_in, codes) = self.provider(slug).ok_or(SignInRefusal::Departure)?;
        let ticket = Ticket::check(key, cookie, slug, &answer.state, now).ok_or(SignInRefusal::Departure)?;
        let code = granted(external, answer)?;
        let redeemed = codes.redeem(&code, &ticket.verifier(key), &sign_in.redirect_url).await;
        let token = redeemed.map_err(|error| match error {
            RedeemError::Refused(reason) => {
                tracing::warn!(provider = slug, %reason, "a code of a sign-in was not taken");
                SignInRefusal::Unverified
            }
            RedeemError::Unavailable(reason) => unavailable(slug, &reason),
        })?;
        let vouched = external.vouch(sign_in, &token, &ticket.nonce(key), now.as_secs()).await;
        let vouched = vouched.map_err(|error| not_vouched(slug, error))?;
        if !vouched.scopes.contains(Scope::Reseller) {
            return Err(SignInRefusal::NoAccess);
        }
        let code = vouched.reseller.clone();
        let named = self.kernel.store.glance(move |tx| tx.reseller_by_code(code.as_str())).await?;
        let paying = named.ok_or(SignInRefusal::NoAccess)?.id;
        self.kernel.rates.request(paying).await?;
        let state = hash_secret(&ticket.state(key));
        let session = Secret::new(BASE64URL_NOPAD.encode(&self.kernel.entropy.bytes::<32>()));
        let (me, hash, issuer) = (self.clone(), hash_secret(session.reveal()), external.provider.issuer.clone());
        let via = json!({"via": slug, "name": vouched.name});
        let unit = move |tx: &mut Tx<'_>| {
            let reseller = tx.reseller_by_code(vouched.reseller.as_str())?.ok_or(SignInRefusal::NoAccess)?;
            if reseller.suspended {
                return Err(SignInRefusal::Suspended(reseller.code.to_string()));
            }
            if tx.count_external_sessions(&issuer, &vouched.subject, MAX_REMEMBERED)? >= i64::from(MAX_REMEMBERED) {
                return Err(SignInRefusal::TooMany { limit: Limit::SignInsPerClient, wait_seconds: WAIT_SECONDS });
            }
            tx.end_external_sessions(&issuer, &vouched.subject, now, MAX_SESSIONS - 1, BATCH)?;
            let kept = tx.insert_external_session(&ExternalSession {
                token: hash.clone(),
                state: state.clone(),
                issuer: issuer.clone(),
                subject: vouched.subject.clone(),
                name: vouched.name.clone(),
                reseller: reseller.id,
                scopes: vouched.scopes.clone(),
                created_at: now,
                seen_at: now,
                expires_at: now.plus(LONGEST),
            })?;
            if !kept {
                return Err(SignInRefusal::Departure);
            }
            let (name, scopes) = (vouched.name.clone(), vouched.scopes.clone());
            let person = Person::of_external(&issuer, &vouched.subject, name, scopes, reseller, origin.clone());
            person.trace().record(&me.kernel, tx, Action::ConsoleSignIn, &via)?;
            Ok(())
        };
        self.kernel.store_of(paying).write(unit).await?;
        Ok((NewSession { token: session, lasts: LONGEST }, ticket.next()))
    }

    fn provider(&self, slug: &str) -> Option<(&External, &ProviderSignIn, &dyn CodeExchange)> {
        self.identity.external().iter().find_map(|external| {
            let sign_in = external.provider.sign_in.as_ref().filter(|sign_in| sign_in.slug == slug)?;
            Some((external, sign_in, external.codes.as_deref()?))
        })
    }
}

/// The code, if it is from this provider and it gave one.
fn granted(external: &External, answer: ProviderAnswer) -> Result<Secret, SignInRefusal> {
    // RFC 9207 section 2.4: an answer of another issuer is not looked at any further.
    if answer.issuer.is_some_and(|issuer| issuer != external.provider.issuer) {
        return Err(SignInRefusal::Unverified);
    }
    if let Some(error) = answer.error {
        // Strangers can write here what they like; words of the standard are short and plain.
        let plain = error.len() <= 40 && error.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        return Err(SignInRefusal::Provider(if plain { error } else { "error".to_owned() }));
    }
    let code = answer.code.filter(|code| (1..=LONGEST_CODE).contains(&code.reveal().len()));
    code.ok_or_else(|| SignInRefusal::Provider("no code".to_owned()))
}

fn not_vouched(slug: &str, error: AuthError) -> SignInRefusal {
    match error {
        AuthError::KeysUnavailable(reason) => unavailable(slug, &reason),
        AuthError::Service(error) => SignInRefusal::Service(error),
        AuthError::Claim(_) | AuthError::UnknownReseller => SignInRefusal::NoAccess,
        AuthError::Missing
        | AuthError::Malformed
        | AuthError::ApiKeysOff
        | AuthError::Token(_)
        | AuthError::ClientDisabled(_)
        | AuthError::ApiKey(_)
        | AuthError::Suspended(_) => {
            tracing::warn!(provider = slug, %error, "the ID token of a sign-in was not taken");
            SignInRefusal::Unverified
        }
    }
}

fn unavailable(slug: &str, reason: &str) -> SignInRefusal {
    tracing::warn!(provider = slug, %reason, "a provider could not be asked about a sign-in");
    SignInRefusal::Unavailable
}
