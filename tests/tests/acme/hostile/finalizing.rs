//! Finalizing (RFC 8555 section 7.4): the CSR must be for the order, and good.

use chancery_jose::{SigningKey, base64url};
use chancery_tests::{AcmeClient, csr_der, csr_with, on_both_databases, unhurried};
use serde_json::json;

use super::common::{csr_named, csr_of, links, refused, stage, text};

on_both_databases! {
    async fn a_csr_that_does_not_fit_the_order_spends_nothing(world: World) {
        world.start_workers();
        let (_, credential, client) = stage(&world).await;
        let other = AcmeClient::registered(&world, &credential).await;
        let (url, order) = client.order(&["a.test", "b.test"]).await;
        let finalize = text(&order, "finalize");
        let problem = refused(&client.finalize(&order, &["a.test", "b.test"]).await, 403, "orderNotReady", "");
        assert!(text(&problem, "detail").contains("a.test"), "says what is missing: {problem}");
        client.answer_all(&order).await;
        client.wait_for(&url, "ready").await;
        let pem = csr_with("ec-p256", &["a.test", "b.test"]);
        let good = csr_der(&["a.test", "b.test"]);
        let mut broken = base64url::decode(&good).unwrap();
        let last = broken.len() - 1;
        broken[last] ^= 1;
        for (csr, word) in [
            (csr_der(&["a.test"]), "a.test, b.test"),
            (csr_der(&["a.test", "b.test", "c.test"]), "c.test"),
            (csr_der(&["a.test", "c.test"]), "c.test"),
            (csr_der(&["*.a.test", "b.test"]), "*.a.test"),
            (pem, "base64url"),
            (format!("{good}="), "base64url"),
            ("AAAA".to_owned(), "PKCS #10"),
            (String::new(), "PKCS #10"),
            (base64url::encode(&broken), "signature"),
            (csr_of(&client.key, &["a.test", "b.test"]), "key of an ACME account"),
            (csr_of(&other.key, &["a.test", "b.test"]), "key of an ACME account"),
        ] {
            refused(&client.post(finalize, &json!({"csr": csr})).await, 400, "badCSR", word);
        }
        for bad in [json!({}), json!({"csr": 7}), json!({"csr": null})] {
            refused(&client.post(finalize, &bad).await, 400, "malformed", "cannot be understood");
        }
        assert_eq!(client.read(&url).await.expect(200)["status"], "ready");

        let reply = client.post(finalize, &json!({"csr": good})).await;
        assert_eq!(reply.header("location"), Some(url.as_str()));
        let order = reply.expect(200);
        assert_eq!(order["status"], "valid");
        // Once more gives the same, and no second certificate; and no other key is thought to have one.
        let again = client.post(finalize, &json!({"csr": good})).await.expect(200);
        assert_eq!(again, order);
        refused(&client.finalize(&order, &["a.test", "b.test"]).await, 403, "orderNotReady", "another CSR");
    }

    async fn a_name_may_stand_in_the_common_name_alone(world: World) {
        world.start_workers();
        let (tenant, _, client) = stage(&world).await;
        for (names, subject, alternatives) in [
            (&["cn.test"][..], "/CN=CN.test", &[][..]),
            (&["cn.test", "san.test"], "/CN=cn.test", &["san.test"]),
            (&["cn.test", "san.test"], "/CN=cn.test", &["san.test", "cn.test"]),
        ] {
            let (url, order) = client.order(names).await;
            client.answer_all(&order).await;
            let order = client.wait_for(&url, "ready").await;
            let finalize = text(&order, "finalize");
            let other = csr_named(&SigningKey::generate().unwrap(), "/CN=other.test", alternatives);
            refused(&client.post(finalize, &json!({"csr": other})).await, 400, "badCSR", "other.test");
            let person = csr_named(&SigningKey::generate().unwrap(), "/CN=Some Body", alternatives);
            refused(&client.post(finalize, &json!({"csr": person})).await, 400, "badCSR", "");
            let csr = csr_named(&SigningKey::generate().unwrap(), subject, alternatives);
            let order = client.post(finalize, &json!({"csr": csr})).await.expect(200);
            assert_eq!(order["status"], "valid");
            let found = tenant.get(&format!("/v1/certificates?name={}", names[0])).await.expect(200);
            assert_eq!(found["items"][0]["names"].as_array().map(Vec::len), Some(names.len()));
        }
    }

    async fn without_a_worker_the_order_is_processing_and_comes_to_an_end_later(world: World) {
        let (_, _, client) = stage(&world).await;
        let node = world.another_node(unhurried(), Vec::new()).await;
        let client = client.speaking_to(node.stranger());
        let (url, order) = client.order(&["a.test"]).await;
        client.answer_all(&order).await;
        world.work(None).await;
        let order = client.wait_for(&url, "ready").await;
        let reply = client.finalize(&order, &["a.test"]).await;
        assert_eq!(reply.header("retry-after"), Some("1"));
        let order = reply.expect(200);
        assert_eq!(order["status"], "processing");
        assert!(order.get("certificate").is_none());
        assert_eq!(client.read(&url).await.header("retry-after"), Some("1"));
        world.work(None).await;
        let order = client.wait_for(&url, "valid").await;
        let reply = client.read(text(&order, "certificate")).await;
        assert_eq!(reply.status, 200);
        // Section 7.4.2: leaf first, then its issuer; no alternate where there is one chain.
        assert!(links(&reply).iter().all(|link| link.ends_with("rel=\"index\"")), "{:?}", links(&reply));
    }

    async fn every_kind_of_key_that_the_profile_takes_is_certified(world: World) {
        world.start_workers();
        let (_, _, client) = stage(&world).await;
        for kind in ["ec-p256", "ec-p384", "rsa-2048"] {
            let (url, order) = client.order(&["k.test"]).await;
            client.answer_all(&order).await;
            let order = client.wait_for(&url, "ready").await;
            let csr = base64url::encode(&chancery_tests::der(&csr_with(kind, &["k.test"])));
            let order = client.post(text(&order, "finalize"), &json!({"csr": csr})).await.expect(200);
            assert_eq!(order["status"], "valid", "{kind}");
        }
    }
}
