//! I6 and I9: an order never stays processing, and a certificate never lasts longer than it may.

use std::time::Duration;

use chancery_domain::{CertificateId, Timestamp};
use chancery_pki::SubscriberProfile;
use chancery_service::{Issuing, ServiceError, Settings};
use chancery_store::DraftRow;
use chancery_tests::{Tenant, csr, lookup, on_both_databases, settings};
use serde_json::{Value, json};

use crate::common::{certificate_path, challenge_paths, finalize_path, finalized, later, order_path, stage, text};

const DAY: i64 = 86_400;

/// The first and the last second of the certificate of an order.
async fn period(tenant: &Tenant, order: &Value) -> (i64, i64) {
    let json = [("accept", "application/json")];
    let shown = tenant.send(http::Method::GET, &certificate_path(order), &json, None).await.expect(200);
    let time = |member: &str| Timestamp::parse(&text(&shown, member)).unwrap().as_secs();
    (time("notBefore"), time("notAfter"))
}

on_both_databases! {
    async fn i6_an_order_whose_job_never_ends_ends_with_a_reason(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = finalized(&world, &tenant, &account, &["a.test"]).await;
        let pending = tenant.make_order(&account, &["b.test"]).await;
        tenant.post_empty(&challenge_paths(&tenant, &pending, 0).await[0]).await.expect(200);
        // Nodes that take the jobs and die.
        for _ in 0..8 {
            world.advance(settings().issuing.job_lease);
            assert_eq!(world.services.jobs.lease().await.unwrap().len(), 2);
            assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "processing");
        }
        world.work(None).await;
        for order in [&order, &pending] {
            let ended = tenant.get(&order_path(order)).await.expect(200);
            assert_eq!(ended["status"], "invalid");
            assert!(text(&ended["error"], "detail").contains("order again"), "{}", ended["error"]);
            assert_eq!(tenant.get(&certificate_path(order)).await.refusal(410), "certificate_gone");
        }
        world.advance(settings().issuing.job_lease);
        assert!(world.services.jobs.lease().await.unwrap().is_empty());
    }

    async fn i6_an_order_whose_draft_is_spoiled_ends_with_a_reason(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = finalized(&world, &tenant, &account, &["a.test"]).await;
        let certificate: CertificateId = text(&order, "certificateLookup").parse().unwrap();
        let issuer = world.services.authority.all()[0].id;
        let now = world.services.now();
        let unit = move |tx: &mut chancery_store::Tx<'_>| {
            let draft = DraftRow { issuer, serial: "5a".repeat(20), tbs: vec![0x30, 0x03, 0x02, 0x01] };
            tx.store_draft(certificate, &draft, now)?;
            Ok::<_, ServiceError>(())
        };
        world.store.write(unit).await.unwrap();
        for _ in 0..9 {
            world.work(None).await;
        }
        let ended = tenant.get(&order_path(&order)).await.expect(200);
        assert_eq!(ended["status"], "invalid");
        assert_eq!(ended["error"]["type"], "serverInternal");
        // And the next order is not the worse for it.
        world.issue(&tenant, &account, &["a.test"]).await;
    }

    async fn i9_a_certificate_lasts_as_long_as_its_profile_says_counted_with_the_last_second(world: World) {
        let (tenant, account) = stage(&world).await;
        world.make_ready(&tenant, &account, &["a.test"]).await;
        for (profile, days) in [("TLS-90d", 90), ("TLS-199d", 199)] {
            let body = json!({"account_lookup": account, "csr": csr(&["a.test"]), "profile": profile});
            let order = tenant.post("/v1/order", body).await.expect(201);
            tenant.post_empty(&finalize_path(&order)).await.expect(202);
            world.work(None).await;
            let (first, last) = period(&tenant, &order).await;
            assert_eq!(last - first + 1, days * DAY);
        }
    }

    async fn i9_an_end_that_was_taken_is_kept_and_never_makes_it_longer(world: World) {
        let (mut tenant, account) = stage(&world).await;
        world.make_ready(&tenant, &account, &["a.test"]).await;
        for (from, to, wait) in [
            // The longest there is, with and without a beginning, issued at once and after a while.
            (None, 90 * DAY - 1, 0),
            (None, 90 * DAY - 1, 7200),
            (Some(0), 90 * DAY - 1, 0),
            // What was to begin has begun without it.
            (Some(0), 90 * DAY - 1, 7200),
            (Some(-3600), 20 * DAY, 7200),
            (Some(10 * DAY), 100 * DAY - 1, 60),
            (None, 3600, 0),
        ] {
            let now = world.services.now().as_secs();
            let at = |seconds: i64| Timestamp::from_secs(now + seconds).to_string();
            let mut body = json!({"account_lookup": account, "csr": csr(&["a.test"]), "not_after": at(to)});
            if let Some(from) = from {
                body["not_before"] = at(from).into();
            }
            let order = tenant.post("/v1/order", body).await.expect(201);
            later(&world, &mut tenant, Duration::from_secs(wait)).await;
            tenant.post_empty(&finalize_path(&order)).await.expect(202);
            world.work(None).await;
            let ended = tenant.get(&order_path(&order)).await.expect(200);
            assert_eq!(ended["status"], "valid", "{from:?} {to} {wait}: {}", ended["error"]);
            let (first, last) = period(&tenant, &order).await;
            assert_eq!(last, now + to, "{from:?} {to} {wait}");
            assert!(last - first < 90 * DAY, "{from:?} {to} {wait}: {first} to {last}");
            assert!(first >= now + from.unwrap_or(-3600), "{from:?} {to} {wait}");
        }
    }

    async fn i9_the_dated_ceiling_of_public_certificates_holds_on_its_day(world: World) {
        // 2027-03-15T00:00:00Z: from then on 100 days, before that 200.
        const STEP: i64 = 1_805_068_800;
        let (mut tenant, account) = stage(&world).await;
        let public = |profile: &SubscriberProfile| SubscriberProfile { public: true, ..profile.clone() };
        let certificates =
            settings().issuing.certificates.iter().map(|(name, profile)| (name.clone(), public(profile))).collect();
        let issuing = Issuing { certificates, fit_for_public: true, ..settings().issuing };
        let node = world.another_node(Settings { issuing, ..settings() }, Vec::new()).await;
        for (at, days) in [(STEP - 3600, 199), (STEP + 60, 100)] {
            world.clock.set(Timestamp::from_secs(at));
            tenant.sign_in().await;
            let mut here = node.hears(&tenant);
            here.sign_in().await;
            let body = json!({"account_lookup": account, "csr": csr(&["a.test"]), "profile": "TLS-199d"});
            let order = here.post("/v1/order", body).await.expect(201);
            here.choose_all(&order).await;
            node.work(None).await;
            here.post_empty(&finalize_path(&order)).await.expect(202);
            node.work(None).await;
            let ended = here.get(&order_path(&order)).await.expect(200);
            assert_eq!(ended["status"], "valid", "{}", ended["error"]);
            let (first, last) = period(&here, &order).await;
            assert_eq!(last - first + 1, days * DAY, "{}", lookup(&order));
        }
    }
}
