//! Leaving for an external provider, and being known again on coming back.
//!
//! Nothing is kept here meanwhile: the browser takes a ticket along in a cookie, and all that the provider has to repeat
//! follows from the ticket by a key that the nodes share. Who did not leave from here, in this browser, cannot come back.

use std::time::Duration;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac;
use chancery_domain::{Entropy, Secret, Timestamp};
use data_encoding::BASE64URL_NOPAD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::settings::ProviderSignIn;

/// Long enough for a second factor that has to be fetched from another room.
const LASTS: Duration = Duration::from_secs(10 * 60);
/// The longest page that is gone back to, in bytes.
const LONGEST_PAGE: usize = 1000;
/// What needs no escape in a query (RFC 3986 section 2.3).
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Where somebody is sent, and what the browser has to bring back.
pub struct Departure {
    pub url: String,
    pub cookie: Secret,
    pub lasts: Duration,
}

impl Departure {
    /// Leaves for a provider, and comes back to the page `next`.
    pub(super) fn new(
        key: &hmac::Key,
        entropy: &dyn Entropy,
        sign_in: &ProviderSignIn,
        next: &str,
        now: Timestamp,
    ) -> Self {
        let drawn = BASE64URL_NOPAD.encode(&entropy.bytes::<32>());
        let next = if next.len() > LONGEST_PAGE { "" } else { next };
        let (ends, next) = (now.plus(LASTS).as_secs(), BASE64URL_NOPAD.encode(next.as_bytes()));
        let ticket = Ticket(format!("{}.{ends}.{drawn}.{next}", sign_in.slug));
        let challenge = digest(&SHA256, ticket.verifier(key).reveal().as_bytes());
        let asked = [
            ("response_type", "code"),
            ("client_id", &sign_in.client_id),
            ("redirect_uri", &sign_in.redirect_url),
            ("scope", &sign_in.request_scope),
            ("state", &ticket.state(key)),
            ("nonce", &ticket.nonce(key)),
            ("code_challenge", &BASE64URL_NOPAD.encode(challenge.as_ref())),
            ("code_challenge_method", "S256"),
        ];
        let asked = asked.map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, PLAIN)));
        let joint = if sign_in.authorize_url.contains('?') { '&' } else { '?' };
        let url = format!("{}{joint}{}", sign_in.authorize_url, asked.join("&"));
        Self { url, cookie: Secret::new(ticket.0), lasts: LASTS }
    }
}

/// What the browser takes along.
pub(super) struct Ticket(String);

impl Ticket {
    /// The ticket in a cookie, if it is one for this provider, of this state, and its time has not passed.
    pub(super) fn check(key: &hmac::Key, cookie: &str, slug: &str, state: &str, now: Timestamp) -> Option<Self> {
        let ticket = Self(cookie.to_owned());
        // Nothing in the ticket is believed before this: the state follows from all of it.
        verify_slices_are_equal(ticket.state(key).as_bytes(), state.as_bytes()).ok()?;
        let mut parts = ticket.0.split('.');
        let (name, ends) = (parts.next()?, parts.next()?.parse::<i64>().ok()?);
        (name == slug && now.as_secs() < ends).then_some(ticket)
    }

    /// The page to go to.
    pub(super) fn next(&self) -> String {
        let last = self.0.rsplit('.').next().unwrap_or_default();
        let bytes = BASE64URL_NOPAD.decode(last.as_bytes()).unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_default()
    }

    /// What the provider gives back with the code (RFC 6749 section 10.12).
    pub(super) fn state(&self, key: &hmac::Key) -> String {
        self.derive(key, "state")
    }

    /// What the provider puts into the ID token (OpenID Connect Core section 15.5.2).
    pub(super) fn nonce(&self, key: &hmac::Key) -> String {
        self.derive(key, "nonce")
    }

    /// What shows that the code was asked for by us (RFC 7636 section 4.1). The browser never has it.
    pub(super) fn verifier(&self, key: &hmac::Key) -> Secret {
        Secret::new(self.derive(key, "verifier"))
    }

    fn derive(&self, key: &hmac::Key, purpose: &str) -> String {
        let tag = hmac::sign(key, format!("{purpose}\0{}", self.0).as_bytes());
        BASE64URL_NOPAD.encode(tag.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use chancery_domain::ScopeSet;

    use super::*;

    struct Counting;

    impl Entropy for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(7);
        }
    }

    fn sign_in() -> ProviderSignIn {
        ProviderSignIn {
            slug: "partners".to_owned(),
            label: "Partners".to_owned(),
            authorize_url: "https://id.test/authorize?tenant=1".to_owned(),
            token_url: "https://id.test/token".to_owned(),
            client_id: "us & them".to_owned(),
            redirect_url: "https://ca.test/back".to_owned(),
            request_scope: "openid profile".to_owned(),
            scopes: ScopeSet::all(),
            scope_claim: None,
        }
    }

    fn value<'a>(url: &'a str, name: &str) -> &'a str {
        url.split(['?', '&']).find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')).unwrap()
    }

    #[test]
    fn who_left_from_here_is_known_again_and_nobody_else() {
        let (key, now) = (hmac::Key::new(hmac::HMAC_SHA256, &[1; 32]), Timestamp::from_secs(1_000));
        let departure = Departure::new(&key, &Counting, &sign_in(), "/console/orders", now);
        let (cookie, state) = (departure.cookie.reveal(), value(&departure.url, "state"));
        assert!(
            departure
                .url
                .starts_with("https://id.test/authorize?tenant=1&response_type=code&client_id=us%20%26%20them&")
        );
        let ticket = Ticket::check(&key, cookie, "partners", state, now).unwrap();
        assert_eq!(ticket.next(), "/console/orders");
        let challenge = digest(&SHA256, ticket.verifier(&key).reveal().as_bytes());
        assert_eq!(value(&departure.url, "code_challenge"), BASE64URL_NOPAD.encode(challenge.as_ref()));
        assert_eq!(ticket.verifier(&key).reveal().len(), 43);
        assert!(
            !departure.url.contains(ticket.verifier(&key).reveal()) && !cookie.contains(ticket.verifier(&key).reveal())
        );

        let other = hmac::Key::new(hmac::HMAC_SHA256, &[2; 32]);
        assert!(Ticket::check(&other, cookie, "partners", state, now).is_none(), "the key of another service");
        assert!(Ticket::check(&key, cookie, "others", state, now).is_none(), "another provider");
        assert!(Ticket::check(&key, cookie, "partners", "", now).is_none(), "no state");
        assert!(Ticket::check(&key, "", "partners", state, now).is_none(), "no ticket");
        let longer = cookie.replace(".1600.", ".9999.");
        assert_ne!(longer, cookie);
        assert!(Ticket::check(&key, &longer, "partners", state, now).is_none(), "a ticket that was changed");
        let last = now.plus(LASTS - Duration::from_secs(1));
        assert!(Ticket::check(&key, cookie, "partners", state, last).is_some());
        assert!(Ticket::check(&key, cookie, "partners", state, now.plus(LASTS)).is_none(), "too late");
    }
}
