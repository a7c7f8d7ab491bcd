//! Answers to what is odd, and answers in odd moments: each leads back to the right directory, and none is of another door.

use chancery_jose::{Signer, base64url};
use chancery_tests::{AcmeClient, on_both_databases, path, settings};
use http::Method;
use serde_json::{Value, json};

use super::common::{links, parts, problem, refused, stage, text, with};

const USUAL: &str = "<https://ca.test/acme/TLS-90d/directory>;rel=\"index\"";
const OTHER: &str = "<https://ca.test/acme/TLS-199d/directory>;rel=\"index\"";

on_both_databases! {
    async fn an_answer_leads_back_to_the_directory_of_its_own_profile(world: World) {
        world.start_workers();
        let credential = world.tenant("DEMO").await.make_account("a@example.com").await;
        let mut client = AcmeClient::at(world.stranger(), "TLS-199d").await;
        client.register(&credential).await.expect(201);
        let (order_url, order) = client.issue(&["a.test"]).await;
        let authorization = order["authorizations"][0].as_str().unwrap();
        let challenge = text(&client.read(authorization).await.expect(200)["challenges"][0], "url").to_owned();
        for url in [&order_url, authorization, &challenge, text(&order, "certificate")] {
            let reply = client.read(url).await;
            assert!(links(&reply).contains(&OTHER), "{url}: {:?}", links(&reply));
        }
        // An account is of no profile.
        let account = client.kid.clone().unwrap();
        assert_eq!(links(&client.read(&account).await), [USUAL]);
        // A node that has never seen the order finds out.
        let node = world.another_node(settings(), Vec::new()).await;
        let client = client.speaking_to(node.stranger());
        for url in [&challenge, authorization] {
            let reply = client.read(url).await;
            assert!(links(&reply).contains(&OTHER), "{url}: {:?}", links(&reply));
        }
        // What is ahead of orders is of the profile at which it is asked for.
        let ahead = json!({"identifier": {"type": "dns", "value": "b.test"}});
        let reply = client.post(&client.url("newAuthz"), &ahead).await;
        assert_eq!((reply.status.as_u16(), links(&reply)), (201, vec![OTHER]));
    }

    async fn a_path_below_acme_that_leads_nowhere_is_refused_by_this_door(world: World) {
        let stranger = world.stranger();
        for nowhere in [
            "/acme/TLS-90d/",
            "/acme/TLS-90d/directory/",
            "/acme/TLS-90d/new-order/",
            "/acme/renewal-info/AAAA.AQAB/",
            "/acme/renewal-info/",
            "/acme/order/x/",
            "/acme//",
            "/acme///",
            "/acme/directory",
            "/acme/order/x/directory",
        ] {
            let reply = stranger.get(nowhere).await;
            problem(&reply, 404, "malformed", "nothing at this path");
            assert_eq!(reply.header("access-control-allow-origin"), Some("*"), "{nowhere}");
            let reply = stranger.raw(Method::POST, nowhere, &[], Vec::new()).await;
            refused(&reply, 404, "malformed", "nothing at this path");
            let reply = stranger.raw(Method::OPTIONS, nowhere, &[], Vec::new()).await;
            assert_eq!(reply.status, 204, "{nowhere}");
        }
        let reply = stranger.get("/acme/TLS-199d/directory/").await;
        assert_eq!(links(&reply), [OTHER]);
        // Nor does a directory of no profile lead anywhere, or one that is asked for in a wrong way.
        let reply = stranger.get("/acme/other/directory").await;
        assert_eq!((reply.status.as_u16(), links(&reply)), (404, vec![USUAL]));
        let reply = stranger.raw(Method::PUT, "/acme/TLS-199d/directory", &[], Vec::new()).await;
        assert_eq!((reply.status.as_u16(), links(&reply)), (405, vec![OTHER]));
        assert!(links(&stranger.get("/acme/TLS-199d/directory").await).is_empty());
        // What is beside it is another door's.
        for beside in ["/acmes", "/acmes/"] {
            assert_eq!(stranger.get(beside).await.refusal(404), "not_found", "{beside}");
        }
    }

    async fn a_key_that_does_not_go_with_its_algorithm_is_a_bad_key(world: World) {
        let client = AcmeClient::at(world.stranger(), "TLS-90d").await;
        let url = client.url("newAccount");
        for alg in ["ES384", "ES512", "RS256", "EdDSA"] {
            let header = Value::Object(with(client.header(&url).await, json!({"alg": alg}))).to_string();
            let input = format!("{}.{}", base64url::encode(header.as_bytes()), base64url::encode(b"{}"));
            let body = parts(&header, "{}", &client.key.sign(input.as_bytes()).unwrap());
            refused(&client.send_raw(&url, body.to_string().into_bytes()).await, 400, "badPublicKey", alg);
        }
        for alg in ["HS256", "ES256K"] {
            let header = Value::Object(with(client.header(&url).await, json!({"alg": alg}))).to_string();
            let body = parts(&header, "{}", b"x").to_string().into_bytes();
            refused(&client.send_raw(&url, body).await, 400, "badSignatureAlgorithm", alg);
        }
    }

    async fn a_challenge_of_an_authorization_that_was_given_up_is_not_waited_for(world: World) {
        let (_, _, client) = stage(&world).await;
        let (_, order) = client.order(&["a.test"]).await;
        let authorization = order["authorizations"][0].as_str().unwrap();
        let challenge = text(&client.read(authorization).await.expect(200)["challenges"][0], "url").to_owned();
        let chosen = client.post(&challenge, &json!({})).await;
        assert_eq!((chosen.header("retry-after"), &chosen.expect(200)["status"]), (Some("1"), &json!("processing")));
        client.post(authorization, &json!({"status": "deactivated"})).await.expect(200);

        let reply = client.read(&challenge).await;
        assert_eq!(reply.header("retry-after"), None);
        let seen = reply.expect(200);
        assert_eq!(seen["status"], "invalid", "{seen}");
        assert_eq!(seen["error"]["type"], "urn:ietf:params:acme:error:unauthorized");
        assert!(text(&seen["error"], "detail").contains("deactivated"), "{seen}");
        let reply = client.read(authorization).await;
        assert_eq!(reply.header("retry-after"), None);
        let all = reply.expect(200)["challenges"].as_array().unwrap().clone();
        assert!(all.contains(&seen), "{all:?}");
        // Those that were never tried are as they were.
        assert!(all.iter().filter(|each| **each != seen).all(|each| each["status"] == "pending"), "{all:?}");
    }

    async fn what_only_does_something_does_not_say_that_it_can_be_read(world: World) {
        let (_, _, client) = stage(&world).await;
        let (url, order) = client.order(&["a.test"]).await;
        let names = ["newAccount", "newOrder", "newAuthz", "revokeCert", "keyChange"];
        for doing in names.map(|name| client.url(name)).iter().map(String::as_str).chain([text(&order, "finalize")]) {
            let said = problem(&client.stranger.get(path(doing)).await, 405, "malformed", "takes a signed POST");
            assert!(!said.to_string().contains("POST-as-GET"), "{said}");
        }
        problem(&client.stranger.get(path(&url)).await, 405, "malformed", "POST-as-GET");
    }
}
