//! ACME libraries, unmodified, each driven by a small program of ours in `tests/clients`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::acme::{AcmeServer, Customer, assert_hundred_names, said};
use crate::answers::{Answers, hook};
use crate::dev_server::tool;

/// Where a program finds the service, who it is, where it leaves answers and chains.
struct Stage {
    acme: AcmeServer,
    answers: Answers,
    customer: Customer,
}

impl Stage {
    fn new(email: &str) -> Option<Self> {
        let (acme, answers) = AcmeServer::start_with_answers()?;
        let customer = acme.customer(email);
        fs::create_dir(acme.server.folder().join("out")).unwrap();
        Some(Self { acme, answers, customer })
    }

    fn runs(&self, program: &mut Command) -> String {
        let ca_bundle = self.acme.server.fact("ca_bundle");
        let output = program
            .env("CHANCERY_DIRECTORY", self.acme.directory("TLS-90d"))
            .env("CHANCERY_CA", ca_bundle)
            .env("NODE_EXTRA_CA_CERTS", ca_bundle)
            .env("CHANCERY_KID", &self.customer.kid)
            .env("CHANCERY_HMAC", &self.customer.hmac_key)
            .env("CHANCERY_ANSWERS", self.answers.folder())
            .env("CHANCERY_TLS_PORT", self.acme.tls_alpn01.to_string())
            .env("CHANCERY_OUT", self.out())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", said(&output));
        said(&output)
    }

    fn out(&self) -> PathBuf {
        self.acme.server.folder().join("out")
    }

    fn chain(&self, file: &str) -> String {
        self.acme.verified(&self.out().join(format!("{file}.pem")))
    }

    /// What every library is made to obtain, under a domain of its own.
    fn check_common(&self, domain: &str) {
        let first = format!("DNS:a.{domain}\n");
        assert!(self.chain("one").contains(&first) && self.chain("renewed").contains(&first));
        assert_hundred_names(&self.chain("hundred"));
        assert!(self.chain("wild").contains(&format!("DNS:*.w.{domain}, DNS:w.{domain}\n")));
        assert!(self.answers.are_cleared());
        let revoked = self.acme.statuses(&self.customer).pop();
        assert_eq!(revoked.as_deref(), Some("revoked"));
    }
}

mod slow {
    use super::*;

    #[test]
    fn the_python_library_registers_obtains_renews_revokes_and_deactivates() {
        let Some(python) = tool("CHANCERY_TEST_PYTHON") else { return };
        let Some(stage) = Stage::new("library@example.com") else { return };
        stage.runs(Command::new(python).arg(hook("acme_library.py")));
        stage.check_common("library.test");
    }

    #[test]
    fn acme_client_of_npm_registers_obtains_in_three_ways_rolls_its_key_over_revokes_and_deactivates() {
        let Some(modules) = tool("CHANCERY_TEST_NODE_MODULES") else { return };
        let Some(stage) = Stage::new("npm@example.com") else { return };
        stage.runs(Command::new("node").arg(hook("acme-client.mjs")).env("CHANCERY_TEST_NODE_MODULES", modules));
        stage.check_common("npm.test");
        assert!(stage.chain("alpn").contains("DNS:t.npm.test\n"));
    }

    #[test]
    fn instant_acme_registers_obtains_renews_in_time_rolls_its_key_over_revokes_and_deactivates() {
        let Some(clients) = tool("CHANCERY_TEST_RUST_CLIENTS") else { return };
        let Some(stage) = Stage::new("instant@example.com") else { return };
        stage.runs(Command::new(clients).arg("instant"));
        stage.check_common("instant.test");
    }

    #[test]
    fn a_server_with_tokio_rustls_acme_gets_its_own_certificate_once() {
        let Some(clients) = tool("CHANCERY_TEST_RUST_CLIENTS") else { return };
        let Some(stage) = Stage::new("server@example.com") else { return };
        let told = stage.runs(Command::new(&clients).arg("server"));
        assert!(told.contains("DeployedNewCert"), "{told}");
        let cached = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with("cached_cert");
        let file = fs::read_dir(stage.out()).unwrap().flatten().find(cached).unwrap().path();
        let shown = stage.acme.verified(&file);
        assert!(shown.contains("DNS:a.server.test, DNS:b.server.test"), "{shown}");
        let told = stage.runs(Command::new(&clients).arg("server"));
        assert!(told.contains("DeployedCachedCert"), "{told}");
        assert_eq!(stage.acme.statuses(&stage.customer), ["issued"]);
    }
}
