//! uacme, unmodified, with its tls-alpn-01 responder ualpn.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use crate::acme::{AcmeServer, Customer, assert_hundred_names, failed, hundred_names, said, succeeded};
use crate::answers::{Answers, hook};
use crate::dev_server::installed;

struct Uacme<'a> {
    acme: &'a AcmeServer,
    answers: &'a Answers,
    folder: PathBuf,
}

/// uacme trusts what the machine trusts, and cannot be told otherwise: it is given a machine of its own, in which only
/// the file of trusted CAs differs.
const TRUSTING: &str = r#"mount --bind "$0" /etc/ssl/certs/ca-certificates.crt && exec "$@""#;

/// Not so in some containers; nothing that could be installed would help there.
fn has_machines_of_its_own() -> bool {
    let made = Command::new("unshare").args(["--map-root-user", "--mount", "true"]).output().unwrap();
    if !made.status.success() {
        eprintln!("skipped: uacme cannot be made to trust us here: {}", said(&made));
    }
    made.status.success()
}

impl<'a> Uacme<'a> {
    fn new(acme: &'a AcmeServer, answers: &'a Answers) -> Self {
        Self { acme, answers, folder: acme.server.folder().join("uacme") }
    }

    fn run(&self, challenge: &str, arguments: &[&str]) -> Output {
        Command::new("unshare")
            .args(["--map-root-user", "--mount", "sh", "-c", TRUSTING, self.acme.server.fact("ca_bundle")])
            .args(["uacme", "--verbose", "--yes", "--acme-url", &self.acme.directory("TLS-90d"), "--confdir"])
            .arg(&self.folder)
            .args(["--hook", &hook("uacme-hook")])
            .args(arguments)
            .env("CHANCERY_ANSWERS", self.answers.folder())
            .env("CHANCERY_CHALLENGE", challenge)
            .env("UALPN_SOCKET", self.socket())
            .output()
            .unwrap()
    }

    fn does(&self, challenge: &str, arguments: &[&str]) -> String {
        succeeded(arguments, &self.run(challenge, arguments))
    }

    fn fails(&self, arguments: &[&str]) -> String {
        failed(arguments, &self.run("http-01", arguments))
    }

    fn chain(&self, name: &str) -> PathBuf {
        self.folder.join(name).join("cert.pem")
    }

    fn socket(&self) -> PathBuf {
        self.acme.server.folder().join("ualpn.sock")
    }

    /// Answers until it is dropped. What is not for it would go to a port where nobody listens.
    fn responder(&self) -> Responder {
        let child = Command::new("ualpn")
            .args(["--ipv4", "--bind", &format!("127.0.0.1@{}", self.acme.tls_alpn01)])
            .args(["--connect", &format!("127.0.0.1@{}", chancery_testkit::free_port())])
            .args(["--num-workers", "1", "--sock"])
            .arg(self.socket())
            .arg("--pidfile")
            .arg(self.acme.server.folder().join("ualpn.pid"))
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let responder = Responder(child);
        crate::dev_server::wait_for("ualpn", || self.socket().exists());
        responder
    }
}

struct Responder(Child);

impl Drop for Responder {
    fn drop(&mut self) {
        // Not with SIGKILL: it has children of its own, which it ends.
        let _sent = Command::new("kill").arg(self.0.id().to_string()).status();
        let _reaped = self.0.wait();
    }
}

mod slow {
    use super::*;

    #[test]
    fn uacme_registers_obtains_in_three_ways_rolls_its_key_over_revokes_and_deactivates() {
        if !installed("uacme") || !has_machines_of_its_own() {
            return;
        }
        let Some((acme, answers)) = AcmeServer::start_with_answers() else { return };
        let customer = acme.customer("uacme@example.com");
        let uacme = Uacme::new(&acme, &answers);
        let Customer { email, kid, hmac_key, .. } = &customer;
        let mistyped = customer.mistyped();
        let refused = uacme.fails(&["--eab", &format!("{kid}:{}", mistyped.hmac_key), "new", email]);
        assert!(refused.contains("the MAC does not match"), "{refused}");
        uacme.does("", &["--eab", &format!("{kid}:{hmac_key}"), "new", email]);

        uacme.does("http-01", &["issue", "a.uacme.test"]);
        assert!(acme.verified(&uacme.chain("a.uacme.test")).contains("DNS:a.uacme.test\n"));
        let kept = uacme.run("http-01", &["issue", "a.uacme.test"]);
        assert_eq!(kept.status.code(), Some(1), "not due for renewal: {}", said(&kept));
        let names = hundred_names("uacme.test");
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        uacme.does("http-01", &[&["issue"], &names[..]].concat());
        assert_hundred_names(&acme.verified(&uacme.chain("n1.uacme.test")));
        uacme.does("dns-01", &["--type", "EC", "--bits", "384", "issue", "*.w.uacme.test", "w.uacme.test"]);
        let shown = acme.verified(&uacme.chain("w.uacme.test"));
        assert!(shown.contains("DNS:*.w.uacme.test, DNS:w.uacme.test") && shown.contains("secp384r1"), "{shown}");
        let responder = uacme.responder();
        uacme.does("tls-alpn-01", &["issue", "t.uacme.test", "127.0.0.1"]);
        let shown = acme.verified(&uacme.chain("t.uacme.test"));
        assert!(shown.contains("DNS:t.uacme.test, IP Address:127.0.0.1"), "{shown}");
        drop(responder);
        assert!(answers.are_cleared());

        uacme.does("", &["update", "other@example.com"]);
        let key = std::fs::read(uacme.folder.join("private/key.pem")).unwrap();
        uacme.does("", &["newkey"]);
        assert_ne!(std::fs::read(uacme.folder.join("private/key.pem")).unwrap(), key);
        // The reseller revokes; uacme asks OCSP, is told, and renews long before the end.
        acme.revoke(&acme.certificates(&customer)[3]);
        let told = uacme.does("", &["issue", "a.uacme.test"]);
        assert!(told.contains("OCSP certificate status is REVOKED"), "{told}");
        let a = uacme.chain("a.uacme.test").display().to_string();
        uacme.does("", &["--reason", "4", "revoke", &a]);
        uacme.does("", &["issue", "a.uacme.test"]);
        let key = uacme.folder.join("private/a.uacme.test/key.pem").display().to_string();
        uacme.does("", &["revoke", &a, &key]);
        assert_eq!(acme.statuses(&customer), ["revoked", "revoked", "issued", "issued", "issued", "revoked"]);

        uacme.does("", &["deactivate"]);
        let gone = uacme.fails(&["--force", "issue", "a.uacme.test"]);
        assert!(gone.contains("deactivated"), "{gone}");
    }
}
