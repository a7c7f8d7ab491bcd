//! Challenges (RFC 8555 section 7.5.1), looked at for real: an applicant who has nothing to show.

use std::sync::Arc;
use std::time::Duration;

use chancery_dcv::{Dnssec, Validator, ValidatorConfig};
use chancery_testkit::SeededEntropy;
use chancery_testkit::dns::TestDns;
use chancery_testkit::web::TestWeb;
use chancery_tests::{World, on_both_databases};
use serde_json::json;

use super::common::{links, refused, stage, text};

async fn look(world: &World, dns: &TestDns, web: &TestWeb) {
    let config = ValidatorConfig {
        resolvers: vec![dns.address()],
        dnssec: Dnssec::Unchecked,
        http01_port: web.port(),
        allow_special_addresses: true,
        retry_window: Duration::ZERO,
        ca_domains: vec!["ca.test".to_owned()],
        ..ValidatorConfig::default()
    };
    let validator = Validator::new(config, world.clock.clone(), Arc::new(SeededEntropy::new(1))).unwrap();
    world.work(Some(Arc::new(validator))).await;
}

on_both_databases! {
    async fn a_challenge_is_met_with_the_thumbprint_of_the_accounts_own_key(world: World) {
        let local = (std::net::Ipv4Addr::LOCALHOST, 0);
        let (dns, web) = (TestDns::start().await, TestWeb::http(local).await);
        dns.empty("example.test").empty("test").address_of("a.example.test", local.0);
        let (_, _, client) = stage(&world).await;
        let (url, order) = client.order(&["a.example.test"]).await;
        let authorization_url = order["authorizations"][0].as_str().unwrap();
        let authorization = client.read(authorization_url).await.expect(200);
        let challenge = authorization["challenges"].as_array().unwrap().iter().find(|each| each["type"] == "http-01").unwrap();
        let token = text(challenge, "token");
        let body = format!("{token}.{}", client.key.public().thumbprint());
        web.page(&format!("/.well-known/acme-challenge/{token}"), body);
        let reply = client.post(text(challenge, "url"), &json!({})).await;
        assert!(links(&reply).contains(&format!("<{authorization_url}>;rel=\"up\"").as_str()));
        assert_eq!(reply.header("retry-after"), Some("1"));
        assert_eq!(reply.expect(200)["status"], "processing");
        // Said twice, it is the same.
        assert_eq!(client.post(text(challenge, "url"), &json!({})).await.expect(200)["status"], "processing");
        assert_eq!(client.read(authorization_url).await.header("retry-after"), Some("1"));
        look(&world, &dns, &web).await;
        let seen = client.read(text(challenge, "url")).await.expect(200);
        assert_eq!(seen["status"], "valid", "{seen}");
        assert!(seen["validated"].is_string());
        assert_eq!(client.read(authorization_url).await.expect(200)["challenges"].as_array().unwrap().len(), 1);
        assert_eq!(client.read(&url).await.expect(200)["status"], "ready");
    }

    async fn a_challenge_that_fails_says_why_everywhere(world: World) {
        let local = (std::net::Ipv4Addr::LOCALHOST, 0);
        let (dns, web) = (TestDns::start().await, TestWeb::http(local).await);
        dns.empty("example.test").empty("test").address_of("a.example.test", local.0);
        let (_, _, client) = stage(&world).await;
        let (url, order) = client.order(&["a.example.test"]).await;
        let authorization_url = order["authorizations"][0].as_str().unwrap();
        let authorization = client.read(authorization_url).await.expect(200);
        let of = |kind: &str| {
            let all = authorization["challenges"].as_array().unwrap();
            text(all.iter().find(|each| each["type"] == kind).unwrap(), "url").to_owned()
        };
        let challenge = of("http-01");
        // Another key's authorization, as a thief of the token would have it.
        let token = text(&client.read(&challenge).await.expect(200), "token").to_owned();
        let thief = chancery_jose::SigningKey::generate().unwrap().public().thumbprint();
        web.page(&format!("/.well-known/acme-challenge/{token}"), format!("{token}.{thief}"));
        client.post(&challenge, &json!({})).await.expect(200);
        look(&world, &dns, &web).await;
        let seen = client.read(&challenge).await.expect(200);
        assert_eq!(seen["status"], "invalid", "{seen}");
        assert!(text(&seen["error"], "type").starts_with("urn:ietf:params:acme:error:"), "{seen}");
        assert_eq!(client.read(authorization_url).await.expect(200)["status"], "invalid");
        let order_now = client.read(&url).await.expect(200);
        assert_eq!(order_now["status"], "invalid");
        assert!(text(&order_now["error"], "detail").contains("a.example.test"), "{order_now}");
        // Saying it again changes nothing; another way is not tried; nothing can be made of the order.
        assert_eq!(client.post(&challenge, &json!({})).await.expect(200)["status"], "invalid");
        let reply = client.post(&of("dns-01"), &json!({})).await;
        refused(&reply, 400, "malformed", "");
        refused(&client.finalize(&order, &["a.example.test"]).await, 403, "orderNotReady", "");
    }
}
