//! `POST /v1/order`: what is taken, and every reason to refuse.

use chancery_tests::{START, csr, lookup, on_both_databases};
use serde_json::{Value, json};

use crate::common::{order_path, problems, stage, text};

fn at(seconds_from_start: i64) -> String {
    chancery_domain::Timestamp::from_secs(START.as_secs() + seconds_from_start).to_string()
}

const DAY: i64 = 86_400;

on_both_databases! {
    async fn identifiers_may_be_named_in_any_spelling_but_must_be_those_of_the_csr(world: World) {
        let (tenant, account) = stage(&world).await;
        let csr = csr(&["www.a.test", "xn--bcher-kva.test", "*.a.test", "192.0.2.7", "2001:db8::1"]);
        let order = |identifiers: Value| json!({"account_lookup": account, "csr": csr, "identifiers": identifiers});
        for same in [
            json!(["2001:db8:0:0::1", "192.0.2.7", "WWW.a.test.", "Bücher.test", "*.A.test"]),
            json!([{"type": "dns", "value": "www.a.test"}, {"type": "dns", "value": "xn--bcher-kva.test"},
                {"type": "dns", "value": "*.a.test"}, {"type": "ip", "value": "192.0.2.7"}, "2001:db8::1"]),
        ] {
            let made = tenant.post("/v1/order", order(same)).await.expect(201);
            let mut names: Vec<_> =
                made["identifiers"].as_array().unwrap().iter().map(|name| text(name, "value")).collect();
            names.sort();
            assert_eq!(names, ["*.a.test", "192.0.2.7", "2001:db8::1", "www.a.test", "xn--bcher-kva.test"]);
            assert_eq!(made["authorizations"].as_array().unwrap().len(), 5);
        }
        for (other, problem) in [
            (json!([]), "identifiers differs_from_csr"),
            (json!(["www.a.test"]), "identifiers differs_from_csr"),
            (
                json!(["www.a.test", "Bücher.test", "*.a.test", "192.0.2.7", "2001:db8::1", "b.test"]),
                "identifiers differs_from_csr",
            ),
            (
                json!(["www.a.test", "www.a.test", "Bücher.test", "*.a.test", "192.0.2.7", "2001:db8::1"]),
                "identifiers differs_from_csr",
            ),
            (json!(["a_b.test"]), "identifiers[0] invalid"),
            (json!([{"type": "ip", "value": "a.test"}]), "identifiers[0] wrong_type"),
            (json!([{"type": "email", "value": "a.test"}]), "identifiers[0] wrong_type"),
        ] {
            assert_eq!(problems(&tenant.post("/v1/order", order(other)).await), [problem]);
        }
    }

    async fn exactly_one_way_leads_to_the_account(world: World) {
        let (tenant, account) = stage(&world).await;
        let shown = tenant.get(&format!("/v1/account/{account}")).await.expect(200);
        let (kid, csr) = (text(&shown, "kid"), csr(&["a.test"]));
        let ways =
            [("account_lookup", account.clone()), ("customer_email", "A@Example.com".into()), ("eab_kid", kid.clone())];
        for (way, value) in &ways {
            let made = tenant.post("/v1/order", json!({*way: value, "csr": csr})).await.expect(201);
            assert_eq!((text(&made, "accountLookup"), text(&made, "eabKid")), (account.clone(), kid.clone()));
        }
        assert_eq!(problems(&tenant.post("/v1/order", json!({"csr": csr})).await), ["account_lookup exactly_one"]);
        for (one, other) in [(0, 1), (0, 2), (1, 2)] {
            let ((one, first), (other, second)) = (&ways[one], &ways[other]);
            let refused = tenant.post("/v1/order", json!({*one: first, *other: second, "csr": csr})).await;
            assert_eq!(problems(&refused), ["account_lookup exactly_one"]);
        }
    }

    async fn dates_lie_within_the_profile(world: World) {
        let (tenant, account) = stage(&world).await;
        let csr = csr(&["a.test"]);
        let order = |profile: &str, dates: Value| {
            let mut body = json!({"account_lookup": account, "csr": csr, "profile": profile});
            body.as_object_mut().unwrap().extend(dates.as_object().unwrap().clone());
            body
        };
        for (profile, dates) in [
            ("TLS-90d", json!({"not_before": at(0), "not_after": at(90 * DAY - 1)})),
            ("TLS-90d", json!({"not_after": at(DAY)})),
            ("TLS-90d", json!({"not_before": at(-3600)})),
            ("TLS-90d", json!({"not_before": at(20 * DAY), "not_after": at(30 * DAY)})),
            ("TLS-199d", json!({"not_after": at(199 * DAY - 1)})),
        ] {
            let made = tenant.post("/v1/order", order(profile, dates.clone())).await.expect(201);
            assert_eq!(made.get("notAfter"), dates.get("not_after"), "{made}");
            assert_eq!(made.get("notBefore"), dates.get("not_before"), "{made}");
        }
        for (dates, expected) in [
            (json!({"not_before": at(0), "not_after": at(90 * DAY)}), vec!["not_after out_of_range"]),
            (json!({"not_after": at(10_000 * DAY)}), vec!["not_after out_of_range"]),
            (json!({"not_before": at(DAY), "not_after": at(0)}), vec!["not_after out_of_range"]),
            (json!({"not_after": at(-DAY)}), vec!["not_after out_of_range"]),
            (
                json!({"not_before": at(-2 * DAY), "not_after": at(-DAY)}),
                vec!["not_before out_of_range", "not_after out_of_range"],
            ),
            (json!({"not_before": at(31 * DAY)}), vec!["not_before out_of_range"]),
            (
                json!({"not_before": "tomorrow", "not_after": "2027-02-30T00:00:00Z"}),
                vec!["not_after invalid", "not_before invalid"],
            ),
        ] {
            let refused = tenant.post("/v1/order", order("TLS-90d", dates.clone())).await;
            let mut found = problems(&refused);
            found.sort();
            let mut expected = expected;
            expected.sort_unstable();
            assert_eq!(found, expected, "{dates}");
        }
    }

    async fn a_reference_is_echoed_and_unique(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = |id: &str| {
            let metadata = json!({"shop": "7"});
            json!({"account_lookup": account, "csr": csr(&["a.test"]), "external_id": id, "metadata": metadata})
        };
        let first = tenant.post("/v1/order", order("PO-1")).await.expect(201);
        assert_eq!((text(&first, "externalId"), &first["metadata"]), ("PO-1".into(), &json!({"shop": "7"})));
        let shown = tenant.get(&order_path(&first)).await.expect(200);
        assert_eq!((&shown["externalId"], &shown["metadata"]), (&first["externalId"], &first["metadata"]));
        let again = tenant.post("/v1/order", order("PO-1")).await;
        assert_eq!(again.refusal(400), "external_id_in_use");
        assert_eq!(problems(&again), ["external_id in_use"]);
        // It stays taken, or a reseller's records would name two orders by it.
        tenant.delete(&order_path(&first)).await.expect(200);
        assert_eq!(tenant.post("/v1/order", order("PO-1")).await.refusal(400), "external_id_in_use");
        tenant.post("/v1/order", order("PO-2")).await.expect(201);
        let other = world.tenant("OTHER").await;
        let theirs = lookup(&other.make_account("a@example.com").await);
        let order = json!({"account_lookup": theirs, "csr": csr(&["a.test"]), "external_id": "PO-1"});
        other.post("/v1/order", order).await.expect(201);
        let listed = tenant.get("/v1/order?external_id=PO-1").await.expect(200);
        assert_eq!(listed["items"][0]["lookup"], first["lookup"]);
        assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    }

    async fn the_same_request_twice_is_one_order_by_its_key(world: World) {
        let (tenant, account) = stage(&world).await;
        let body = json!({"account_lookup": account, "csr": csr(&["a.test"]), "external_id": "PO-1"});
        let send = |body: Value| {
            let tenant = tenant.clone();
            async move { tenant.send(http::Method::POST, "/v1/order", &[("idempotency-key", "k1")], Some(&body)).await }
        };
        let first = send(body.clone()).await.expect(201);
        let again = send(body.clone()).await;
        assert_eq!(again.header("idempotency-replayed"), Some("true"));
        assert_eq!(again.expect(201), first);
        let mut other = body.clone();
        other["metadata"] = json!({"a": "b"});
        assert_eq!(send(other).await.refusal(422), "idempotency_key_reused");
        assert_eq!(tenant.get("/v1/order").await.expect(200)["items"].as_array().unwrap().len(), 1);
    }

    async fn a_hundred_names_are_taken_and_one_more_is_not(world: World) {
        let (tenant, account) = stage(&world).await;
        let names: Vec<_> = (0..101).map(|number| format!("n{number}.a.test")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let order = tenant.make_order(&account, &names[..100]).await;
        assert_eq!(order["authorizations"].as_array().unwrap().len(), 100);
        tenant.choose_all(&order).await;
        // A node takes only so many jobs at a time.
        world.work(None).await;
        world.work(None).await;
        assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "ready");
        tenant.post_empty(&format!("{}/finalize", order_path(&order))).await.expect(202);
        world.work(None).await;
        assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "valid");
        let refused = tenant.post("/v1/order", json!({"account_lookup": account, "csr": csr(&names)})).await;
        assert_eq!(problems(&refused), ["csr too_many_names"]);
    }

    async fn a_wildcard_and_its_base_are_two_names_to_show(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = world.issue(&tenant, &account, &["a.test", "*.a.test"]).await;
        let shown: Vec<_> =
            order["authorizations"].as_array().unwrap().iter().map(|each| each["wildcard"] == true).collect();
        assert_eq!(shown.iter().filter(|wildcard| **wildcard).count(), 1, "{order}");
        // What shows the base does not show the wildcard.
        world.issue(&tenant, &account, &["b.test"]).await;
        let order = tenant.make_order(&account, &["b.test", "*.b.test"]).await;
        assert_eq!(order["status"], "pending");
    }

    async fn every_problem_is_told_at_once(world: World) {
        let (tenant, account) = stage(&world).await;
        let metadata: serde_json::Map<_, _> = (0..17).map(|number| (format!("k{number}"), json!("v"))).collect();
        let refused = tenant.post("/v1/order", json!({
            "account_lookup": account, "customer_email": "a@example.com", "profile": "no such/profile",
            "csr": csr(&["a.test"]),
            "identifiers": ["a_b.test"], "not_before": "x", "not_after": "y", "external_id": "", "metadata": metadata,
        })).await;
        let mut found = refused.fields();
        found.dedup();
        assert_eq!(
            found,
            ["account_lookup", "external_id", "identifiers[0]", "metadata", "not_after", "not_before", "profile"]
        );

        // And those that only the whole order shows.
        let refused = tenant.post("/v1/order", json!({
            "account_lookup": account, "csr": csr(&["a.test", "com"]), "identifiers": ["b.test"],
            "not_after": at(91 * DAY),
        })).await;
        assert_eq!(problems(&refused), ["csr public_suffix", "identifiers differs_from_csr", "not_after out_of_range"]);
        let refused =
            tenant.post("/v1/order", json!({"account_lookup": account, "csr": "nonsense", "not_after": at(-1)})).await;
        assert_eq!(refused.fields(), ["csr", "not_after"]);
        let unknown = json!({"account_lookup": account, "csr": csr(&["a.test"]), "profile": "TLS-1d"});
        assert_eq!(tenant.post("/v1/order", unknown).await.fields(), ["profile"]);
        let mistyped = json!({"account_lookup": account, "csr": csr(&["a.test"]), "notAfter": at(DAY)});
        assert_eq!(tenant.post("/v1/order", mistyped).await.status, 400);
        assert_eq!(tenant.get("/v1/order").await.expect(200)["items"], json!([]));
    }
}
