//! EAB credentials: made, shown, listed, revoked.

use std::collections::HashSet;
use std::time::Duration;

use chancery_tests::{at_once, count, lookup, on_both_databases};
use serde_json::{Value, json};

use crate::common::{each, problems, unnamed};

const CREDENTIALS: &str = "/v1/account/1/eab-credential";

on_both_databases! {
    async fn a_new_credential_tells_an_acme_client_all_it_needs(world: World) {
        let tenant = world.tenant("DEMO").await;
        let body = json!({"customer_email": "A@example.com", "external_id": "K-1", "metadata": {"a": "b"}});
        let root = tenant.post("/v1/account", body).await.expect(201);
        world.advance(Duration::from_secs(60));
        let terms = json!({"label": "web – 1", "expires_in_days": 30, "max_bindings": 2});
        let reply = tenant.post(CREDENTIALS, terms).await;
        assert_eq!(reply.header("content-type"), Some("application/json"));
        let made = reply.expect(201);
        let at = "2027-01-15T08:01:00Z";
        let expected = json!({
            "lookup": made["lookup"], "id": 2, "kid": made["kid"], "resellerCode": "DEMO", "email": "A@example.com",
            "revoked": false, "deleted": false, "suspended": false, "status": "unused", "parent": root["lookup"],
            "hmacKey": made["hmacKey"], "hmacKeyUrl": made["hmacKey"], "boundAccounts": [],
            "acmeDirectory": "https://ca.test/acme/TLS-90d/directory",
            "acmeDirectories": {
                "TLS-90d": "https://ca.test/acme/TLS-90d/directory",
                "TLS-199d": "https://ca.test/acme/TLS-199d/directory",
            },
            "label": "web – 1", "expiresAt": "2027-02-14T08:01:00Z", "maxBindings": 2,
            "createdAt": at, "updatedAt": at,
        });
        assert_eq!(made, expected);
        assert!(lookup(&made).starts_with("eab_") && lookup(&made).len() == 30);
        let key = made["hmacKey"].as_str().unwrap();
        assert!(key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{key}");
        assert_ne!((&made["kid"], &made["hmacKey"]), (&root["kid"], &root["hmacKey"]));

        let mut shown = expected;
        for once in ["hmacKey", "hmacKeyUrl", "acmeDirectory", "acmeDirectories"] {
            shown.as_object_mut().unwrap().remove(once);
        }
        let path = format!("/v1/eab-credential/{}", made["kid"].as_str().unwrap());
        assert_eq!(tenant.get(&path).await.expect(200), shown);
        for list in [CREDENTIALS, "/v1/eab-credential"] {
            let listed = tenant.get(list).await.expect(200);
            assert_eq!(listed["items"][0], shown, "{list}");
            assert_eq!(each(&listed, "kid"), [made["kid"].clone(), root["kid"].clone()]);
        }
    }

    async fn the_body_of_a_creation_may_be_left_out_or_empty(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.make_account("a@example.com").await;
        let json = [("content-type", "application/json")];
        let mut kids = HashSet::new();
        for reply in [
            tenant.post_empty(CREDENTIALS).await,
            tenant.raw(http::Method::POST, CREDENTIALS, &json, Vec::new()).await,
            tenant.post(CREDENTIALS, json!({})).await,
            tenant.post(CREDENTIALS, json!({"label": null, "expires_in_days": null, "max_bindings": null})).await,
        ] {
            let made = reply.expect(201);
            for absent in ["label", "expiresAt", "maxBindings", "lastUsedAt", "externalId", "metadata"] {
                assert!(made.get(absent).is_none(), "{absent} in {made}");
            }
            assert!(kids.insert(made["kid"].to_string()));
        }
    }

    async fn the_terms_of_a_credential_have_bounds(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.make_account("a@example.com").await;
        for good in [
            json!({"label": "é".repeat(100)}),
            json!({"label": "x"}),
            json!({"expires_in_days": 1}),
            json!({"expires_in_days": 3650}),
            json!({"max_bindings": 1}),
            json!({"max_bindings": 1_000_000}),
        ] {
            tenant.post(CREDENTIALS, good).await.expect(201);
        }
        for (bad, problem) in [
            (json!({"label": ""}), "label invalid"),
            (json!({"label": "é".repeat(101)}), "label invalid"),
            (json!({"label": "a\nb"}), "label invalid"),
            (json!({"label": " a"}), "label invalid"),
            (json!({"label": 1}), "label wrong_type"),
            (json!({"expires_in_days": 0}), "expires_in_days out_of_range"),
            (json!({"expires_in_days": 3651}), "expires_in_days out_of_range"),
            (json!({"expires_in_days": -1}), "expires_in_days invalid_value"),
            (json!({"expires_in_days": 1.5}), "expires_in_days wrong_type"),
            (json!({"expires_in_days": "30"}), "expires_in_days wrong_type"),
            (json!({"expires_in_days": 4_294_967_297_u64}), "expires_in_days invalid_value"),
            (json!({"max_bindings": 0}), "max_bindings out_of_range"),
            (json!({"max_bindings": 1_000_001}), "max_bindings out_of_range"),
            (json!({"expiresInDays": 3}), "expiresInDays unknown_field"),
        ] {
            assert_eq!(problems(&tenant.post(CREDENTIALS, bad.clone()).await), [problem], "{bad}");
        }
        let every = json!({"label": "", "expires_in_days": 0, "max_bindings": "many", "customer_email": "x"});
        let mut found = problems(&tenant.post(CREDENTIALS, every).await);
        found.sort();
        let expected = [
            "customer_email unknown_field",
            "expires_in_days out_of_range",
            "label invalid",
            "max_bindings wrong_type",
        ];
        assert_eq!(found, expected);
        assert_eq!(tenant.get(CREDENTIALS).await.expect(200)["items"].as_array().unwrap().len(), 7);
    }

    async fn there_is_one_directory_a_profile_that_the_policies_allow(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let (one, two) = (tenant.make_group("one").await, tenant.make_group("two").await);
        let profiles = async || {
            let made = tenant.post_empty(CREDENTIALS).await.expect(201);
            let usual = made["acmeDirectories"].get("TLS-90d");
            assert_eq!(made.get("acmeDirectory"), usual);
            made["acmeDirectories"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
        };
        let policies = [
            (&one, json!({"allow_wildcards": false}), vec!["TLS-199d", "TLS-90d"]),
            (&one, json!({"allowed_profiles": ["TLS-90d"]}), vec!["TLS-90d"]),
            // All must permit: the strictest wins.
            (&two, json!({"allowed_profiles": ["TLS-199d"]}), vec![]),
        ];
        for group in [&one, &two] {
            tenant.add_members(group, std::slice::from_ref(&account)).await.expect(200);
        }
        for (number, (group, rules, expected)) in policies.into_iter().enumerate() {
            let policy = tenant.make_policy(&format!("policy {number}"), rules).await;
            tenant.assign(group, &policy).await.expect(200);
            assert_eq!(profiles().await, expected);
        }
    }

    async fn the_list_of_an_account_has_its_root_and_no_other_accounts(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (one, two) = (tenant.make_account("a@example.com").await, tenant.make_account("b@example.com").await);
        let child = tenant.post_empty(CREDENTIALS).await.expect(201);
        let listed = tenant.get(CREDENTIALS).await.expect(200);
        assert_eq!(each(&listed, "lookup"), [child["lookup"].clone(), one["lookup"].clone()]);
        assert_eq!(each(&listed, "parent"), [one["lookup"].clone(), Value::Null]);
        // The status of a root is its account's, that of a child its own.
        assert_eq!(each(&listed, "status"), ["unused", "active"]);
        assert_eq!(each(&tenant.get("/v1/account/2/eab-credential").await.expect(200), "kid"), [two["kid"].clone()]);
        let all = each(&tenant.get("/v1/eab-credential").await.expect(200), "kid");
        assert_eq!(all, [child["kid"].clone(), two["kid"].clone(), one["kid"].clone()]);
        assert_eq!(each(&tenant.get("/v1/account").await.expect(200), "kid"), [two["kid"].clone(), one["kid"].clone()]);
    }

    async fn an_account_shows_its_newest_hundred_credentials_and_how_to_go_on(world: World) {
        let tenant = world.tenant("DEMO").await;
        let root = tenant.make_account("a@example.com").await;
        for _ in 0..99 {
            world.advance(Duration::from_millis(1));
            tenant.post_empty(CREDENTIALS).await.expect(201);
        }
        let shown = tenant.get("/v1/account/1").await.expect(200);
        assert_eq!(shown["eabCredentials"].as_array().unwrap().len(), 100);
        assert!(shown.get("eabCredentialsNextCursor").is_none());
        world.advance(Duration::from_millis(1));
        let last = tenant.post_empty(CREDENTIALS).await.expect(201);
        let shown = tenant.get("/v1/account/1").await.expect(200);
        assert_eq!(
            (&shown["eabCredentials"][0]["kid"], shown["eabCredentials"].as_array().unwrap().len()),
            (&last["kid"], 100)
        );
        let cursor = shown["eabCredentialsNextCursor"].as_str().unwrap();
        let rest = tenant.get(&format!("{CREDENTIALS}?cursor={cursor}")).await.expect(200);
        assert_eq!(each(&rest, "kid"), [root["kid"].clone()]);
        assert!(rest.get("nextCursor").is_none());
    }

    async fn a_revoked_credential_stays_readable_and_cannot_be_revoked_again(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.make_account("a@example.com").await;
        let (child, sibling) =
            (tenant.post_empty(CREDENTIALS).await.expect(201), tenant.post_empty(CREDENTIALS).await.expect(201));
        let path = format!("/v1/eab-credential/{}", child["kid"].as_str().unwrap());
        world.advance(Duration::from_secs(60));
        let reply = tenant.delete(&path).await.expect(200);
        assert_eq!((&reply["success"], reply["message"].is_string()), (&json!(true), true));
        let again = tenant.delete(&path).await;
        let never = tenant.delete("/v1/eab-credential/00000000-0000-4000-8000-000000000000").await;
        assert_eq!((again.refusal(404), unnamed(&again)), ("eab_credential_not_found".to_owned(), unnamed(&never)));

        let shown = tenant.get(&path).await.expect(200);
        let found = ["revoked", "deleted", "status", "updatedAt"].map(|name| &shown[name]);
        assert_eq!(json!(found), json!([true, false, "revoked", "2027-01-15T08:01:00Z"]));
        assert_eq!(each(&tenant.get(CREDENTIALS).await.expect(200), "status"), ["unused", "revoked", "active"]);
        assert_eq!(tenant.get(CREDENTIALS).await.expect(200)["items"][0]["kid"], sibling["kid"]);
        let account = tenant.get("/v1/account/1").await.expect(200);
        assert_eq!((&account["revoked"], &account["status"]), (&json!(false), &json!("active")));
    }

    async fn revoking_the_root_credential_shows_on_the_account_and_leaves_the_others(world: World) {
        let tenant = world.tenant("DEMO").await;
        let root = tenant.make_account("a@example.com").await;
        let child = tenant.post_empty(CREDENTIALS).await.expect(201);
        let path = format!("/v1/eab-credential/{}", root["kid"].as_str().unwrap());
        assert_eq!(tenant.get(&path).await.expect(200)["revoked"], false);
        tenant.delete(&path).await.expect(200);
        for shown in [
            tenant.get("/v1/account/1").await.expect(200),
            tenant.get(&path).await.expect(200),
            tenant.get("/v1/account").await.expect(200)["items"][0].clone(),
            tenant.get(CREDENTIALS).await.expect(200)["items"][1].clone(),
        ] {
            let found = ["kid", "revoked", "deleted", "status"].map(|name| &shown[name]);
            assert_eq!(json!(found), json!([root["kid"], true, false, "active"]));
        }
        let path = format!("/v1/eab-credential/{}", child["kid"].as_str().unwrap());
        assert_eq!(tenant.get(&path).await.expect(200)["revoked"], false);
        // The account lives on: it can be changed, and can have another credential.
        tenant.patch("/v1/account/1", json!({"suspended": true})).await.expect(200);
        tenant.post_empty(CREDENTIALS).await.expect(201);
        tenant.delete("/v1/account/1").await.expect(200);
    }

    async fn only_a_kid_names_a_credential(world: World) {
        let tenant = world.tenant("DEMO").await;
        let root = tenant.make_account("a@example.com").await;
        let child = tenant.post_empty(CREDENTIALS).await.expect(201);
        let kid = child["kid"].as_str().unwrap();
        let upper = tenant.get(&format!("/v1/eab-credential/{}", kid.to_uppercase())).await.expect(200);
        assert_eq!(upper["kid"], kid);
        let (undashed, braced, urn) = (kid.replace('-', ""), format!("%7B{kid}%7D"), format!("urn:uuid:{kid}"));
        for other in
            ["1", "2", &lookup(&root), &lookup(&child), "a%40example.com", &undashed, &braced, &urn, &kid[1..], "x"]
        {
            for reply in [
                tenant.get(&format!("/v1/eab-credential/{other}")).await,
                tenant.delete(&format!("/v1/eab-credential/{other}")).await,
            ] {
                assert_eq!(reply.refusal(404), "eab_credential_not_found", "{other}");
            }
        }
    }

    async fn of_many_revocations_at_the_same_instant_one_is_made(world: World) {
        let tenant = world.tenant("DEMO").await;
        let root = tenant.make_account("a@example.com").await;
        let path = format!("/v1/eab-credential/{}", root["kid"].as_str().unwrap());
        let replies = at_once(16, |_| {
            let (tenant, path) = (tenant.clone(), path.clone());
            async move { tenant.delete(&path).await }
        })
        .await;
        assert_eq!((count(&replies, 200), count(&replies, 404)), (1, 15));
    }
}
