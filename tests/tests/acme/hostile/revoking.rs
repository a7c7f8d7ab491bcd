//! Revocation (RFC 8555 section 7.6): by who ordered, by who controls the names, by who has the key; by nobody else.

use std::time::Duration;

use chancery_jose::{SigningKey, base64url};
use chancery_tests::{AcmeClient, on_both_databases};
use serde_json::{Value, json};

use super::common::{csr_of, refused, stage, text};

async fn certificate_of(client: &AcmeClient, key: &SigningKey, name: &str) -> String {
    let (url, order) = client.order(&[name]).await;
    client.answer_all(&order).await;
    let order = client.wait_for(&url, "ready").await;
    let order = client.post(text(&order, "finalize"), &json!({"csr": csr_of(key, &[name])})).await.expect(200);
    base64url::encode(&client.certificate(&order).await)
}

async fn revoke(client: &AcmeClient, certificate: &str, more: Value) -> chancery_tests::Reply {
    let mut asked = json!({"certificate": certificate});
    for (name, value) in more.as_object().unwrap() {
        asked[name] = value.clone();
    }
    client.post(&client.url("revokeCert"), &asked).await
}

on_both_databases! {
    async fn the_account_that_ordered_revokes_once(world: World) {
        world.start_workers();
        let (tenant, _, client) = stage(&world).await;
        let certificate = certificate_of(&client, &SigningKey::generate().unwrap(), "a.test").await;
        for reason in [2, 6, 7, 8, 10, 11, -1] {
            let reply = revoke(&client, &certificate, json!({"reason": reason})).await;
            refused(&reply, 400, "badRevocationReason", "known are");
        }
        for reason in [json!("keyCompromise"), json!(1.5)] {
            refused(&revoke(&client, &certificate, json!({"reason": reason})).await, 400, "malformed", "");
        }
        let reply = revoke(&client, &certificate, json!({"reason": 4})).await;
        assert_eq!((reply.status.as_u16(), reply.body.len()), (200, 0), "{}", reply.text());
        refused(&revoke(&client, &certificate, json!({"reason": 5})).await, 400, "alreadyRevoked", "already");
        let reason = async || {
            let seen = tenant.get("/v1/certificates?certificate_status=revoked").await.expect(200);
            text(&seen["items"][0], "revocationReason").to_owned()
        };
        assert_eq!(reason().await, "superseded");
        // News, and so no mistake.
        assert_eq!(revoke(&client, &certificate, json!({"reason": 1})).await.status, 200);
        assert_eq!(reason().await, "keyCompromise");
        for reason in [1, 4] {
            refused(&revoke(&client, &certificate, json!({"reason": reason})).await, 400, "alreadyRevoked", "already");
        }
        for (wrong, status) in [("!", 400), ("", 400), ("AAAA", 400), (text(&json!({"x": &certificate[4..]}), "x"), 400)] {
            refused(&revoke(&client, wrong, json!({})).await, status, "malformed", "certificate");
        }
        refused(&client.post(&client.url("revokeCert"), &json!({})).await, 400, "malformed", "certificate");
    }

    async fn the_key_of_the_certificate_revokes_without_an_account(world: World) {
        world.start_workers();
        let (_, credential, client) = stage(&world).await;
        let key = SigningKey::generate().unwrap();
        let certificate = certificate_of(&client, &key, "a.test").await;
        let stranger = AcmeClient::at(world.stranger(), "TLS-199d").await;
        refused(&revoke(&stranger, &certificate, json!({})).await, 403, "unauthorized", "another key");
        let mut owner = AcmeClient { key, ..stranger };
        let reply = revoke(&owner, &certificate, json!({"reason": 1})).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        refused(&revoke(&owner, &certificate, json!({})).await, 400, "alreadyRevoked", "");
        // A key that is known to others is certified no more.
        let (url, order) = client.order(&["a.test"]).await;
        client.answer_all(&order).await;
        let order = client.wait_for(&url, "ready").await;
        let reply = client.post(text(&order, "finalize"), &json!({"csr": csr_of(&owner.key, &["a.test"])})).await;
        refused(&reply, 400, "badCSR", "");
        refused(&owner.register(&credential).await, 400, "badPublicKey", "compromised");
    }

    async fn who_controls_every_name_revokes_and_nobody_else(world: World) {
        world.start_workers();
        let (_, _, client) = stage(&world).await;
        let certificate = certificate_of(&client, &SigningKey::generate().unwrap(), "a.test").await;
        let foreign = world.tenant("OTHER").await.make_account("b@example.com").await;
        let other = AcmeClient::registered(&world, &foreign).await;
        refused(&revoke(&other, &certificate, json!({})).await, 403, "unauthorized", "authorize them first");
        let (url, order) = other.order(&["a.test"]).await;
        refused(&revoke(&other, &certificate, json!({})).await, 403, "unauthorized", "authorize them first");
        other.answer_all(&order).await;
        other.wait_for(&url, "ready").await;
        // What they control are the names; the key may be in use for others.
        refused(&revoke(&other, &certificate, json!({"reason": 1})).await, 400, "badRevocationReason", "that account");
        let reply = revoke(&other, &certificate, json!({"reason": 5})).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
    }

    async fn what_was_issued_elsewhere_or_has_expired_is_not_revoked(world: World) {
        world.start_workers();
        let (_, _, client) = stage(&world).await;
        let certificate = certificate_of(&client, &SigningKey::generate().unwrap(), "a.test").await;
        // One bit of the signature makes it another one.
        let mut altered = base64url::decode(&certificate).unwrap();
        let last = altered.len() - 1;
        altered[last] ^= 1;
        let reply = revoke(&client, &base64url::encode(&altered), json!({})).await;
        refused(&reply, 404, "malformed", "not issued here");
        world.advance(Duration::from_secs(91 * 86_400));
        refused(&revoke(&client, &certificate, json!({})).await, 400, "malformed", "expired");
    }

    async fn that_a_key_is_compromised_is_believed_of_what_has_expired(world: World) {
        world.start_workers();
        let (_, credential, client) = stage(&world).await;
        let keys: Vec<_> = (0..3).map(|_| SigningKey::generate().unwrap()).collect();
        let mut certificates = Vec::new();
        for key in &keys {
            certificates.push(certificate_of(&client, key, "a.test").await);
        }
        assert_eq!(revoke(&client, &certificates[0], json!({"reason": 4})).await.status, 200);
        let foreign = world.tenant("OTHER").await.make_account("b@example.com").await;
        let other = AcmeClient::registered(&world, &foreign).await;
        world.advance(Duration::from_secs(91 * 86_400));
        refused(&revoke(&client, &certificates[0], json!({"reason": 1})).await, 400, "alreadyRevoked", "already");
        refused(&revoke(&client, &certificates[1], json!({"reason": 1})).await, 400, "malformed", "expired");
        // Of nobody who could not say so before.
        refused(&revoke(&other, &certificates[2], json!({"reason": 1})).await, 403, "unauthorized", "");
        for (key, is_blocked) in keys.into_iter().zip([true, true, false]) {
            let mut owner = AcmeClient { key, ..AcmeClient::at(world.stranger(), "TLS-199d").await };
            let reply = owner.register(&credential).await;
            match is_blocked {
                true => drop(refused(&reply, 400, "badPublicKey", "compromised")),
                false => assert_eq!(reply.status, 201, "{}", reply.text()),
            }
        }
    }
}
