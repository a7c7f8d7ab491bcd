//! From a credential to a certificate, as most clients go.

use chancery_tests::{AcmeClient, on_both_databases, path};
use http::Method;
use serde_json::json;

on_both_databases! {
    async fn a_directory_tells_where_everything_is(world: World) {
        let reply = world.stranger().get("/acme/TLS-90d/directory").await;
        assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
        let directory = reply.expect(200);
        for name in ["newNonce", "newAccount", "newOrder", "newAuthz", "revokeCert", "keyChange", "renewalInfo"] {
            assert!(directory[name].as_str().unwrap().starts_with("https://ca.test/acme/"), "{name}");
        }
        assert_eq!(directory["meta"]["externalAccountRequired"], true);
        assert!(directory["meta"]["profiles"]["TLS-90d"].is_string());
        // One name that no client can know, and another one each time.
        assert_eq!(directory.as_object().unwrap().len(), 9);
        let again = world.stranger().get("/acme/TLS-90d/directory").await.expect(200);
        assert_ne!(directory, again);
        let missing = world.stranger().get("/acme/TLS-1d/directory").await;
        assert_eq!(missing.header("content-type"), Some("application/problem+json"));
        assert_eq!(missing.expect(404)["type"], "urn:ietf:params:acme:error:malformed");
    }

    async fn a_client_gets_a_certificate(world: World) {
        world.start_workers();
        let tenant = world.tenant("DEMO").await;
        let credential = tenant.make_account("a@example.com").await;
        let mut client = AcmeClient::at(world.stranger(), "TLS-90d").await;
        let reply = client.register(&credential).await;
        assert_eq!(reply.header("link"), Some("<https://ca.test/acme/TLS-90d/directory>;rel=\"index\""));
        assert!(reply.header("replay-nonce").is_some());
        let account = reply.expect(201);
        assert_eq!(account["status"], "valid");
        assert_eq!(account["contact"], json!(["mailto:admin@example.com"]));
        assert!(account.get("externalAccountBinding").is_none());

        let names = ["example.com", "*.example.com", "192.0.2.1"];
        let (url, order) = client.order(&names).await;
        assert_eq!(order["status"], "pending");
        assert_eq!(order["authorizations"].as_array().unwrap().len(), 3);
        client.answer_all(&order).await;
        let order = client.wait_for(&url, "ready").await;
        let order = client.finalize(&order, &names).await.expect(200);
        assert_eq!(order["status"], "valid", "{order}");
        let chain = client.read(order["certificate"].as_str().unwrap()).await;
        assert_eq!(chain.header("content-type"), Some("application/pem-certificate-chain"));
        assert_eq!(chain.text().matches("BEGIN CERTIFICATE").count(), 2);

        // The reseller sees it all.
        let certificates = tenant.get("/v1/certificates").await.expect(200);
        assert_eq!(certificates["items"][0]["requestedVia"], "acme");
        assert_eq!(certificates["items"][0]["status"], "issued");
        let kid = credential["kid"].as_str().unwrap();
        let credential = tenant.get(&format!("/v1/eab-credential/{kid}")).await.expect(200);
        assert_eq!(credential["boundAccounts"], json!([client.kid]));
        assert!(credential["lastUsedAt"].is_string());
    }

    async fn a_known_key_finds_its_account_without_a_binding(world: World) {
        let credential = world.tenant("DEMO").await.make_account("a@example.com").await;
        let mut client = AcmeClient::registered(&world, &credential).await;
        let kid = client.kid.take().unwrap();
        for payload in [json!({}), json!({"onlyReturnExisting": true})] {
            let reply = client.post(&client.url("newAccount"), &payload).await;
            assert_eq!(reply.header("location"), Some(kid.as_str()));
            assert_eq!(reply.expect(200)["status"], "valid");
        }
    }

    async fn nonces_come_by_head_and_by_get(world: World) {
        let stranger = world.stranger();
        let head = stranger.raw(Method::HEAD, "/acme/TLS-90d/new-nonce", &[], Vec::new()).await;
        let get = stranger.get("/acme/TLS-90d/new-nonce").await;
        assert_eq!((head.status.as_u16(), get.status.as_u16()), (200, 204));
        assert_ne!(head.header("replay-nonce").unwrap(), get.header("replay-nonce").unwrap());
        assert_eq!(get.header("cache-control"), Some("no-store"));
    }

    async fn what_is_not_open_is_not_read_by_get(world: World) {
        let credential = world.tenant("DEMO").await.make_account("a@example.com").await;
        let client = AcmeClient::registered(&world, &credential).await;
        let reply = world.stranger().get(path(client.kid.as_deref().unwrap())).await;
        assert_eq!(reply.header("allow"), Some("POST"));
        assert_eq!(reply.header("content-type"), Some("application/problem+json"));
        assert_eq!(reply.expect(405)["type"], "urn:ietf:params:acme:error:malformed");
    }
}
