//! Policies: asked when an order is made, and again when it is issued.

use chancery_domain::Timestamp;
use chancery_tests::{START, Tenant, csr, lookup, on_both_databases};
use serde_json::{Value, json};

use crate::common::{certificate_path, challenge_paths, finalize_path, finalized, order_path, stage, text};

const DAY: i64 = 86_400;

/// A group with the account in it and a policy with these rules; the policy's lookup.
pub(crate) async fn under(tenant: &Tenant, account: &str, name: &str, rules: Value) -> String {
    let policy = tenant.make_policy(name, rules).await;
    let group = tenant.make_group(name).await;
    tenant.add_members(&group, &[account.to_owned()]).await.expect(200);
    tenant.assign(&group, &policy).await.expect(200);
    policy
}

fn at(seconds_from_start: i64) -> String {
    Timestamp::from_secs(START.as_secs() + seconds_from_start).to_string()
}

fn lifetime(certificate: &Value) -> i64 {
    let time = |member: &str| Timestamp::parse(&text(certificate, member)).unwrap().as_secs();
    time("notAfter") - time("notBefore") + 1
}

on_both_databases! {
    async fn a_refusal_tells_the_place_where_the_caller_named_it(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        under(&tenant, &account, "below", json!({"allowed_domains": ["*.x.test"]})).await;
        let names = ["x.test", "a.x.test", "*.x.test"];
        let order = json!({"account_lookup": account, "csr": csr(&names), "identifiers": names});
        let refused = tenant.post("/v1/order", order).await.expect(400);
        assert_eq!(refused["errors"][0]["field"], "identifiers[0]", "{refused}");
        assert_eq!(refused["errors"].as_array().unwrap().len(), 1);
    }

    async fn each_rule_refuses_a_new_order_and_is_named_with_its_policy(world: World) {
        let tenant = world.tenant("DEMO").await;
        let mut number = 0;
        for (rules, names, more, field, rule) in [
            (
                json!({"allowed_domains": ["*.good.test"]}),
                vec!["a.bad.test"],
                json!({}),
                "csr",
                "allowed_domains",
            ),
            (json!({"denied_domains": ["bad.test"]}), vec!["bad.test"], json!({}), "csr", "denied_domains"),
            (json!({"allow_wildcards": false}), vec!["*.a.test"], json!({}), "csr", "allow_wildcards"),
            (
                json!({"allow_ip_addresses": false}),
                vec!["192.0.2.7"],
                json!({}),
                "csr",
                "allow_ip_addresses",
            ),
            (json!({"allowed_profiles": ["TLS-199d"]}), vec!["a.test"], json!({}), "profile", "allowed_profiles"),
            (json!({"allowed_key_types": ["rsa-2048"]}), vec!["a.test"], json!({}), "csr", "allowed_key_types"),
            (json!({"max_names": 1}), vec!["a.test", "b.test"], json!({}), "csr", "max_names"),
            (
                json!({"max_validity_days": 30}),
                vec!["a.test"],
                json!({"not_after": at(31 * DAY)}),
                "not_after",
                "max_validity_days",
            ),
            (json!({"issuance_enabled": false}), vec!["a.test"], json!({}), "issuance_enabled", "issuance_enabled"),
            // An order that nothing could make ready.
            (
                json!({"allowed_challenge_types": ["http-01"]}),
                vec!["*.a.test"],
                json!({}),
                "csr",
                "allowed_challenge_types",
            ),
            (
                json!({"allowed_challenge_types": ["dns-01"]}),
                vec!["192.0.2.7"],
                json!({}),
                "csr",
                "allowed_challenge_types",
            ),
        ] {
            number += 1;
            let account = lookup(&tenant.make_account(&format!("a{number}@example.com")).await);
            let policy = under(&tenant, &account, &format!("rule {number}"), rules).await;
            let csr = csr(&names);
            let mut body = json!({"account_lookup": account, "csr": csr});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let refused = tenant.post("/v1/order", body).await;
            assert_eq!(refused.refusal(400), "policy_violation", "{rule}");
            let errors = refused.json()["errors"].clone();
            assert_eq!(errors.as_array().unwrap().len(), 1, "{errors}");
            assert_eq!(
                (text(&errors[0], "field"), text(&errors[0], "code"), text(&errors[0], "policy")),
                (field.to_owned(), rule.to_owned(), policy)
            );
            assert!(text(&errors[0], "message").contains(&format!("rule {number}")), "{errors}");
            // Whoever asks before is told the same.
            if more == json!({}) {
                let asked = tenant.post("/v1/validate-csr", json!({"csr": csr, "account_lookup": account})).await;
                assert_eq!(asked.status, 400);
                assert!(asked.text().contains(rule), "{}", asked.text());
                let question = json!({"account_lookup": account, "identifiers": names, "key_type": "ec-p256"});
                let foretold = tenant.post("/v1/policy/evaluate", question).await.expect(200);
                let told = |violations: &Value, member| text(&violations[0], member);
                for member in ["code", "policy", "message"] {
                    assert_eq!(told(&foretold["violations"], member), told(&errors, member));
                }
            }
        }
        assert_eq!(tenant.get("/v1/order").await.expect(200)["items"], json!([]));
    }

    async fn every_broken_rule_of_every_policy_is_told(world: World) {
        let (tenant, account) = stage(&world).await;
        let one = under(&tenant, &account, "one", json!({"max_names": 1, "denied_domains": ["*.bad.test"]})).await;
        let two = under(&tenant, &account, "two", json!({"allow_wildcards": false, "max_names": 1})).await;
        let body = json!({"account_lookup": account, "csr": csr(&["a.bad.test", "*.b.test"])});
        let refused = tenant.post("/v1/order", body).await.expect(400);
        let mut told: Vec<_> = refused["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|each| (text(each, "policy"), text(each, "code")))
            .collect();
        told.sort();
        let mut expected = vec![
            (one.clone(), "denied_domains".to_owned()),
            (one, "max_names".to_owned()),
            (two.clone(), "allow_wildcards".to_owned()),
            (two, "max_names".to_owned()),
        ];
        expected.sort();
        assert_eq!(told, expected);
    }

    async fn a_quota_of_none_is_told_with_the_other_rules(world: World) {
        let (tenant, account) = stage(&world).await;
        let rules = json!({"denied_domains": ["bad.test"], "max_certificates_per_day": 0, "max_active_certificates": 0});
        under(&tenant, &account, "none", rules).await;
        let csr = csr(&["bad.test"]);
        let refused = tenant.post("/v1/order", json!({"account_lookup": account, "csr": csr})).await;
        assert_eq!(refused.refusal(400), "policy_violation");
        let codes: Vec<_> =
            refused.json()["errors"].as_array().unwrap().iter().map(|each| text(each, "code")).collect();
        assert_eq!(codes, ["denied_domains", "max_certificates_per_day", "max_active_certificates"]);
        let asked = tenant.post("/v1/validate-csr", json!({"csr": csr, "account_lookup": account})).await;
        assert_eq!(asked.status, 400);
        assert_eq!(asked.text().lines().count(), 3, "{}", asked.text());
    }

    async fn a_policy_that_comes_after_the_order_is_enforced_when_it_is_issued(world: World) {
        let tenant = world.tenant("DEMO").await;
        let mut number = 0;
        for (rules, more) in [
            (json!({"denied_domains": ["**"]}), json!({})),
            (json!({"issuance_enabled": false}), json!({})),
            (json!({"allowed_key_types": ["rsa-4096"]}), json!({})),
            (json!({"allowed_profiles": []}), json!({})),
            // The name was shown by http-01.
            (json!({"allowed_challenge_types": ["dns-01"]}), json!({})),
            (json!({"max_validity_days": 7}), json!({"not_after": at(30 * DAY)})),
            (json!({"max_certificates_per_day": 0}), json!({})),
        ] {
            number += 1;
            let account = lookup(&tenant.make_account(&format!("a{number}@example.com")).await);
            let mut body = json!({"account_lookup": account, "csr": csr(&["a.test"])});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let order = tenant.post("/v1/order", body).await.expect(201);
            tenant.choose_all(&order).await;
            world.work(None).await;
            tenant.post_empty(&finalize_path(&order)).await.expect(202);
            under(&tenant, &account, &format!("late {number}"), rules.clone()).await;
            world.work(None).await;
            let ended = tenant.get(&order_path(&order)).await.expect(200);
            assert_eq!(ended["status"], "invalid", "{rules}: {ended}");
            assert!(text(&ended["error"], "detail").contains(&format!("late {number}")), "{rules}: {}", ended["error"]);
            assert_eq!(tenant.get(&certificate_path(&order)).await.status, 410);
        }
        assert_eq!(tenant.get("/v1/certificates?certificate_status=issued").await.expect(200)["items"], json!([]));
    }

    async fn a_permission_is_not_used_again_where_a_policy_forbids_how_it_was_shown(world: World) {
        let (tenant, account) = stage(&world).await;
        world.issue(&tenant, &account, &["a.test"]).await;
        under(&tenant, &account, "by dns", json!({"allowed_challenge_types": ["dns-01"]})).await;
        let order = tenant.make_order(&account, &["a.test"]).await;
        assert_eq!(order["status"], "pending");
        let codes = tenant.codes(&lookup(&order["authorizations"][0])).await;
        assert_eq!(codes.len(), 1);
        assert_eq!(codes[0]["type"], "dns-01");
        tenant.post_empty(&challenge_paths(&tenant, &order, 0).await[0]).await.expect(200);
        world.work(None).await;
        assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "ready");
    }

    async fn a_policy_that_comes_before_the_codes_and_leaves_none_is_told(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = tenant.make_order(&account, &["a.test"]).await;
        let policy = under(&tenant, &account, "no way", json!({"allowed_challenge_types": []})).await;
        let codes = format!("/v1/authz/{}/challenges", lookup(&order["authorizations"][0]));
        let refused = tenant.post_empty(&codes).await;
        assert_eq!(refused.refusal(400), "policy_violation");
        assert_eq!(refused.json()["errors"][0]["policy"], policy);
        // What was refused changes nothing: without the policy there are codes.
        tenant.put(&format!("/v1/policy/{policy}"), json!({"name": "no way"})).await.expect(200);
        assert_eq!(tenant.post_empty(&codes).await.expect(200)["challenges"].as_array().map(Vec::len), Some(3));
    }

    async fn a_policy_that_comes_after_the_codes_is_enforced_when_one_is_chosen(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = tenant.make_order(&account, &["a.test"]).await;
        let paths = challenge_paths(&tenant, &order, 0).await;
        let policy = under(&tenant, &account, "by dns", json!({"allowed_challenge_types": ["dns-01"]})).await;
        let refused = tenant.post_empty(&paths[0]).await;
        assert_eq!(refused.refusal(400), "policy_violation");
        assert_eq!(refused.json()["errors"][0]["policy"], policy);
        // The one choice is still to be made.
        assert_eq!(tenant.post_empty(&paths[1]).await.expect(200)["type"], "dns-01");
    }

    async fn the_shortest_validity_wins_and_an_end_within_it_is_kept_to_the_second(world: World) {
        let (tenant, account) = stage(&world).await;
        under(&tenant, &account, "month", json!({"max_validity_days": 30})).await;
        under(&tenant, &account, "week", json!({"max_validity_days": 7})).await;
        let order = world.issue(&tenant, &account, &["a.test"]).await;
        let metadata = async |order: &Value| {
            let json = [("accept", "application/json")];
            tenant.send(http::Method::GET, &certificate_path(order), &json, None).await.expect(200)
        };
        assert_eq!(lifetime(&metadata(&order).await), 7 * DAY);
        let (end, later) = (at(6 * DAY - 2), at(7 * DAY + 60));
        let body = json!({"account_lookup": account, "csr": csr(&["a.test"]), "not_after": end});
        let order = tenant.post("/v1/order", body).await.expect(201);
        tenant.post_empty(&finalize_path(&order)).await.expect(202);
        world.work(None).await;
        let ended = metadata(&order).await;
        assert_eq!(text(&ended, "notAfter"), end);
        // It begins as early as any: what was asked for is no limit to that.
        assert!(lifetime(&ended) > 6 * DAY, "{ended}");
        let body = json!({"account_lookup": account, "csr": csr(&["a.test"]), "not_after": later});
        assert_eq!(tenant.post("/v1/order", body).await.refusal(400), "policy_violation");
    }

    async fn removing_the_policy_lets_the_next_order_through(world: World) {
        let (tenant, account) = stage(&world).await;
        let policy = under(&tenant, &account, "none", json!({"issuance_enabled": false})).await;
        let body = json!({"account_lookup": account, "csr": csr(&["a.test"])});
        assert_eq!(tenant.post("/v1/order", body.clone()).await.refusal(400), "policy_violation");
        tenant.delete(&format!("/v1/policy/{policy}")).await.expect(200);
        tenant.post("/v1/order", body).await.expect(201);
        let order = finalized(&world, &tenant, &account, &["b.test"]).await;
        world.work(None).await;
        assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "valid");
    }
}
