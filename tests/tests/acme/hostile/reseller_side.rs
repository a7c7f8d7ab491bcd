//! An ACME order and a reseller's order are one kind of thing: seen, cancelled and revoked from the other side.

use chancery_tests::{lookup, on_both_databases};
use serde_json::json;

use super::common::{refused, stage, text};

on_both_databases! {
    async fn the_reseller_sees_an_acme_order_and_cancels_it(world: World) {
        let (tenant, credential, client) = stage(&world).await;
        let (url, order) = client.order(&["a.test"]).await;
        let seen = tenant.get("/v1/order").await.expect(200)["items"][0].clone();
        assert_eq!((&seen["accountLookup"], &seen["eabKid"]), (&credential["lookup"], &credential["kid"]));
        let listed = tenant.get("/v1/certificates").await.expect(200)["items"][0].clone();
        assert_eq!((text(&listed, "status"), text(&listed, "requestedVia")), ("pending", "acme"));
        let other = world.tenant("OTHER").await;
        assert_eq!(other.get(&format!("/v1/order/{}", lookup(&seen))).await.status, 404);
        assert_eq!(other.get("/v1/certificates").await.expect(200)["items"], json!([]));

        tenant.delete(&format!("/v1/order/{}", lookup(&seen))).await.expect(200);
        let now = client.read(&url).await.expect(200);
        assert_eq!(now["status"], "invalid");
        assert!(text(&now["error"], "detail").contains("cancelled"), "{now}");
        refused(&client.finalize(&order, &["a.test"]).await, 403, "orderNotReady", "cancelled");
        let authorization = client.read(order["authorizations"][0].as_str().unwrap()).await;
        assert!(authorization.status == 200 && authorization.json()["status"] != "valid", "{}", authorization.text());
        let challenge = authorization.json()["challenges"][0]["url"].as_str().unwrap().to_owned();
        let reply = client.post(&challenge, &json!({})).await;
        assert!(reply.status.is_client_error(), "{}", reply.text());
        assert_eq!(tenant.get("/v1/certificates").await.expect(200)["items"][0]["status"], "cancelled");
    }

    async fn the_reseller_reads_and_revokes_an_acme_certificate(world: World) {
        world.start_workers();
        let (tenant, credential, client) = stage(&world).await;
        let (_, order) = client.issue(&["a.test"]).await;
        let listed = tenant.get("/v1/certificates?name=a.test").await.expect(200)["items"][0].clone();
        assert_eq!(listed["customerEmail"], "a@example.com");
        let chain = client.read(text(&order, "certificate")).await.text();
        let download = tenant.get(&format!("/v1/certificate/{}", lookup(&listed))).await;
        assert_eq!(download.text(), chain);
        let seen = tenant.get("/v1/order").await.expect(200)["items"][0].clone();
        tenant.post(&format!("/v1/certificates/{}/revocation", lookup(&seen)), json!({"reason": "superseded"})).await.expect(202);
        let der = chancery_jose::base64url::encode(&chancery_tests::der(&chain));
        let reply = client.post(&client.url("revokeCert"), &json!({"certificate": der})).await;
        refused(&reply, 400, "alreadyRevoked", "");
        // The reseller's finalize has nothing to do with an ACME order that has no CSR yet.
        let (_, _) = client.order(&["b.test"]).await;
        let open = tenant.get("/v1/order?status=pending").await.expect(200)["items"][0].clone();
        let reply = tenant.post_empty(&format!("/v1/order/{}/finalize", lookup(&open))).await;
        assert_eq!(reply.status, 400, "{}", reply.text());
        let (_, _) = client.order(&["a.test"]).await;
        let ready = tenant.get("/v1/order?status=ready").await.expect(200)["items"][0].clone();
        let reply = tenant.post_empty(&format!("/v1/order/{}/finalize", lookup(&ready))).await;
        assert_eq!(reply.status, 400, "{}", reply.text());
        // Ending the account ends what is open.
        tenant.delete(&format!("/v1/account/{}?revoke_certificates=true", lookup(&credential))).await.expect(200);
        let open = tenant.get("/v1/order?status=pending").await.expect(200);
        assert_eq!(open["items"], json!([]));
    }
}
