//! How much of a thing there may be.

use chancery_domain::AccountId;
use chancery_overload::Caps;
use chancery_service::Settings;
use chancery_tests::{AcmeClient, csr, identifiers, lookup, on_both_databases, settings};
use serde_json::json;

use crate::common::worlds;

fn capped(caps: Caps) -> Settings {
    let mut settings = settings();
    settings.limits.caps = caps;
    settings
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_has_so_many_open_orders_and_cancelling_makes_room() {
    for world in worlds(&capped(Caps { open_orders: 3, ..Caps::default() })).await {
        let tenant = world.tenant("DEMO").await;
        let account = tenant.make_account("a@example.com").await;
        let client = AcmeClient::registered(&world, &account).await;
        let account = lookup(&account);
        let mut last = String::new();
        for number in 0..3 {
            last = lookup(&tenant.make_order(&account, &[&format!("n{number}.test")]).await);
        }
        let order = json!({"account_lookup": account, "csr": csr(&["more.test"])});
        let refused = tenant.post("/v1/order", order.clone()).await;
        assert_eq!(refused.refusal(400), "too_many");
        assert_eq!(refused.json()["limit"], "open-orders-per-account");
        let acme = client.post(&client.url("newOrder"), &json!({"identifiers": identifiers(&["more.test"])})).await;
        assert_eq!(
            (acme.status.as_u16(), &acme.json()["type"]),
            (429, &json!("urn:ietf:params:acme:error:rateLimited"))
        );
        assert_eq!(acme.json()["limit"], "open-orders-per-account");
        let other = lookup(&tenant.make_account("b@example.com").await);
        tenant.make_order(&other, &["more.test"]).await;
        tenant.delete(&format!("/v1/order/{last}")).await.expect(200);
        tenant.post("/v1/order", order).await.expect(201);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reseller_has_at_most_so_many_groups() {
    for world in worlds(&capped(Caps { groups: 2, ..Caps::default() })).await {
        let (tenant, other) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        let first = tenant.make_group("one").await;
        tenant.make_group("two").await;
        let refused = tenant.post("/v1/account-group", json!({"name": "three"})).await;
        assert_eq!(refused.refusal(400), "too_many");
        assert!(refused.text().contains("there are 2 account groups"), "{}", refused.text());
        other.make_group("one").await;
        let shown = tenant.get("/v1/limits").await.expect(200);
        assert!(
            shown["caps"].as_array().unwrap().contains(&json!({"name": "groups-per-reseller", "most": 2})),
            "{shown}"
        );
        tenant.delete(&format!("/v1/account-group/{first}")).await.expect(200);
        tenant.make_group("three").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_cap_on_groups_is_told_where_it_is_turned_off() {
    for world in worlds(&capped(Caps { groups: 0, ..Caps::default() })).await {
        let tenant = world.tenant("DEMO").await;
        tenant.make_group("one").await;
        let shown = tenant.get("/v1/limits").await.expect(200);
        let caps = shown["caps"].as_array().unwrap();
        assert!(caps.iter().all(|cap| cap["name"] != "groups-per-reseller"), "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reseller_has_so_many_policies() {
    for world in worlds(&capped(Caps { policies: 2, ..Caps::default() })).await {
        let (tenant, other) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        let first = tenant.make_policy("one", json!({})).await;
        tenant.make_policy("two", json!({})).await;
        let refused = tenant.post("/v1/policy", json!({"name": "three"})).await;
        assert_eq!(refused.refusal(400), "too_many");
        assert_eq!(refused.json()["limit"], "policies-per-reseller");
        other.make_policy("one", json!({})).await;
        tenant.delete(&format!("/v1/policy/{first}")).await.expect(200);
        tenant.make_policy("three", json!({})).await;
    }
}

on_both_databases! {
    async fn a_group_has_a_hundred_policies(world: World) {
        let tenant = world.tenant("DEMO").await;
        let group = tenant.make_group("group").await;
        let mut last = String::new();
        for number in 0..100 {
            last = tenant.make_policy(&format!("p{number}"), json!({})).await;
            tenant.assign(&group, &last).await.expect(200);
        }
        let one_more = tenant.make_policy("one more", json!({})).await;
        assert_eq!(tenant.assign(&group, &one_more).await.refusal(400), "too_many");
        tenant.assign(&group, &last).await.expect(200);
    }

    async fn an_account_is_in_a_hundred_groups(world: World) {
        let tenant = world.tenant("DEMO").await;
        let groups = {
            let mut groups = Vec::new();
            for number in 0..101 {
                groups.push(tenant.make_group(&format!("g{number}")).await);
            }
            groups
        };
        let named = json!({"customer_email": "a@example.com", "account_groups": groups[..100]});
        let account = lookup(&tenant.post("/v1/account", named).await.expect(201));
        let members = json!({"accounts": [account]});
        let one_more = format!("/v1/account-group/{}/member", groups[100]);
        let refused = tenant.post(&one_more, members.clone()).await;
        assert_eq!(refused.refusal(400), "too_many");
        assert!(refused.text().contains(&format!("{account} would be in more than 100")), "{}", refused.text());
        assert_eq!(tenant.get(&one_more).await.expect(200)["items"], json!([]));
        tenant.post(&format!("/v1/account-group/{}/member", groups[0]), members.clone()).await.expect(200);
        let moved = format!("/v1/account-group/{}/{}/member", groups[0], groups[100]);
        tenant.patch(&moved, members).await.expect(200);
    }

    async fn the_rules_of_all_policies_have_a_length(world: World) {
        let tenant = world.tenant("DEMO").await;
        // Some 240 KiB each.
        let long = |most: usize| {
            let names: Vec<_> = (0..most).map(|number| format!("n{number}.{}.{}.test", "x".repeat(60), "y".repeat(50))).collect();
            json!({"allowed_domains": names, "denied_domains": names})
        };
        let mut made = Vec::new();
        for number in 0..8 {
            made.push(tenant.make_policy(&format!("p{number}"), long(990)).await);
        }
        let mut one_more = long(990);
        one_more["name"] = "one more".into();
        assert_eq!(tenant.post("/v1/policy", one_more.clone()).await.refusal(400), "too_many");
        // Nobody else is kept from theirs, and whoever shortens one has room again.
        world.tenant("OTHER").await.make_policy("p", long(990)).await;
        tenant.put(&format!("/v1/policy/{}", made[0]), json!({"name": "short"})).await.expect(200);
        tenant.post("/v1/policy", one_more).await.expect(200);
        let mut long_again = long(990);
        long_again["name"] = "short".into();
        assert_eq!(tenant.put(&format!("/v1/policy/{}", made[0]), long_again).await.refusal(400), "too_many");
    }

    async fn the_certificates_of_an_address_are_those_of_every_account_that_has_or_had_it(world: World) {
        let tenant = world.tenant("DEMO").await;
        let mut expected = Vec::new();
        for round in 0..3 {
            let account = lookup(&tenant.make_account("same@example.com").await);
            assert!(account.parse::<AccountId>().is_ok());
            for number in 0..2 {
                expected.push(lookup(&tenant.make_order(&account, &[&format!("n{round}-{number}.test")]).await));
            }
            let other = lookup(&tenant.make_account(&format!("o{round}@example.com")).await);
            tenant.make_order(&other, &["other.test"]).await;
            if round < 2 {
                tenant.delete(&format!("/v1/account/{account}")).await.expect(200);
            }
        }
        expected.reverse();
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = tenant.get(&format!("/v1/certificates?customer_email=Same@example.com&limit=4{cursor}")).await.expect(200);
            found.extend(page["items"].as_array().unwrap().iter().map(|item| item["orderLookup"].as_str().unwrap().to_owned()));
            let Some(next) = page["nextCursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(found, expected);
        let none = tenant.get("/v1/certificates?customer_email=nobody@example.com").await.expect(200);
        assert_eq!(none["items"], json!([]));
    }
}
