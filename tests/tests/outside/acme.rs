//! What the tests of ACME clients share: a server with ports of its own for challenges, and a customer.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::dev_server::{DevServer, free_port};

/// A server, and where it looks for answers to challenges.
pub(crate) struct AcmeServer {
    pub(crate) server: DevServer,
    pub(crate) http01: u16,
    pub(crate) tls_alpn01: u16,
}

impl AcmeServer {
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// With further arguments.
    pub(crate) fn start_with(more: &[&str]) -> Option<Self> {
        let (http01, tls_alpn01) = (free_port(), free_port());
        let ports = [http01.to_string(), tls_alpn01.to_string()];
        let ports = ["--http01-port", &ports[0], "--tls-alpn01-port", &ports[1]];
        let server = DevServer::start_with(&[&ports, more].concat())?;
        Some(Self { server, http01, tls_alpn01 })
    }

    pub(crate) fn directory(&self, profile: &str) -> String {
        format!("{}/acme/{profile}/directory", self.server.fact("acme_url"))
    }

    /// A new customer, with the credential to give to a client.
    pub(crate) fn customer(&self, email: &str) -> Customer {
        let made = self.server.ask("POST", "/v1/account", &json!({"customer_email": email}));
        let text = |name: &str| made[name].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
        Customer { email: email.to_owned(), lookup: text("lookup"), kid: text("kid"), hmac_key: text("hmacKey") }
    }

    pub(crate) fn suspend(&self, customer: &Customer, suspended: bool) {
        let path = format!("/v1/account/{}", customer.lookup);
        self.server.ask("PATCH", &path, &json!({"suspended": suspended}));
    }

    pub(crate) fn revoke_credential(&self, customer: &Customer) {
        self.server.ask("DELETE", &format!("/v1/eab-credential/{}", customer.kid), &json!({}));
    }

    /// The certificates of a customer as the reseller sees them, newest first.
    pub(crate) fn certificates(&self, customer: &Customer) -> Vec<Value> {
        let path = format!("/v1/certificates?account_lookup={}", customer.lookup);
        let items = self.server.ask("GET", &path, &json!({}))["items"].as_array().unwrap().clone();
        assert!(items.iter().all(|item| item["requestedVia"] == "acme"), "{items:?}");
        items
    }

    /// Whether a chain leads to one of these roots.
    pub(crate) fn verifies_with(&self, roots: &str, chain: &Path) -> bool {
        let verify = Command::new("openssl")
            .args(["verify", "-purpose", "sslserver", "-CAfile", roots, "-untrusted"])
            .args([chain, chain])
            .output()
            .unwrap();
        verify.status.success()
    }

    /// That a chain leads to our root; what OpenSSL says of its first certificate.
    pub(crate) fn verified(&self, chain: &Path) -> String {
        let verify = Command::new("openssl")
            .args(["verify", "-purpose", "sslserver", "-CAfile", self.server.fact("issuer_bundle"), "-untrusted"])
            .args([chain, chain])
            .output()
            .unwrap();
        assert!(verify.status.success(), "{}", said(&verify));
        said(&Command::new("openssl").args(["x509", "-noout", "-text", "-in"]).arg(chain).output().unwrap())
    }
}

pub(crate) struct Customer {
    pub(crate) email: String,
    pub(crate) lookup: String,
    pub(crate) kid: String,
    pub(crate) hmac_key: String,
}

impl Customer {
    /// The same, with a key that is another one.
    pub(crate) fn mistyped(&self) -> Self {
        let other = if self.hmac_key.starts_with('A') { "B" } else { "A" };
        let hmac_key = format!("{other}{}", &self.hmac_key[1..]);
        Self { email: self.email.clone(), lookup: self.lookup.clone(), kid: self.kid.clone(), hmac_key }
    }
}

/// All that a program has printed.
pub(crate) fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
