//! The numbers of a reseller's overview and of its calendar.

use std::time::Duration;

use chancery_service::LimitSettings;
use chancery_tests::{lookup, on_both_databases};

use crate::browser::Browser;
use crate::lists::furnished;

const DAY: Duration = Duration::from_secs(86_400);

on_both_databases! {
    async fn what_was_issued_is_counted_on_the_day_it_was_issued(world: World) {
        let mut tenant = world.tenant("NORTH").await;
        let account = lookup(&tenant.make_account("anna@example.com").await);
        // Ordered on one day, issued on the next, and one of them revoked.
        let late = lookup(&world.make_ready(&tenant, &account, &["late.example.com"]).await);
        world.issue(&tenant, &account, &["early.example.com"]).await;
        let usage = &world.services.usage;
        for pause in [Duration::from_secs(3600), DAY] {
            world.advance(pause);
            usage.roll_up().await.unwrap();
        }
        tenant.sign_in().await;
        tenant.post_empty(&format!("/v1/order/{late}/finalize")).await.expect(202);
        world.work(None).await;
        let order = world.issue(&tenant, &account, &["gone.example.com"]).await;
        let gone = order["certificateLookup"].as_str().unwrap();
        let mut browser = Browser::of(&world, &tenant).await;
        let revoke = format!("/console/certificates/{gone}/revoke");
        browser.done(&revoke, &[("reason", "superseded"), ("sure", "yes")]).await;
        let page = browser.look("/console").await;
        assert!(page.contains("<h2>Issued per day</h2>") && page.contains("Issued per day: 3 certificates in 14 days"), "{page}");
        let table = page.split("As a table").nth(1).unwrap().split("</table>").next().unwrap();
        let rows: Vec<_> = table.split("<tr>").skip(2).map(|row| {
            let (day, rest) = row.split_once("</th>").unwrap();
            (day.split_once('>').unwrap().1, rest.split_once('>').unwrap().1.split('<').next().unwrap())
        }).collect();
        assert_eq!(rows.len(), 14, "{table}");
        assert_eq!(rows[..3], [("16 Jan", "2"), ("15 Jan", "1"), ("14 Jan", "0")], "{table}");
        // Nobody sees what another has.
        let mut stranger = Browser::of(&world, &world.tenant("SOUTH").await).await;
        assert!(stranger.look("/console").await.contains("Issued per day: 0 certificates in 14 days"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_more_than_ten_thousand_no_share_is_drawn() {
    for (many, drawn) in [(10_000, true), (10_001, false)] {
        let (world, tenant) = furnished(LimitSettings::none(), many).await;
        let page = Browser::of(&world, &tenant).await.look("/console").await;
        let legend = if drawn { "<b>10,000</b>" } else { "<b>more than 10,000</b>" };
        assert!(page.contains(&format!(">cancelled</a>{legend}")), "{many}: {page}");
        assert_eq!(page.contains("class=\"ring"), drawn, "{many}: {page}");
        assert!(page.contains(">pending</a><b>1</b>"), "{page}");
    }
}
