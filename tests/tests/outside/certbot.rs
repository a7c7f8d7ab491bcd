//! certbot, unmodified.

use std::path::PathBuf;
use std::process::{Command, Output};

use crate::acme::{AcmeServer, Customer, assert_hundred_names, hundred_names, said};
use crate::answers::{Answers, hook};
use crate::dev_server::installed;

/// certbot with a configuration of its own.
struct Certbot<'a> {
    acme: &'a AcmeServer,
    folder: PathBuf,
}

impl<'a> Certbot<'a> {
    fn new(acme: &'a AcmeServer, name: &str) -> Self {
        Self { acme, folder: acme.server.folder().join(name) }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut certbot = Command::new("certbot");
        certbot
            .args(["--non-interactive", "--server", &self.acme.directory("TLS-90d")])
            .arg("--config-dir")
            .arg(self.folder.join("config"))
            .arg("--work-dir")
            .arg(self.folder.join("work"))
            .arg("--logs-dir")
            .arg(self.folder.join("logs"))
            .args(arguments)
            .env("REQUESTS_CA_BUNDLE", self.acme.server.fact("ca_bundle"));
        certbot
    }

    /// The same as `does`, where hooks leave answers.
    fn does_with_answers(&self, answers: &Answers, arguments: &[&str]) {
        let output = self.command(arguments).env("CHANCERY_ANSWERS", answers.folder()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}\n{}", said(&output), self.log());
    }

    /// What it prints when it succeeds.
    fn does(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}\n{}", said(&output), self.log());
        said(&output)
    }

    /// What it prints and logs when it fails. Debian's certbot 2.1 cannot print every problem, but logs them all.
    fn fails(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?}: {}", said(&output));
        format!("{}\n{}", said(&output), self.log())
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("logs/letsencrypt.log")).unwrap_or_default()
    }

    fn register(customer: &Customer) -> Vec<&str> {
        let Customer { email, kid, hmac_key, .. } = customer;
        vec!["register", "--agree-tos", "--no-eff-email", "-m", email, "--eab-kid", kid, "--eab-hmac-key", hmac_key]
    }

    fn obtain<'b>(port: &'b str, more: &[&'b str]) -> Vec<&'b str> {
        let mut all = vec!["certonly", "--standalone", "--http-01-port", port, "--http-01-address", "127.0.0.1"];
        all.extend(more);
        all
    }

    fn chain(&self, name: &str) -> PathBuf {
        self.folder.join(format!("config/live/{name}/fullchain.pem"))
    }
}

mod slow {
    use super::*;

    #[test]
    fn certbot_registers_obtains_renews_revokes_and_unregisters() {
        if !installed("certbot") {
            return;
        }
        let Some(acme) = AcmeServer::start() else { return };
        let customer = acme.customer("certbot@example.com");
        let certbot = Certbot::new(&acme, "certbot");
        let port = acme.http01.to_string();
        certbot.does(&Certbot::register(&customer));
        let account = certbot.does(&["show_account"]);
        assert!(account.contains("/acme/account/") && account.contains("certbot@example.com"), "{account}");

        certbot.does(&Certbot::obtain(&port, &["-d", "a.certbot.test", "-d", "b.certbot.test"]));
        let shown = acme.verified(&certbot.chain("a.certbot.test"));
        assert!(shown.contains("DNS:a.certbot.test, DNS:b.certbot.test") && shown.contains("prime256v1"), "{shown}");
        // The second time the name is known: no web server could listen on this port.
        let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let taken_port = taken.local_addr().unwrap().port().to_string();
        let rsa = ["-d", "a.certbot.test", "--key-type", "rsa", "--rsa-key-size", "3072", "--cert-name", "second"];
        certbot.does(&Certbot::obtain(&taken_port, &rsa));
        assert!(acme.verified(&certbot.chain("second")).contains("3072 bit"));

        // An address can be asked for by a CSR alone.
        let file = |name: &str| certbot.folder.join(name).display().to_string();
        let (csr, cert, chain, full) = (file("csr.pem"), file("cert.pem"), file("chain.pem"), file("full.pem"));
        std::fs::write(&csr, chancery_tests::csr(&["a.certbot.test", "127.0.0.1"])).unwrap();
        let paths = ["--csr", &csr, "--cert-path", &cert, "--chain-path", &chain, "--fullchain-path", &full];
        certbot.does(&Certbot::obtain(&port, &paths));
        let shown = acme.verified(std::path::Path::new(&full));
        assert!(shown.contains("DNS:a.certbot.test, IP Address:127.0.0.1"), "{shown}");

        let first = std::fs::read(certbot.chain("second")).unwrap();
        certbot.does(&["renew", "--force-renewal", "--no-random-sleep-on-renew", "--cert-name", "second"]);
        assert_ne!(std::fs::read(certbot.chain("second")).unwrap(), first);
        certbot.does(&["revoke", "--cert-name", "second", "--reason", "superseded", "--no-delete-after-revoke"]);
        let again = certbot.fails(&["revoke", "--cert-name", "second", "--no-delete-after-revoke"]);
        assert!(again.contains("alreadyRevoked"), "{again}");
        // By the key of the certificate, without the account.
        let file =
            |name: &str| certbot.folder.join(format!("config/live/a.certbot.test/{name}.pem")).display().to_string();
        let (cert, key) = (file("cert"), file("privkey"));
        certbot.does(&["revoke", "--cert-path", &cert, "--key-path", &key, "--no-delete-after-revoke"]);

        let seen: Vec<_> = acme.certificates(&customer).iter().map(|item| item["status"].clone()).collect();
        assert_eq!(seen, ["revoked", "issued", "issued", "revoked"]);
        certbot.does(&["update_account", "-m", "other@example.com", "--no-eff-email"]);
        certbot.does(&["unregister"]);
        let gone = certbot.fails(&Certbot::obtain(&port, &["-d", "c.certbot.test"]));
        assert!(gone.contains("register"), "{gone}");
    }

    #[test]
    fn certbot_obtains_a_hundred_names_and_a_wildcard() {
        if !installed("certbot") {
            return;
        }
        let Some((acme, answers)) = AcmeServer::start_with_answers() else { return };
        let customer = acme.customer("certbot@example.com");
        let certbot = Certbot::new(&acme, "certbot");
        certbot.does(&Certbot::register(&customer));

        let (auth, cleanup) = (format!("{} auth", hook("certbot-hook")), format!("{} cleanup", hook("certbot-hook")));
        let by_hooks = ["certonly", "--manual", "--preferred-challenges", "dns", "--manual-auth-hook", &auth];
        let wild = ["--manual-cleanup-hook", &cleanup, "-d", "*.w.certbot.test", "-d", "w.certbot.test"];
        certbot.does_with_answers(&answers, &[&by_hooks[..], &wild].concat());
        let shown = acme.verified(&certbot.chain("w.certbot.test"));
        assert!(shown.contains("DNS:*.w.certbot.test, DNS:w.certbot.test"), "{shown}");
        assert!(answers.are_cleared());

        // In a folder that somebody serves; certbot wants to make a path of its own in it.
        let root = certbot.folder.join("root");
        std::fs::create_dir_all(root.join(".well-known")).unwrap();
        std::os::unix::fs::symlink(answers.web(), root.join(".well-known/acme-challenge")).unwrap();
        let names = hundred_names("certbot.test").join(",");
        certbot.does(&["certonly", "--webroot", "-w", root.to_str().unwrap(), "-d", &names]);
        assert_hundred_names(&acme.verified(&certbot.chain("n1.certbot.test")));
    }

    #[test]
    fn certbot_gets_the_chain_that_it_prefers() {
        if !installed("certbot") {
            return;
        }
        // Challenges that it does not know are in its way nowhere.
        let Some(acme) = AcmeServer::start_with(&["--draft-challenges"]) else { return };
        let customer = acme.customer("certbot@example.com");
        let certbot = Certbot::new(&acme, "certbot");
        let port = acme.http01.to_string();
        certbot.does(&Certbot::register(&customer));
        let other = acme.server.fact("alternate_issuer_bundle");
        // Whichever CA signs: the issuer follows the key.
        for (name, kind) in [("usual", "ecdsa"), ("other", "ecdsa"), ("rsa", "rsa")] {
            let mut wanted = vec!["-d", "a.certbot.test", "--cert-name", name, "--key-type", kind];
            if name != "usual" {
                wanted.extend(["--preferred-chain", "Chancery Dev Root X2"]);
            }
            certbot.does(&Certbot::obtain(&port, &wanted));
            let (bundle, refusing) = match name {
                "usual" => (acme.server.fact("issuer_bundle"), other),
                _ => (other, acme.server.fact("issuer_bundle")),
            };
            assert!(acme.verifies_with(bundle, &certbot.chain(name)), "{name}");
            assert!(!acme.verifies_with(refusing, &certbot.chain(name)), "{name}");
        }
    }

    #[test]
    fn certbot_is_told_what_is_wrong() {
        if !installed("certbot") {
            return;
        }
        let Some(acme) = AcmeServer::start() else { return };
        let customer = acme.customer("certbot@example.com");
        let certbot = Certbot::new(&acme, "certbot");
        let wrong = certbot.fails(&Certbot::register(&customer.mistyped()));
        assert!(wrong.contains("the MAC does not match; check that the HMAC key is that of this kid"), "{wrong}");
        certbot.does(&Certbot::register(&customer));
        let port = acme.http01.to_string();
        // Nobody answers at the name: certbot says which name, and why.
        let elsewhere = chancery_testkit::free_port().to_string();
        let unshown = certbot.fails(&Certbot::obtain(&elsewhere, &["-d", "a.certbot.test"]));
        assert!(unshown.contains("Domain: a.certbot.test") && unshown.contains("Detail:"), "{unshown}");
        let get = Certbot::obtain(&port, &["-d", "b.certbot.test"]);
        acme.suspend(&customer, true);
        let refused = certbot.fails(&get);
        assert!(refused.contains("the customer's account is suspended"), "{refused}");
        acme.suspend(&customer, false);
        certbot.does(&get);
        acme.revoke_credential(&customer);
        let refused = certbot.fails(&["renew", "--force-renewal", "--no-random-sleep-on-renew"]);
        assert!(refused.contains("is revoked, and what it bound with it"), "{refused}");
        let refused = Certbot::new(&acme, "new").fails(&Certbot::register(&customer));
        assert!(refused.contains("is revoked; ask your provider for a new one"), "{refused}");
    }
}
