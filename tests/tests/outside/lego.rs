//! lego, unmodified: the client inside Traefik and many others.

use std::path::PathBuf;
use std::process::{Command, Output};

use crate::acme::{AcmeServer, Customer, failed, hundred_names, said, succeeded};
use crate::answers::hook;
use crate::dev_server::installed;

struct Lego<'a> {
    acme: &'a AcmeServer,
    customer: &'a Customer,
    folder: PathBuf,
    profile: &'a str,
}

impl<'a> Lego<'a> {
    fn new(acme: &'a AcmeServer, customer: &'a Customer, name: &str, profile: &'a str) -> Self {
        Self { acme, customer, folder: acme.server.folder().join(name), profile }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let Customer { email, kid, hmac_key, .. } = self.customer;
        let mut lego = Command::new("lego");
        lego.args(["--server", &self.acme.directory(self.profile), "--accept-tos", "--email", email])
            .args(["--eab", "--kid", kid, "--hmac", hmac_key, "--path"])
            .arg(&self.folder)
            .args(arguments)
            .env("LEGO_CA_CERTIFICATES", self.acme.server.fact("ca_bundle"));
        lego
    }

    fn does(&self, arguments: &[&str]) -> String {
        succeeded(arguments, &self.run(arguments))
    }

    fn fails(&self, arguments: &[&str]) -> String {
        failed(arguments, &self.run(arguments))
    }

    fn chain(&self, name: &str) -> PathBuf {
        self.folder.join(format!("certificates/{name}.crt"))
    }
}

mod slow {
    use super::*;

    #[test]
    fn lego_obtains_by_http_and_by_tls_renews_and_revokes() {
        if !installed("lego") {
            return;
        }
        let Some(acme) = AcmeServer::start() else { return };
        let customer = acme.customer("lego@example.com");
        let lego = Lego::new(&acme, &customer, "lego", "TLS-199d");
        let http = format!("127.0.0.1:{}", acme.http01);
        let tls = format!("127.0.0.1:{}", acme.tls_alpn01);

        let names = ["-d", "a.lego.test", "-d", "b.lego.test", "-d", "c.lego.test"];
        let by_http = [&["--http", "--http.port", &http][..], &names].concat();
        lego.does(&[&by_http[..], &["run"]].concat());
        let shown = acme.verified(&lego.chain("a.lego.test"));
        assert!(shown.contains("DNS:a.lego.test, DNS:b.lego.test, DNS:c.lego.test"), "{shown}");
        for (kind, words) in [("rsa2048", "2048 bit"), ("ec384", "secp384r1")] {
            let name = format!("{kind}.lego.test");
            let by_tls = ["--tls", "--tls.port", &tls, "--key-type", kind, "-d", &name, "run"];
            let told = lego.does(&by_tls);
            assert!(told.contains("Trying to solve TLS-ALPN-01"), "{told}");
            assert!(acme.verified(&lego.chain(&name)).contains(words));
        }
        let renewed = lego.does(&[&by_http[..], &["renew", "--days", "300", "--no-random-sleep"]].concat());
        assert!(renewed.contains("authorization already valid; skipping challenge"), "{renewed}");
        lego.does(&["-d", "rsa2048.lego.test", "revoke", "--keep", "--reason", "4"]);
        let again = lego.fails(&["-d", "rsa2048.lego.test", "revoke", "--keep"]);
        assert!(again.contains("alreadyRevoked"), "{again}");
        let reason = lego.fails(&["-d", "ec384.lego.test", "revoke", "--reason", "6"]);
        assert!(reason.contains("6 is not a reason that can be given; known are"), "{reason}");

        let seen: Vec<_> = acme.certificates(&customer).iter().map(|item| item["status"].clone()).collect();
        assert_eq!(seen, ["issued", "issued", "revoked", "issued"]);
        assert!(acme.certificates(&customer).iter().all(|item| item["profile"] == "TLS-199d"));
    }

    #[test]
    fn lego_obtains_many_names_and_a_wildcard() {
        if !installed("lego") {
            return;
        }
        let Some((acme, answers)) = AcmeServer::start_with_answers() else { return };
        let customer = acme.customer("lego@example.com");
        let lego = Lego::new(&acme, &customer, "lego", "TLS-90d");
        let resolver = answers.dns().to_string();
        let by_dns = ["--dns", "exec", "--dns.disable-cp", "--dns.resolvers", &resolver];
        let wild = ["-d", "*.w.lego.test", "-d", "w.lego.test", "run"];
        let output = lego
            .command(&[&by_dns[..], &wild].concat())
            .env("EXEC_PATH", hook("lego-hook"))
            // It would wait a minute between two records of one name.
            .env("EXEC_SEQUENCE_INTERVAL", "1")
            .env("CHANCERY_ANSWERS", answers.folder())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", said(&output));
        let shown = acme.verified(&lego.chain("_.w.lego.test"));
        assert!(shown.contains("DNS:*.w.lego.test, DNS:w.lego.test"), "{shown}");
        assert!(answers.are_cleared());

        let tls = format!("127.0.0.1:{}", acme.tls_alpn01);
        // Not a hundred: it waits a second or more after each of them.
        let names: Vec<_> = hundred_names("lego.test").into_iter().take(12).collect();
        let arguments = names.iter().flat_map(|name| ["-d", name]);
        let by_tls: Vec<_> = ["--tls", "--tls.port", &tls].into_iter().chain(arguments).chain(["run"]).collect();
        lego.does(&by_tls);
        let shown = acme.verified(&lego.chain("n1.lego.test"));
        assert_eq!(shown.matches("DNS:").count(), names.len(), "{shown}");
    }

    #[test]
    fn lego_is_told_what_is_wrong() {
        if !installed("lego") {
            return;
        }
        let Some(acme) = AcmeServer::start() else { return };
        let (customer, other) = (acme.customer("lego@example.com"), acme.customer("other@example.com"));
        let http = format!("127.0.0.1:{}", acme.http01);
        let get = ["--http", "--http.port", &http, "-d", "a.lego.test", "run"];
        let mistyped = other.mistyped();
        let wrong = Lego::new(&acme, &mistyped, "wrong", "TLS-90d").fails(&get);
        assert!(wrong.contains("the MAC does not match"), "{wrong}");
        let unknown = Lego::new(&acme, &customer, "unknown", "TLS-1d").fails(&get);
        assert!(unknown.contains("there is no such profile; there are TLS-90d, TLS-199d"), "{unknown}");

        let lego = Lego::new(&acme, &customer, "lego", "TLS-90d");
        lego.does(&get);
        acme.suspend(&customer, true);
        let refused = lego.fails(&get);
        assert!(refused.contains("the customer's account is suspended; ask your certificate provider"), "{refused}");
        acme.suspend(&customer, false);
        acme.revoke_credential(&customer);
        let refused = lego.fails(&get);
        assert!(refused.contains(&format!("{} is revoked", customer.kid)), "{refused}");

        // This lego asks for an address as if it were a name; what it is told says so.
        let address = ["--http", "--http.port", &http, "-d", "127.0.0.1", "run"];
        let output = Lego::new(&acme, &other, "other", "TLS-90d").run(&address);
        assert!(output.status.success() || said(&output).contains("its type is ip, not dns"), "{}", said(&output));
    }
}
