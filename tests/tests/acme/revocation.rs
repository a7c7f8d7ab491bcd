//! Who may revoke a certificate (RFC 8555 section 7.6).

use std::process::Command;

use chancery_jose::{SigningKey, base64url};
use chancery_tests::{AcmeClient, der, on_both_databases};
use serde_json::json;

use crate::common::{problem, stage};

/// A key of one's own, and a CSR that it has signed.
pub(crate) fn key_and_csr(name: &str) -> (SigningKey, String) {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key.der");
    let pair = SigningKey::generate().unwrap();
    std::fs::write(&key, pair.to_pkcs8().unwrap().as_slice()).unwrap();
    let csr = Command::new("openssl")
        .args([
            "req",
            "-new",
            "-subj",
            "/",
            "-keyform",
            "DER",
            "-addext",
            &format!("subjectAltName=DNS:{name}"),
            "-key",
        ])
        .arg(&key)
        .output()
        .unwrap();
    assert!(csr.status.success(), "{}", String::from_utf8_lossy(&csr.stderr));
    (pair, base64url::encode(&der(&String::from_utf8(csr.stdout).unwrap())))
}

on_both_databases! {
    async fn by_whoever_ordered_it_once(world: World) {
        world.start_workers();
        let (tenant, credential, client) = stage(&world).await;
        let (_, order) = client.issue(&["example.com"]).await;
        let certificate = base64url::encode(&client.certificate(&order).await);
        let url = client.url("revokeCert");
        let other = AcmeClient::registered(&world, &credential).await;
        problem(&other.post(&url, &json!({"certificate": certificate})).await, 403, "unauthorized");
        let reason = client.post(&url, &json!({"certificate": certificate, "reason": 7})).await;
        problem(&reason, 400, "badRevocationReason");
        problem(&client.post(&url, &json!({"certificate": "AAAA"})).await, 400, "malformed");
        let done = client.post(&url, &json!({"certificate": certificate, "reason": 4})).await;
        assert_eq!((done.status.as_u16(), done.body.len()), (200, 0));
        problem(&client.post(&url, &json!({"certificate": certificate})).await, 400, "alreadyRevoked");
        let shown = tenant.get("/v1/certificates").await.expect(200);
        assert_eq!(shown["items"][0]["status"], "revoked");
    }

    async fn by_another_account_that_controls_the_names(world: World) {
        world.start_workers();
        let (_, credential, client) = stage(&world).await;
        let (_, order) = client.issue(&["example.com"]).await;
        let certificate = base64url::encode(&client.certificate(&order).await);
        let other = AcmeClient::registered(&world, &credential).await;
        other.issue(&["example.com"]).await;
        let done = other.post(&other.url("revokeCert"), &json!({"certificate": certificate})).await;
        assert_eq!(done.status, 200, "{}", done.text());
    }

    async fn by_the_key_of_the_certificate(world: World) {
        world.start_workers();
        let (_, _, client) = stage(&world).await;
        let (key, csr) = key_and_csr("example.com");
        let (url, order) = client.order(&["example.com"]).await;
        client.answer_all(&order).await;
        let order = client.wait_for(&url, "ready").await;
        let order = client.post(order["finalize"].as_str().unwrap(), &json!({"csr": csr})).await.expect(200);
        let certificate = base64url::encode(&client.certificate(&order).await);
        let mut holder = AcmeClient::at(world.stranger(), "TLS-90d").await;
        let payload = json!({"certificate": certificate, "reason": 1});
        problem(&holder.post(&holder.url("revokeCert"), &payload).await, 403, "unauthorized");
        holder.key = key;
        let done = holder.post(&holder.url("revokeCert"), &payload).await;
        assert_eq!(done.status, 200, "{}", done.text());
        // The key is known to be lost: nobody gets a certificate for it any more.
        let (url, order) = client.order(&["example.com"]).await;
        let order = client.wait_for(&url, order["status"].as_str().unwrap()).await;
        problem(&client.post(order["finalize"].as_str().unwrap(), &json!({"csr": csr})).await, 400, "badCSR");
    }
}
