//! Creating root accounts, and the names they go by.

use std::collections::HashSet;

use chancery_tests::{at_once, count, lookup, on_both_databases};
use serde_json::{Value, json};

use crate::common::{each, members, problems, segment, unnamed};

on_both_databases! {
    async fn a_new_account_is_shown_with_everything_that_was_said_of_it(world: World) {
        let tenant = world.tenant("DEMO").await;
        let group = tenant.make_group("customers").await;
        let body = json!({"customer_email": "Admin@Example.com", "external_id": "K-1", "metadata": {"plan": "gold"},
                          "account_groups": [group]});
        let reply = tenant.post("/v1/account", body).await;
        assert_eq!(reply.header("content-type"), Some("application/json"));
        let made = reply.expect(201);
        let at = "2027-01-15T08:00:00Z";
        let expected = json!({
            "lookup": made["lookup"], "id": 1, "kid": made["kid"], "resellerCode": "DEMO",
            "email": "Admin@Example.com", "revoked": false, "deleted": false, "suspended": false, "status": "active",
            "hmacKey": made["hmacKey"], "parent": null, "externalId": "K-1", "metadata": {"plan": "gold"},
            "boundAccounts": [], "createdAt": at, "updatedAt": at,
        });
        assert_eq!(made, expected);
        let name = lookup(&made);
        assert!(name.starts_with("acc_") && name.len() == 30, "{name}");
        let kid = made["kid"].as_str().unwrap();
        assert!(kid.len() == 36 && &kid[14..15] == "4", "a random UUID: {kid}");

        let shown = tenant.get(&format!("/v1/account/{name}")).await.expect(200);
        let mut credential = expected.clone();
        credential.as_object_mut().unwrap().remove("hmacKey");
        let mut with_groups = credential.clone();
        with_groups.as_object_mut().unwrap().remove("boundAccounts");
        // A root account is its first credential.
        with_groups["eabCredentials"] = json!([credential]);
        with_groups["groups"] = json!([{"lookup": group, "name": "customers"}]);
        assert_eq!(shown, with_groups);
    }

    async fn what_was_not_said_is_left_out_and_never_null(world: World) {
        let tenant = world.tenant("DEMO").await;
        let made = tenant.make_account("a@example.com").await;
        let bare = [
            "boundAccounts",
            "createdAt",
            "deleted",
            "email",
            "hmacKey",
            "id",
            "kid",
            "lookup",
            "parent",
            "resellerCode",
            "revoked",
            "status",
            "suspended",
            "updatedAt",
        ];
        assert_eq!(members(&made), bare);
        assert_eq!(made["parent"], Value::Null);
    }

    async fn the_hmac_key_is_shown_in_the_answer_that_creates_it_and_nowhere_else(world: World) {
        let tenant = world.tenant("DEMO").await;
        let made = tenant.make_account("a@example.com").await;
        let (name, kid, key) = (lookup(&made), made["kid"].as_str().unwrap(), made["hmacKey"].as_str().unwrap());
        for path in [
            "/v1/account",
            "/v1/eab-credential",
            &format!("/v1/account/{name}"),
            &format!("/v1/account/{name}/eab-credential"),
            &format!("/v1/eab-credential/{kid}"),
        ] {
            let reply = tenant.get(path).await;
            assert!(reply.expect(200).to_string().contains(kid), "{path}");
            assert!(!reply.text().contains("hmacKey") && !reply.text().contains(key), "{path}");
        }
    }

    async fn every_hmac_key_is_base64_and_base64url_of_48_bytes(world: World) {
        let tenant = world.tenant("DEMO").await;
        let mut keys = HashSet::new();
        for number in 0..20 {
            let key =
                tenant.make_account(&format!("a{number}@example.com")).await["hmacKey"].as_str().unwrap().to_owned();
            assert_eq!(key.len(), 64);
            assert!(key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'), "{key}");
            assert!(!key.contains(['+', '/', '=', '-', '_']), "{key}");
            assert!(keys.insert(key));
        }
    }

    async fn an_account_goes_by_its_lookup_its_number_its_kid_and_its_address(world: World) {
        let tenant = world.tenant("DEMO").await;
        let odd = "o'hara+tag/50%&x=?#{y}@bücher.example";
        let made = tenant.post("/v1/account", json!({"customer_email": odd})).await.expect(201);
        tenant.make_account("other@example.com").await;
        let (name, kid) = (lookup(&made), made["kid"].as_str().unwrap());
        let shown = tenant.get(&format!("/v1/account/{name}")).await.expect(200);
        assert_eq!(shown["email"], odd);
        let recased = segment("O'HARA+Tag/50%&X=?#{Y}@xn--bcher-kva.EXAMPLE");
        for way in [&made["id"].to_string(), kid, &kid.to_uppercase(), &segment(odd), &recased] {
            assert_eq!(tenant.get(&format!("/v1/account/{way}")).await.expect(200), shown, "{way}");
        }
        assert_eq!(tenant.get("/v1/account/other@example.com").await.expect(200)["email"], "other@example.com");
        // The others ways lead to the other operations too.
        tenant.patch(&format!("/v1/account/{}", segment(odd)), json!({"suspended": true})).await.expect(200);
        tenant.post_empty(&format!("/v1/account/{}/eab-credential", made["id"])).await.expect(201);
        let listed = tenant.get(&format!("/v1/account/{kid}/eab-credential")).await.expect(200);
        assert_eq!(listed["items"].as_array().unwrap().len(), 2);
        tenant.delete(&format!("/v1/account/{}", made["id"])).await.expect(200);
        assert_eq!(tenant.get(&format!("/v1/account/{name}")).await.expect(200)["status"], "terminated");
    }

    async fn no_other_text_names_an_account(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (group, made) = (tenant.make_group("g").await, tenant.make_account("a@example.com").await);
        let child = tenant.post_empty("/v1/account/1/eab-credential").await.expect(201);
        let name = lookup(&made);
        let (upper, cut, longer) = (name.to_uppercase(), &name[..29], format!("{name}0"));
        let (child_kid, child_name) = (child["kid"].as_str().unwrap(), lookup(&child));
        let undashed = made["kid"].as_str().unwrap().replace('-', "");
        for other in [
            group.as_str(),
            &upper,
            cut,
            &longer,
            child_kid,
            &child_name,
            &child["id"].to_string(),
            &undashed,
            "01",
            "+1",
            "-1",
            "0",
            "1.0",
            "%201",
            "1e0",
            "99999999999999999999",
            "acc_",
            "a%40example.co",
            "%20a@example.com",
            "*",
            "null",
            "..",
            "%27%20OR%201%3D1--",
        ] {
            let reply = tenant.get(&format!("/v1/account/{other}")).await;
            let said = json!({"status": 404, "code": "account_not_found", "message": "there is no such account"});
            assert_eq!((reply.status.as_u16(), unnamed(&reply)), (404, said), "{other}");
        }
        for bad in ["%00", "%ff", "a%00b"] {
            assert_eq!(tenant.get(&format!("/v1/account/{bad}")).await.refusal(400), "invalid_request", "{bad}");
        }
    }

    async fn one_address_has_one_live_account_of_a_reseller_however_it_is_written(world: World) {
        let (tenant, other) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        tenant.make_account("Admin@Bücher.example").await;
        for again in
            ["Admin@Bücher.example", "admin@bücher.example", "ADMIN@BÜCHER.EXAMPLE", "aDmIn@xn--bcher-kva.Example"]
        {
            let reply = tenant.post("/v1/account", json!({"customer_email": again})).await;
            assert_eq!(reply.refusal(409), "account_conflict", "{again}");
            assert_eq!(reply.json()["errors"][0]["field"], "customer_email");
        }
        // These are other addresses, whatever some mail systems make of them.
        for further in ["ad.min@bücher.example", "admin+tag@bücher.example", "admin@buecher.example"] {
            tenant.make_account(further).await;
        }
        other.make_account("admin@bücher.example").await;
    }

    async fn an_address_is_free_again_after_its_account_is_terminated(world: World) {
        let tenant = world.tenant("DEMO").await;
        let body = json!({"customer_email": "a@example.com", "external_id": "K-1"});
        let first = tenant.post("/v1/account", body.clone()).await.expect(201);
        tenant.delete("/v1/account/a%40example.com").await.expect(200);
        let second = tenant.post("/v1/account", body.clone()).await.expect(201);
        assert_ne!((&first["lookup"], &first["kid"]), (&second["lookup"], &second["kid"]));
        // The address now means the live one; the other keeps its own names.
        assert_eq!(tenant.get("/v1/account/a%40example.com").await.expect(200)["lookup"], second["lookup"]);
        assert_eq!(tenant.get(&format!("/v1/account/{}", first["id"])).await.expect(200)["status"], "terminated");
        assert_eq!(tenant.post("/v1/account", body).await.refusal(409), "account_conflict");
        // With nobody alive under the address, it means the last who had it.
        tenant.delete("/v1/account/a%40example.com").await.expect(200);
        assert_eq!(tenant.get("/v1/account/a%40example.com").await.expect(200)["lookup"], second["lookup"]);
        assert_eq!(tenant.delete("/v1/account/a%40example.com").await.refusal(404), "account_not_found");
    }

    async fn an_external_id_names_one_live_account_of_a_reseller(world: World) {
        let (tenant, other) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        let body = |email: &str, id: &str| json!({"customer_email": email, "external_id": id});
        tenant.post("/v1/account", body("a@example.com", "K-1")).await.expect(201);
        let reply = tenant.post("/v1/account", body("b@example.com", "K-1")).await;
        assert_eq!(reply.refusal(409), "external_id_in_use");
        assert_eq!(reply.json()["errors"][0]["field"], "external_id");
        let both = tenant.post("/v1/account", body("a@example.com", "K-1")).await;
        assert_eq!(both.refusal(409), "account_conflict");
        let fields: Vec<_> = both.json()["errors"].as_array().unwrap().iter().map(|each| each["field"].clone()).collect();
        assert_eq!(fields, ["customer_email", "external_id"], "everything that is taken is told at once");
        tenant.post("/v1/account", body("b@example.com", "k-1")).await.expect(201);
        other.post("/v1/account", body("a@example.com", "K-1")).await.expect(201);

        tenant.post("/v1/account", body("c@example.com", &"é".repeat(255))).await.expect(201);
        for bad in ["", " ", " x", "x\n", "a\u{202e}b", &"é".repeat(256)] {
            let reply = tenant.post("/v1/account", body("d@example.com", bad)).await;
            assert_eq!(problems(&reply), ["external_id invalid"], "{bad:?}");
        }
    }

    async fn integers_are_never_given_twice(world: World) {
        let (tenant, other) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        let mut last = 0;
        for round in 0..3 {
            let email = format!("a{round}@example.com");
            let made = tenant.make_account(&email).await;
            let child = tenant.post_empty(&format!("/v1/account/{email}/eab-credential")).await.expect(201);
            let foreign = other.make_account(&email).await;
            assert_eq!(tenant.post("/v1/account", json!({"customer_email": email})).await.status, 409);
            tenant.delete(&format!("/v1/account/{email}")).await.expect(200);
            for id in [&made["id"], &child["id"], &foreign["id"]].map(|id| id.as_i64().unwrap()) {
                assert!(id > last, "{id} after {last}");
                last = id;
            }
        }
    }

    async fn a_new_account_can_be_put_into_groups_at_once(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (one, two) = (tenant.make_group("one").await, tenant.make_group("two").await);
        let made =
            tenant.post("/v1/account", json!({"customer_email": "a@example.com", "account_groups": [one, two, one]}));
        let shown = tenant.get(&format!("/v1/account/{}", lookup(&made.await.expect(201)))).await.expect(200);
        let mut groups: Vec<_> = shown["groups"].as_array().unwrap().iter().map(lookup).collect();
        groups.sort();
        assert_eq!(groups, [one.clone(), two.clone()]);
        for group in [&one, &two] {
            assert_eq!(tenant.get(&format!("/v1/account-group/{group}")).await.expect(200)["memberCount"], 1);
        }
        tenant.post("/v1/account", json!({"customer_email": "b@example.com", "account_groups": []})).await.expect(201);
    }

    async fn a_group_that_is_missing_is_named_and_nothing_is_created(world: World) {
        let (tenant, other) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        let (mine, theirs) = (tenant.make_group("g").await, other.make_group("g").await);
        let never = format!("grp_{}", "0".repeat(26));
        let groups = json!([mine, theirs, never, "acc_1", ""]);
        let reply =
            tenant.post("/v1/account", json!({"customer_email": "a@example.com", "account_groups": groups})).await;
        assert_eq!(reply.refusal(404), "group_not_found");
        let message = reply.json()["message"].as_str().unwrap().to_owned();
        for missing in [&theirs, &never, "acc_1"] {
            assert!(message.contains(missing), "{missing} in {message}");
        }
        assert!(!message.contains(&mine) && message.starts_with("there are no account groups "), "{message}");
        let one = json!({"customer_email": "a@example.com", "account_groups": [mine, never]});
        let message = tenant.post("/v1/account", one).await.expect(404)["message"].clone();
        assert_eq!(message, format!("there is no account group {never}"));
        assert_eq!(tenant.get("/v1/account").await.expect(200)["items"], json!([]));
        assert_eq!(tenant.get(&format!("/v1/account-group/{mine}")).await.expect(200)["memberCount"], 0);

        let many: Vec<_> = (0..101).map(|_| mine.clone()).collect();
        let reply =
            tenant.post("/v1/account", json!({"customer_email": "a@example.com", "account_groups": many})).await;
        assert_eq!(problems(&reply), ["account_groups too_many"]);
    }

    async fn of_two_accounts_with_one_address_at_the_same_instant_one_is_made(world: World) {
        let tenant = world.tenant("DEMO").await;
        let replies = at_once(32, |number| {
            let tenant = tenant.clone();
            let email = if number % 2 == 0 { "Same@example.com" } else { "same@EXAMPLE.com" };
            async move { tenant.post("/v1/account", json!({"customer_email": email})).await }
        })
        .await;
        assert_eq!((count(&replies, 201), count(&replies, 409)), (1, 31));
        assert!(replies.iter().all(|reply| reply.status == 201 || reply.json()["code"] == "account_conflict"));
        assert_eq!(tenant.get("/v1/account").await.expect(200)["items"].as_array().unwrap().len(), 1);
        assert_eq!(tenant.get("/v1/eab-credential").await.expect(200)["items"].as_array().unwrap().len(), 1);
    }

    async fn of_two_accounts_with_one_external_id_at_the_same_instant_one_is_made(world: World) {
        let tenant = world.tenant("DEMO").await;
        let replies = at_once(16, |number| {
            let tenant = tenant.clone();
            let body = json!({"customer_email": format!("a{number}@example.com"), "external_id": "K-1"});
            async move { tenant.post("/v1/account", body).await }
        })
        .await;
        assert_eq!((count(&replies, 201), count(&replies, 409)), (1, 15));
        assert!(replies.iter().all(|reply| reply.status == 201 || reply.json()["code"] == "external_id_in_use"));
        assert_eq!(each(&tenant.get("/v1/account").await.expect(200), "externalId"), ["K-1"]);
    }
}
