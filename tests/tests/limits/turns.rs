//! Lists, and judgements that take much of a core, are done in turns: a reseller that asks for much waits for itself, and others do
//! not wait for it.

use std::time::Duration;

use chancery_tests::{Tenant, World, csr, lookup, on_both_databases};
use futures_util::future::join_all;
use serde_json::json;
use tokio::time::timeout;

const SOON: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(60);
const LISTS: [&str; 4] = ["/v1/account", "/v1/order", "/v1/certificates", "/v1/usage?by=day"];

/// Takes every turn that a reseller can have.
async fn all_turns(world: &World, tenant: &Tenant) -> Vec<impl Sized> {
    let reseller = world.reseller_id(&tenant.code).await;
    let mut turns = Vec::new();
    while let Ok(turn) = timeout(SOON, world.services.list_permits.acquire(reseller)).await {
        turns.push(turn.unwrap());
    }
    assert!(!turns.is_empty());
    turns
}

on_both_databases! {
    async fn who_reads_many_lists_waits_for_itself_alone(world: World) {
        let (noisy, quiet) = (world.tenant("NOISY").await, world.tenant("QUIET").await);
        let turns = all_turns(&world, &noisy).await;
        let (refused, read) = tokio::join!(join_all(LISTS.map(|list| noisy.get(list))), async {
            timeout(LONG, join_all(LISTS.map(|list| quiet.get(list)))).await.expect("answers")
        });
        for (refused, read) in refused.into_iter().zip(read) {
            assert_eq!(refused.header("retry-after"), Some("1"));
            assert_eq!(refused.refusal(503), "unavailable");
            assert_eq!(refused.json()["limit"], "list-reads");
            read.expect(200);
        }
        noisy.make_account("c@example.com").await;
        drop(turns);
        noisy.get("/v1/account").await.expect(200);
    }

    async fn a_reseller_that_has_much_judged_waits_for_itself_alone(world: World) {
        let (noisy, quiet) = (world.tenant("NOISY").await, world.tenant("QUIET").await);
        let questions = |account: &str| {
            let names = ["www.example.com"];
            let csr = csr(&["www.example.com"]);
            [
                ("/v1/policy/evaluate", json!({"account_lookup": account, "identifiers": names})),
                ("/v1/validate-csr", json!({"account_lookup": account, "csr": csr})),
                ("/v1/diagnose", json!({"account_lookup": account, "identifiers": names})),
            ]
        };
        let of_noisy = questions(&lookup(&noisy.make_account("c@example.com").await));
        let of_quiet = questions(&lookup(&quiet.make_account("c@example.com").await));
        let turns = all_turns(&world, &noisy).await;
        let (refused, judged) = tokio::join!(
            join_all(of_noisy.iter().map(|(path, body)| noisy.post(path, body.clone()))),
            join_all(of_quiet.iter().map(|(path, body)| quiet.post(path, body.clone()))),
        );
        for (refused, judged) in refused.into_iter().zip(judged) {
            assert_eq!(refused.header("retry-after"), Some("1"));
            assert_eq!(refused.refusal(503), "unavailable");
            assert_eq!(refused.json()["limit"], "list-reads");
            assert_eq!(judged.status, 200, "{}", judged.text());
        }
        drop(turns);
        for (path, body) in of_noisy {
            assert_eq!(noisy.post(path, body).await.status, 200, "{path}");
        }
    }

    async fn a_change_of_many_members_waits_for_its_turn(world: World) {
        let tenant = world.tenant("DEMO").await;
        let group = tenant.make_group("group").await;
        let accounts = tenant.make_accounts(101).await;
        let turns = all_turns(&world, &tenant).await;
        assert_eq!(tenant.add_members(&group, &accounts).await.expect(503)["limit"], "list-reads");
        drop(turns);
        tenant.add_members(&group, &accounts).await.expect(200);
    }

    async fn an_order_under_many_policies_waits_for_its_turn(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (account, free) = (tenant.make_account("c@example.com").await, tenant.make_account("f@example.com").await);
        let group = tenant.make_group("group").await;
        tenant.add_members(&group, &[lookup(&account)]).await.expect(200);
        for number in 0..100 {
            let policy = tenant.make_policy(&format!("policy {number}"), json!({})).await;
            tenant.assign(&group, &policy).await.expect(200);
        }
        let order = |account| json!({"account_lookup": lookup(account), "csr": csr(&["www.example.com"])});
        let turns = all_turns(&world, &tenant).await;
        assert_eq!(tenant.post("/v1/order", order(&account)).await.expect(503)["limit"], "list-reads");
        tenant.post("/v1/order", order(&free)).await.expect(201);
        drop(turns);
        tenant.post("/v1/order", order(&account)).await.expect(201);
    }

    async fn however_many_are_asked_for_at_once_all_are_read(world: World) {
        let tenant = world.tenant("DEMO").await;
        let asked = join_all((0..60).map(|number| tenant.get(LISTS[number % LISTS.len()])));
        let answers = timeout(LONG, asked).await.expect("answers");
        let statuses: Vec<_> = answers.into_iter().map(|answer| answer.status.as_u16()).collect();
        assert_eq!(statuses, [200; 60]);
    }
}
