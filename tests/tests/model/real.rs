//! The service itself, and by what names it knows the things of the model.

use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use chancery_domain::{AcmeAccountId, Name as GivenName, ScopeSet};
use chancery_jose::{SigningKey, base64url};
use chancery_service::Settings;
use chancery_testkit::TestStore;
use chancery_tests::{ACME_URL, AcmeClient, Tenant, World, der, lookup, settings};
use serde_json::Value;

use crate::calls::Names;
use crate::state::Thing;

/// The world, two tenants in it, and the names of all that was made.
pub(crate) struct Real {
    pub(crate) world: World,
    pub(crate) tenants: [Tenant; 2],
    /// Lookups.
    pub(crate) accounts: Vec<String>,
    /// With their kid and HMAC key.
    pub(crate) credentials: Vec<Value>,
    pub(crate) groups: Vec<String>,
    pub(crate) policies: Vec<String>,
    pub(crate) clients: Vec<AcmeClient>,
    /// The keys that a client had before.
    pub(crate) old_keys: Vec<Vec<SigningKey>>,
    pub(crate) orders: Vec<RealOrder>,
    pub(crate) authorizations: Vec<RealAuthorization>,
}

pub(crate) struct RealOrder {
    pub(crate) lookup: String,
    pub(crate) certificate: String,
    /// The certificate, once it was seen.
    pub(crate) der: Option<Vec<u8>>,
}

pub(crate) struct RealAuthorization {
    pub(crate) lookup: String,
    /// The challenge that is chosen, once there are codes.
    pub(crate) challenge: Option<String>,
}

impl Real {
    pub(crate) async fn new(store: TestStore) -> Self {
        let world = World::over(store, quick(), Vec::new()).await;
        let tenants = [tenant(&world, "FIRST").await, tenant(&world, "SECOND").await];
        Self {
            world,
            tenants,
            accounts: Vec::new(),
            credentials: Vec::new(),
            groups: Vec::new(),
            policies: Vec::new(),
            clients: Vec::new(),
            old_keys: Vec::new(),
            orders: Vec::new(),
            authorizations: Vec::new(),
        }
    }

    pub(crate) fn now(&self) -> i64 {
        self.world.services.now().as_secs()
    }

    /// Learns the names of a new order, as whoever owns it sees it.
    pub(crate) async fn learn_order(&mut self, tenant: usize, order: &str) {
        let seen = self.tenants[tenant].show_order(order).await;
        let certificate = seen["certificateLookup"].as_str().expect("an order has its certificate").to_owned();
        self.orders.push(RealOrder { lookup: order.to_owned(), certificate, der: None });
        // In the order of their names, as they are in the model.
        for authorization in seen["authorizations"].as_array().expect("a list") {
            self.learn_authorization(authorization);
        }
    }

    pub(crate) fn learn_authorization(&mut self, seen: &Value) {
        let challenge = seen["challenges"].get(0).map(lookup);
        self.authorizations.push(RealAuthorization { lookup: lookup(seen), challenge });
    }

    /// What the trail calls a thing.
    pub(crate) fn subject(&self, thing: Thing) -> String {
        match thing {
            Thing::Account(place) => self.accounts[place].clone(),
            Thing::Credential(place) => self.kid(place).to_owned(),
            Thing::Group(place) => self.groups[place].clone(),
            Thing::Policy(place) => self.policies[place].clone(),
            Thing::Client(place) => {
                let url = self.clients[place].kid.as_deref().expect("a client is registered");
                let id: AcmeAccountId = url.rsplit('/').next().unwrap().parse().expect("an account URL");
                id.to_string()
            }
            Thing::Order(place) => self.orders[place].lookup.clone(),
            Thing::Authorization(place) => self.authorizations[place].lookup.clone(),
            Thing::Challenge(place) => self.challenge(place),
            Thing::Certificate(place) => self.orders[place].certificate.clone(),
        }
    }

    pub(crate) fn kid(&self, credential: usize) -> &str {
        self.credentials[credential]["kid"].as_str().expect("a credential has a kid")
    }

    /// A challenge of an authorization; before there are any, one that is not there.
    pub(crate) fn challenge(&self, authorization: usize) -> String {
        let challenge = &self.authorizations[authorization].challenge;
        challenge.clone().unwrap_or_else(|| "chal_00000000000000000000000000".to_owned())
    }

    pub(crate) fn acme_url(kind: &str, lookup: &str) -> String {
        format!("{ACME_URL}/acme/{kind}/{lookup}")
    }
}

/// Nothing waits for workers, of which there are none, and no name is paused: that has tests of its own.
fn quick() -> Settings {
    let mut settings = settings();
    settings.acme.finalize_wait = Duration::ZERO;
    settings.acme.challenge_wait = Duration::ZERO;
    settings.limits.caps.failures_to_pause = 0;
    settings
}

/// A reseller whose key lasts however far the clock is moved.
async fn tenant(world: &World, code: &str) -> Tenant {
    let tenant = world.tenant(code).await;
    let name = GivenName::parse("test").expect("a name");
    let made = world.services.operator.create_api_key(code, name, ScopeSet::all()).await.expect("a key");
    tenant.with_authorization(made.text.reveal())
}

/// Keys of certificates, each with a CSR for every set of names.
pub(crate) struct Subscriber {
    pub(crate) key: SigningKey,
    csrs: [Vec<u8>; 3],
}

impl Subscriber {
    pub(crate) fn csr(&self, names: Names) -> String {
        let pem = data_encoding::BASE64_MIME.encode(self.der(names));
        format!("-----BEGIN CERTIFICATE REQUEST-----\n{}\n-----END CERTIFICATE REQUEST-----\n", pem.trim_end())
    }

    pub(crate) fn csr_for_acme(&self, names: Names) -> String {
        base64url::encode(self.der(names))
    }

    fn der(&self, names: Names) -> &[u8] {
        let place = Names::ALL.iter().position(|each| *each == names).expect("there are no other names");
        &self.csrs[place]
    }
}

/// The same in every sequence: making them takes longer than many calls.
pub(crate) static SUBSCRIBERS: LazyLock<[Subscriber; 3]> = LazyLock::new(|| [subscriber(), subscriber(), subscriber()]);

fn subscriber() -> Subscriber {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("key.der");
    let key = SigningKey::generate().expect("a key");
    std::fs::write(&file, key.to_pkcs8().expect("a key can be written").as_slice()).expect("a file");
    let csr = |names: Names| {
        let names: Vec<_> = names.texts().into_iter().map(|name| format!("DNS:{name}")).collect();
        let output = Command::new("openssl")
            .args(["req", "-new", "-subj", "/", "-keyform", "DER", "-key"])
            .arg(&file)
            .args(["-addext", &format!("subjectAltName={}", names.join(","))])
            .output()
            .expect("openssl runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        der(&String::from_utf8(output.stdout).expect("PEM"))
    };
    let csrs = Names::ALL.map(csr);
    Subscriber { key, csrs }
}
