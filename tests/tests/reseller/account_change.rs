//! Changing, suspending and terminating root accounts.

use std::time::Duration;

use chancery_tests::{at_once, count, lookup, on_both_databases};
use serde_json::json;

use crate::common::{each, problems, unnamed};

const HOUR: Duration = Duration::from_secs(3600);

on_both_databases! {
    async fn a_change_touches_what_it_names_and_nothing_else(world: World) {
        let tenant = world.tenant("DEMO").await;
        let body = json!({"customer_email": "a@example.com", "external_id": "K-1", "metadata": {"a": "1", "b": "2"}});
        let mut expected = tenant.post("/v1/account", body).await.expect(201);
        for of_credential in ["hmacKey", "boundAccounts"] {
            expected.as_object_mut().unwrap().remove(of_credential);
        }
        let path = format!("/v1/account/{}", lookup(&expected));
        for (change, member, value) in [
            (json!({"suspended": true}), "suspended", json!(true)),
            (json!({"customer_email": "B@example.com"}), "email", json!("B@example.com")),
            (json!({"external_id": "K-2"}), "externalId", json!("K-2")),
            (json!({"metadata": {"c": "3"}}), "metadata", json!({"c": "3"})),
            (json!({"suspended": false}), "suspended", json!(false)),
        ] {
            world.advance(HOUR);
            let reply = tenant.patch(&path, change.clone()).await.expect(200);
            assert_eq!(reply["success"], true, "{change}");
            assert!(reply["message"].as_str().is_some_and(|message| !message.is_empty()));
            assert_eq!(reply.as_object().unwrap().len(), 2);
            expected[member] = value;
            expected["status"] = json!(if expected["suspended"] == true { "suspended" } else { "active" });
            expected["updatedAt"] = json!(world.services.now().to_string());
            assert_eq!(tenant.get("/v1/account").await.expect(200)["items"], json!([expected]), "{change}");
        }
        assert_eq!(expected["createdAt"], "2027-01-15T08:00:00Z");
        assert_eq!(expected["updatedAt"], "2027-01-15T13:00:00Z");
        tenant.patch(&path, json!({"metadata": {}, "suspended": true})).await.expect(200);
        let shown = tenant.get(&path).await.expect(200);
        assert_eq!((shown.get("metadata"), &shown["suspended"]), (None, &json!(true)));
    }

    async fn a_change_that_names_nothing_is_refused(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.make_account("a@example.com").await;
        let reply = tenant.patch("/v1/account/1", json!({})).await;
        assert_eq!(problems(&reply), ["body nothing_to_change"]);
        // Null says nothing that could be done, and is not to be taken for nothing said.
        for field in ["customer_email", "suspended", "external_id", "metadata"] {
            let reply = tenant.patch("/v1/account/1", json!({field: null})).await;
            assert_eq!(problems(&reply), [format!("{field} wrong_type")]);
        }
        let reply = tenant.patch("/v1/account/1", json!({"suspended": true, "external_id": null})).await;
        assert_eq!(problems(&reply), ["external_id wrong_type"]);
        assert_eq!(tenant.get("/v1/account/1").await.expect(200)["suspended"], false);
    }

    async fn a_change_is_checked_like_a_creation_and_refused_whole(world: World) {
        let tenant = world.tenant("DEMO").await;
        let made = tenant.make_account("a@example.com").await;
        let many: serde_json::Map<_, _> = (0..17).map(|n| (format!("k{n}"), json!("v"))).collect();
        for (change, expected) in [
            (json!({"customer_email": "nobody", "suspended": true}), vec!["customer_email invalid"]),
            (json!({"external_id": ""}), vec!["external_id invalid"]),
            (json!({"metadata": many}), vec!["metadata too_many"]),
            (json!({"suspended": "true"}), vec!["suspended wrong_type"]),
            (json!({"suspended": 1}), vec!["suspended wrong_type"]),
            (json!({"is_suspended": true}), vec!["is_suspended unknown_field"]),
            (json!({"account_groups": []}), vec!["account_groups unknown_field"]),
            (
                json!({"id": 7, "kid": "x", "customer_email": "@", "metadata": {"k": 1}}),
                vec!["id unknown_field", "kid unknown_field", "metadata.k wrong_type", "customer_email invalid"],
            ),
        ] {
            let reply = tenant.patch("/v1/account/1", change.clone()).await;
            let (mut found, mut expected) = (problems(&reply), expected);
            found.sort();
            expected.sort_unstable();
            assert_eq!(found, expected, "{change}");
        }
        let shown = tenant.get("/v1/account/1").await.expect(200);
        assert_eq!(
            (&shown["email"], &shown["updatedAt"], &shown["suspended"]),
            (&made["email"], &made["updatedAt"], &json!(false))
        );
    }

    async fn a_change_may_not_take_what_another_live_account_has(world: World) {
        let tenant = world.tenant("DEMO").await;
        for (email, id) in [("a@example.com", "A"), ("b@example.com", "B")] {
            tenant.post("/v1/account", json!({"customer_email": email, "external_id": id})).await.expect(201);
        }
        let reply = tenant.patch("/v1/account/1", json!({"customer_email": "B@EXAMPLE.com", "suspended": true})).await;
        assert_eq!(reply.refusal(409), "account_conflict");
        assert_eq!(tenant.patch("/v1/account/1", json!({"external_id": "B"})).await.refusal(409), "external_id_in_use");
        assert_eq!(tenant.get("/v1/account/1").await.expect(200)["suspended"], false);
        // Its own it may keep, in another spelling too.
        let own = json!({"customer_email": "A@Example.COM", "external_id": "A"});
        tenant.patch("/v1/account/1", own).await.expect(200);
        assert_eq!(tenant.get("/v1/account/1").await.expect(200)["email"], "A@Example.COM");
        // What is given up is free, and so is what a terminated account had.
        tenant.patch("/v1/account/1", json!({"customer_email": "c@example.com", "external_id": "C"})).await.expect(200);
        tenant.patch("/v1/account/2", json!({"customer_email": "a@example.com", "external_id": "A"})).await.expect(200);
        tenant.delete("/v1/account/2").await.expect(200);
        tenant.patch("/v1/account/1", json!({"customer_email": "a@example.com", "external_id": "A"})).await.expect(200);
    }

    async fn of_many_changes_to_one_address_at_the_same_instant_one_is_made(world: World) {
        let tenant = world.tenant("DEMO").await;
        let accounts = tenant.make_accounts(16).await;
        let replies = at_once(16, |number| {
            let (tenant, path) = (tenant.clone(), format!("/v1/account/{}", accounts[number]));
            async move { tenant.patch(&path, json!({"customer_email": "same@example.com"})).await }
        })
        .await;
        assert_eq!((count(&replies, 200), count(&replies, 409)), (1, 15));
        let emails = each(&tenant.get("/v1/account").await.expect(200), "email");
        assert_eq!(emails.iter().filter(|email| *email == "same@example.com").count(), 1);
    }

    async fn many_changes_of_one_account_at_the_same_instant_are_all_kept(world: World) {
        let tenant = world.tenant("DEMO").await;
        let made = tenant.make_account("a@example.com").await;
        let changes = [
            json!({"suspended": true}),
            json!({"external_id": "K-1"}),
            json!({"metadata": {"a": "1"}}),
            json!({"customer_email": "b@example.com"}),
        ];
        let replies = at_once(64, |number| {
            let (tenant, change) = (tenant.clone(), changes[number % 4].clone());
            async move { tenant.patch("/v1/account/1", change).await }
        })
        .await;
        assert_eq!(count(&replies, 200), 64);
        let shown = tenant.get(&format!("/v1/account/{}", lookup(&made))).await.expect(200);
        assert_eq!((&shown["suspended"], &shown["externalId"]), (&json!(true), &json!("K-1")));
        assert_eq!((&shown["metadata"], &shown["email"]), (&json!({"a": "1"}), &json!("b@example.com")));
    }

    async fn a_suspended_account_reads_on_and_resumes_where_it_stood(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.make_account("a@example.com").await;
        let before = tenant.get("/v1/account/1").await.expect(200);
        tenant.patch("/v1/account/1", json!({"suspended": true})).await.expect(200);
        tenant.patch("/v1/account/1", json!({"suspended": true})).await.expect(200);
        let shown = tenant.get("/v1/account/1").await.expect(200);
        assert_eq!(
            (&shown["suspended"], &shown["status"], &shown["revoked"]),
            (&json!(true), &json!("suspended"), &json!(false))
        );
        assert_eq!(shown["eabCredentials"][0]["suspended"], true);
        tenant.get("/v1/account/1/eab-credential").await.expect(200);
        // A credential for later is no certificate.
        let child = tenant.post_empty("/v1/account/1/eab-credential").await.expect(201);
        assert_eq!((&child["suspended"], &child["status"]), (&json!(true), &json!("unused")));
        tenant.delete(&format!("/v1/eab-credential/{}", child["kid"].as_str().unwrap())).await.expect(200);
        tenant.patch("/v1/account/1", json!({"suspended": false})).await.expect(200);
        let after = tenant.get("/v1/account/1").await.expect(200);
        assert_eq!((&after["status"], &after["kid"]), (&json!("active"), &before["kid"]));
        tenant.patch("/v1/account/1", json!({"suspended": true})).await.expect(200);
        tenant.delete("/v1/account/1").await.expect(200);
        assert_eq!(tenant.get("/v1/account/1").await.expect(200)["status"], "terminated");
    }

    async fn a_terminated_account_stays_readable_and_nothing_else(world: World) {
        let tenant = world.tenant("DEMO").await;
        let group = tenant.make_group("g").await;
        let body = json!({"customer_email": "a@example.com", "account_groups": [group]});
        let made = tenant.post("/v1/account", body).await.expect(201);
        let child = tenant.post_empty("/v1/account/1/eab-credential").await.expect(201);
        let (path, child_kid) = (format!("/v1/account/{}", lookup(&made)), child["kid"].as_str().unwrap());
        world.advance(HOUR);
        let reply = tenant.delete(&path).await.expect(200);
        assert_eq!((&reply["success"], reply["message"].is_string()), (&json!(true), true));

        for way in [&path, "/v1/account/1", "/v1/account/a@example.com"] {
            let shown = tenant.get(way).await.expect(200);
            let expected = json!([true, true, "terminated", "2027-01-15T08:00:00Z", "2027-01-15T09:00:00Z", []]);
            let found = ["deleted", "revoked", "status", "createdAt", "updatedAt", "groups"].map(|name| &shown[name]);
            assert_eq!(json!(found), expected, "{way}");
            let revoked = shown["eabCredentials"].as_array().unwrap().iter().filter(|one| one["revoked"] == true);
            assert_eq!(revoked.count(), 2);
        }
        let shown = tenant.get(&format!("/v1/eab-credential/{child_kid}")).await.expect(200);
        assert_eq!(
            (&shown["revoked"], &shown["deleted"], &shown["status"]),
            (&json!(true), &json!(true), &json!("revoked"))
        );
        assert_eq!(
            tenant.get(&format!("{path}/eab-credential")).await.expect(200)["items"].as_array().unwrap().len(),
            2
        );
        assert_eq!(tenant.get(&format!("/v1/account-group/{group}")).await.expect(200)["memberCount"], 0);

        let never = unnamed(&tenant.get("/v1/account/99").await);
        for reply in [
            tenant.delete(&path).await,
            tenant.patch(&path, json!({"suspended": true})).await,
            tenant.patch(&path, json!({})).await,
            tenant.post_empty(&format!("{path}/eab-credential")).await,
            tenant.post(&format!("{path}/eab-credential"), json!({"label": 5})).await,
        ] {
            assert_eq!((reply.status.as_u16(), unnamed(&reply)), (404, never.clone()));
        }
        for kid in [child_kid, made["kid"].as_str().unwrap()] {
            assert_eq!(
                tenant.delete(&format!("/v1/eab-credential/{kid}")).await.refusal(404),
                "eab_credential_not_found"
            );
        }
    }

    async fn termination_may_say_what_becomes_of_certificates_and_nothing_else(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.make_accounts(3).await;
        let reply = tenant.delete("/v1/account/1?revoke_certificate=true").await;
        assert_eq!(problems(&reply), ["revoke_certificate unknown_field"]);
        for bad in ["yes", "TRUE", "1", ""] {
            let reply = tenant.delete(&format!("/v1/account/1?revoke_certificates={bad}")).await;
            assert_eq!(problems(&reply), ["revoke_certificates invalid"], "{bad}");
        }
        assert_eq!(tenant.get("/v1/account/1").await.expect(200)["status"], "active");
        for (number, way) in ["?revoke_certificates=true", "?revoke_certificates=false", ""].iter().enumerate() {
            tenant.delete(&format!("/v1/account/{}{way}", number + 1)).await.expect(200);
            let again = tenant.delete(&format!("/v1/account/{}?revoke_certificates=maybe", number + 1)).await;
            assert_eq!(again.refusal(404), "account_not_found");
        }
    }

    async fn of_many_terminations_at_the_same_instant_one_is_made(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.make_account("a@example.com").await;
        let replies = at_once(16, |_| {
            let tenant = tenant.clone();
            async move { tenant.delete("/v1/account/1").await }
        })
        .await;
        assert_eq!((count(&replies, 200), count(&replies, 404)), (1, 15));
    }

    async fn no_credential_survives_a_termination_at_the_same_instant(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.make_account("a@example.com").await;
        let replies = at_once(24, |number| {
            let tenant = tenant.clone();
            async move {
                match number {
                    12 => tenant.delete("/v1/account/1").await,
                    _ => tenant.post_empty("/v1/account/1/eab-credential").await,
                }
            }
        })
        .await;
        assert_eq!(count(&replies, 201) + count(&replies, 404), 23);
        let listed = tenant.get("/v1/account/1/eab-credential").await.expect(200);
        assert_eq!(each(&listed, "revoked").len(), count(&replies, 201) + 1);
        assert!(each(&listed, "revoked").iter().all(|revoked| *revoked == true), "{listed}");
    }
}
