//! Who may revoke a certificate (RFC 8555 section 7.6).

use std::process::Command;

use chancery_domain::{Identifier, RevocationReason};
use chancery_jose::{SigningKey, base64url};
use chancery_pki::{Certificate, Serial, ServerCertificate, Validity, server_certificate};
use chancery_store::Standing;
use chancery_testkit::SeededEntropy;
use chancery_tests::{AcmeClient, World, der, on_both_databases};
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

    /// The database was put back from a copy, and knows nothing of it; its CA has signed it all the same.
    async fn by_those_who_may_where_the_certificate_is_lost(world: World) {
        world.start_workers();
        let (_, _, client) = stage(&world).await;
        let url = client.url("revokeCert");
        let (key, der) = lost(&world, 1, 30);
        let certificate = base64url::encode(&der);
        let payload = |reason: u8| json!({"certificate": certificate, "reason": reason});
        let standing = async || {
            let (issuer, serial) = (world.services.authority.all()[0].id, serial(&der));
            world.store.read(move |tx| tx.standing(issuer, &serial)).await.unwrap()
        };
        // Not by anybody, nor does it become known by that.
        let mut holder = AcmeClient::at(world.stranger(), "TLS-90d").await;
        problem(&holder.post(&url, &payload(1)).await, 403, "unauthorized");
        problem(&client.post(&url, &payload(4)).await, 403, "unauthorized");
        assert_eq!(standing().await, Standing::NotIssued);
        // By an account that controls its names, for any reason but its key.
        client.issue(&["lost.example.com"]).await;
        problem(&client.post(&url, &payload(1)).await, 400, "badRevocationReason");
        let done = client.post(&url, &payload(4)).await;
        assert_eq!(done.status, 200, "{}", done.text());
        assert!(matches!(standing().await, Standing::Revoked { reason: RevocationReason::Superseded, .. }));
        problem(&client.post(&url, &payload(4)).await, 400, "alreadyRevoked");
        // And by its key.
        holder.key = key;
        let done = holder.post(&url, &payload(1)).await;
        assert_eq!(done.status, 200, "{}", done.text());
        assert!(matches!(standing().await, Standing::Revoked { reason: RevocationReason::KeyCompromise, .. }));

        // What has expired is not kept, so that OCSP says no more of it than before.
        let (key, der) = lost(&world, 3, 1);
        world.advance(std::time::Duration::from_secs(2 * 86_400));
        holder.key = key;
        let payload = json!({"certificate": base64url::encode(&der), "reason": 1});
        assert!(problem(&holder.post(&url, &payload).await, 400, "malformed").contains("has expired"));
        let serial = serial(&der);
        let kept = world.store.read(move |tx| tx.recovered(&serial)).await.unwrap();
        assert_eq!(kept, None);

        // Whoever has the key of a CA that is revoked does not fill its list.
        let (key, der) = lost(&world, 2, 30);
        holder.key = key;
        let payload = json!({"certificate": base64url::encode(&der), "reason": 1});
        world.services.operator.revoke_issuer("Test Issuing E1", RevocationReason::KeyCompromise).await.unwrap();
        problem(&holder.post(&url, &payload).await, 404, "malformed");
    }
}

/// A certificate that a CA of ours has signed and the database has not seen, in DER, and its key.
pub(crate) fn lost(world: &World, number: u64, days: u32) -> (SigningKey, Vec<u8>) {
    let key = SigningKey::generate().unwrap();
    let server = ServerCertificate {
        names: &[Identifier::parse("lost.example.com").unwrap()],
        serial: Serial::draw(&SeededEntropy::new(7_000 + number)),
        validity: Validity::days(world.services.now().as_secs(), days).unwrap(),
        spki: &key.public().to_spki(),
    };
    let issuer = &world.services.authority.all()[0].issuer;
    (key, server_certificate(issuer, &server).unwrap().as_der().to_vec())
}

pub(crate) fn serial(der: &[u8]) -> String {
    Certificate::from_der(der).unwrap().serial().unwrap().to_string()
}
