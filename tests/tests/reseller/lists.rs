//! Lists: pages, limits, filters, and cursors that lead on in their own list only.

use std::collections::HashSet;

use chancery_tests::{Tenant, at_once, lookup, on_both_databases};
use http::Method;
use serde_json::{Value, json};

use crate::common::{each, problems, unnamed};

/// Every list of accounts and credentials; the account is number 1.
const LISTS: [&str; 3] = ["/v1/account", "/v1/eab-credential", "/v1/account/1/eab-credential"];

on_both_databases! {
    async fn a_limit_is_a_whole_number_from_1_to_1000(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.make_accounts(3).await;
        for list in LISTS {
            for bad in [
                "0",
                "abc",
                "1001",
                "-1",
                "1e3",
                "",
                "%2B1",
                "1.0",
                "%201",
                "1%20",
                "0x10",
                "٣",
                "%00",
                "99999999999999999999",
                "100,1",
            ] {
                let reply = tenant.get(&format!("{list}?limit={}", bad.replace('٣', "%D9%A3"))).await;
                let code = reply.refusal(400);
                let expected = if bad == "%00" { "invalid_request" } else { "invalid_limit" };
                assert_eq!(
                    (code.as_str(), reply.json()["errors"][0]["field"].as_str()),
                    (expected, Some("limit")),
                    "{list} {bad}"
                );
            }
            for good in ["1", "2", "1000"] {
                let listed = tenant.get(&format!("{list}?limit={good}")).await.expect(200);
                assert!(listed["items"].as_array().unwrap().len() <= good.parse().unwrap());
            }
        }
    }

    async fn all_that_is_wrong_with_a_query_is_told_at_once(world: World) {
        let tenant = world.tenant("DEMO").await;
        for (list, fields) in [
            ("/v1/account?is_suspended=x&include_deleted=y&limit=0&more=1", "more is_suspended include_deleted limit"),
            ("/v1/account?is_suspended=x&limit=0", "is_suspended limit"),
            ("/v1/order?status=x&limit=0&limit=1", "limit status"),
            ("/v1/order?status=x&limit=0", "status limit"),
            ("/v1/certificates?certificate_status=x&expires_before=y&bar=1&limit=0", "bar certificate_status expires_before limit"),
            ("/v1/event?type=x&order=y&limit=0&bar=1", "bar type order limit"),
        ] {
            let reply = tenant.get(list).await;
            assert_eq!(reply.refusal(400), "invalid_request", "{list}");
            let told: Vec<_> = reply.json()["errors"].as_array().unwrap().iter().map(|each| each["field"].as_str().unwrap().to_owned()).collect();
            assert_eq!(told.join(" "), fields, "{list}");
            let count = format!("The query has {} problems.", told.len());
            assert_eq!(reply.json()["message"], count.as_str(), "{list}");
        }
        let headers = [("accept", "text/csv")];
        let csv = tenant.send(Method::GET, "/v1/certificates?cursor=x", &headers, None).await;
        assert_eq!(problems(&csv), ["cursor not_here"]);
    }

    async fn a_page_has_a_hundred_items_unless_told_otherwise(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.make_accounts(101).await;
        for list in ["/v1/account", "/v1/eab-credential"] {
            let first = tenant.get(list).await.expect(200);
            assert_eq!(first["items"].as_array().unwrap().len(), 100);
            let rest =
                tenant.get(&format!("{list}?cursor={}", first["nextCursor"].as_str().unwrap())).await.expect(200);
            assert_eq!(rest["items"].as_array().unwrap().len(), 1);
            let all = tenant.get(&format!("{list}?limit=1000")).await.expect(200);
            assert_eq!((all["items"].as_array().unwrap().len(), all.get("nextCursor")), (101, None));
        }
    }

    async fn pages_follow_each_other_newest_first_and_the_last_says_so(world: World) {
        let tenant = world.tenant("DEMO").await;
        let accounts = tenant.make_accounts(1).await;
        for number in 1..6 {
            tenant.make_account(&format!("b{number}@example.com")).await;
            tenant.post_empty(&format!("/v1/account/{}/eab-credential", accounts[0])).await.expect(201);
        }
        for list in LISTS {
            let all = each(&tenant.get(&format!("{list}?limit=1000")).await.expect(200), "id");
            let mut sorted: Vec<_> = all.iter().map(|id| id.as_i64().unwrap()).collect();
            sorted.sort_by_key(|id| std::cmp::Reverse(*id));
            assert_eq!(json!(all), json!(sorted), "{list}");
            for limit in 1..=all.len() + 1 {
                let pages = walk(&tenant, list, limit).await;
                assert_eq!(json!(pages.concat()), json!(all), "{list} by {limit}");
                // An exact multiple has no empty page behind it.
                assert_eq!(pages.len(), all.len().div_ceil(limit), "{list} by {limit}");
            }
        }
        assert_eq!(tenant.get("/v1/account?is_suspended=true").await.expect(200), json!({"items": []}));
    }

    async fn a_walk_sees_each_item_once_while_others_come_and_go(world: World) {
        let tenant = world.tenant("DEMO").await;
        let before: HashSet<String> = tenant.make_accounts(40).await.into_iter().collect();
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        for step in 0.. {
            let page = tenant.get(&format!("/v1/account?limit=7{cursor}")).await.expect(200);
            seen.extend(page["items"].as_array().unwrap().iter().map(lookup));
            let replies = at_once(4, |number| {
                let tenant = tenant.clone();
                let body = json!({"customer_email": format!("new-{step}-{number}@example.com")});
                async move { tenant.post("/v1/account", body).await }
            })
            .await;
            assert!(replies.iter().all(|reply| reply.status == 201));
            // What a cursor stands on may go without taking the rest along.
            tenant.delete(&format!("/v1/account/{}", seen.last().unwrap())).await.expect(200);
            match page.get("nextCursor") {
                Some(next) => cursor = format!("&cursor={}", next.as_str().unwrap()),
                None => break,
            }
        }
        let distinct: HashSet<_> = seen.iter().cloned().collect();
        assert_eq!(distinct.len(), seen.len(), "no item twice");
        assert!(before.is_subset(&distinct), "no item left out");
        assert_eq!(distinct.difference(&before).count(), 0, "newer items are on the pages before");
    }

    async fn a_cursor_that_was_cut_or_altered_is_refused(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.make_accounts(2).await;
        tenant.post_empty("/v1/account/1/eab-credential").await.expect(201);
        for list in LISTS {
            let page = tenant.get(&format!("{list}?limit=1")).await.expect(200);
            let cursor = page["nextCursor"].as_str().unwrap();
            let mut bad: Vec<String> = (0..cursor.len()).map(|end| cursor[..end].to_owned()).collect();
            bad.extend((0..cursor.len()).map(|place| {
                let other = if &cursor[place..=place] == "A" { "B" } else { "A" };
                format!("{}{other}{}", &cursor[..place], &cursor[place + 1..])
            }));
            let reversed = cursor.chars().rev().collect();
            bad.extend([
                format!("{cursor}A"),
                format!("{cursor}="),
                format!("%20{cursor}"),
                cursor.to_lowercase(),
                reversed,
                "null".to_owned(),
                "1".to_owned(),
                "%F0%9F%92%A5".to_owned(),
                "A".repeat(4000),
            ]);
            for bad in bad {
                let reply = tenant.get(&format!("{list}?limit=1&cursor={bad}")).await;
                assert_eq!(reply.refusal(400), "invalid_cursor", "{list} {bad}");
            }
            tenant.get(&format!("{list}?limit=1&cursor={cursor}")).await.expect(200);
        }
    }

    async fn a_cursor_leads_on_in_its_own_list_and_filter_only(world: World) {
        let (tenant, other) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        for somebody in [&tenant, &other] {
            somebody.make_accounts(3).await;
        }
        tenant.post_empty("/v1/account/1/eab-credential").await.expect(201);
        tenant.post_empty("/v1/account/2/eab-credential").await.expect(201);
        let lists = [
            "/v1/account?limit=1",
            "/v1/account?limit=1&is_suspended=false",
            "/v1/account?limit=1&include_deleted=true",
            "/v1/account?limit=1&is_suspended=false&include_deleted=true",
            "/v1/eab-credential?limit=1",
            "/v1/account/1/eab-credential?limit=1",
            "/v1/account/2/eab-credential?limit=1",
        ];
        for from in lists {
            let page = tenant.get(from).await.expect(200);
            let cursor = page["nextCursor"].as_str().unwrap();
            for to in lists {
                let reply = tenant.get(&format!("{to}&cursor={cursor}")).await;
                if to == from {
                    assert_ne!(reply.expect(200)["items"], page["items"]);
                } else {
                    assert_eq!(reply.refusal(400), "invalid_cursor", "{from} to {to}");
                }
            }
            if !from.contains("/v1/account/") {
                assert_eq!(other.get(&format!("{from}&cursor={cursor}")).await.refusal(400), "invalid_cursor");
            }
        }
        // How many to a page, and how the account is called, do not make another list.
        let page = tenant.get("/v1/account/1/eab-credential?limit=1").await.expect(200);
        let cursor = page["nextCursor"].as_str().unwrap();
        let kid = tenant.get("/v1/account/1").await.expect(200)["kid"].as_str().unwrap().to_owned();
        tenant.get(&format!("/v1/account/{kid}/eab-credential?limit=5&cursor={cursor}")).await.expect(200);
        let page = tenant.get("/v1/account?limit=1").await.expect(200);
        let cursor = page["nextCursor"].as_str().unwrap();
        tenant.get(&format!("/v1/account?limit=5&include_deleted=false&cursor={cursor}")).await.expect(200);
    }

    async fn accounts_are_filtered_by_address_and_by_suspension(world: World) {
        let (tenant, other) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        for email in ["A@example.com", "b@example.com", "c+tag@example.com"] {
            tenant.make_account(email).await;
        }
        other.make_account("d@example.com").await;
        tenant.patch("/v1/account/2", json!({"suspended": true})).await.expect(200);
        let emails = async |query: &str| each(&tenant.get(&format!("/v1/account?{query}")).await.expect(200), "email");
        assert_eq!(emails("customer_email=a%40EXAMPLE.com").await, ["A@example.com"]);
        assert_eq!(emails("customer_email=c%2Btag@example.com").await, ["c+tag@example.com"]);
        assert_eq!(emails("is_suspended=true").await, ["b@example.com"]);
        assert_eq!(emails("is_suspended=false").await, ["c+tag@example.com", "A@example.com"]);
        assert_eq!(emails("is_suspended=false&customer_email=a@example.com").await, ["A@example.com"]);
        // Filters by what is unknown, or another reseller's, find nothing.
        for nothing in [
            "is_suspended=true&customer_email=a@example.com",
            "customer_email=d@example.com",
            "customer_email=nobody",
            "customer_email=",
            "customer_email=example.com",
            "customer_email=%25@example.com",
            "customer_email=%27",
        ] {
            assert_eq!(
                tenant.get(&format!("/v1/account?{nothing}")).await.expect(200),
                json!({"items": []}),
                "{nothing}"
            );
        }
        for (bad, problem) in [
            ("is_suspended=TRUE", "is_suspended invalid"),
            ("is_suspended=", "is_suspended invalid"),
            ("is_suspended=1", "is_suspended invalid"),
            ("include_deleted=yes", "include_deleted invalid"),
            ("suspended=true", "suspended unknown_field"),
            ("Limit=1", "Limit unknown_field"),
            ("limit=1&limit=1", "limit duplicate_field"),
            ("customer_email=%ff", "customer_email invalid_value"),
            ("customer_email=%", "customer_email invalid_value"),
        ] {
            assert_eq!(problems(&tenant.get(&format!("/v1/account?{bad}")).await), [problem], "{bad}");
        }
        let mut found = problems(&tenant.get("/v1/account?is_suspended=x&include_deleted=y&limit=0").await);
        found.sort();
        assert_eq!(found, ["include_deleted invalid", "is_suspended invalid", "limit out_of_range"]);
        assert_eq!(problems(&tenant.get("/v1/eab-credential?is_suspended=true").await), ["is_suspended unknown_field"]);
    }

    async fn lists_leave_terminated_accounts_out_unless_asked(world: World) {
        let tenant = world.tenant("DEMO").await;
        for number in 0..4 {
            tenant.make_account(&format!("customer-{number}@example.com")).await;
        }
        tenant.patch("/v1/account/3", json!({"suspended": true})).await.expect(200);
        for number in [2, 3] {
            tenant.delete(&format!("/v1/account/{number}")).await.expect(200);
        }
        let ids = async |query: &str| json!(each(&tenant.get(&format!("/v1/account?{query}")).await.expect(200), "id"));
        assert_eq!(ids("").await, json!([4, 1]));
        assert_eq!(ids("include_deleted=false").await, json!([4, 1]));
        assert_eq!(ids("include_deleted=true").await, json!([4, 3, 2, 1]));
        assert_eq!(ids("include_deleted=true&is_suspended=true").await, json!([3]));
        assert_eq!(ids("is_suspended=true").await, json!([]));
        assert_eq!(ids("customer_email=customer-1@example.com").await, json!([]));
        assert_eq!(ids("customer_email=customer-1@example.com&include_deleted=true").await, json!([2]));
        assert_eq!(json!(walk(&tenant, "/v1/account?include_deleted=true", 1).await.concat()), json!([4, 3, 2, 1]));
    }

    async fn the_list_of_an_account_that_is_not_there_is_not_found_whatever_is_asked(world: World) {
        let (tenant, other) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        let theirs = lookup(&other.make_account("a@example.com").await);
        for query in ["", "?limit=0", "?cursor=x", "?nope=1"] {
            let missing = tenant.get(&format!("/v1/account/99/eab-credential{query}")).await;
            let foreign = tenant.get(&format!("/v1/account/{theirs}/eab-credential{query}")).await;
            assert_eq!(
                (missing.refusal(404), foreign.refusal(404)),
                ("account_not_found".into(), "account_not_found".into())
            );
            assert_eq!(unnamed(&missing), unnamed(&foreign));
        }
    }
}

/// The ids of each page, from the first to the last.
async fn walk(tenant: &Tenant, list: &str, limit: usize) -> Vec<Vec<Value>> {
    let (mut pages, mut cursor) = (Vec::new(), String::new());
    let mark = if list.contains('?') { '&' } else { '?' };
    loop {
        let page = tenant.get(&format!("{list}{mark}limit={limit}{cursor}")).await.expect(200);
        pages.push(each(&page, "id"));
        match page.get("nextCursor") {
            Some(next) => cursor = format!("&cursor={}", next.as_str().unwrap()),
            None => return pages,
        }
    }
}
