//! Resellers read lists by turns: one that asks for much waits for itself, and others do not wait for it.

use std::time::Duration;

use chancery_tests::on_both_databases;
use futures_util::future::join_all;
use tokio::time::timeout;

const SOON: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(60);
const LISTS: [&str; 7] = [
    "/v1/account",
    "/v1/account/a%40example.com",
    "/v1/account/a%40example.com/eab-credential",
    "/v1/eab-credential",
    "/v1/order",
    "/v1/certificates",
    "/v1/usage?by=day",
];

on_both_databases! {
    async fn who_reads_many_lists_waits_for_itself_alone(world: World) {
        let (noisy, quiet) = (world.tenant("NOISY").await, world.tenant("QUIET").await);
        for tenant in [&noisy, &quiet] {
            tenant.make_account("a@example.com").await;
        }
        let code = noisy.code.clone();
        let reseller = world.store.read(move |tx| tx.reseller_by_code(&code)).await.unwrap().unwrap().id;
        let mut turns = Vec::new();
        while let Ok(turn) = timeout(SOON, world.services.list_permits.acquire(reseller)).await {
            turns.push(turn.unwrap());
        }
        assert!(!turns.is_empty());
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

    async fn however_many_are_asked_for_at_once_all_are_read(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.make_account("a@example.com").await;
        let asked = join_all((0..60).map(|number| tenant.get(LISTS[number % LISTS.len()])));
        let answers = timeout(LONG, asked).await.expect("answers");
        let statuses: Vec<_> = answers.into_iter().map(|answer| answer.status.as_u16()).collect();
        assert_eq!(statuses, [200; 60]);
    }
}
