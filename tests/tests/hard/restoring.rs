//! A database that was put back from a copy of itself, on both databases: what was given out once is not given out again.

use chancery_domain::{CertificateId, OrderId, PageRequest, Secret};
use chancery_service::console::SignInCredentials;
use chancery_service::{Origin, Prepared};
use chancery_store::AuditFilter;
use chancery_tests::{AcmeClient, World, identifiers, lookup, on_both_databases, settings};
use chancery_workers::Workers;
use serde_json::{Value, json};

on_both_databases! {
    /// The copy was made between draft and signature: the certificate with that serial may be in the world.
    async fn the_serial_of_a_draft_is_not_signed_a_second_time(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let order = world.make_ready(&tenant, &account, &["a.test"]).await;
        tenant.post_empty(&format!("/v1/order/{}/finalize", lookup(&order))).await.expect(202);
        let id: OrderId = lookup(&order).parse().unwrap();
        assert_eq!(world.services.issuance.prepare(id).await.unwrap(), Prepared::Drafted);
        let certificate: CertificateId = order["certificateLookup"].as_str().unwrap().parse().unwrap();
        let draft = world.store.read(move |tx| tx.draft(certificate)).await.unwrap().unwrap();

        let restored = world.services.operator.settle_restored().await.unwrap();
        assert_eq!((restored.drafts, restored.jobs), (1, 1));
        // Nobody's lease is waited for.
        for job in world.services.jobs.lease().await.unwrap() {
            Workers::new(world.services.clone(), None, world.clock.clone()).work(job).await;
        }
        let order = tenant.show_order(&lookup(&order)).await;
        assert_eq!(order["status"], "valid", "{order}");
        let shown = tenant.get("/v1/certificates?name=a.test").await.expect(200);
        let serial = shown["items"][0]["serialNumber"].as_str().unwrap();
        assert_ne!(serial, draft.serial, "it was signed a second time");
        let trail = world.services.audit.list(AuditFilter {
            action: Some("database.restore".to_owned()), ..Default::default()
        }, PageRequest { after: None, limit: 10 }).await.unwrap();
        assert!(trail[0].detail.contains(&draft.serial), "{}", trail[0].detail);
    }

    /// Also where the clock was ahead once, so that numbers are ahead of it too.
    async fn numbers_of_lists_go_beyond_all_that_were_used(world: World) {
        world.services.publication.look().await.unwrap();
        let copy = numbers(&world).await;
        world.services.operator.settle_restored().await.unwrap();
        assert!(numbers(&world).await.iter().all(|(number, _)| *number == 0), "an old list would be served");
        world.services.publication.look().await.unwrap();
        let after = numbers(&world).await;
        assert_eq!(copy.len(), after.len());
        for ((before, _), (after, lacking)) in copy.iter().zip(&after) {
            assert!(*after > before + 3_600_000, "{before}, then {after}");
            assert!(!lacking);
        }
        // Twice in a row, from the same copy.
        world.advance(std::time::Duration::from_secs(1));
        world.services.operator.settle_restored().await.unwrap();
        world.services.publication.look().await.unwrap();
        for ((before, _), (after, _)) in after.iter().zip(&numbers(&world).await) {
            assert!(after > before);
        }
    }

    /// Which nonces were used after the copy was made is not known any more.
    async fn a_nonce_from_before_is_worthless(world: World) {
        let tenant = world.tenant("DEMO").await;
        let made = tenant.make_account("a@example.com").await;
        let client = AcmeClient::registered(&world, &made).await;
        let url = client.url("newOrder");
        let header = client.header(&url).await;
        world.services.operator.settle_restored().await.unwrap();
        let node = world.another_node(settings(), Vec::new()).await;
        let client = client.speaking_to(node.stranger());
        let body = json!({"identifiers": identifiers(&["a.test"])}).to_string();
        let reply = client.send(&url, header, body.as_bytes()).await;
        assert_eq!(reply.status, 400, "{}", reply.text());
        let problem: Value = serde_json::from_str(&reply.text()).unwrap();
        assert_eq!(problem["type"], "urn:ietf:params:acme:error:badNonce");
    }

    /// Somebody who signed out after the copy was made must not be signed in again by it.
    async fn sessions_of_the_console_end(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (id, secret) = (tenant.client_id.clone(), Secret::new(tenant.client_secret.clone()));
        let console = &world.services.console;
        let session = console.sign_in(SignInCredentials::Client { id, secret }, Origin::default()).await.unwrap();
        let resumed = async || console.resume(session.token.reveal(), Origin::default()).await.unwrap().is_some();
        assert!(resumed().await);
        world.services.operator.settle_restored().await.unwrap();
        assert!(!resumed().await);
    }

    async fn numbers_of_accounts_skip_ahead(world: World) {
        let tenant = world.tenant("DEMO").await;
        let before = tenant.make_account("a@example.com").await["id"].as_i64().unwrap();
        world.services.operator.settle_restored().await.unwrap();
        let after = tenant.make_account("b@example.com").await["id"].as_i64().unwrap();
        assert!(after > before + 1000, "{before}, then {after}");
    }
}

/// The number of every list, and whether something is missing on it.
async fn numbers(world: &World) -> Vec<(i64, bool)> {
    let heads = world.store.read(|tx| tx.crl_heads()).await.unwrap();
    heads.iter().map(|head| (head.number, head.lacking)).collect()
}
