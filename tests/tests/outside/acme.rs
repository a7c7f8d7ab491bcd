//! What the tests of ACME clients share: a server with ports of its own for challenges, and a customer.

use std::path::Path;
use std::process::{Command, Output};

use chancery_testkit::free_port;
use serde_json::{Value, json};

use crate::answers::Answers;
use crate::dev_server::DevServer;

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

    /// The same, with somebody who serves what hooks leave as answers, and records too.
    pub(crate) fn start_with_answers() -> Option<(Self, Answers)> {
        let (http01, tls_alpn01) = (free_port(), free_port());
        let answers = Answers::serve(http01);
        let [http, tls, dns] = [http01.to_string(), tls_alpn01.to_string(), answers.dns().to_string()];
        let server = DevServer::start_with(&["--http01-port", &http, "--tls-alpn01-port", &tls, "--dns", &dns])?;
        Some((Self { server, http01, tls_alpn01 }, answers))
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

    /// Revokes one of them, as the reseller.
    pub(crate) fn revoke(&self, certificate: &Value) {
        let path = format!("/v1/certificates/{}/revocation", certificate["orderLookup"].as_str().unwrap());
        let answer = self.server.ask("POST", &path, &json!({"reason": "superseded"}));
        assert_eq!(answer["status"], "revoked", "{answer}");
    }

    /// How they stand, newest first.
    pub(crate) fn statuses(&self, customer: &Customer) -> Vec<String> {
        let status = |item: &Value| item["status"].as_str().unwrap().to_owned();
        self.certificates(customer).iter().map(status).collect()
    }

    /// What OCSP says of the first certificate of a chain.
    pub(crate) fn ocsp(&self, chain: &Path) -> String {
        let chain = std::fs::read_to_string(chain).unwrap();
        let issuer = chain.match_indices("-----BEGIN").nth(1).unwrap().0;
        let (first, second) = (self.server.folder().join("first.pem"), self.server.folder().join("second.pem"));
        std::fs::write(&first, &chain[..issuer]).unwrap();
        std::fs::write(&second, &chain[issuer..]).unwrap();
        let url = format!("{}/ocsp", self.server.fact("http_url"));
        let mut openssl = Command::new("openssl");
        openssl.args(["ocsp", "-no_nonce", "-noverify", "-url", &url, "-issuer"]).arg(second).arg("-cert").arg(first);
        said(&openssl.output().unwrap())
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

/// As many names as a certificate may have.
pub(crate) fn hundred_names(domain: &str) -> Vec<String> {
    (1..=100).map(|number| format!("n{number}.{domain}")).collect()
}

/// That it has all of those names, and no others.
pub(crate) fn assert_hundred_names(shown: &str) {
    assert_eq!(shown.matches("DNS:").count(), 100, "{shown}");
}

/// What a program that succeeded has printed.
pub(crate) fn succeeded(arguments: &[&str], output: &Output) -> String {
    assert!(output.status.success(), "{arguments:?}: {}", said(output));
    said(output)
}

/// What a program that failed has printed.
pub(crate) fn failed(arguments: &[&str], output: &Output) -> String {
    assert!(!output.status.success(), "{arguments:?}: {}", said(output));
    said(output)
}
