//! An applicant's machines on loopback, a resolver that leads there, and the steps of an order.

use std::sync::Arc;
use std::time::Duration;

use chancery_dcv::{Dnssec, Timeouts, Validator, ValidatorConfig};
use chancery_testkit::SeededEntropy;
use chancery_testkit::der::{HandMade, alt_names, dns_name, extension};
use chancery_testkit::dns::TestDns;
use chancery_testkit::tls_alpn::{ACME_IDENTIFIER, TestTlsAlpn, TlsAlpnAnswer};
use chancery_testkit::web::TestWeb;
use chancery_tests::{Tenant, World, csr, lookup};
use data_encoding::HEXLOWER;
use serde_json::{Value, json};

const ANY: (std::net::Ipv4Addr, u16) = (std::net::Ipv4Addr::LOCALHOST, 0);

pub(crate) struct Site {
    pub(crate) dns: TestDns,
    pub(crate) web: TestWeb,
    tls: Option<TestTlsAlpn>,
}

impl Site {
    /// Names under `example.test` may be ordered: nothing in the DNS forbids it.
    pub(crate) async fn open() -> Self {
        let site = Self { dns: TestDns::start().await, web: TestWeb::http(ANY).await, tls: None };
        site.dns.empty("example.test").empty("test");
        site
    }

    /// A name that leads to this site.
    pub(crate) fn name(&self, name: &str) -> &Self {
        self.dns.address_of(name, ANY.0);
        self
    }

    /// Does what the instructions of a challenge say.
    pub(crate) async fn publish(&mut self, challenge: &Value) {
        let said = |member: &str| challenge["instructions"][member].as_str().unwrap().to_owned();
        match challenge["type"].as_str().unwrap() {
            "http-01" => {
                let url = said("url");
                let path = &url[url.find("/.well-known/").unwrap()..];
                self.web.page(path, said("body"));
            }
            "dns-01" => {
                assert_eq!(said("recordType"), "TXT");
                self.dns.txt(&said("recordName"), &said("recordValue"));
            }
            "tls-alpn-01" => {
                let extension_value = HEXLOWER.decode(said("acmeIdentifier").to_lowercase().as_bytes()).unwrap();
                let name = said("subjectAlternativeName");
                let certificate = HandMade::new(vec![
                    alt_names(&[dns_name(name.trim_start_matches("DNS:"))]),
                    extension(&ACME_IDENTIFIER, true, &extension_value),
                ]);
                let answer = TlsAlpnAnswer { certificate, ..TlsAlpnAnswer::right(dns_name(&name), "") };
                self.tls = Some(TestTlsAlpn::start(ANY, &answer).await);
            }
            other => panic!("nobody knows {other}"),
        }
    }

    /// Lets the service look at this site, once, and issue.
    pub(crate) async fn work(&self, world: &World) {
        world.work(Some(self.eyes(world))).await;
    }

    /// Eyes that see this site.
    pub(crate) fn eyes(&self, world: &World) -> Arc<Validator> {
        self.eyes_for(world, Duration::ZERO)
    }

    /// Eyes that look again for a while.
    pub(crate) fn eyes_for(&self, world: &World, retry_window: Duration) -> Arc<Validator> {
        validator(world, self.config(retry_window))
    }

    /// A validator that connects to no special address, as outside of private networks.
    pub(crate) fn public_validator(&self, world: &World) -> Arc<Validator> {
        validator(world, ValidatorConfig { allow_special_addresses: false, ..self.config(Duration::ZERO) })
    }

    fn config(&self, retry_window: Duration) -> ValidatorConfig {
        ValidatorConfig {
            resolvers: vec![self.dns.address()],
            dnssec: Dnssec::Unchecked,
            http01_port: self.web.port(),
            tls_alpn01_port: self.tls.as_ref().map_or(1, TestTlsAlpn::port),
            allow_special_addresses: true,
            retry_window,
            timeouts: Timeouts { look: Duration::from_secs(5), ..Timeouts::default() },
            ca_domains: vec!["ca.test".to_owned()],
            ..ValidatorConfig::default()
        }
    }
}

fn validator(world: &World, config: ValidatorConfig) -> Arc<Validator> {
    Arc::new(Validator::new(config, world.clock.clone(), Arc::new(SeededEntropy::new(1))).unwrap())
}

/// The lookup of a new account.
pub(crate) async fn account(tenant: &Tenant, email: &str) -> String {
    lookup(&tenant.make_account(email).await)
}

pub(crate) async fn order(tenant: &Tenant, account: &str, names: &[&str]) -> Value {
    tenant.post("/v1/order", json!({"account_lookup": account, "csr": csr(names)})).await.expect(201)
}

/// The challenges for a name of an order.
pub(crate) async fn codes(tenant: &Tenant, order: &Value, name: &str) -> Vec<Value> {
    let authorizations = order["authorizations"].as_array().unwrap();
    let authorization = authorizations.iter().find(|each| each["identifier"]["value"] == name).unwrap();
    let path = format!("/v1/authz/{}/challenges", lookup(authorization));
    tenant.post_empty(&path).await.expect(200)["challenges"].as_array().unwrap().clone()
}

/// The challenge of a kind for a name of an order.
pub(crate) async fn code(tenant: &Tenant, order: &Value, name: &str, kind: &str) -> Value {
    let codes = codes(tenant, order, name).await;
    codes.into_iter().find(|challenge| challenge["type"] == kind).unwrap()
}

/// Says that a challenge is met.
pub(crate) async fn choose(tenant: &Tenant, challenge: &Value) {
    let chosen = tenant.post_empty(&path(challenge)).await.expect(200);
    assert_eq!(chosen["status"], "processing");
}

pub(crate) fn path(challenge: &Value) -> String {
    format!("/v1/challenge/{}", lookup(challenge))
}

pub(crate) async fn seen(tenant: &Tenant, order: &Value) -> Value {
    tenant.get(&format!("/v1/order/{}", lookup(order))).await.expect(200)
}
