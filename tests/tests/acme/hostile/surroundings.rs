//! What stands around every answer: nonces, links, places, and leave for browsers.

use chancery_tests::{on_both_databases, path};
use http::Method;
use serde_json::json;

use super::common::{links, stage, text};

on_both_databases! {
    async fn every_answer_to_a_post_has_a_fresh_nonce_and_the_way_to_the_directory(world: World) {
        world.start_workers();
        let (_, _, client) = stage(&world).await;
        let (url, order) = client.issue(&["a.test"]).await;
        let kid = client.kid.clone().unwrap();
        let authorization = order["authorizations"][0].as_str().unwrap();
        let mut nonces = Vec::new();
        for url in [&kid, &url, authorization, text(&order, "certificate"), &format!("{kid}/orders"), "https://ca.test/acme/order/x"] {
            let reply = client.read(url).await;
            assert_eq!(links(&reply), ["<https://ca.test/acme/TLS-90d/directory>;rel=\"index\""], "{url}");
            nonces.push(reply.header("replay-nonce").unwrap().to_owned());
            // RFC 8555 section 6.1, for clients in browsers.
            assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
            assert!(reply.header("access-control-expose-headers").unwrap().contains("Replay-Nonce"));
        }
        nonces.sort_unstable();
        nonces.dedup();
        assert_eq!(nonces.len(), 6);
        // Section 6.3: what is open to everybody is also read by POST-as-GET.
        let new_nonce = client.url("newNonce");
        let reply = client.read(&new_nonce).await;
        assert_eq!((reply.status.as_u16(), reply.header("cache-control")), (204, Some("no-store")));
        let directory = "https://ca.test/acme/TLS-199d/directory";
        assert!(text(&client.read(directory).await.expect(200), "newOrder").contains("TLS-199d"));
        super::common::refused(&client.post(&new_nonce, &json!({})).await, 400, "malformed", "POST-as-GET");
        let reply = client.stranger.get("/acme/TLS-199d/new-nonce").await;
        assert_eq!(links(&reply), ["<https://ca.test/acme/TLS-199d/directory>;rel=\"index\""]);
    }

    async fn both_profiles_have_a_directory_and_issue_what_they_say(world: World) {
        world.start_workers();
        let tenant = world.tenant("DEMO").await;
        let credential = tenant.make_account("a@example.com").await;
        for (profile, days) in [("TLS-90d", 90), ("TLS-199d", 199)] {
            let mut client = chancery_tests::AcmeClient::at(world.stranger(), profile).await;
            client.register(&credential).await.expect(201);
            let (_, order) = client.issue(&[&format!("{}.test", profile.to_lowercase())]).await;
            assert_eq!(order["profile"], profile);
            let der = client.certificate(&order).await;
            let (_, certificate) = x509_parser::parse_x509_certificate(&der).unwrap();
            let life = certificate.validity().not_after.timestamp() - certificate.validity().not_before.timestamp();
            assert!(life <= days * 86_400 && life > (days - 2) * 86_400, "{life}");
            let other = json!({"identifiers": chancery_tests::identifiers(&["x.test"]), "profile": "TLS-1d"});
            super::common::refused(&client.post(&client.url("newOrder"), &other).await, 400, "invalidProfile", profile);
        }
    }

    async fn a_browser_may_ask_and_a_head_has_no_body(world: World) {
        let stranger = world.stranger();
        let reply = stranger.raw(Method::OPTIONS, "/acme/TLS-90d/new-order", &[("origin", "https://x.test")], Vec::new()).await;
        assert_eq!(reply.status, 204);
        assert_eq!(reply.header("access-control-allow-headers"), Some("Content-Type"));
        let reply = stranger.raw(Method::HEAD, "/acme/TLS-90d/directory", &[], Vec::new()).await;
        assert_eq!((reply.status.as_u16(), reply.body.len()), (200, 0));
        for method in [Method::HEAD, Method::GET] {
            let reply = stranger.raw(method, path("https://ca.test/acme/TLS-90d/new-nonce"), &[], Vec::new()).await;
            assert_eq!(reply.header("cache-control"), Some("no-store"));
            assert!(reply.body.is_empty());
        }
    }
}
