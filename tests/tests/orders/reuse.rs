//! A permission that was earned once serves further orders for a while.

use std::time::Duration;

use chancery_domain::{CaaEvidence, Clock, Timestamp};
use chancery_pki::SubscriberProfile;
use chancery_service::{Issuing, Prepared, Settings};
use chancery_tests::{Node, csr, lookup, on_both_databases, settings};
use serde_json::{Value, json};

use crate::common::{challenge_paths, days, finalize_path, later, order_path, stage, text};

/// The settings of a node whose certificates are all public.
fn public() -> Issuing {
    let issuing = settings().issuing;
    let public = |look: &SubscriberProfile| SubscriberProfile { public: true, ..look.clone() };
    let certificates = issuing.certificates.iter().map(|(name, look)| (name.clone(), public(look))).collect();
    Issuing { certificates, fit_for_public: true, ..issuing }
}

on_both_databases! {
    async fn a_permission_serves_the_account_that_earned_it_for_ten_days(world: World) {
        let (mut tenant, account) = stage(&world).await;
        let first = world.issue(&tenant, &account, &["a.test"]).await;
        let second = lookup(&tenant.make_account("b@example.com").await);
        let other = world.tenant("OTHER").await;
        let third = lookup(&other.make_account("a@example.com").await);
        assert_eq!(tenant.make_order(&second, &["a.test"]).await["status"], "pending");
        assert_eq!(other.make_order(&third, &["a.test"]).await["status"], "pending");
        assert_eq!(tenant.make_order(&account, &["www.a.test"]).await["status"], "pending");
        later(&world, &mut tenant, days(10) - Duration::from_secs(60)).await;
        let order = tenant.make_order(&account, &["A.test"]).await;
        assert_eq!(order["status"], "ready");
        // What is shown of it: how it was shown, and nothing to publish.
        let challenge = &order["authorizations"][0]["challenges"][0];
        assert_eq!((&challenge["status"], challenge.get("instructions")), (&json!("valid"), None));
        assert_eq!(challenge["validatedAt"], first["authorizations"][0]["challenges"][0]["validatedAt"]);
        assert_ne!(challenge["lookup"], first["authorizations"][0]["challenges"][0]["lookup"]);
        tenant.post_empty(&finalize_path(&order)).await.expect(202);
        world.work(None).await;
        // The look at CAA records was days ago: it was taken again.
        assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "valid");
        later(&world, &mut tenant, Duration::from_secs(60)).await;
        assert_eq!(tenant.make_order(&account, &["a.test"]).await["status"], "pending");
    }

    async fn what_a_clock_that_was_ahead_has_dated_serves_no_order(world: World) {
        let (tenant, account) = stage(&world).await;
        let right = world.clock.now();
        world.advance(Duration::from_secs(3600));
        world.make_ready(&tenant, &account, &["a.test"]).await;
        world.clock.set(right);
        let order = tenant.make_order(&account, &["a.test"]).await;
        assert_eq!(order["status"], "pending", "it would never come to a certificate");
        // Shown anew, it is not hidden behind the other, which lasts longer.
        world.issue(&tenant, &account, &["a.test"]).await;
        assert_eq!(tenant.make_order(&account, &["a.test"]).await["status"], "ready");
        world.advance(Duration::from_secs(3600));
        assert_eq!(tenant.make_order(&account, &["a.test"]).await["status"], "ready");
    }

    async fn a_look_that_has_lapsed_by_a_clock_that_is_ahead_is_made_once_it_is_right(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = tenant.make_order(&account, &["a.test"]).await;
        let challenge = challenge_paths(&tenant, &order, 0).await.remove(0);
        tenant.post_empty(&challenge).await.expect(200);
        let right = world.clock.now();
        world.advance(days(8));
        world.work(None).await;
        world.clock.set(right.plus(Duration::from_secs(60)));
        assert_eq!(tenant.get(&challenge).await.expect(200)["status"], "processing");
        world.work(None).await;
        assert_eq!(tenant.get(&challenge).await.expect(200)["status"], "valid");
    }

    async fn an_order_ends_with_the_first_permission_it_stands_on(world: World) {
        let (mut tenant, account) = stage(&world).await;
        let first = world.issue(&tenant, &account, &["a.test"]).await;
        let ends = text(&first["authorizations"][0], "expiresAt");
        later(&world, &mut tenant, days(9)).await;
        let order = tenant.make_order(&account, &["a.test", "b.test"]).await;
        assert_eq!(text(&order, "expiresAt"), ends);
        let waiting = order["authorizations"].as_array().unwrap().iter().position(|each| each["status"] == "pending");
        let challenge = challenge_paths(&tenant, &order, waiting.unwrap()).await.remove(0);
        let left = Timestamp::parse(&ends).unwrap().as_secs() - world.services.now().as_secs();
        later(&world, &mut tenant, Duration::from_secs(left.unsigned_abs())).await;
        // Nothing can come of it any more, so it does not stand still either.
        assert_eq!(tenant.get(&order_path(&order)).await.refusal(410), "order_gone");
        assert_eq!(tenant.post_empty(&finalize_path(&order)).await.refusal(410), "order_gone");
        assert_eq!(tenant.post_empty(&challenge).await.refusal(410), "authorization_gone");
    }

    async fn a_permission_that_was_given_up_is_not_used_again_by_way_of_its_copies(world: World) {
        let (tenant, account) = stage(&world).await;
        let first = world.issue(&tenant, &account, &["a.test"]).await;
        let copy = tenant.make_order(&account, &["a.test"]).await;
        assert_eq!(copy["status"], "ready");
        let challenge = format!("/v1/challenge/{}", lookup(&first["authorizations"][0]["challenges"][0]));
        tenant.delete(&challenge).await.expect(200);
        assert_eq!(tenant.make_order(&account, &["a.test"]).await["status"], "pending");
        // Nor is anything issued on the copy that was there.
        tenant.post_empty(&finalize_path(&copy)).await.expect(202);
        world.work(None).await;
        let ended = tenant.get(&order_path(&copy)).await.expect(200);
        assert_eq!((text(&ended, "status"), text(&ended["error"], "type")), ("invalid".into(), "unauthorized".into()));
    }

    async fn a_permission_for_public_certificates_serves_no_longer_than_its_date_allows(world: World) {
        // From 2027-03-15 on a hundred days (Baseline Requirements section 4.2.1); the world begins two months earlier.
        let (mut tenant, account) = stage(&world).await;
        let issuing = Issuing { reuse: days(150), ..public() };
        let node = world.another_node(Settings { issuing, ..settings() }, Vec::new()).await;
        let issuing = Issuing { reuse: days(150), ..settings().issuing };
        let private = world.another_node(Settings { issuing, ..settings() }, Vec::new()).await;
        let body = json!({"account_lookup": account, "csr": csr(&["a.test"])});
        let order = node.hears(&tenant).post("/v1/order", body.clone()).await.expect(201);
        node.hears(&tenant).choose_all(&order).await;
        node.work(None).await;
        later(&world, &mut tenant, days(99)).await;
        let order = node.hears(&tenant).post("/v1/order", body.clone()).await.expect(201);
        assert_eq!(order["status"], "ready");
        let ends = Timestamp::parse(&text(&order, "expiresAt")).unwrap();
        assert!(ends.since(world.services.now()) <= days(1), "{ends}");
        later(&world, &mut tenant, days(1)).await;
        assert_eq!(node.hears(&tenant).post("/v1/order", body.clone()).await.expect(201)["status"], "pending");
        assert_eq!(private.hears(&tenant).post("/v1/order", body).await.expect(201)["status"], "ready");
    }

    async fn evidence_that_was_obtained_less_strictly_backs_no_public_certificate(world: World) {
        let (tenant, account) = stage(&world).await;
        let node_with = |issuing: Issuing| world.another_node(Settings { issuing, ..settings() }, Vec::new());
        let lax = node_with(settings().issuing).await;
        let strict = node_with(Issuing { fit_for_public: true, ..settings().issuing }).await;
        let public = node_with(public()).await;
        let order = async |node: &Node, name: &str| {
            let body = json!({"account_lookup": account, "csr": csr(&[name])});
            node.hears(&tenant).post("/v1/order", body).await.expect(201)
        };
        let finalized = async |node: &Node, order: &Value| {
            node.hears(&tenant).post_empty(&finalize_path(order)).await.expect(202);
            node.work(None).await;
            tenant.get(&order_path(order)).await.expect(200)
        };
        for (node, name, status) in [(&lax, "lax.test", "pending"), (&strict, "strict.test", "ready")] {
            let first = order(node, name).await;
            node.hears(&tenant).choose_all(&first).await;
            node.work(None).await;
            assert_eq!(order(&lax, name).await["status"], "ready", "private certificates take both");
            assert_eq!(order(&public, name).await["status"], status, "{name}");
        }
        // The profile became public after the order was ready.
        let ready = order(&lax, "lax.test").await;
        let ended = finalized(&public, &ready).await;
        assert_eq!((text(&ended, "status"), text(&ended["error"], "type")), ("invalid".into(), "unauthorized".into()));
        assert!(ended["error"].to_string().contains("less strictly than public certificates require"), "{ended:#}");
        assert_eq!(finalized(&public, &order(&public, "strict.test").await).await["status"], "valid");
    }

    async fn a_caa_check_that_was_less_strict_spoils_the_evidence_for_public_certificates(world: World) {
        let (tenant, account) = stage(&world).await;
        let node = world.another_node(Settings { issuing: public(), ..settings() }, Vec::new()).await;
        let here = node.hears(&tenant);
        let body = json!({"account_lookup": account, "csr": csr(&["a.test"])});
        let order = here.post("/v1/order", body).await.expect(201);
        here.choose_all(&order).await;
        node.work(None).await;
        // A node with laxer settings begins to issue, looks the CAA records up again, and then dies.
        tenant.post_empty(&finalize_path(&order)).await.expect(202);
        world.advance(Duration::from_secs(9 * 3600));
        let id = lookup(&order).parse().unwrap();
        let Prepared::AskCaa(names) = world.services.issuance.prepare(id).await.unwrap() else { panic!("it is stale") };
        let caa = CaaEvidence::no_records(world.services.now());
        world.services.issuance.note_caa(id, names[0].authorization, Ok(caa)).await.unwrap();
        node.work(None).await;
        let ended = tenant.get(&order_path(&order)).await.expect(200);
        assert!(ended["error"].to_string().contains("less strictly"), "{ended:#}");
    }

    async fn how_long_is_the_operators_choice(world: World) {
        let (mut tenant, account) = stage(&world).await;
        for (reuse, after, status) in [(0, 0, "pending"), (1, 23, "ready"), (1, 25, "pending"), (30, 29 * 24, "ready")]
        {
            let issuing = Issuing { reuse: days(reuse), ..settings().issuing };
            let node = world.another_node(Settings { issuing, ..settings() }, Vec::new()).await;
            let name = format!("r{reuse}-{after}.test");
            let body = json!({"account_lookup": account, "csr": csr(&[&name])});
            let order = node.hears(&tenant).post("/v1/order", body.clone()).await.expect(201);
            node.hears(&tenant).choose_all(&order).await;
            node.work(None).await;
            later(&world, &mut tenant, Duration::from_secs(after * 3600)).await;
            let order = node.hears(&tenant).post("/v1/order", body).await.expect(201);
            assert_eq!(order["status"], status, "{reuse} days, after {after} hours");
        }
    }
}
