//! Quotas: how many certificates an account gets a day, a week, and at a time.

use std::sync::Arc;

use chancery_domain::{ProblemKind, Timestamp, ValidationProblem};
use chancery_service::{Job, JobKind};
use chancery_tests::{Tenant, csr, lookup, on_both_databases, settings};
use chancery_workers::Workers;
use serde_json::{Value, json};

use crate::common::{days, finalize_path, finalized, later, order_path, revocation_path, stage, text};

async fn under(tenant: &Tenant, account: &str, rules: Value) {
    under_named(tenant, account, "quota", rules).await;
}

async fn under_named(tenant: &Tenant, account: &str, name: &str, rules: Value) {
    let policy = tenant.make_policy(name, rules).await;
    let group = tenant.make_group(name).await;
    tenant.add_members(&group, &[account.to_owned()]).await.expect(200);
    tenant.assign(&group, &policy).await.expect(200);
}

/// The rule that stands against a further order; none where nothing does.
async fn refused(tenant: &Tenant, account: &str) -> Option<String> {
    let reply = tenant.post("/v1/order", json!({"account_lookup": account, "csr": csr(&["next.test"])})).await;
    if reply.status == 201 {
        tenant.delete(&order_path(&reply.json())).await.expect(200);
        return None;
    }
    assert_eq!(reply.refusal(429), "quota_exceeded");
    let question = json!({"account_lookup": account, "identifiers": ["next.test"]});
    let foretold = tenant.post("/v1/policy/evaluate", question).await.expect(200);
    assert_eq!((&foretold["allowed"], &foretold["violations"]), (&json!(false), &reply.json()["errors"]));
    let wait: u64 = reply.header("retry-after").expect("when to come again").parse().unwrap();
    assert!(wait > 0);
    Some(text(&reply.json()["errors"][0], "code"))
}

on_both_databases! {
    async fn a_days_quota_is_free_again_the_next_day(world: World) {
        let (mut tenant, account) = stage(&world).await;
        under(&tenant, &account, json!({"max_certificates_per_day": 2})).await;
        for _ in 0..2 {
            assert_eq!(refused(&tenant, &account).await, None);
            world.issue(&tenant, &account, &["a.test"]).await;
        }
        let refusal = refused(&tenant, &account).await;
        assert_eq!(refusal.as_deref(), Some("max_certificates_per_day"));
        // Revoking one does not give it back, and another account has its own.
        let other = lookup(&tenant.make_account("b@example.com").await);
        assert_eq!(refused(&tenant, &other).await, None);
        let reply = tenant.post("/v1/order", json!({"account_lookup": account, "csr": csr(&["b.test"])})).await;
        let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
        world.advance(std::time::Duration::from_secs(wait - 1));
        assert_eq!(refused(&tenant, &account).await.as_deref(), Some("max_certificates_per_day"));
        later(&world, &mut tenant, std::time::Duration::from_secs(1)).await;
        assert_eq!(refused(&tenant, &account).await, None);
    }

    async fn an_order_for_which_no_place_is_left_stays_ready(world: World) {
        let (mut tenant, account) = stage(&world).await;
        let (first, second) = (
            world.make_ready(&tenant, &account, &["a.test"]).await,
            world.make_ready(&tenant, &account, &["b.test"]).await,
        );
        under(&tenant, &account, json!({"max_certificates_per_day": 1})).await;
        tenant.post_empty(&finalize_path(&first)).await.expect(202);
        world.work(None).await;
        let refused = tenant.post_empty(&finalize_path(&second)).await;
        assert_eq!(refused.refusal(429), "quota_exceeded");
        assert!(refused.header("retry-after").is_some());
        assert_eq!(tenant.get(&order_path(&second)).await.expect(200)["status"], "ready");
        let told = tenant.get("/v1/event?type=quota.exceeded").await.expect(200);
        assert_eq!(told["items"].as_array().map(Vec::len), Some(1), "{told}");
        tenant.post_empty(&finalize_path(&first)).await.expect(208);
        later(&world, &mut tenant, days(1)).await;
        tenant.post_empty(&finalize_path(&second)).await.expect(202);
        world.work(None).await;
        assert_eq!(tenant.get(&order_path(&second)).await.expect(200)["status"], "valid");
    }

    async fn a_weeks_quota_is_free_again_after_seven_days(world: World) {
        let (mut tenant, account) = stage(&world).await;
        under(&tenant, &account, json!({"max_certificates_per_week": 1})).await;
        let order = world.issue(&tenant, &account, &["a.test"]).await;
        tenant.post(&revocation_path(&order), json!({})).await.expect(202);
        later(&world, &mut tenant, days(6)).await;
        assert_eq!(refused(&tenant, &account).await.as_deref(), Some("max_certificates_per_week"));
        later(&world, &mut tenant, days(1)).await;
        assert_eq!(refused(&tenant, &account).await, None);
    }

    async fn an_active_certificate_counts_until_it_is_revoked_or_over(world: World) {
        let (mut tenant, account) = stage(&world).await;
        under(&tenant, &account, json!({"max_active_certificates": 1})).await;
        let order = world.issue(&tenant, &account, &["a.test"]).await;
        assert_eq!(refused(&tenant, &account).await.as_deref(), Some("max_active_certificates"));
        tenant.post(&revocation_path(&order), json!({})).await.expect(202);
        tenant.post(&revocation_path(&order), json!({})).await.expect(208);
        world.issue(&tenant, &account, &["a.test"]).await;
        later(&world, &mut tenant, days(89)).await;
        assert_eq!(refused(&tenant, &account).await.as_deref(), Some("max_active_certificates"));
        later(&world, &mut tenant, days(2)).await;
        assert_eq!(refused(&tenant, &account).await, None);
    }

    async fn every_quota_that_is_used_up_is_told_and_when_the_last_has_a_place(world: World) {
        let (tenant, account) = stage(&world).await;
        let each = ["max_certificates_per_day", "max_certificates_per_week", "max_active_certificates"];
        let rules: serde_json::Map<_, _> = each.iter().map(|rule| ((*rule).to_owned(), json!(1))).collect();
        under(&tenant, &account, rules.into()).await;
        world.issue(&tenant, &account, &["a.test"]).await;
        let reply = tenant.post("/v1/order", json!({"account_lookup": account, "csr": csr(&["b.test"])})).await;
        assert_eq!(reply.refusal(429), "quota_exceeded");
        let told: Vec<_> = reply.json()["errors"].as_array().unwrap().iter().map(|rule| text(rule, "code")).collect();
        assert_eq!(told, each);
        let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
        assert!(wait > days(80).as_secs(), "{wait}");
    }

    async fn a_quota_of_none_forbids_and_nobody_is_told_to_wait(world: World) {
        let (tenant, account) = stage(&world).await;
        under(&tenant, &account, json!({"max_active_certificates": 0})).await;
        let reply = tenant.post("/v1/order", json!({"account_lookup": account, "csr": csr(&["b.test"])})).await;
        assert_eq!((reply.refusal(400), reply.header("retry-after")), ("policy_violation".to_owned(), None));
        let answer = reply.json();
        let [told] = &answer["errors"].as_array().unwrap()[..] else { panic!("{answer}") };
        assert!(text(told, "message").starts_with("no active certificates are allowed"), "{told}");
    }

    async fn retry_after_says_when_a_place_becomes_free(world: World) {
        let (mut tenant, account) = stage(&world).await;
        let order = |tenant: Tenant, account: String| async move {
            tenant.post("/v1/order", json!({"account_lookup": account, "csr": csr(&["b.test"])})).await
        };
        // Two today and one three days later: two are free again on the seventh day, the third on the tenth.
        world.issue(&tenant, &account, &["a.test"]).await;
        world.issue(&tenant, &account, &["a.test"]).await;
        later(&world, &mut tenant, days(3)).await;
        world.issue(&tenant, &account, &["a.test"]).await;
        let today = world.services.now().as_secs() / 86_400;
        let until = |day: i64| u64::try_from(day * 86_400 - world.services.now().as_secs()).unwrap();
        let wait = |reply: &chancery_tests::Reply| reply.header("retry-after").unwrap().parse::<u64>().unwrap();
        for (most, day) in [(3, today + 4), (2, today + 4), (1, today + 7)] {
            under_named(&tenant, &account, &format!("week {most}"), json!({"max_certificates_per_week": most})).await;
            let reply = order(tenant.clone(), account.clone()).await;
            assert_eq!(reply.refusal(429), "quota_exceeded");
            assert_eq!(wait(&reply), until(day), "{most}");
        }
        // Certificates of 90 days begin an hour before they are issued.
        let second = lookup(&tenant.make_account("b@example.com").await);
        world.issue(&tenant, &second, &["a.test"]).await;
        let listed = tenant.get(&format!("/v1/certificates?account_lookup={second}")).await.expect(200);
        let ends = Timestamp::parse(&text(&listed["items"][0], "notAfter")).unwrap().as_secs();
        under_named(&tenant, &second, "active", json!({"max_active_certificates": 1})).await;
        let reply = order(tenant.clone(), second).await;
        assert_eq!(wait(&reply), until(ends / 86_400 + 1));
    }

    async fn what_came_to_nothing_is_not_counted(world: World) {
        let (tenant, account) = stage(&world).await;
        under(&tenant, &account, json!({"max_certificates_per_day": 1, "max_active_certificates": 1})).await;
        let order = finalized(&world, &tenant, &account, &["a.test"]).await;
        // It is drafted, and counted; then the account is suspended before it is signed.
        world.services.issuance.prepare(lookup(&order).parse().unwrap()).await.unwrap();
        assert!(refused(&tenant, &account).await.is_some());
        tenant.patch(&format!("/v1/account/{account}"), json!({"suspended": true})).await.expect(200);
        world.work(None).await;
        assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "ready");
        tenant.patch(&format!("/v1/account/{account}"), json!({"suspended": false})).await.expect(200);
        assert_eq!(refused(&tenant, &account).await, None);
        // Nor what fails after it was drafted.
        tenant.post_empty(&finalize_path(&order)).await.expect(202);
        world.services.issuance.prepare(lookup(&order).parse().unwrap()).await.unwrap();
        assert!(refused(&tenant, &account).await.is_some());
        let problem = ValidationProblem { kind: ProblemKind::ServerInternal, detail: "no luck".to_owned() };
        world.services.issuance.fail(lookup(&order).parse().unwrap(), problem).await.unwrap();
        assert_eq!(refused(&tenant, &account).await, None);
    }

    async fn orders_side_by_side_on_two_nodes_never_exceed_a_quota(world: World) {
        let (tenant, account) = stage(&world).await;
        let second = world.another_node(settings(), Vec::new()).await;
        let there = second.hears(&tenant);
        world.make_ready(&tenant, &account, &["a.test"]).await;
        let csr = csr(&["a.test"]);
        let mut orders = Vec::new();
        for number in 0..20 {
            let body = json!({"account_lookup": account, "csr": csr});
            let order = tenant.post("/v1/order", body).await.expect(201);
            let node = if number % 2 == 0 { &tenant } else { &there };
            node.post_empty(&finalize_path(&order)).await.expect(202);
            orders.push(order);
        }
        under(&tenant, &account, json!({"max_certificates_per_day": 5})).await;
        let here = Arc::new(Workers::new(world.services.clone(), None, world.clock.clone()));
        let there = Arc::new(Workers::new(second.services.clone(), None, world.clock.clone()));
        let at_work: Vec<_> = orders
            .iter()
            .enumerate()
            .map(|(number, order)| {
                let workers = if number % 2 == 0 { here.clone() } else { there.clone() };
                let job = Job { kind: JobKind::Issue, subject: lookup(order), attempts: 1, reseller: None };
                tokio::spawn(async move { workers.work(job).await })
            })
            .collect();
        for each in at_work {
            each.await.unwrap();
        }
        let mut ends = Vec::new();
        for order in &orders {
            let ended = tenant.get(&order_path(order)).await.expect(200);
            ends.push(text(&ended, "status"));
        }
        let count = |status: &str| ends.iter().filter(|end| *end == status).count();
        // The others can be finalized when there is room again.
        assert_eq!((count("valid"), count("ready")), (5, 15), "{ends:?}");
        let told = tenant.get("/v1/event?type=quota.exceeded&limit=100").await.expect(200);
        assert_eq!(told["items"].as_array().unwrap().len(), 15);
        let back = tenant.get("/v1/event?type=order.ready&limit=100").await.expect(200);
        let back = back["items"].as_array().unwrap().iter().filter(|event| event["data"]["because"] == "quota").count();
        assert_eq!(back, 15);
        let ready = &orders[ends.iter().position(|end| end == "ready").unwrap()];
        assert_eq!(tenant.post_empty(&finalize_path(ready)).await.refusal(429), "quota_exceeded");
    }
}
