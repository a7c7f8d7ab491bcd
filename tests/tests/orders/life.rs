use chancery_tests::{csr, lookup, on_both_databases};
use serde_json::json;

on_both_databases! {
    async fn an_order_becomes_a_certificate(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let request = json!({"account_lookup": account, "csr": csr(&["hello.test", "www.hello.test"])});
        let order = tenant.post("/v1/order", request).await.expect(201);
        assert_eq!(order["status"], "pending");
        let path = format!("/v1/order/{}", order["lookup"].as_str().unwrap());
        let certificate = format!("/v1/certificate/{}", order["certificateLookup"].as_str().unwrap());
        assert_eq!(tenant.post_empty(&format!("{path}/finalize")).await.refusal(400), "order_not_ready");

        tenant.choose_all(&order).await;
        world.work(None).await;
        assert_eq!(tenant.get(&path).await.expect(200)["status"], "ready");
        assert_eq!(tenant.get(&certificate).await.expect(202)["status"], "ready");

        assert_eq!(tenant.post_empty(&format!("{path}/finalize")).await.expect(202)["status"], "processing");
        assert_eq!(tenant.post_empty(&format!("{path}/finalize")).await.expect(208)["status"], "processing");
        world.work(None).await;
        let valid = tenant.get(&path).await.expect(200);
        assert_eq!(valid["status"], "valid", "{valid}");

        let pem = tenant.get(&certificate).await;
        assert_eq!(pem.status, 200, "{}", pem.text());
        assert_eq!(pem.text().matches("BEGIN CERTIFICATE").count(), 2);
        let listed = tenant.get("/v1/certificates?certificate_status=issued").await.expect(200);
        assert_eq!(listed["items"][0]["names"], json!(["hello.test", "www.hello.test"]));

        let revocation = format!("/v1/certificates/{}/revocation", order["lookup"].as_str().unwrap());
        let revoked = tenant.post(&revocation, json!({"reason": "keyCompromise"})).await.expect(202);
        assert_eq!(revoked["status"], "revoked");
        assert_eq!(tenant.post(&revocation, json!({})).await.expect(208)["status"], "valid");
    }

    async fn a_second_order_for_a_name_that_was_shown_is_ready_at_once(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let order = json!({"account_lookup": account, "csr": csr(&["hello.test"])});
        let first = tenant.post("/v1/order", order.clone()).await.expect(201);
        tenant.choose_all(&first).await;
        world.work(None).await;
        let second = tenant.post("/v1/order", order).await.expect(201);
        assert_eq!(second["status"], "ready");
        assert_eq!(second["authorizations"][0]["challenges"][0]["status"], "valid");
    }

    async fn a_cancelled_order_takes_its_authorizations_along(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let order = json!({"account_lookup": account, "csr": csr(&["hello.test"])});
        let order = tenant.post("/v1/order", order).await.expect(201);
        let path = format!("/v1/order/{}", order["lookup"].as_str().unwrap());
        let cancelled = tenant.delete(&path).await.expect(200);
        assert_eq!(cancelled["status"], "cancelled");
        assert_eq!(cancelled["authorizations"][0]["status"], "deactivated");
        assert_eq!(tenant.delete(&path).await.refusal(410), "order_gone");
        assert_eq!(tenant.post_empty(&format!("{path}/finalize")).await.refusal(410), "order_gone");
        let certificate = format!("/v1/certificate/{}", order["certificateLookup"].as_str().unwrap());
        assert_eq!(tenant.get(&certificate).await.refusal(410), "certificate_gone");
        let listed = tenant.get("/v1/certificates?certificate_status=cancelled").await.expect(200);
        assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    }
}
