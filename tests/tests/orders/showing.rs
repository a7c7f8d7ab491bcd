//! Whoever does what the instructions of a challenge say is believed, and nobody else.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use chancery_dcv::{Dnssec, Validator, ValidatorConfig};
use chancery_testkit::SeededEntropy;
use chancery_testkit::der::dns_name;
use chancery_testkit::dns::TestDns;
use chancery_testkit::tls_alpn::{TestTlsAlpn, TlsAlpnAnswer};
use chancery_testkit::web::TestWeb;
use chancery_tests::{Tenant, World, lookup, on_both_databases};
use serde_json::Value;

use crate::common::{order_path, stage, text};

fn eyes(world: &World, dns: &TestDns, http01_port: u16, tls_alpn01_port: u16) -> Arc<Validator> {
    let config = ValidatorConfig {
        resolvers: vec![dns.address()],
        dnssec: Dnssec::Unchecked,
        http01_port,
        tls_alpn01_port,
        allow_special_addresses: true,
        retry_window: Duration::ZERO,
        ca_domains: vec!["ca.test".to_owned()],
        ..ValidatorConfig::default()
    };
    Arc::new(Validator::new(config, world.clock.clone(), Arc::new(SeededEntropy::new(1))).unwrap())
}

/// Chooses the challenge of a kind, and gives it with its codes.
async fn choose(tenant: &Tenant, order: &Value, kind: &str) -> Value {
    let codes = tenant.codes(&lookup(&order["authorizations"][0])).await;
    let code = codes.into_iter().find(|code| code["type"] == kind).unwrap();
    tenant.post_empty(&format!("/v1/challenge/{}", lookup(&code))).await.expect(200);
    code
}

on_both_databases! {
    async fn what_the_instructions_say_is_what_is_looked_for(world: World) {
        let (tenant, account) = stage(&world).await;
        let dns = TestDns::start().await;
        dns.absent("test");
        let local = (Ipv4Addr::LOCALHOST, 0);
        let web = TestWeb::http(local).await;
        for name in ["web.test", "tls.test"] {
            dns.address_of(name, Ipv4Addr::LOCALHOST);
        }
        let mut orders = Vec::new();
        for (name, kind) in [("web.test", "http-01"), ("plain.test", "dns-01"), ("*.wild.test", "dns-01")] {
            let order = tenant.make_order(&account, &[name]).await;
            let code = choose(&tenant, &order, kind).await;
            let say = &code["instructions"];
            match kind {
                "http-01" => {
                    let url = text(say, "url");
                    let target = url.strip_prefix("http://web.test").expect("the name itself, at its usual port");
                    web.page(target, text(say, "body"));
                }
                _ => {
                    assert_eq!(say["recordType"], "TXT");
                    dns.txt(&text(say, "recordName"), &text(say, "recordValue"));
                }
            }
            orders.push(order);
        }
        let order = tenant.make_order(&account, &["tls.test"]).await;
        let code = choose(&tenant, &order, "tls-alpn-01").await;
        assert_eq!(code["instructions"]["subjectAlternativeName"], "tls.test");
        let answer = TlsAlpnAnswer::right(dns_name("tls.test"), &text(&code, "keyAuthorization"));
        let responder = TestTlsAlpn::start(local, &answer).await;
        orders.push(order);

        world.work(Some(eyes(&world, &dns, web.port(), responder.port()))).await;
        for order in &orders {
            let shown = tenant.get(&order_path(order)).await.expect(200);
            assert_eq!(shown["status"], "ready", "{shown}");
            let challenges = shown["authorizations"][0]["challenges"].as_array().unwrap();
            let chosen = challenges.iter().find(|challenge| challenge["status"] == "valid").unwrap();
            assert!(!chosen["attempts"].as_array().unwrap().is_empty(), "{chosen}");
            assert!(chosen.get("validatedAt").is_some() && chosen.get("error").is_none());
        }
    }

    async fn an_ipv6_address_has_brackets_in_urls_only(world: World) {
        const ADDRESS: &str = "2606:4700:4700::1111";
        let (tenant, account) = stage(&world).await;
        let order = tenant.make_order(&account, &[ADDRESS]).await;
        let codes = tenant.codes(&lookup(&order["authorizations"][0])).await;
        let say = |kind: &str| codes.iter().find(|code| code["type"] == kind).unwrap()["instructions"].clone();
        let url = text(&say("http-01"), "url");
        assert!(url.starts_with(&format!("http://[{ADDRESS}]/.well-known/acme-challenge/")), "{url}");
        assert_eq!(say("tls-alpn-01")["subjectAlternativeName"], ADDRESS);
    }

    async fn a_wrong_answer_a_missing_name_and_caa_end_the_order_with_what_was_seen(world: World) {
        let (tenant, account) = stage(&world).await;
        let dns = TestDns::start().await;
        let web = TestWeb::http((Ipv4Addr::LOCALHOST, 0)).await;
        dns.address_of("wrong.test", Ipv4Addr::LOCALHOST).absent("test");
        dns.caa("caa.test", 0, "issue", "another-ca.example");
        let wrong = tenant.make_order(&account, &["wrong.test"]).await;
        let code = choose(&tenant, &wrong, "http-01").await;
        let target = text(&code["instructions"], "url");
        web.page(target.strip_prefix("http://wrong.test").unwrap(), "something else");
        let missing = tenant.make_order(&account, &["missing.test"]).await;
        choose(&tenant, &missing, "dns-01").await;
        let caa = tenant.make_order(&account, &["caa.test"]).await;
        let code = choose(&tenant, &caa, "dns-01").await;
        dns.txt(&text(&code["instructions"], "recordName"), &text(&code["instructions"], "recordValue"));
        world.work(Some(eyes(&world, &dns, web.port(), 1))).await;
        for (order, name, why) in [
            (&wrong, "wrong.test", "something else"),
            (&missing, "missing.test", ""),
            (&caa, "caa.test", "another-ca.example"),
        ] {
            let ended = tenant.get(&order_path(order)).await.expect(200);
            assert_eq!(
                (&ended["status"], &ended["authorizations"][0]["status"]),
                (&"invalid".into(), &"invalid".into()),
                "{ended}"
            );
            let challenges = ended["authorizations"][0]["challenges"].as_array().unwrap();
            let tried = challenges.iter().find(|challenge| challenge["status"] == "invalid").unwrap();
            assert!(!tried["attempts"].as_array().unwrap().is_empty(), "{tried}");
            let detail = text(&ended["error"], "detail");
            assert!(detail.contains(name), "{detail}");
            assert!(tried.to_string().contains(why), "{tried}");
            // And it was the one try.
            assert_eq!(tenant.post_empty(&format!("/v1/challenge/{}", lookup(tried))).await.status, 410);
        }
        assert_eq!(tenant.get(&order_path(&caa)).await.expect(200)["error"]["type"], "caa");
    }
}
