//! Signing in through a provider that is not ours: a real one, in a process of its own.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::Arc;

use chancery_domain::{Secret, Timestamp};
use chancery_idp::{CodeRedeemer, FetchLimits, JwksFetcher, RedeemLimits};
use chancery_service::identity::External;
use chancery_service::{ExternalProvider, ProviderSignIn, SpeaksFor};
use chancery_tests::{node_script, on_both_databases, settings};
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::provider::{REDIRECT, RESELLER_CLAIM};

on_both_databases! {
    async fn people_of_a_real_provider_sign_in_with_and_without_a_secret_of_ours(world: World) {
        let Some(mut provider) = Provider::start() else { return };
        world.tenant("NORTH").await;
        world.clock.set(provider.now);
        for (client, secret) in [("open", None), ("with-secret", Some("a secret: 100%"))] {
            let node = world.another_node(settings(), vec![provider.external(client, secret)]).await;
            let mut browser = Browser::at(node.stranger());
            let back = provider.through(&mut browser, "anna").await;
            assert!(back.contains("iss="), "RFC 9207: {back}");
            let reply = browser.get(&back).await;
            assert_eq!((reply.status.as_u16(), reply.header("location")), (303, Some("/console/orders")), "{}", reply.text());
            assert!(browser.look("/console").await.contains("Anna of North"));
            // The code was redeemed, so the provider does not take it again.
            let mut again = Browser::at(node.stranger());
            provider.through(&mut again, "anna").await;
            assert_eq!(again.get(&back).await.status, 401);

            let mut browser = Browser::at(node.stranger());
            let back = provider.through(&mut browser, "nobody").await;
            assert_eq!(browser.get(&back).await.status, 403);
        }
        let node = world.another_node(settings(), vec![provider.external("with-secret", Some("wrong"))]).await;
        let mut browser = Browser::at(node.stranger());
        let back = provider.through(&mut browser, "anna").await;
        // It is for the operator to mend, and not the person.
        assert_eq!(browser.get(&back).await.status, 503);
    }
}

/// The process `oidc-provider.mjs`.
struct Provider {
    issuer: String,
    now: Timestamp,
    process: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Provider {
    /// Starts it; `None` where the test is to be skipped.
    fn start() -> Option<Self> {
        let mut process = node_script("console/oidc-provider.mjs")?;
        let commands = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut provider = Self { issuer: String::new(), now: Timestamp::from_secs(0), process, commands, answers };
        let hello = provider.answer();
        provider.issuer = hello["issuer"].as_str().unwrap().to_owned();
        provider.now = Timestamp::from_secs(hello["now"].as_i64().unwrap());
        Some(provider)
    }

    /// Leaves from the console and signs in at the provider: the path to which it sends the browser back.
    async fn through(&mut self, browser: &mut Browser, person: &str) -> String {
        let reply = browser.get("/console/sign-in/with/partners?next=/console/orders").await;
        let url = reply.header("location").unwrap();
        writeln!(self.commands.as_mut().unwrap(), "{}", json!({"do": "visit", "url": url, "as": person})).unwrap();
        let back = self.answer()["url"].as_str().unwrap().to_owned();
        assert!(back.starts_with(&format!("{REDIRECT}?code=")), "{back}");
        back.strip_prefix("https://ca.test").unwrap().to_owned()
    }

    fn external(&self, client: &str, secret: Option<&str>) -> External {
        let at = |path: &str| format!("{}{path}", self.issuer);
        let secret = secret.map(|secret| Secret::new(secret.to_owned()));
        let codes = CodeRedeemer::new(&at("/token"), None, client, secret.as_ref(), RedeemLimits::default()).unwrap();
        let provider = ExternalProvider {
            issuer: self.issuer.clone(),
            jwks_url: at("/jwks"),
            audience: "https://ca.test/partners".to_owned(),
            reseller_claim: RESELLER_CLAIM.to_owned(),
            scope_claim: "scope".to_owned(),
            resellers: SpeaksFor::Every,
            sign_in: Some(ProviderSignIn {
                slug: "partners".to_owned(),
                label: "Partners".to_owned(),
                authorize_url: at("/auth"),
                token_url: at("/token"),
                client_id: client.to_owned(),
                redirect_url: REDIRECT.to_owned(),
                request_scope: "openid profile".to_owned(),
                scopes: "reseller read:account read:order read:certificate".parse().unwrap(),
                scope_claim: None,
            }),
        };
        let keys = JwksFetcher::new(&provider.jwks_url, None, FetchLimits::default()).unwrap();
        External { provider, keys: Arc::new(keys), codes: Some(Arc::new(codes)) }
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("a provider that answers");
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        assert_eq!(answer.get("error"), None);
        answer
    }
}

/// Also when the test fails. Should the test itself be killed, its end of the pipe closes and the script ends.
impl Drop for Provider {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
