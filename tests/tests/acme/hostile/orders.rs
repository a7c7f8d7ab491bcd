//! Orders and authorizations (RFC 8555 sections 7.4, 7.4.1 and 7.5): whose they are, and what can be asked of them.

use std::time::Duration;

use chancery_domain::Timestamp;
use chancery_tests::{AcmeClient, START, identifiers, on_both_databases};
use serde_json::json;

use super::common::{refused, stage, text};

on_both_databases! {
    async fn an_order_has_all_that_the_rfc_gives_it(world: World) {
        let (_, _, client) = stage(&world).await;
        let reply = client.post(&client.url("newOrder"), &json!({"identifiers": identifiers(&["a.test"])})).await;
        let url = reply.header("location").unwrap().to_owned();
        let order = reply.expect(201);
        assert_eq!(order["status"], "pending");
        assert_eq!(order["expires"], START.plus(Duration::from_secs(7 * 86_400)).to_string());
        for absent in ["certificate", "error", "notBefore", "notAfter", "replaces"] {
            assert!(order.get(absent).is_none(), "{absent}");
        }
        assert_eq!(client.read(&url).await.expect(200), order);
        let authorization = client.read(order["authorizations"][0].as_str().unwrap()).await.expect(200);
        assert_eq!((text(&authorization, "status"), authorization.get("wildcard")), ("pending", None));
        let tokens: Vec<_> = authorization["challenges"].as_array().unwrap().iter().map(|each| text(each, "token")).collect();
        assert!(tokens.iter().all(|token| token.len() >= 22), "{tokens:?}");

        // It ends in time, and says so.
        world.advance(Duration::from_secs(7 * 86_400 + 1));
        let ended = client.read(&url).await.expect(200);
        assert_eq!(ended["status"], "invalid");
        assert!(text(&ended["error"], "detail").contains("expired"), "{ended}");
        let reply = client.finalize(&order, &["a.test"]).await;
        refused(&reply, 403, "orderNotReady", "expired");
    }

    async fn dates_are_kept_within_the_profile(world: World) {
        world.start_workers();
        let (_, _, client) = stage(&world).await;
        let at = |days: i64| START.plus(Duration::from_secs(u64::try_from(days).unwrap() * 86_400)).to_string();
        let url = client.url("newOrder");
        let ask = async |dates: serde_json::Value| {
            let mut asked = json!({"identifiers": identifiers(&["a.test"])});
            for (name, value) in dates.as_object().unwrap() {
                asked[name] = value.clone();
            }
            client.post(&url, &asked).await
        };
        for (dates, word) in [
            (json!({"notAfter": at(91)}), "notAfter"),
            (json!({"notAfter": "2027-01-14T00:00:00Z"}), "notAfter"),
            (json!({"notAfter": at(10), "notBefore": at(20)}), "not"),
            (json!({"notBefore": "yesterday"}), "RFC 3339"),
            (json!({"notAfter": "2027-13-01T00:00:00Z"}), "RFC 3339"),
        ] {
            refused(&ask(dates).await, 400, "malformed", word);
        }
        refused(&ask(json!({"notAfter": 7})).await, 400, "malformed", "");
        let reply = ask(json!({"notAfter": at(30)})).await;
        let order_url = reply.header("location").unwrap().to_owned();
        let order = reply.expect(201);
        assert_eq!(text(&order, "notAfter"), at(30));
        client.answer_all(&order).await;
        let order = client.wait_for(&order_url, "ready").await;
        let order = client.finalize(&order, &["a.test"]).await.expect(200);
        assert_eq!(order["status"], "valid");
        let der = client.certificate(&order).await;
        let (_, certificate) = x509_parser::parse_x509_certificate(&der).unwrap();
        assert_eq!(certificate.validity().not_after.timestamp(), START.as_secs() + 30 * 86_400);

        // Nor does it outlive every CA.
        let issuers = world.services.operator.issuers().await.unwrap();
        let ends = issuers.iter().find(|issuer| issuer.name == "Test Issuing E1").unwrap().info.not_after;
        let left = u64::try_from(ends - world.services.now().as_secs()).unwrap();
        world.advance(Duration::from_secs(left - 30 * 86_400));
        let at = |seconds| Timestamp::from_secs(seconds).to_string();
        refused(&ask(json!({"notAfter": at(ends + 1)})).await, 400, "malformed", "no CA that may sign it lasts longer");
        ask(json!({"notAfter": at(ends)})).await.expect(201);
    }

    async fn what_belongs_to_another_account_is_not_there(world: World) {
        world.start_workers();
        let (tenant, credential, client) = stage(&world).await;
        let (order_url, order) = client.issue(&["a.test"]).await;
        let authorization = order["authorizations"][0].as_str().unwrap();
        let challenge = client.read(authorization).await.expect(200)["challenges"][0]["url"].as_str().unwrap().to_owned();
        let certificate = text(&order, "certificate");
        // Of the same customer, of another one, and of another reseller.
        let sibling = AcmeClient::registered(&world, &credential).await;
        let other = AcmeClient::registered(&world, &tenant.make_account("b@example.com").await).await;
        let foreign = world.tenant("OTHER").await.make_account("a@example.com").await;
        let foreign = AcmeClient::registered(&world, &foreign).await;
        for stranger in [&sibling, &other, &foreign] {
            for url in [&order_url, authorization, &challenge, certificate] {
                refused(&stranger.read(url).await, 404, "malformed", "");
            }
            refused(&stranger.post(&challenge, &json!({})).await, 404, "malformed", "");
            refused(&stranger.finalize(&order, &["a.test"]).await, 404, "malformed", "");
            refused(&stranger.post(authorization, &json!({"status": "deactivated"})).await, 404, "malformed", "");
        }
        // The same words as for what never was.
        let never = order_url.rsplit_once('/').unwrap().0.to_owned() + "/ord_00000000000000000000000000";
        let (a, b) = (sibling.read(&order_url).await.json(), sibling.read(&never).await.json());
        assert_eq!(a["detail"], b["detail"]);
        assert_eq!(client.read(authorization).await.expect(200)["status"], "valid");
        for path in ["order/x", "authz/x", "challenge/x", "cert/x", "order/x/finalize", "order/%00", "order/.."] {
            let url = format!("https://ca.test/acme/{path}");
            let reply = client.read(&url).await;
            assert_eq!(reply.status, 404, "{path}: {}", reply.text());
        }
    }

    async fn a_name_that_was_shown_needs_no_second_showing_until_it_is_given_up(world: World) {
        world.start_workers();
        let (_, _, client) = stage(&world).await;
        client.issue(&["a.test"]).await;
        let (url, order) = client.order(&["a.test"]).await;
        assert_eq!(order["status"], "ready");
        let authorization = order["authorizations"][0].as_str().unwrap();
        let seen = client.read(authorization).await.expect(200);
        // A client may say again what is known already, and may look for a challenge there.
        let challenge = text(&seen["challenges"][0], "url");
        assert_eq!(client.post(challenge, &json!({})).await.expect(200)["status"], "valid");
        refused(&client.post(authorization, &json!({"status": "valid"})).await, 400, "malformed", "deactivated");
        let given_up = client.post(authorization, &json!({"status": "deactivated"})).await.expect(200);
        assert_eq!(given_up["status"], "deactivated");
        assert_eq!(client.read(&url).await.expect(200)["status"], "invalid");
        assert_eq!(client.order(&["a.test"]).await.1["status"], "pending");
    }

    async fn a_name_can_be_shown_before_it_is_ordered(world: World) {
        world.start_workers();
        let (_, _, client) = stage(&world).await;
        let reply = client.post(&client.url("newAuthz"), &json!({"identifier": {"type": "dns", "value": "A.test"}})).await;
        let url = reply.header("location").unwrap().to_owned();
        let authorization = reply.expect(201);
        assert_eq!(authorization["identifier"]["value"], "a.test");
        client.post(text(&authorization["challenges"][0], "url"), &json!({})).await.expect(200);
        client.wait_for(&url, "valid").await;
        assert_eq!(client.order(&["a.test"]).await.1["status"], "ready");
        let wild = json!({"identifier": {"type": "dns", "value": "*.a.test"}});
        refused(&client.post(&client.url("newAuthz"), &wild).await, 400, "malformed", "wildcard");
    }
}
