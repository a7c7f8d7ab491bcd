//! Control that is shown by records about an ACME account: dns-account-01 and dns-persist-01.

use std::time::Duration;

use chancery_domain::{ChallengeType, Clock};
use chancery_service::{AcmeSettings, Settings};
use chancery_tests::{AcmeClient, Node, Tenant, World, csr, lookup, on_both_databases, settings};
use serde_json::{Value, json};

use crate::site::Site;

/// A node that offers these, and one client of it.
struct Stage {
    node: Node,
    tenant: Tenant,
    client: AcmeClient,
}

impl Stage {
    async fn with(world: &World, kinds: &[ChallengeType]) -> Self {
        let mut settings = Settings {
            acme: AcmeSettings {
                caa_identities: vec!["ca.test".to_owned()],
                finalize_wait: Duration::ZERO,
                ..AcmeSettings::of("https://ca.test")
            },
            ..settings()
        };
        settings.profiles.iter_mut().for_each(|profile| profile.challenge_types = kinds.to_vec());
        let node = world.another_node(settings, Vec::new()).await;
        let tenant = node.hears(&world.tenant("DEMO").await);
        let credential = tenant.make_account("a@example.com").await;
        let mut client = AcmeClient::at(node.stranger(), "TLS-90d").await;
        client.register(&credential).await.expect(201);
        Self { node, tenant, client }
    }

    /// The challenge of a kind of the one authorization of an order.
    async fn challenge(&self, order: &Value, kind: &str) -> Value {
        let authorization = self.client.read(order["authorizations"][0].as_str().unwrap()).await.expect(200);
        let all = authorization["challenges"].as_array().unwrap();
        all.iter().find(|challenge| challenge["type"] == kind).unwrap_or_else(|| panic!("{authorization:#}")).clone()
    }

    /// Answers a challenge, lets the service look, and gives the order as it is then.
    async fn answer(&self, world: &World, site: &Site, url: &str, challenge: &Value) -> Value {
        self.client.post(challenge["url"].as_str().unwrap(), &json!({})).await.expect(200);
        self.node.work(Some(site.eyes(world))).await;
        self.client.read(url).await.expect(200)
    }

    fn uri(&self) -> &str {
        self.client.kid.as_deref().unwrap()
    }
}

fn kinds(authorization: &Value) -> Vec<&str> {
    authorization["challenges"].as_array().unwrap().iter().map(|each| each["type"].as_str().unwrap()).collect()
}

on_both_databases! {
    async fn a_record_that_stays_shows_control_for_one_order_after_the_other(world: World) {
        let stage = Stage::with(&world, ChallengeType::ALL).await;
        let site = Site::open().await;
        let record = format!("ca.test; accounturi={}; policy=wildcard; persistUntil=1900000000", stage.uri());
        site.dns.txt("_validation-persist.example.test", &record);
        for (number, name) in ["*.example.test", "example.test", "*.example.test"].into_iter().enumerate() {
            let (url, order) = stage.client.order(&[name]).await;
            assert_eq!(order["status"], "pending", "no earlier look counts");
            let challenge = stage.challenge(&order, "dns-persist-01").await;
            assert_eq!(challenge["accounturi"], stage.uri());
            assert_eq!(challenge["issuer-domain-names"], json!(["ca.test"]));
            assert!(challenge.get("token").is_none(), "{challenge}");
            let order = stage.answer(&world, &site, &url, &challenge).await;
            assert_eq!(order["status"], "ready", "{order:#}");
            if number == 0 {
                stage.client.finalize(&order, &[name]).await.expect(200);
                stage.node.work(Some(site.eyes(&world))).await;
                assert_eq!(stage.client.read(&url).await.expect(200)["status"], "valid");
            }
        }
        // Hours later it has to be looked for again, also for its own order.
        let (url, order) = stage.client.order(&["example.test"]).await;
        let challenge = stage.challenge(&order, "dns-persist-01").await;
        let order = stage.answer(&world, &site, &url, &challenge).await;
        world.advance(Duration::from_secs(9 * 3600));
        assert_ne!(stage.client.finalize(&order, &["example.test"]).await.status, 200);
        assert_eq!(stage.client.read(&url).await.expect(200)["status"], "invalid");
    }

    async fn neither_authorization_nor_order_outlives_what_the_record_allows(world: World) {
        let stage = Stage::with(&world, ChallengeType::ALL).await;
        let site = Site::open().await;
        let end = world.clock.now().plus(Duration::from_secs(600));
        let record = format!("ca.test; accounturi={}; persistUntil={}", stage.uri(), end.as_secs());
        site.dns.txt("_validation-persist.example.test", &record);
        let (url, order) = stage.client.order(&["example.test", "other.test"]).await;
        let authorization = order["authorizations"][0].as_str().unwrap();
        let challenge = stage.challenge(&order, "dns-persist-01").await;
        let order = stage.answer(&world, &site, &url, &challenge).await;
        assert_eq!((&order["status"], &order["expires"]), (&json!("pending"), &json!(end.to_string())));
        let authorization = stage.client.read(authorization).await.expect(200);
        assert_eq!(authorization["status"], "valid", "{authorization:#}");
        assert_eq!(authorization["expires"], end.to_string());
        let listed = async || {
            let certificates = stage.tenant.get("/v1/certificates").await.expect(200);
            certificates["items"][0]["status"].clone()
        };
        assert_eq!(listed().await, "pending");
        world.advance(Duration::from_secs(601));
        assert_eq!(stage.client.read(&url).await.expect(200)["status"], "invalid");
        assert_eq!(listed().await, "cancelled", "it ends with its order");
    }

    async fn a_record_for_another_account_or_without_wildcards_is_refused(world: World) {
        let stage = Stage::with(&world, ChallengeType::ALL).await;
        let site = Site::open().await;
        site.dns.txt("_validation-persist.example.test", "ca.test; accounturi=https://ca.test/acme/account/acme_1");
        site.dns.txt("_validation-persist.b.example.test", &format!("ca.test; accounturi={}", stage.uri()));
        for (name, why) in [("example.test", "is for another account"), ("*.b.example.test", "policy=wildcard")] {
            let (url, order) = stage.client.order(&[name]).await;
            let challenge = stage.challenge(&order, "dns-persist-01").await;
            let order = stage.answer(&world, &site, &url, &challenge).await;
            assert_eq!(order["status"], "invalid");
            let error = order["error"]["detail"].as_str().unwrap();
            assert!(error.contains(why), "{error}");
        }
    }

    async fn an_account_shows_control_at_a_place_of_its_own(world: World) {
        let stage = Stage::with(&world, ChallengeType::ALL).await;
        let site = Site::open().await;
        let (url, order) = stage.client.order(&["example.test"]).await;
        let challenge = stage.challenge(&order, "dns-account-01").await;
        // The reseller sees what is to stand there.
        let path = format!("/v1/challenge/{}", challenge["url"].as_str().unwrap().rsplit('/').next().unwrap());
        let seen = stage.tenant.get(&path).await.expect(200);
        let (value, kind) = (&seen["instructions"]["recordValue"], &seen["instructions"]["recordType"]);
        assert_eq!(kind, "TXT");
        let place = format!("{}._acme-challenge.example.test", label(stage.uri()));
        site.dns.txt(&place, value.as_str().unwrap());
        let order = stage.answer(&world, &site, &url, &challenge).await;
        assert_eq!(order["status"], "ready", "{order:#}");
        // That counts later, too.
        let (_, order) = stage.client.order(&["example.test"]).await;
        assert_eq!(order["status"], "ready");
    }

    async fn what_is_about_an_acme_account_is_offered_to_those_alone(world: World) {
        let stage = Stage::with(&world, ChallengeType::ALL).await;
        let account = lookup(&stage.tenant.make_account("b@example.com").await);
        let order = json!({"account_lookup": account, "csr": csr(&["example.test"])});
        let order = stage.tenant.post("/v1/order", order).await.expect(201);
        let path = format!("/v1/authz/{}/challenges", lookup(&order["authorizations"][0]));
        assert_eq!(kinds(&stage.tenant.post_empty(&path).await.expect(200)), ["http-01", "dns-01", "tls-alpn-01"]);
        // Ahead of an order, a record that stays is of no use.
        let asked = json!({"identifier": {"type": "dns", "value": "example.test"}});
        let ahead = stage.client.post(&stage.client.url("newAuthz"), &asked).await.expect(201);
        assert_eq!(kinds(&ahead), ["http-01", "dns-01", "tls-alpn-01", "dns-account-01"]);
        // An address has no such records.
        let (_, order) = stage.client.order(&["192.0.2.1"]).await;
        let address = stage.client.read(order["authorizations"][0].as_str().unwrap()).await.expect(200);
        assert_eq!(kinds(&address), ["http-01", "tls-alpn-01"]);
    }

    async fn where_only_acme_can_show_control_a_reseller_cannot_order(world: World) {
        let stage = Stage::with(&world, &[ChallengeType::DnsPersist01]).await;
        let account = lookup(&stage.tenant.make_account("b@example.com").await);
        let order = json!({"account_lookup": account, "csr": csr(&["example.test"])});
        let refused = stage.tenant.post("/v1/order", order).await;
        assert!(refused.text().contains("through ACME alone"), "{}", refused.text());
        assert_eq!(refused.status, 400);
        stage.client.order(&["example.test"]).await;
        // Ahead of an order it would be of no use, and nothing else is offered.
        let asked = json!({"identifier": {"type": "dns", "value": "example.test"}});
        let refused = stage.client.post(&stage.client.url("newAuthz"), &asked).await;
        assert!(refused.text().contains("order it with newOrder"), "{}", refused.text());
        assert_eq!(refused.expect(403)["type"], "urn:ietf:params:acme:error:rejectedIdentifier");
    }

    async fn nothing_of_it_is_offered_unless_a_profile_says_so(world: World) {
        let credential = world.tenant("DEMO").await.make_account("a@example.com").await;
        let client = AcmeClient::registered(&world, &credential).await;
        let (_, order) = client.order(&["example.test"]).await;
        let authorization = client.read(order["authorizations"][0].as_str().unwrap()).await.expect(200);
        assert_eq!(kinds(&authorization), ["http-01", "dns-01", "tls-alpn-01"]);
    }
}

/// As the draft has it, reckoned by OpenSSL and coreutils.
fn label(uri: &str) -> String {
    let script = r#"printf %s "$1" | openssl dgst -sha256 -binary | head -c 10 | base32 | tr A-Z a-z"#;
    let output = std::process::Command::new("sh").args(["-c", script, "sh", uri]).output().unwrap();
    format!("_{}", String::from_utf8(output.stdout).unwrap().trim())
}
