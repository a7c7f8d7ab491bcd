//! A customer who gets certificates, and has them revoked.

use chancery_domain::IssuerId;
use chancery_tests::{Reply, Tenant, World, csr};
use serde_json::json;
use x509_parser::prelude::*;

/// A certificate of somebody.
pub(crate) struct Held {
    pub(crate) order: String,
    /// Its own, without the chain.
    pub(crate) pem: String,
    pub(crate) serial: String,
    pub(crate) crl_url: String,
    pub(crate) ocsp_url: String,
    pub(crate) ca_issuers_url: String,
}

pub(crate) struct Customer {
    pub(crate) tenant: Tenant,
    account: String,
}

impl Customer {
    pub(crate) async fn of(world: &World) -> Self {
        let tenant = world.tenant("DEMO").await;
        let made = tenant.make_account("a@example.com").await;
        Self { account: made["lookup"].as_str().unwrap().to_owned(), tenant }
    }

    /// An order that is ready to be finalized, for a name that nobody else has.
    pub(crate) async fn ready(&self, world: &World, name: &str) -> String {
        let request = json!({"account_lookup": self.account, "csr": csr(&[name])});
        let order = self.tenant.post("/v1/order", request).await.expect(201);
        let authorization = order["authorizations"][0]["lookup"].as_str().unwrap();
        let codes = self.tenant.post_empty(&format!("/v1/authz/{authorization}/challenges")).await.expect(200);
        let challenge = codes["challenges"][0]["lookup"].as_str().unwrap();
        self.tenant.post_empty(&format!("/v1/challenge/{challenge}")).await.expect(200);
        world.work(None).await;
        order["lookup"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn certificate(&self, world: &World, name: &str) -> Held {
        let order = self.ready(world, name).await;
        let finalized = self.tenant.post_empty(&format!("/v1/order/{order}/finalize")).await.expect(202);
        world.work(None).await;
        let certificate = finalized["certificateLookup"].as_str().unwrap();
        let chain = self.tenant.get(&format!("/v1/certificate/{certificate}")).await;
        assert_eq!(chain.status, 200, "{}", chain.text());
        Held::read(order, &chain.text())
    }

    pub(crate) async fn revoke(&self, held: &Held, reason: &str) {
        revoke(&self.tenant, held, reason).await.expect(202);
    }
}

/// Somebody, at whichever node, has a certificate revoked.
pub(crate) async fn revoke(tenant: &Tenant, held: &Held, reason: &str) -> Reply {
    tenant.post(&format!("/v1/certificates/{}/revocation", held.order), json!({"reason": reason})).await
}

impl Held {
    fn read(order: String, chain: &str) -> Self {
        let (_, pem) = x509_parser::pem::parse_x509_pem(chain.as_bytes()).unwrap();
        let certificate = pem.parse_x509().unwrap();
        let own = chain[..chain.find("-----END").unwrap()].to_owned() + "-----END CERTIFICATE-----\n";
        let (mut crl, mut ocsp, mut ca_issuers) = (String::new(), String::new(), String::new());
        for extension in certificate.extensions() {
            match extension.parsed_extension() {
                ParsedExtension::CRLDistributionPoints(points) => {
                    let Some(DistributionPointName::FullName(names)) = &points.points[0].distribution_point else {
                        panic!("a distribution point without a name")
                    };
                    crl = url(&names[0]);
                }
                ParsedExtension::AuthorityInfoAccess(access) => {
                    for place in &access.accessdescs {
                        match place.access_method.to_id_string().as_str() {
                            "1.3.6.1.5.5.7.48.1" => ocsp = url(&place.access_location),
                            _ => ca_issuers = url(&place.access_location),
                        }
                    }
                }
                _ => {}
            }
        }
        let serial = certificate.tbs_certificate.raw_serial().iter().map(|byte| format!("{byte:02x}")).collect();
        Self { order, pem: own, serial, crl_url: crl, ocsp_url: ocsp, ca_issuers_url: ca_issuers }
    }

    /// The path of its list, on the listener of relying parties.
    pub(crate) fn crl_path(&self) -> String {
        path(&self.crl_url)
    }

    pub(crate) fn issuer(&self) -> IssuerId {
        self.crl_path().split('/').nth(2).unwrap().parse().unwrap()
    }

    pub(crate) fn shard(&self) -> i64 {
        self.crl_path().split('/').nth(3).unwrap().strip_suffix(".crl").unwrap().parse().unwrap()
    }
}

pub(crate) fn path(url: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    rest[rest.find('/').unwrap()..].to_owned()
}

fn url(name: &GeneralName<'_>) -> String {
    match name {
        GeneralName::URI(url) => (*url).to_owned(),
        other => panic!("not a URL: {other:?}"),
    }
}
