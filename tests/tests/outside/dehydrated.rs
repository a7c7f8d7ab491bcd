//! dehydrated, unmodified; and acme-tiny, which cannot bind an account and so is given one of dehydrated's.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::acme::{AcmeServer, Customer, assert_hundred_names, failed, hundred_names, said, succeeded};
use crate::answers::{Answers, hook};
use crate::dev_server::installed;

struct Dehydrated<'a> {
    acme: &'a AcmeServer,
    answers: &'a Answers,
    folder: PathBuf,
}

impl<'a> Dehydrated<'a> {
    fn new(acme: &'a AcmeServer, answers: &'a Answers, customer: &Customer) -> Self {
        let folder = acme.server.folder().join("dehydrated");
        fs::create_dir(&folder).unwrap();
        let Customer { email, kid, hmac_key, .. } = customer;
        let config = format!(
            "BASEDIR={:?}\nWELLKNOWN={:?}\nHOOK={:?}\nCA={:?}\nCURL_OPTS=\"--cacert {}\"\n\
             CONTACT_EMAIL={email}\nEAB_KID={kid}\nEAB_HMAC_KEY={hmac_key}\n",
            folder,
            answers.web(),
            hook("dehydrated-hook"),
            acme.directory("TLS-90d"),
            acme.server.fact("ca_bundle"),
        );
        fs::write(folder.join("config"), config).unwrap();
        Self { acme, answers, folder }
    }

    fn run(&self, challenge: &str, arguments: &[&str]) -> Output {
        Command::new("dehydrated")
            .args(["--accept-terms", "--challenge", challenge, "--config"])
            .arg(self.folder.join("config"))
            .args(arguments)
            .env("CHANCERY_ANSWERS", self.answers.folder())
            .env("CHANCERY_CHALLENGE", challenge)
            .env("CHANCERY_TLS_PORT", self.acme.tls_alpn01.to_string())
            .output()
            .unwrap()
    }

    fn does(&self, challenge: &str, arguments: &[&str]) -> String {
        succeeded(arguments, &self.run(challenge, arguments))
    }

    fn fails(&self, arguments: &[&str]) -> String {
        failed(arguments, &self.run("http-01", arguments))
    }

    fn file(&self, name: &str, file: &str) -> PathBuf {
        self.folder.join("certs").join(name).join(file)
    }

    fn account_key(&self) -> PathBuf {
        let folder = fs::read_dir(self.folder.join("accounts")).unwrap().next().unwrap().unwrap();
        folder.path().join("account_key.pem")
    }
}

mod slow {
    use super::*;

    #[test]
    fn dehydrated_registers_obtains_in_three_ways_renews_revokes_and_deactivates() {
        if !installed("dehydrated") {
            return;
        }
        let Some((acme, answers)) = AcmeServer::start_with_answers() else { return };
        let customer = acme.customer("dehydrated@example.com");
        let dehydrated = Dehydrated::new(&acme, &answers, &customer);
        dehydrated.does("http-01", &["--register"]);

        let a = ["--cron", "--domain", "a.dehydrated.test"];
        dehydrated.does("http-01", &a);
        let chain = dehydrated.file("a.dehydrated.test", "fullchain.pem");
        assert!(acme.verified(&chain).contains("DNS:a.dehydrated.test\n"));
        let kept = dehydrated.does("http-01", &a);
        assert!(kept.contains("Skipping renew"), "{kept}");
        dehydrated.does("http-01", &[&a[..], &["--force", "--algo", "rsa"]].concat());
        assert!(acme.verified(&chain).contains("rsaEncryption"));

        // Not a hundred: it is a shell script, and takes seconds for each.
        let names = "c.dehydrated.test d.dehydrated.test e.dehydrated.test";
        dehydrated.does("http-01", &["--cron", "--domain", names]);
        assert_eq!(acme.verified(&dehydrated.file("c.dehydrated.test", "fullchain.pem")).matches("DNS:").count(), 3);
        let wild = ["--cron", "--domain", "*.w.dehydrated.test w.dehydrated.test", "--alias", "wild"];
        dehydrated.does("dns-01", &wild);
        let shown = acme.verified(&dehydrated.file("wild", "fullchain.pem"));
        assert!(shown.contains("DNS:*.w.dehydrated.test, DNS:w.dehydrated.test"), "{shown}");
        dehydrated.does("tls-alpn-01", &["--cron", "--domain", "t.dehydrated.test", "--algo", "secp384r1"]);
        assert!(acme.verified(&dehydrated.file("t.dehydrated.test", "fullchain.pem")).contains("secp384r1"));
        assert!(answers.are_cleared());

        let cert = dehydrated.file("a.dehydrated.test", "cert.pem").display().to_string();
        dehydrated.does("http-01", &["--revoke", &cert]);
        assert_eq!(acme.statuses(&customer), ["issued", "issued", "issued", "revoked", "issued"]);
        dehydrated.does("http-01", &["--account"]);
        dehydrated.does("http-01", &["--deactivate"]);
        let gone = dehydrated.fails(&["--cron", "--domain", "b.dehydrated.test"]);
        assert!(gone.contains("deactivated"), "{gone}");
    }

    #[test]
    fn acme_tiny_obtains_a_hundred_names_with_an_account_that_is_bound_already() {
        if !installed("dehydrated") || !installed("acme-tiny") {
            return;
        }
        let Some((acme, answers)) = AcmeServer::start_with_answers() else { return };
        let customer = acme.customer("tiny@example.com");
        let dehydrated = Dehydrated::new(&acme, &answers, &customer);
        dehydrated.does("http-01", &["--register"]);
        let folder = acme.server.folder();
        let tiny = |key: PathBuf, names: &[&str]| {
            fs::write(folder.join("csr.pem"), chancery_tests::csr(names)).unwrap();
            Command::new("acme-tiny")
                .args(["--disable-check", "--directory-url", &acme.directory("TLS-90d"), "--acme-dir"])
                .arg(answers.web())
                .arg("--account-key")
                .arg(key)
                .arg("--csr")
                .arg(folder.join("csr.pem"))
                .env("SSL_CERT_FILE", acme.server.fact("ca_bundle"))
                .output()
                .unwrap()
        };
        let names = hundred_names("tiny.test");
        for names in [vec!["a.tiny.test"], names.iter().map(String::as_str).collect()] {
            let output = tiny(dehydrated.account_key(), &names);
            assert!(output.status.success(), "{}", said(&output));
            fs::write(folder.join("chain.pem"), &output.stdout).unwrap();
            let shown = acme.verified(&folder.join("chain.pem"));
            assert_eq!(shown.matches("DNS:").count(), names.len(), "{shown}");
        }
        assert_hundred_names(&acme.verified(&folder.join("chain.pem")));
        assert!(answers.are_cleared());
        assert_eq!(acme.statuses(&customer), ["issued", "issued"]);

        // With a key that nobody has bound it is told what is missing.
        let key = Command::new("openssl").args(["genrsa", "2048"]).output().unwrap().stdout;
        fs::write(folder.join("key.pem"), key).unwrap();
        let refused = said(&tiny(folder.join("key.pem"), &["a.tiny.test"]));
        assert!(refused.contains("externalAccountRequired"), "{refused}");
    }
}
