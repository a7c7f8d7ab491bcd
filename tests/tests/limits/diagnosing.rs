//! What would happen to names, seen on loopback.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use chancery_dcv::{Dnssec, Timeouts, Validator, ValidatorConfig};
use chancery_http::{Door, Edge, finish};
use chancery_overload::{Limit, Rate};
use chancery_service::Settings;
use chancery_testkit::dns::TestDns;
use chancery_testkit::web::TestWeb;
use chancery_testkit::{FrozenClock, SeededEntropy};
use chancery_tests::{Tenant, VERSION, World, lookup, settings};
use chancery_workers::Eyes;
use serde_json::{Value, json};

use crate::common::{limited, number, worlds};

struct Site {
    dns: TestDns,
    web: TestWeb,
}

impl Site {
    async fn open() -> Self {
        Self { dns: TestDns::start().await, web: TestWeb::http((Ipv4Addr::LOCALHOST, 0)).await }
    }

    /// Somebody who asks a service with these eyes.
    async fn hears(&self, world: &World, tenant: &Tenant, special: bool) -> Tenant {
        let config = ValidatorConfig {
            resolvers: vec![self.dns.address()],
            dnssec: Dnssec::Unchecked,
            allow_special_addresses: special,
            http01_port: self.web.port(),
            timeouts: Timeouts {
                look: Duration::from_secs(20),
                connect: Duration::from_secs(10),
                dns: Duration::from_secs(8),
                caa: Duration::from_secs(20),
            },
            ca_domains: vec!["ca.test".to_owned()],
            ..ValidatorConfig::default()
        };
        let validator =
            Validator::new(config, Arc::new(FrozenClock::default()), Arc::new(SeededEntropy::new(1))).unwrap();
        let services = world.services.clone().asking(Arc::new(Eyes::new(Arc::new(validator))));
        let router = chancery_reseller::router(Door {
            services: Arc::new(services),
            urls: world.urls.clone(),
            version: VERSION,
        });
        tenant.hears_by(finish(router, Edge::new(Arc::new(|| "r".into()))))
    }
}

async fn diagnose(tenant: &Tenant, body: Value) -> Value {
    tenant.post("/v1/diagnose", body).await.expect(200)["items"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_name_is_told_what_stands_against_it() {
    for world in worlds(&settings()).await {
        let site = Site::open().await;
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let (group, policy) =
            (tenant.make_group("g").await, tenant.make_policy("p", json!({"denied_domains": ["denied.test"]})).await);
        tenant.add_members(&group, std::slice::from_ref(&account)).await.expect(200);
        tenant.assign(&group, &policy).await.expect(200);
        let asks = site.hears(&world, &tenant, true).await;
        for name in ["good.test", "strict.test", "www.strict.test", "denied.test", "test"] {
            site.dns.address_of(name, Ipv4Addr::LOCALHOST);
        }
        site.dns.address_of("away.test", Ipv4Addr::new(127, 0, 0, 9)).absent("none.test");
        site.dns.caa("good.test", 0, "issue", "ca.test").caa("strict.test", 0, "issue", "other.test");
        let names = [
            "good.test",
            "strict.test",
            "denied.test",
            "away.test",
            "none.test",
            "*.good.test",
            "www.strict.test",
            "*.strict.test",
        ];
        let found = diagnose(&asks, json!({"identifiers": names, "account_lookup": account})).await;
        let told: Vec<_> = found
            .as_array()
            .unwrap()
            .iter()
            .map(|each| (each["name"].as_str().unwrap(), each["clear"].as_bool().unwrap()))
            .collect();
        assert_eq!(told, names.map(|name| (name, matches!(name, "good.test" | "*.good.test"))), "{found:#}");
        assert_eq!(found[0]["caa"]["foundAt"], "good.test");
        assert_eq!(found[0]["caa"]["allowed"], true);
        assert_eq!((&found[0]["http"]["reachable"], &found[0]["http"]["status"]), (&json!(true), &json!(404)));
        assert_eq!((&found[0]["http"]["addresses"], &found[0]["dnssec"]), (&json!(["127.0.0.1"]), &json!("unchecked")));
        assert_eq!(found[1]["caa"]["allowed"], false);
        assert!(found[1]["caa"]["problem"].as_str().unwrap().contains("other.test"), "{}", found[1]);
        assert_eq!(found[2]["violations"][0]["policy"], json!(policy));
        assert_eq!(found[3]["http"]["reachable"], false);
        assert!(found[3]["http"]["addressUsed"].as_str().unwrap().starts_with("127.0.0.9:"), "{}", found[3]);
        assert!(found[4]["http"]["problem"].as_str().unwrap().contains("NXDOMAIN"), "{}", found[4]);
        assert_eq!(found[5].get("http"), None);
        for place in [1, 6, 7] {
            let caa = &found[place]["caa"];
            assert_eq!((&caa["allowed"], &caa["foundAt"]), (&json!(false), &json!("strict.test")), "{}", found[place]);
            assert_eq!(caa["records"], json!(["strict.test. CAA 0 issue \"other.test\""]));
        }
        // For a wildcard, whose addresses nobody looks for, DNSSEC is that of its CAA records.
        assert_eq!((&found[5]["dnssec"], &found[7]["dnssec"]), (&json!("unchecked"), &json!("unchecked")));
        // Nothing was ordered, and nothing counts.
        assert_eq!(tenant.get("/v1/order").await.expect(200)["items"], json!([]));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i10_nobody_is_led_to_an_address_that_is_set_aside() {
    let world = worlds(&settings()).await.remove(0);
    let site = Site::open().await;
    let asks = site.hears(&world, &world.tenant("DEMO").await, false).await;
    site.dns
        .address_of("inside.test", Ipv4Addr::LOCALHOST)
        .address_of("metadata.test", Ipv4Addr::new(169, 254, 169, 254));
    site.dns.empty("test");
    let found = diagnose(&asks, json!({"identifiers": ["inside.test", "metadata.test", "127.0.0.1"]})).await;
    for each in found.as_array().unwrap() {
        assert_eq!(each["http"]["reachable"], false, "{each}");
        assert!(each["http"]["problem"].as_str().unwrap().contains("spoken to"), "{each}");
        assert_eq!(each["http"]["addresses"], json!([]), "{each}");
    }
    assert!(!found.to_string().contains("169.254."), "{found}");
    // A name that nobody can order is not looked up either.
    let found = diagnose(&asks, json!({"identifiers": ["co.uk", "inside.test"]})).await;
    assert_eq!((&found[0]["clear"], &found[0]["violations"][0]["code"]), (&json!(false), &json!("not_acceptable")));
    for unseen in ["caa", "http", "dnssec", "outOfTime"] {
        assert_eq!(found[0].get(unseen), None, "{found}");
    }
    assert!(found[1].get("http").is_some(), "{found}");
    let asked = format!("{:?}", site.dns.asked()).to_lowercase();
    assert!(asked.contains("inside.test") && !asked.contains("co.uk"), "{asked}");
    assert_eq!(site.web.connections(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn few_names_are_looked_at_at_a_time_and_so_many_in_a_minute() {
    let minute = Rate::new(number(4), Duration::from_secs(60));
    let Settings { limits, .. } = limited(&[(Limit::Diagnoses, minute)]);
    for world in worlds(&Settings { limits: limits.clone(), ..settings() }).await {
        let tenant = world.tenant("DEMO").await;
        let many: Vec<_> = (0..11).map(|number| format!("n{number}.test")).collect();
        let refused = tenant.post("/v1/diagnose", json!({"identifiers": many})).await;
        assert_eq!(
            (refused.refusal(400).as_str(), refused.fields()),
            ("invalid_request", vec!["identifiers".to_owned()])
        );
        assert_eq!(tenant.post("/v1/diagnose", json!({"identifiers": []})).await.status, 400);
        // Without eyes the policies are asked alone.
        let found = diagnose(&tenant, json!({"identifiers": &many[..3]})).await;
        assert_eq!(found[0], json!({"name": "n0.test", "clear": true, "violations": []}));
        let refused = tenant.post("/v1/diagnose", json!({"identifiers": &many[..3]})).await;
        assert_eq!(refused.refusal(429), "rate_limited");
        diagnose(&tenant, json!({"identifiers": &many[..1]})).await;
        assert_eq!(tenant.post("/v1/diagnose", json!({"identifiers": &many[..1]})).await.refusal(429), "rate_limited");
        world.advance(Duration::from_secs(60));
        diagnose(&tenant, json!({"identifiers": &many[..3]})).await;
        let foreign = lookup(&world.tenant("OTHER").await.make_account("x@example.com").await);
        let body = json!({"identifiers": ["a.test"], "account_lookup": foreign});
        assert_eq!(tenant.post("/v1/diagnose", body.clone()).await.refusal(404), "account_not_found");
        // The names count before anything is read for them.
        assert_eq!(tenant.post("/v1/diagnose", body).await.refusal(429), "rate_limited");
    }
}
