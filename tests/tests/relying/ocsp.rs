//! Answers about single certificates.

use std::time::Duration;

use chancery_service::operator::KeyAlgorithm;
use chancery_tests::{Reply, Tenant, World, on_both_databases, settings};
use http::Method;

use crate::customer::{Customer, Held, revoke};
use crate::making::retire_issuers;
use crate::openssl::RelyingParty;

/// Beyond what a node remembers of its own answers.
const A_MOMENT: Duration = Duration::from_secs(4);

async fn post(relying: &Tenant, request: Vec<u8>) -> Reply {
    let headers = [("content-type", "application/ocsp-request")];
    let reply = relying.raw(Method::POST, "/ocsp", &headers, request).await;
    assert_eq!((reply.status.as_u16(), reply.header("content-type")), (200, Some("application/ocsp-response")));
    reply
}

/// What `openssl` makes of the answer about a serial number.
async fn ask(world: &World, relying: &Tenant, held: &Held, serial: &str, options: &[&str]) -> String {
    let party = RelyingParty::of(world, held).await;
    let answer = post(relying, party.ask(serial, options)).await.body;
    let said = party.judge(&answer, serial, world.services.now(), &options[..options.len().min(1)]);
    assert!(said.contains("Response verify OK"), "{said}");
    said
}

on_both_databases! {
    async fn a_certificate_is_good_until_it_is_revoked(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        assert_eq!(held.ocsp_url, "http://ca.test/ocsp");
        let relying = world.relying_party();
        for hash in ["-sha1", "-sha256"] {
            let said = ask(&world, &relying, &held, &held.serial, &[hash]).await;
            assert!(said.contains(&format!("0x{}: good", held.serial)), "{said}");
        }
        customer.revoke(&held, "keyCompromise").await;
        world.advance(A_MOMENT);
        for hash in ["-sha1", "-sha256"] {
            let said = ask(&world, &relying, &held, &held.serial, &[hash, "-no_nonce"]).await;
            assert!(said.contains("revoked") && said.contains("Reason: keyCompromise"), "{said}");
        }
    }

    async fn what_was_never_issued_is_not_good(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        let relying = world.relying_party();
        let flipped = if held.serial.ends_with('0') { "1" } else { "0" };
        let stranger = format!("{}{flipped}", &held.serial[..39]);
        for serial in [stranger.as_str(), "01", "7fffffffffffffffffffffffffffffffffffffff"] {
            let said = ask(&world, &relying, &held, serial, &["-sha256"]).await;
            assert!(said.contains(": unknown") && !said.contains("good"), "{said}");
        }
    }

    async fn a_serial_number_that_was_only_drafted_is_not_good(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        let order = customer.ready(&world, "b.test").await;
        let finalized = customer.tenant.post_empty(&format!("/v1/order/{order}/finalize")).await.expect(202);
        world.services.issuance.prepare(order.parse().unwrap()).await.unwrap();
        let id = finalized["certificateLookup"].as_str().unwrap().parse().unwrap();
        let draft = world.store.read(move |tx| tx.draft(id)).await.unwrap().unwrap();
        let said = ask(&world, &world.relying_party(), &held, &draft.serial, &["-sha256"]).await;
        assert!(said.contains(": unknown"), "{said}");
    }

    async fn every_node_answers_with_a_key_of_its_own(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        let other = world.another_node(settings(), Vec::new()).await;
        let there = other.relying_party();
        assert!(ask(&world, &there, &held, &held.serial, &["-sha1", "-no_nonce"]).await.contains(": good"));
        revoke(&customer.tenant, &held, "superseded").await.expect(202);
        world.advance(A_MOMENT);
        let said = ask(&world, &there, &held, &held.serial, &["-sha1", "-no_nonce"]).await;
        assert!(said.contains(": revoked") && said.contains("Reason: superseded"), "{said}");
        let audit = made_responders(&world).await;
        assert_eq!(audit, 1, "the other node's; this one was not asked");
    }

    async fn a_retired_issuer_still_answers(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        retire_issuers(&world);
        world.services.authority.reload().await.unwrap();
        customer.revoke(&held, "superseded").await;
        let said = ask(&world, &world.relying_party(), &held, &held.serial, &["-sha1"]).await;
        assert!(said.contains(": revoked"), "{said}");
    }

    async fn responders_are_renewed_before_they_end(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        let relying = world.relying_party();
        for _ in 0..8 {
            assert!(ask(&world, &relying, &held, &held.serial, &["-sha1"]).await.contains(": good"));
            world.advance(Duration::from_secs(2 * 86_400));
        }
        let found = made_responders(&world).await;
        assert!((3..=5).contains(&found), "{found} in sixteen days");
    }

    async fn a_clock_that_steps_back_brings_no_old_answer_back(world: World) {
        world.advance(Duration::from_secs(7200));
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        let relying = world.relying_party();
        assert!(ask(&world, &relying, &held, &held.serial, &["-sha1", "-no_nonce"]).await.contains(": good"));
        customer.revoke(&held, "superseded").await;
        world.clock.set(world.services.now().minus(Duration::from_secs(60)));
        let request = RelyingParty::of(&world, &held).await.ask(&held.serial, &["-sha1", "-no_nonce"]);
        let told = post(&relying, request).await.body;
        world.advance(Duration::from_secs(61));
        let party = RelyingParty::of(&world, &held).await;
        let said = party.judge(&told, &held.serial, world.services.now(), &["-sha1"]);
        assert!(said.contains(": revoked"), "{said}");
    }

    async fn a_responder_of_the_future_is_not_kept(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        let (relying, now) = (world.relying_party(), world.services.now());
        for wrong in [30 * 86_400, 86_400, 1800] {
            world.advance(Duration::from_secs(wrong));
            ask(&world, &relying, &held, &held.serial, &["-sha1"]).await;
            world.clock.set(now);
            assert!(ask(&world, &relying, &held, &held.serial, &["-sha1"]).await.contains(": good"));
        }
    }

    async fn the_nonce_comes_back_and_several_are_answered_at_once(world: World) {
        let customer = Customer::of(&world).await;
        let (good, bad) = (customer.certificate(&world, "a.test").await, customer.certificate(&world, "b.test").await);
        customer.revoke(&bad, "superseded").await;
        let party = RelyingParty::of(&world, &good).await;
        let second = format!("0x{}", bad.serial);
        let request = party.ask(&good.serial, &["-sha256", "-serial", &second]);
        let reply = post(&world.relying_party(), request.clone()).await;
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        let said = party.judge_nonce(&reply.body, world.services.now());
        assert!(said.contains("Response verify OK") && !said.contains("WARNING"), "{said}");
        let said = party.judge(&reply.body, &good.serial, world.services.now(), &["-sha256", "-serial", &second]);
        assert!(said.contains(&format!("0x{}: good", good.serial)), "{said}");
        assert!(said.contains(&format!("{second}: revoked")), "{said}");
        assert_ne!(post(&world.relying_party(), request).await.body, reply.body, "a nonce is answered anew");
    }

    /// RFC 6960 section 4.4.7.2: who can verify the certificates can verify the answers.
    async fn answers_are_signed_with_a_key_like_their_issuers(world: World) {
        let kinds = [
            (KeyAlgorithm::EcP256, "ecdsa-with-SHA256"),
            (KeyAlgorithm::EcP384, "ecdsa-with-SHA384"),
            (KeyAlgorithm::Rsa2048, "sha256WithRSAEncryption"),
            (KeyAlgorithm::Rsa3072, "sha256WithRSAEncryption"),
        ];
        for (kind, signature) in kinds {
            let issuer = world.services.operator.create_issuer(kind).await.unwrap();
            world.services.authority.reload().await.unwrap();
            let party = RelyingParty::below(&world, issuer.id).await;
            let serial = "4000000000000000000000000000000000000001";
            let answer = post(&world.relying_party(), party.ask(serial, &["-sha1"])).await.body;
            let said = party.judge(&answer, serial, world.services.now(), &["-sha1", "-resp_text"]);
            assert!(said.contains("Response verify OK") && said.contains(": unknown"), "{said}");
            // Of the answer itself, which comes before the certificate of its signer.
            let (_, signed) = said.split_once("Signature Algorithm: ").unwrap();
            assert!(signed.starts_with(signature), "{kind:?}: {said}");
            let key = openssl_name(kind);
            let (_, certificate) = said.split_once("Subject Public Key Info:").unwrap();
            assert!(certificate.contains(key), "{kind:?}: {said}");
        }
    }

    /// What one CA has issued is not `unknown`, and another's responder cannot say so (RFC 6960 section 2.3).
    async fn a_request_about_two_cas_is_not_answered(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        let other = world.services.operator.create_issuer(KeyAlgorithm::EcP256).await.unwrap();
        world.services.authority.reload().await.unwrap();
        let (party, relying) = (RelyingParty::of(&world, &held).await, world.relying_party());
        party.write("other.pem", other.certificate.to_pem().as_bytes());
        let (serial, unauthorized) = (format!("0x{}", held.serial), [0x30_u8, 3, 0x0a, 1, 6]);
        for issuers in [["issuer.pem", "other.pem"], ["other.pem", "issuer.pem"]] {
            let ask = ["-issuer", issuers[0], "-serial", &serial, "-issuer", issuers[1], "-serial", &serial];
            assert_eq!(party.run(&[&["ocsp", "-no_nonce"][..], &ask, &["-reqout", "request.der"]].concat()), "");
            let reply = post(&relying, party.read("request.der")).await;
            assert_eq!(reply.body, unauthorized);
            assert_eq!(reply.header("cache-control"), Some("no-store"));
        }
    }

    async fn what_is_not_understood_or_not_ours_is_told_so(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        let (party, relying) = (RelyingParty::of(&world, &held).await, world.relying_party());
        for bad in [Vec::new(), b"hello".to_vec(), vec![0x30; 8000]] {
            assert_eq!(post(&relying, bad).await.body, [0x30, 3, 0x0a, 1, 1], "malformedRequest");
        }
        // The root's certificates are not answered for: they have a list.
        let of_root = party.run(&["ocsp", "-issuer", "root.pem", "-cert", "issuer.pem", "-reqout", "request.der"]);
        assert_eq!(of_root, "");
        let reply = post(&relying, party.read("request.der")).await;
        assert_eq!(reply.body, [0x30, 3, 0x0a, 1, 6], "unauthorized");
        assert_eq!(reply.header("cache-control"), Some("no-store"));
    }
}

/// How `openssl` shows the key of a responder for such a CA.
fn openssl_name(kind: KeyAlgorithm) -> &'static str {
    match kind {
        KeyAlgorithm::EcP256 => "NIST CURVE: P-256",
        KeyAlgorithm::EcP384 => "NIST CURVE: P-384",
        // Of the CA's kind, and no longer than need be.
        KeyAlgorithm::Rsa2048 | KeyAlgorithm::Rsa3072 | KeyAlgorithm::Rsa4096 => "Public-Key: (2048 bit)",
    }
}

/// How many keys were delegated to, as the audit trail tells it.
async fn made_responders(world: &World) -> usize {
    let filter = chancery_store::AuditFilter { action: Some("ocsp.delegate".to_owned()), ..Default::default() };
    let page = chancery_domain::PageRequest { after: None, limit: 100 };
    world.store.read(move |tx| tx.audit(&filter, &page)).await.unwrap().items.len()
}
