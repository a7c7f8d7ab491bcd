//! `/v1/account-group/…/member`: who is in a group.

use std::time::Duration;

use chancery_tests::{Reply, Tenant, lookup, on_both_databases};
use serde_json::{Value, json};

pub(crate) async fn count(tenant: &Tenant, group: &str) -> i64 {
    tenant.get(&format!("/v1/account-group/{group}")).await.expect(200)["memberCount"].as_i64().unwrap()
}

/// The lookups of all members, page by page, oldest first.
pub(crate) async fn members(tenant: &Tenant, group: &str) -> Vec<String> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = tenant.get(&format!("/v1/account-group/{group}/member?limit=1000{cursor}")).await.expect(200);
        all.extend(page["items"].as_array().unwrap().iter().map(lookup));
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    all.reverse();
    all
}

/// The group has just these members, and says that it has so many.
async fn has(tenant: &Tenant, group: &str, expected: &[String]) {
    let mut expected = expected.to_vec();
    expected.sort();
    assert_eq!(members(tenant, group).await, expected);
    assert_eq!(count(tenant, group).await, expected.len() as i64);
}

pub(crate) async fn remove(tenant: &Tenant, group: &str, accounts: &[String]) -> Reply {
    tenant.delete_with(&format!("/v1/account-group/{group}/member"), json!({"accounts": accounts})).await
}

pub(crate) async fn relocate(tenant: &Tenant, from: &str, to: &str, accounts: &[String]) -> Reply {
    tenant.patch(&format!("/v1/account-group/{from}/{to}/member"), json!({"accounts": accounts})).await
}

fn message(reply: &Reply) -> String {
    reply.json()["message"].as_str().unwrap().to_owned()
}

on_both_databases! {
    async fn members_are_added_listed_moved_and_removed(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (web, mail) = (tenant.make_group("Web").await, tenant.make_group("Mail").await);
        let accounts = tenant.make_accounts(5).await;
        let added = tenant.add_members(&web, &accounts).await.expect(200);
        assert_eq!(added, json!({"success": true, "message": format!("5 account(s) are in {web}.")}));
        has(&tenant, &web, &accounts).await;

        relocate(&tenant, &web, &mail, &accounts[..2]).await.expect(200);
        has(&tenant, &web, &accounts[2..]).await;
        has(&tenant, &mail, &accounts[..2]).await;

        remove(&tenant, &web, &accounts[2..3]).await.expect(200);
        has(&tenant, &web, &accounts[3..]).await;
        let account = tenant.get(&format!("/v1/account/{}", accounts[0])).await.expect(200);
        assert_eq!(account["groups"], json!([{"lookup": mail, "name": "Mail"}]));
    }

    async fn a_member_is_shown_as_an_account_and_lists_are_paged(world: World) {
        let tenant = world.tenant("DEMO").await;
        let group = tenant.make_group("Web").await;
        let accounts = tenant.make_accounts(3).await;
        tenant.add_members(&group, &accounts).await.expect(200);
        let path = format!("/v1/account-group/{group}/member");
        let all = tenant.get(&path).await.expect(200);
        assert_eq!(all["items"], tenant.get("/v1/account").await.expect(200)["items"]);
        assert!(all.get("nextCursor").is_none());

        let first = tenant.get(&format!("{path}?limit=2")).await.expect(200);
        let cursor = first["nextCursor"].as_str().unwrap();
        let second = tenant.get(&format!("{path}?limit=2&cursor={cursor}")).await.expect(200);
        let both = [first["items"].as_array().unwrap().clone(), second["items"].as_array().unwrap().clone()].concat();
        assert_eq!(Value::from(both), all["items"]);
        let other = tenant.make_group("Other").await;
        let elsewhere = tenant.get(&format!("/v1/account-group/{other}/member?cursor={cursor}")).await;
        assert_eq!(elsewhere.refusal(400), "invalid_cursor");
    }

    async fn adding_twice_is_fine_and_changes_nothing(world: World) {
        let tenant = world.tenant("DEMO").await;
        let group = tenant.make_group("Web").await;
        let accounts = tenant.make_accounts(3).await;
        let twice = [accounts.clone(), accounts.clone()].concat();
        let added = tenant.add_members(&group, &twice).await.expect(200);
        assert!(added["message"].as_str().unwrap().starts_with("3 "), "{added}");
        has(&tenant, &group, &accounts).await;

        let before = tenant.get(&format!("/v1/account-group/{group}")).await.json();
        world.advance(Duration::from_secs(5));
        tenant.add_members(&group, &accounts[..2]).await.expect(200);
        assert_eq!(tenant.get(&format!("/v1/account-group/{group}")).await.json(), before);
        has(&tenant, &group, &accounts).await;
        world.advance(Duration::from_secs(5));
        remove(&tenant, &group, &[accounts[0].clone(), accounts[0].clone()]).await.expect(200);
        has(&tenant, &group, &accounts[1..]).await;
        assert_ne!(tenant.get(&format!("/v1/account-group/{group}")).await.json()["updatedAt"], before["updatedAt"]);
    }

    async fn an_account_goes_by_each_of_its_names_and_is_one_member(world: World) {
        let tenant = world.tenant("DEMO").await;
        let group = tenant.make_group("Web").await;
        let account = tenant.make_account("One@example.com").await;
        let names = [lookup(&account), account["id"].to_string(), "one@EXAMPLE.com".to_owned()];
        let kid = account["kid"].as_str().unwrap().to_owned();
        tenant.add_members(&group, &[names.to_vec(), vec![kid]].concat()).await.expect(200);
        has(&tenant, &group, &[lookup(&account)]).await;
    }

    async fn one_unknown_among_a_thousand_is_named_and_nothing_is_done(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (web, mail) = (tenant.make_group("Web").await, tenant.make_group("Mail").await);
        let accounts = tenant.make_accounts(1000).await;
        let stranger = lookup(&world.tenant("OTHER").await.make_account("a@example.com").await);
        let unknown = [
            stranger,
            "acc_00000000000000000000000000".to_owned(),
            "nobody@example.com".to_owned(),
            "1 or 2".to_owned(),
        ];
        let mut named = accounts.clone();
        for (place, unknown) in unknown.iter().enumerate() {
            named[place * 300] = unknown.clone();
        }
        // Another 404 than one that adds, removes or moves: each must leave everything as it is.
        tenant.add_members(&web, &accounts[..500]).await.expect(200);
        for reply in [
            tenant.add_members(&web, &named).await,
            remove(&tenant, &web, &named).await,
            relocate(&tenant, &web, &mail, &named).await,
        ] {
            assert_eq!(reply.refusal(404), "account_not_found");
            for unknown in &unknown {
                assert!(message(&reply).contains(unknown.as_str()), "{}", reply.text());
            }
            assert!(!message(&reply).contains(&accounts[1]), "one that is known was named as unknown");
            assert_eq!(reply.fields(), ["accounts[0]", "accounts[300]", "accounts[600]", "accounts[900]"]);
            has(&tenant, &web, &accounts[..500]).await;
            has(&tenant, &mail, &[]).await;
        }
        tenant.add_members(&web, &accounts).await.expect(200);
        has(&tenant, &web, &accounts).await;
        relocate(&tenant, &web, &mail, &accounts).await.expect(200);
        has(&tenant, &mail, &accounts).await;
        remove(&tenant, &mail, &accounts).await.expect(200);
        has(&tenant, &mail, &[]).await;
    }

    async fn who_is_not_in_the_group_cannot_leave_it(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (web, mail) = (tenant.make_group("Web").await, tenant.make_group("Mail").await);
        let accounts = tenant.make_accounts(3).await;
        tenant.add_members(&web, &accounts[..1]).await.expect(200);
        // By another name than its lookup: the refusal speaks of it as the caller did.
        let named = [accounts[0].clone(), "customer-1@example.com".to_owned(), accounts[2].clone()];
        for reply in [
            remove(&tenant, &web, &named).await,
            relocate(&tenant, &web, &mail, &named).await,
            relocate(&tenant, &web, &web, &named).await,
        ] {
            assert_eq!(reply.refusal(404), "account_not_found");
            assert!(message(&reply).contains("customer-1@example.com") && message(&reply).contains(&accounts[2]));
            assert!(!message(&reply).contains(&accounts[0]), "{}", reply.text());
            assert_eq!(reply.fields(), ["accounts[1]", "accounts[2]"]);
            has(&tenant, &web, &accounts[..1]).await;
            has(&tenant, &mail, &[]).await;
        }
    }

    async fn moving_counts_those_who_were_there_already_once(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (web, mail) = (tenant.make_group("Web").await, tenant.make_group("Mail").await);
        let accounts = tenant.make_accounts(3).await;
        tenant.add_members(&web, &accounts).await.expect(200);
        tenant.add_members(&mail, &accounts[..1]).await.expect(200);
        relocate(&tenant, &web, &mail, &accounts[..2]).await.expect(200);
        has(&tenant, &web, &accounts[2..]).await;
        has(&tenant, &mail, &accounts[..2]).await;
        relocate(&tenant, &mail, &mail, &accounts[..2]).await.expect(200);
        has(&tenant, &mail, &accounts[..2]).await;
    }

    async fn from_one_to_a_thousand_entries_of_text(world: World) {
        let tenant = world.tenant("DEMO").await;
        let group = tenant.make_group("Web").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let too_many = vec![account.clone(); 1001];
        let cases = [
            (json!({"accounts": []}), vec!["accounts"]),
            (json!({"accounts": too_many}), vec!["accounts"]),
            (json!({"accounts": account}), vec!["accounts"]),
            (json!({"accounts": null}), vec!["accounts"]),
            (json!({"accounts": [account, 7, null]}), vec!["accounts[1]", "accounts[2]"]),
            (json!({}), vec!["accounts"]),
            (json!({"accounts": [account], "account": 1}), vec!["account"]),
        ];
        let path = format!("/v1/account-group/{group}/member");
        let moving = format!("/v1/account-group/{group}/{group}/member");
        for (body, fields) in cases {
            for reply in [
                tenant.post(&path, body.clone()).await,
                tenant.delete_with(&path, body.clone()).await,
                tenant.patch(&moving, body.clone()).await,
            ] {
                let code = if fields == ["account"] { "unknown_field" } else { "invalid_request" };
                assert_eq!(reply.refusal(400), code);
                assert_eq!(reply.fields(), fields, "{}", reply.text());
            }
        }
        has(&tenant, &group, &[]).await;
        tenant.post(&path, json!({"accounts": vec![account; 1000]})).await.expect(200);
        assert_eq!(count(&tenant, &group).await, 1);
        assert_eq!(tenant.delete(&path).await.refusal(400), "invalid_request");
    }

    async fn a_terminated_account_leaves_its_groups_and_comes_back_to_none(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (web, mail) = (tenant.make_group("Web").await, tenant.make_group("Mail").await);
        let accounts = tenant.make_accounts(2).await;
        for group in [&web, &mail] {
            tenant.add_members(group, &accounts).await.expect(200);
        }
        tenant.delete(&format!("/v1/account/{}", accounts[0])).await.expect(200);
        for group in [&web, &mail] {
            has(&tenant, group, &accounts[1..]).await;
        }
        for reply in [
            tenant.add_members(&web, &accounts).await,
            tenant.add_members(&web, &["customer-0@example.com".to_owned()]).await,
            remove(&tenant, &web, &accounts).await,
            relocate(&tenant, &web, &mail, &accounts).await,
        ] {
            assert_eq!(reply.refusal(404), "account_not_found");
            assert_eq!(reply.fields(), ["accounts[0]"]);
            has(&tenant, &web, &accounts[1..]).await;
            has(&tenant, &mail, &accounts[1..]).await;
        }
        // A suspended one is a member like any other.
        tenant.patch(&format!("/v1/account/{}", accounts[1]), json!({"suspended": true})).await.expect(200);
        relocate(&tenant, &web, &mail, &accounts[1..]).await.expect(200);
        has(&tenant, &web, &[]).await;
    }

    async fn a_group_that_is_not_there_has_no_members_to_change(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (web, gone) = (tenant.make_group("Web").await, tenant.make_group("Gone").await);
        tenant.delete(&format!("/v1/account-group/{gone}")).await.expect(200);
        let theirs = world.tenant("OTHER").await.make_group("Web").await;
        let accounts = tenant.make_accounts(1).await;
        tenant.add_members(&web, &accounts).await.expect(200);
        for missing in [gone.as_str(), theirs.as_str(), "grp_nope"] {
            for reply in [
                tenant.add_members(missing, &accounts).await,
                remove(&tenant, missing, &accounts).await,
                relocate(&tenant, missing, &web, &accounts).await,
                relocate(&tenant, &web, missing, &accounts).await,
                tenant.get(&format!("/v1/account-group/{missing}/member")).await,
            ] {
                assert_eq!(reply.refusal(404), "group_not_found", "{missing}");
            }
        }
        has(&tenant, &web, &accounts).await;
    }
}
