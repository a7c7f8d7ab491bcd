//! Caddy, unmodified: a web server that gets its certificates by itself.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};

use crate::acme::{AcmeServer, Customer, said};
use crate::dev_server::{installed, wait_for};

struct Caddy<'a> {
    acme: &'a AcmeServer,
    child: Child,
}

impl<'a> Caddy<'a> {
    /// Two names by http-01, one by tls-alpn-01. Each way has an account of its own: Caddy files accounts by their address, and two
    /// that register at the same moment would mix up their keys there.
    fn start(acme: &'a AcmeServer, customer: &Customer) -> Self {
        let folder = acme.server.folder().join("caddy");
        fs::create_dir_all(&folder).unwrap();
        let Customer { email, kid, hmac_key, .. } = customer;
        let (directory, ca) = (acme.directory("TLS-90d"), acme.server.fact("ca_bundle"));
        let (http, https) = (acme.http01, acme.tls_alpn01);
        let config = format!(
            "{{
                admin off
                default_bind 127.0.0.1
                http_port {http}
                https_port {https}
                email {email}
                acme_ca {directory}
                acme_ca_root {ca}
                acme_eab {{
                    key_id {kid}
                    mac_key {hmac_key}
                }}
                storage file_system {}
            }}
            a.caddy.test, b.caddy.test {{
                tls {{
                    issuer acme {{
                        disable_tlsalpn_challenge
                    }}
                }}
                respond hello
            }}
            t.caddy.test {{
                tls {{
                    key_type p384
                    issuer acme {{
                        email t.{email}
                        disable_http_challenge
                    }}
                }}
                respond hello
            }}\n",
            folder.join("storage").display(),
        );
        fs::write(folder.join("Caddyfile"), config).unwrap();
        let log = File::create(folder.join("log")).unwrap();
        let child = Command::new("caddy")
            .args(["run", "--config"])
            .arg(folder.join("Caddyfile"))
            .env("HOME", &folder)
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_CONFIG_HOME")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        Self { acme, child }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.acme.server.folder().join("caddy/log")).unwrap()
    }

    /// Whether a page can be had at a name, under a certificate that leads to our root.
    fn serves(&self, name: &str) -> bool {
        let port = self.acme.tls_alpn01;
        Command::new("curl")
            .args(["--silent", "--cacert", self.acme.server.fact("issuer_bundle")])
            .args(["--resolve", &format!("{name}:{port}:127.0.0.1"), &format!("https://{name}:{port}/")])
            .output()
            .is_ok_and(|output| output.stdout == b"hello")
    }

    /// What is shown in a handshake: the certificate, and the answer of OCSP that is stapled to it.
    fn handshake(&self, name: &str) -> String {
        let client = Command::new("openssl")
            .args(["s_client", "-status", "-servername", name, "-connect"])
            .arg(format!("127.0.0.1:{}", self.acme.tls_alpn01))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        said(&client)
    }
}

impl Drop for Caddy<'_> {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
    }
}

mod slow {
    use super::*;

    #[test]
    fn caddy_gets_what_it_serves_staples_ocsp_and_replaces_what_was_revoked() {
        if !installed("caddy") {
            return;
        }
        let Some(acme) = AcmeServer::start() else { return };
        let customer = acme.customer("caddy@example.com");
        let caddy = Caddy::start(&acme, &customer);
        for name in ["a.caddy.test", "b.caddy.test", "t.caddy.test"] {
            wait_for(name, || caddy.serves(name));
        }
        let log = caddy.log();
        assert!(log.contains(r#""challenge_type":"http-01""#) && log.contains(r#""challenge_type":"tls-alpn-01""#));
        let shown = caddy.handshake("t.caddy.test");
        assert!(shown.contains("OCSP Response Status: successful") && shown.contains("Cert Status: good"), "{shown}");
        assert_eq!(acme.statuses(&customer), ["issued"; 3]);
        drop(caddy);

        // Another start finds the certificates where they were left; the one that was revoked is replaced.
        let certificates = acme.certificates(&customer);
        let of_a = certificates.iter().find(|item| item["names"][0] == "a.caddy.test");
        acme.revoke(of_a.unwrap_or_else(|| panic!("{certificates:?}")));
        // The answers of OCSP that Caddy keeps are gone, as if they had aged.
        let kept = acme.server.folder().join("caddy/storage/certificates");
        let kept = fs::read_dir(kept).unwrap().next().unwrap().unwrap().path().join("a.caddy.test/a.caddy.test.crt");
        wait_for("OCSP", || acme.ocsp(&kept).contains(": revoked"));
        fs::remove_dir_all(acme.server.folder().join("caddy/storage/ocsp")).unwrap();
        let caddy = Caddy::start(&acme, &customer);
        let count = |wanted: &str| acme.statuses(&customer).iter().filter(|status| *status == wanted).count();
        wait_for("the replacement", || (count("issued"), count("revoked")) == (3, 1));
        wait_for("a.caddy.test", || caddy.serves("a.caddy.test"));
    }
}
