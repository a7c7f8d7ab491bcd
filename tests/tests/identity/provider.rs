//! A real OpenID provider in a process of its own, which ends with the value that stands for it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::Arc;
use std::time::Duration;

use chancery_idp::{FetchLimits, JwksFetcher};
use chancery_service::identity::External;
use chancery_service::{ExternalProvider, SpeaksFor};
use serde_json::{Value, json};

use crate::tools::node;

/// What the provider's tokens must be meant for.
pub(crate) const AUDIENCE: &str = "https://ca.test/partners";

/// The process `oidc-provider.mjs`.
pub(crate) struct Provider {
    pub(crate) issuer: String,
    process: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Provider {
    /// Starts it; `None` where the test is to be skipped.
    pub(crate) fn start() -> Option<Self> {
        let mut process = node("oidc-provider.mjs")?;
        let commands = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut provider = Self { issuer: String::new(), process, commands, answers };
        provider.issuer = text(&provider.answer(), "issuer");
        Some(provider)
    }

    /// A token of one of its clients (`demo`, `ghost`, `nobody`) for our audience.
    pub(crate) fn token(&mut self, client: &str) -> String {
        self.token_for(client, AUDIENCE, "reseller read:account")
    }

    pub(crate) fn token_for(&mut self, client: &str, audience: &str, scope: &str) -> String {
        let asked = json!({"do": "token", "client": client, "audience": audience, "scope": scope});
        text(&self.ask(&asked), "token")
    }

    /// Claims of the test's choice, signed by the provider's key.
    pub(crate) fn sign(&mut self, header: &Value, claims: &Value) -> String {
        text(&self.ask(&json!({"do": "sign", "header": header, "claims": claims})), "token")
    }

    /// Another key to sign with; the ones before stay published, or are withdrawn.
    pub(crate) fn turn_key(&mut self, algorithm: &str, keep: bool) {
        self.ask(&json!({"do": "turn", "alg": algorithm, "keep": keep}));
    }

    /// The public half of the key that it signs with.
    pub(crate) fn public_key(&mut self) -> Value {
        self.ask(&json!({"do": "public"}))
    }

    /// Whether its keys are to be had.
    pub(crate) fn set_outage(&mut self, out: bool) {
        self.ask(&json!({"do": "outage", "out": out}));
    }

    /// How often somebody asked for its keys.
    pub(crate) fn times_asked(&mut self) -> u64 {
        self.ask(&json!({"do": "asked"}))["asked"].as_u64().expect("a number")
    }

    /// Ends it: from now on nobody listens at its address.
    pub(crate) fn stop(&mut self) {
        self.process.kill().expect("a process of ours");
        self.process.wait().expect("an end");
    }

    /// What an operator would configure, and the keys fetched as the service does it.
    pub(crate) fn external(&self, min_interval: Duration) -> External {
        let jwks_url = format!("{}/jwks", self.issuer);
        let limits = FetchLimits { min_interval, ..FetchLimits::default() };
        let fetcher = JwksFetcher::new(&jwks_url, None, limits).expect("a loopback address");
        let provider = ExternalProvider {
            issuer: self.issuer.clone(),
            jwks_url,
            audience: AUDIENCE.to_owned(),
            reseller_claim: "https://ca.test/reseller".to_owned(),
            scope_claim: "scope".to_owned(),
            resellers: SpeaksFor::Every,
            sign_in: None,
        };
        External { provider, keys: Arc::new(fetcher), codes: None }
    }

    fn ask(&mut self, command: &Value) -> Value {
        let commands = self.commands.as_mut().expect("a pipe");
        writeln!(commands, "{command}").expect("a provider that listens");
        self.answer()
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

fn text(answer: &Value, name: &str) -> String {
    answer[name].as_str().unwrap_or_else(|| panic!("no {name} in {answer}")).to_owned()
}
