//! The numbers of a reseller's overview and of its calendar.

use std::time::Duration;

use chancery_overload::LimitSettings;
use chancery_tests::{lookup, on_both_databases};
use serde_json::json;

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

    async fn the_calendar_counts_what_ends_on_a_day_and_lists_it(world: World) {
        let mut tenant = world.tenant("NORTH").await;
        let account = lookup(&tenant.make_account("anna@example.com").await);
        let (group, policy) = (tenant.make_group("Short").await, tenant.make_policy("Short", json!({"max_validity_days": 10})).await);
        tenant.add_members(&group, std::slice::from_ref(&account)).await;
        tenant.assign(&group, &policy).await;
        for name in ["a.example.com", "b.example.com", "revoked.example.com"] {
            world.issue(&tenant, &account, &[name]).await;
        }
        world.advance(DAY);
        tenant.sign_in().await;
        world.issue(&tenant, &account, &["next.example.com"]).await;
        let all = tenant.get("/v1/certificates").await.expect(200);
        let of = |name: &str| {
            let found = all["items"].as_array().unwrap().iter().find(|each| each["names"][0] == name);
            found.unwrap_or_else(|| panic!("{all}")).clone()
        };
        let day = |name: &str| of(name)["notAfter"].as_str().unwrap()[..10].to_owned();
        let (first, second) = (day("a.example.com"), day("next.example.com"));
        assert!(first < second, "{first} {second}");
        let mut browser = Browser::of(&world, &tenant).await;
        let revoke = format!("/console/certificates/{}/revoke", lookup(&of("revoked.example.com")));
        browser.done(&revoke, &[("reason", "superseded"), ("sure", "yes")]).await;

        // What each day with anything on it says.
        let counts = |page: &str| -> Vec<(String, String)> {
            let days = page.split("/console/calendar?day=").skip(1).filter(|rest| rest.contains("</td>"));
            days.map(|rest| (rest[..10].to_owned(), rest.split("<b>").nth(1).unwrap().split('<').next().unwrap().to_owned())).collect()
        };
        let page = browser.look("/console/calendar").await;
        let counted = [(first.clone(), "2".to_owned()), (second.clone(), "1".to_owned())];
        assert_eq!(counts(&page), counted, "{page}");
        assert_eq!(page.matches("<td").count(), 84, "twelve weeks");
        let page = browser.look(&format!("/console/calendar?day={first}")).await;
        let list = page.split("id=\"day\"").nth(1).unwrap();
        assert!(list.contains("2 certificates") && list.contains("a.example.com") && list.contains("b.example.com"), "{list}");
        assert!(!list.contains("next.example.com") && !list.contains("revoked.example.com"), "{list}");
        assert!(browser.look(&format!("/console/calendar?from={second}&day={second}")).await.contains("1 certificate<"));
        // They stand on the overview, too.
        let overview = browser.look("/console").await;
        assert!(overview.contains("Certificates that end: 3 certificates in 30 days"), "{overview}");
        assert!(overview.contains("<b>3</b><span>end within 30 days</span>"), "{overview}");
        // Nobody sees what another has.
        let mut stranger = Browser::of(&world, &world.tenant("SOUTH").await).await;
        assert_eq!(counts(&stranger.look("/console/calendar").await), []);
        assert!(stranger.look(&format!("/console/calendar?day={first}")).await.contains("Nothing ends on this day."));
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
