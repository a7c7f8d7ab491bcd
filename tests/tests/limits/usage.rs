//! What was issued, counted: the same before it is rolled up, in the midst of it, and after.

use std::time::Duration;

use chancery_tests::{Tenant, World, csr, lookup, on_both_databases, settings};
use http::Method;
use serde_json::{Value, json};

const DAY: Duration = Duration::from_secs(86_400);

async fn usage(tenant: &Tenant, query: &str) -> Value {
    tenant.get(&format!("/v1/usage?{query}")).await.expect(200)["items"].clone()
}

async fn issue_with(world: &World, tenant: &Tenant, account: &str, profile: &str, name: &str) {
    let order = json!({"account_lookup": account, "csr": csr(&[name]), "profile": profile});
    let order = tenant.post("/v1/order", order).await.expect(201);
    tenant.choose_all(&order).await;
    world.work(None).await;
    tenant.post_empty(&format!("/v1/order/{}/finalize", lookup(&order))).await.expect(202);
    world.work(None).await;
    assert_eq!(tenant.show_order(&lookup(&order)).await["status"], "valid");
}

/// Two accounts, the first of them in a group; four certificates on two days, and one of another reseller.
async fn stage(world: &World) -> (Tenant, [String; 2], String) {
    let mut tenant = world.tenant("DEMO").await;
    let one = lookup(&tenant.make_account("c1@example.com").await);
    world.advance(Duration::from_secs(1));
    let two = lookup(&tenant.make_account("c2@example.com").await);
    let group = tenant.make_group("group").await;
    tenant.add_members(&group, std::slice::from_ref(&one)).await.expect(200);
    issue_with(world, &tenant, &one, "TLS-90d", "a.test").await;
    issue_with(world, &tenant, &two, "TLS-199d", "b.test").await;
    world.advance(DAY);
    tenant.sign_in().await;
    issue_with(world, &tenant, &one, "TLS-90d", "c.test").await;
    issue_with(world, &tenant, &one, "TLS-199d", "d.test").await;
    // What is not issued does not count, and what is another's does not either.
    tenant.make_order(&one, &["never.test"]).await;
    let other = world.tenant("OTHER").await;
    let theirs = lookup(&other.make_account("x@example.com").await);
    issue_with(world, &other, &theirs, "TLS-90d", "x.test").await;
    (tenant, [one, two], group)
}

/// Everything that can be asked for, at this moment.
async fn everything(tenant: &Tenant) -> Vec<Value> {
    let mut all = Vec::new();
    let single = ["day", "account", "group", "profile"];
    for by in single.into_iter().chain(["day,profile", "day,account,profile", "day,account,group,profile"]) {
        all.push(usage(tenant, &format!("by={by}")).await);
    }
    all
}

on_both_databases! {
    async fn what_was_issued_is_counted_by_day_account_group_and_profile(world: World) {
        let (tenant, [one, two], group) = stage(&world).await;
        assert_eq!(usage(&tenant, "").await, json!([{"day": "2027-01-15", "issued": 2}, {"day": "2027-01-16", "issued": 2}]));
        assert_eq!(usage(&tenant, "by=account").await, json!([{"account": one, "issued": 3}, {"account": two, "issued": 1}]));
        assert_eq!(usage(&tenant, "by=profile").await, json!([{"profile": "TLS-199d", "issued": 2}, {"profile": "TLS-90d", "issued": 2}]));
        let groups = usage(&tenant, "by=group").await;
        assert!(groups.as_array().unwrap().contains(&json!({"group": group, "issued": 3})), "{groups}");
        assert!(groups.as_array().unwrap().contains(&json!({"issued": 1})), "{groups}");
        assert_eq!(usage(&tenant, &format!("account_lookup={two}")).await, json!([{"day": "2027-01-15", "issued": 1}]));
        assert_eq!(usage(&tenant, "profile=TLS-90d&from=2027-01-16&to=2027-01-16").await, json!([{"day": "2027-01-16", "issued": 1}]));
        assert_eq!(usage(&tenant, "from=2027-01-17&to=2027-01-18").await, json!([]));

        let csv = tenant.get("/v1/usage?by=day,profile&format=csv").await;
        assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
        assert_eq!(csv.text(), "day,profile,issued\r\n2027-01-15,TLS-199d,1\r\n2027-01-15,TLS-90d,1\r\n2027-01-16,TLS-199d,1\r\n2027-01-16,TLS-90d,1\r\n");
        // Media types are the same in capitals (RFC 9110 section 8.3.1).
        for accept in ["text/csv", "TEXT/CSV", "Text/Csv;q=0.9, Application/JSON;q=0.1"] {
            let by_accept = tenant.send(Method::GET, "/v1/usage?by=profile", &[("accept", accept)], None).await;
            assert_eq!(by_accept.text(), "profile,issued\r\nTLS-199d,2\r\nTLS-90d,2\r\n", "{accept}");
        }
    }

    async fn counting_ahead_changes_no_count_however_often_and_by_whomever(world: World) {
        let (mut tenant, [one, _], _) = stage(&world).await;
        let before = everything(&tenant).await;
        // The first day has settled, the last minutes have not.
        world.services.usage.roll_up().await.unwrap();
        assert_eq!(everything(&tenant).await, before);
        world.advance(Duration::from_secs(700));
        let node = world.another_node(settings(), Vec::new()).await;
        let (here, there) = tokio::join!(world.services.usage.roll_up(), node.services.usage.roll_up());
        here.unwrap();
        there.unwrap();
        world.services.usage.roll_up().await.unwrap();
        assert_eq!(everything(&tenant).await, before);
        issue_with(&world, &tenant, &one, "TLS-90d", "e.test").await;
        let profiles = json!([{"profile": "TLS-199d", "issued": 2}, {"profile": "TLS-90d", "issued": 3}]);
        assert_eq!(usage(&node.hears(&tenant), "by=profile").await, profiles);
        assert_eq!(usage(&tenant, "by=profile").await, profiles);
        world.advance(3 * DAY);
        tenant.sign_in().await;
        node.services.usage.roll_up().await.unwrap();
        let days = usage(&tenant, "by=day").await;
        assert_eq!(days[1], json!({"day": "2027-01-16", "issued": 3}), "{days}");
    }

    async fn days_that_are_over_are_counted_together_and_change_no_count(world: World) {
        let (mut tenant, [one, _], _) = stage(&world).await;
        world.advance(DAY);
        tenant.sign_in().await;
        issue_with(&world, &tenant, &one, "TLS-90d", "e.test").await;
        world.advance(Duration::from_secs(700));
        let before = everything(&tenant).await;
        // The first two days are behind the third, of which a part is counted.
        world.services.usage.roll_up().await.unwrap();
        world.services.usage.roll_up().await.unwrap();
        assert_eq!(everything(&tenant).await, before);
        issue_with(&world, &tenant, &one, "TLS-199d", "f.test").await;
        assert_eq!(usage(&tenant, "by=day,profile&to=2027-01-16").await, json!(before[4].as_array().unwrap()[..4]));
        assert_eq!(usage(&tenant, "by=profile").await, json!([{"profile": "TLS-199d", "issued": 3}, {"profile": "TLS-90d", "issued": 3}]));
        assert_eq!(usage(&tenant, "from=2027-01-16").await, json!([{"day": "2027-01-16", "issued": 2}, {"day": "2027-01-17", "issued": 2}]));
    }

    async fn what_is_issued_after_the_clock_was_ahead_is_counted_and_nothing_twice(world: World) {
        let mut tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("c1@example.com").await);
        issue_with(&world, &tenant, &account, "TLS-90d", "a.test").await;
        let right = world.services.now();
        // What is issued then is counted, and so the mark is where the clock is.
        world.advance(3 * DAY);
        tenant.sign_in().await;
        issue_with(&world, &tenant, &account, "TLS-90d", "b.test").await;
        world.advance(Duration::from_secs(700));
        world.services.usage.roll_up().await.unwrap();
        world.clock.set(right);
        tenant.sign_in().await;
        issue_with(&world, &tenant, &account, "TLS-199d", "c.test").await;
        for wait in [Duration::ZERO, Duration::from_secs(700), DAY, 3 * DAY] {
            world.advance(wait);
            tenant.sign_in().await;
            world.services.usage.roll_up().await.unwrap();
            let counted = async |by: &str| usage(&tenant, &format!("from=2027-01-15&to=2027-01-20&by={by}")).await;
            let days = json!([{"day": "2027-01-15", "issued": 2}, {"day": "2027-01-18", "issued": 1}]);
            assert_eq!(counted("day").await, days, "{wait:?}");
            assert_eq!(counted("account").await, json!([{"account": account, "issued": 3}]), "{wait:?}");
            let profiles = json!([{"profile": "TLS-199d", "issued": 1}, {"profile": "TLS-90d", "issued": 2}]);
            assert_eq!(counted("profile").await, profiles, "{wait:?}");
        }
    }

    async fn a_clock_that_is_far_behind_takes_no_count_away(world: World) {
        let mut tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("c1@example.com").await);
        issue_with(&world, &tenant, &account, "TLS-90d", "a.test").await;
        world.advance(Duration::from_secs(700));
        world.services.usage.roll_up().await.unwrap();
        // Years later the certificate itself is forgotten: what was counted of it is all there is.
        world.advance(1500 * DAY);
        let right = world.services.now();
        world.store.write(move |tx| tx.note_sweep(right)).await.unwrap();
        world.services.retention.sweep().await.unwrap();
        world.services.identity.refresh_keys().await.unwrap();
        tenant.sign_in().await;
        assert_eq!(tenant.get("/v1/certificates").await.expect(200)["items"], json!([]));
        world.clock.set(right.minus(4000 * DAY));
        world.services.usage.roll_up().await.unwrap();
        world.clock.set(right);
        tenant.sign_in().await;
        let counted = usage(&tenant, "from=2027-01-15&to=2027-01-20&by=day").await;
        assert_eq!(counted, json!([{"day": "2027-01-15", "issued": 1}]));
    }

    async fn what_makes_no_sense_is_refused(world: World) {
        let tenant = world.tenant("DEMO").await;
        for (query, field) in [
            ("from=2027-02-01&to=2027-01-01", "from"),
            ("from=2020-01-01&to=2027-01-01", "to"),
            ("from=yesterday", "from"),
            ("to=2027-01-01T00:00:00", "to"),
            ("by=week", "by"),
            ("format=xml", "format"),
        ] {
            let reply = tenant.get(&format!("/v1/usage?{query}")).await;
            assert_eq!(reply.refusal(400), "invalid_request", "{query}");
            assert!(reply.fields().contains(&field.to_owned()), "{query}: {}", reply.text());
        }
        let foreign = lookup(&world.tenant("OTHER").await.make_account("x@example.com").await);
        assert_eq!(tenant.get(&format!("/v1/usage?account_lookup={foreign}")).await.refusal(404), "account_not_found");
    }
}
