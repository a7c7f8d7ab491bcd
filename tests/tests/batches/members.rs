//! Requests that name up to a thousand accounts.

use chancery_tests::{Tenant, lookup, on_both_databases};
use serde_json::json;

use crate::common::{add_trigger, cascades, small_transactions, trail};

const MANY: usize = 1000;

async fn count(tenant: &Tenant, group: &str) -> i64 {
    let listed = tenant.get(&format!("/v1/account-group/{group}/member?limit=1000")).await.expect(200);
    let count = tenant.get(&format!("/v1/account-group/{group}")).await.expect(200)["memberCount"].as_i64().unwrap();
    assert_eq!(listed["items"].as_array().unwrap().len() as i64, count);
    count
}

async fn change(tenant: &Tenant, path: &str, method: http::Method, accounts: &[String]) -> chancery_tests::Reply {
    tenant.send(method, path, &[], Some(&json!({"accounts": accounts}))).await
}

on_both_databases! {
    async fn a_thousand_accounts_are_added_moved_and_removed_in_small_transactions(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (one, two) = (tenant.make_group("one").await, tenant.make_group("two").await);
        let accounts = tenant.make_accounts(MANY).await;
        let path = |group: &str| format!("/v1/account-group/{group}/member");
        let moved = format!("/v1/account-group/{one}/{two}/member");
        world.store.take_write_peaks();
        // The answer comes when all are in the group.
        tenant.add_members(&one, &accounts).await.expect(200);
        assert_eq!((count(&tenant, &one).await, count(&tenant, &two).await, cascades(&world).await), (1000, 0, 0));
        tenant.add_members(&one, &accounts).await.expect(200);
        assert_eq!(count(&tenant, &one).await, 1000);
        change(&tenant, &moved, http::Method::PATCH, &accounts).await.expect(200);
        assert_eq!((count(&tenant, &one).await, count(&tenant, &two).await, cascades(&world).await), (0, 1000, 0));
        change(&tenant, &path(&two), http::Method::DELETE, &accounts).await.expect(200);
        assert_eq!((count(&tenant, &two).await, cascades(&world).await), (0, 0));
        small_transactions(&world);
        // Each account is in the trail once for each change.
        for (action, lines) in [("add_members", 10), ("move_members", 20), ("remove_members", 10)] {
            let told = trail(&world, &format!("account_group.{action}")).await;
            let named: usize = told.iter().map(|line| line.detail.matches("acc_").count()).sum();
            assert_eq!((told.len(), named), (lines, MANY), "{action}");
            assert!(told.iter().all(|line| line.request_id == told[0].request_id));
        }
    }

    async fn of_a_thousand_accounts_none_is_changed_if_one_cannot_be(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (one, two) = (tenant.make_group("one").await, tenant.make_group("two").await);
        let mut accounts = tenant.make_accounts(200).await;
        let stranger = lookup(&world.tenant("OTHER").await.make_account("x@example.com").await);
        accounts.push(stranger.clone());
        let refused = tenant.add_members(&one, &accounts).await;
        assert_eq!(refused.refusal(404), "account_not_found");
        assert!(refused.text().contains(&stranger) && refused.fields() == ["accounts[200]"], "{}", refused.text());
        assert_eq!(count(&tenant, &one).await, 0);
        accounts.pop();
        let gone = accounts[50].clone();
        tenant.add_members(&one, &accounts).await.expect(200);
        change(&tenant, &format!("/v1/account-group/{one}/member"), http::Method::DELETE, std::slice::from_ref(&gone)).await.expect(200);
        for (method, path) in [
            (http::Method::DELETE, format!("/v1/account-group/{one}/member")),
            (http::Method::PATCH, format!("/v1/account-group/{one}/{two}/member")),
        ] {
            let refused = change(&tenant, &path, method, &accounts).await;
            assert!(refused.status == 404 && refused.text().contains(&gone), "{}", refused.text());
            assert_eq!((count(&tenant, &one).await, count(&tenant, &two).await), (199, 0));
        }
        tenant.delete(&format!("/v1/account/{gone}")).await.expect(200);
        let refused = tenant.add_members(&two, &accounts).await;
        assert!(refused.status == 404 && refused.text().contains(&gone), "{}", refused.text());
        assert_eq!((count(&tenant, &two).await, cascades(&world).await), (0, 0));
        let nowhere = tenant.add_members("grp_01jcq3v9k2e7x8t5m4n6p0r1sw", &accounts).await;
        assert_eq!(nowhere.refusal(404), "group_not_found");
    }

    async fn an_account_in_too_many_groups_keeps_all_others_out(world: World) {
        let tenant = world.tenant("DEMO").await;
        let accounts = tenant.make_accounts(150).await;
        for number in 0..100 {
            let group = tenant.make_group(&format!("g{number}")).await;
            tenant.add_members(&group, &accounts[149..]).await.expect(200);
        }
        let group = tenant.make_group("one more").await;
        let refused = tenant.add_members(&group, &accounts).await;
        assert_eq!(refused.refusal(400), "too_many");
        assert!(refused.text().contains(&format!("{} would be in more than 100", accounts[149])), "{}", refused.text());
        assert_eq!(count(&tenant, &group).await, 0);
    }

    async fn an_account_that_is_named_a_thousand_times_is_changed_once(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (one, two) = (tenant.make_group("one").await, tenant.make_group("two").await);
        let account = lookup(&tenant.make_account("a@example.com").await);
        world.store.take_write_peaks();
        tenant.add_members(&one, std::slice::from_ref(&account)).await.expect(200);
        let rows = world.store.take_write_peaks().rows;
        let added = tenant.add_members(&two, &vec![account; MANY]).await;
        assert!(added.status == 200 && added.text().contains("1 account(s)"), "{}", added.text());
        assert_eq!(world.store.take_write_peaks().rows, rows, "it is one transaction, without a job");
        assert_eq!(count(&tenant, &two).await, 1);
    }

    async fn accounts_that_cannot_be_added_any_more_when_their_batch_comes_are_not_counted(world: World) {
        let tenant = world.tenant("DEMO").await;
        let mut accounts = tenant.make_accounts(150).await;
        accounts.sort();
        let (busy, gone) = (accounts[148].clone(), accounts[149].clone());
        for number in 0..99 {
            let group = tenant.make_group(&format!("g{number}")).await;
            tenant.add_members(&group, std::slice::from_ref(&busy)).await.expect(200);
        }
        let (last, group) = (tenant.make_group("last").await, tenant.make_group("group").await);
        // While the first batch adds the first 100, one of the others is terminated, and one comes into its hundredth group.
        let meanwhile = format!(
            "UPDATE accounts SET deleted_at = 1 WHERE id = '{gone}';
             INSERT INTO group_members (group_id, account_id, added_at) SELECT '{last}', '{busy}', 1
                 WHERE NOT EXISTS (SELECT 1 FROM group_members WHERE group_id = '{last}');"
        );
        let (when, is_added) = ("AFTER INSERT ON group_members", format!("NEW.group_id = '{group}'"));
        let sqlite = format!("WHEN {is_added} BEGIN {meanwhile} END");
        let postgres = format!("IF {is_added} THEN {meanwhile} END IF; RETURN NULL;");
        add_trigger(&world, "meanwhile", when, &sqlite, &postgres).await;
        let added = tenant.add_members(&group, &accounts).await;
        assert!(added.status == 200 && added.text().contains("148 account(s)"), "{}", added.text());
        assert_eq!((count(&tenant, &group).await, cascades(&world).await), (148, 0));
        let groups = tenant.get(&format!("/v1/account/{busy}")).await.expect(200)["groups"].clone();
        assert_eq!(groups.as_array().unwrap().len(), 100);
    }

    /// Two changes of the same thousand accounts leave each of them in one place, and the counts right.
    async fn two_large_moves_at_once_end_alike(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (one, two, three) = (tenant.make_group("one").await, tenant.make_group("two").await, tenant.make_group("three").await);
        let accounts = tenant.make_accounts(300).await;
        tenant.add_members(&one, &accounts).await.expect(200);
        let (to_two, to_three) = (format!("/v1/account-group/{one}/{two}/member"), format!("/v1/account-group/{one}/{three}/member"));
        let (first, second) = tokio::join!(
            change(&tenant, &to_two, http::Method::PATCH, &accounts),
            change(&tenant, &to_three, http::Method::PATCH, &accounts)
        );
        assert!([&first, &second].iter().all(|reply| reply.status == 200 || reply.status == 404));
        assert_eq!(count(&tenant, &one).await, 0);
        assert_eq!(count(&tenant, &two).await + count(&tenant, &three).await, 300);
        assert_eq!(cascades(&world).await, 0);
    }

    async fn an_account_is_created_in_a_hundred_groups_at_most(world: World) {
        let tenant = world.tenant("DEMO").await;
        let new = chancery_service::NewAccount {
            email: chancery_domain::EmailAddress::parse("a@example.com").unwrap(),
            groups: vec!["grp_01jcq3v9k2e7x8t5m4n6p0r1sw".to_owned(); 101],
            external_id: None,
            metadata: chancery_domain::Metadata::default(),
        };
        let (code, read) = (tenant.code.clone(), |tx: &mut chancery_store::Tx<'_>, code: &str| tx.reseller_by_code(code));
        let reseller = world.store.read(move |tx| read(tx, &code)).await.unwrap().unwrap();
        let caller = chancery_service::Caller {
            reseller: reseller.id,
            code: reseller.code,
            actor: chancery_service::Actor::Anonymous,
            scopes: chancery_domain::ScopeSet::all(),
            acme_account: None,
            acme_key: None,
            origin: chancery_service::Origin::default(),
        };
        let Err(refused) = world.services.accounts.create(&caller, new, None).await else { panic!("it was created") };
        assert!(refused.to_string().contains("at most 100 groups"), "{refused}");
    }
}
