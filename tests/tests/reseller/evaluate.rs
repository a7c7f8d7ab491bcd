//! `POST /v1/policy/evaluate`: what would happen to an order.

use chancery_domain::PolicyRules;
use chancery_testkit::TestStore;
use chancery_tests::{Reply, Tenant, World, lookup, on_both_databases, settings};
use serde_json::{Value, json};

use crate::common::problems;

async fn ask(tenant: &Tenant, body: Value) -> Reply {
    tenant.post("/v1/policy/evaluate", body).await
}

/// Asks for an account, with further members of the request.
async fn verdict(tenant: &Tenant, account: &str, further: Value) -> Value {
    let mut body = json!({"account_lookup": account, "identifiers": ["www.example.com"]});
    for (name, value) in further.as_object().unwrap() {
        body[name] = value.clone();
    }
    ask(tenant, body).await.expect(200)
}

/// `field code` of each violation.
fn broken(verdict: &Value) -> Vec<String> {
    let violations = verdict["violations"].as_array().unwrap();
    assert_eq!(verdict["allowed"], violations.is_empty());
    let text =
        |problem: &Value| format!("{} {}", problem["field"].as_str().unwrap(), problem["code"].as_str().unwrap());
    violations.iter().map(text).collect()
}

/// An account in a group with one policy of these rules.
async fn under(tenant: &Tenant, name: &str, rules: Value) -> (String, String) {
    let account = lookup(&tenant.make_account(&format!("{name}@example.com")).await);
    let (group, policy) = (tenant.make_group(name).await, tenant.make_policy(name, rules).await);
    tenant.assign(&group, &policy).await.expect(200);
    tenant.add_members(&group, std::slice::from_ref(&account)).await.expect(200);
    (account, policy)
}

on_both_databases! {
    async fn what_cannot_be_shown_is_not_allowed(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let long_base = format!("{}.test", vec!["a".repeat(59); 4].join("."));
        let long = format!("*.{long_base}");
        for (names, way, told) in [
            (json!(["a.test", "*.a.test"]), Some("http-01"), &["identifiers[1] allowed_challenge_types"][..]),
            (json!(["198.51.100.9"]), Some("dns-01"), &["identifiers[0] allowed_challenge_types"]),
            (json!(["*.a.test"]), Some("dns-01"), &[]),
            (json!(["198.51.100.9"]), Some("http-01"), &[]),
            (json!([long]), None, &["identifiers[0] allowed_challenge_types"]),
            (json!([long_base]), Some("dns-01"), &["identifiers[0] allowed_challenge_types"]),
            (json!([long_base]), Some("http-01"), &[]),
            (json!([long_base]), None, &[]),
        ] {
            let question = match way {
                Some(way) => json!({"identifiers": names, "challenge_type": way}),
                None => json!({"identifiers": names}),
            };
            assert_eq!(broken(&verdict(&tenant, &account, question).await), told, "{names}");
        }
        let csr = chancery_tests::csr(&[&long]);
        let judged = tenant.post("/v1/validate-csr", json!({"csr": csr, "account_lookup": account})).await;
        assert!(judged.status == 400 && judged.text().contains("too long"), "{}", judged.text());
        let twice = json!({"account_lookup": account, "identifiers": ["a.test", "b.test", "A.test"]});
        assert_eq!(problems(&ask(&tenant, twice).await), ["identifiers[2] duplicate_name"]);
    }

    async fn who_denies_everything_denies_addresses_too(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (account, _) = under(&tenant, "nothing", json!({"denied_domains": ["**"]})).await;
        let question = json!({"identifiers": ["a.test", "192.0.2.7"]});
        let told = ["identifiers[0] denied_domains", "identifiers[1] denied_domains"];
        assert_eq!(broken(&verdict(&tenant, &account, question).await), told);
        let order = json!({"account_lookup": account, "csr": chancery_tests::csr(&["192.0.2.7"])});
        assert_eq!(tenant.post("/v1/order", order).await.refusal(400), "policy_violation");
    }

    async fn without_a_policy_the_operators_own_is_asked(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let expected = json!({
            "allowed": true,
            "profile": "TLS-90d",
            "validityDays": 90,
            "policies": [{"name": "operator default"}],
            "violations": [],
        });
        assert_eq!(verdict(&tenant, &account, json!({})).await, expected);
        // A group without policies says nothing either.
        let group = tenant.make_group("Empty").await;
        tenant.add_members(&group, std::slice::from_ref(&account)).await.expect(200);
        assert_eq!(verdict(&tenant, &account, json!({})).await, expected);
        let longer = verdict(&tenant, &account, json!({"profile": "TLS-199d"})).await;
        assert_eq!((&longer["profile"], &longer["validityDays"]), (&json!("TLS-199d"), &json!(199)));
    }

    async fn each_rule_refuses_by_its_name(world: World) {
        let tenant = world.tenant("DEMO").await;
        let names = |names: &[&str]| json!({"identifiers": names});
        let cases = [
            (
                json!({"allowed_domains": ["*.example.com"]}),
                names(&["a.b.example.com", "example.com", "*.example.com"]),
                vec!["identifiers[1] allowed_domains"],
            ),
            (
                json!({"allowed_domains": ["example.com"]}),
                names(&["EXAMPLE.com.", "www.example.com", "192.0.2.1"]),
                vec!["identifiers[1] allowed_domains", "identifiers[2] allowed_domains"],
            ),
            (json!({"allowed_domains": ["**"], "allow_ip_addresses": true}), names(&["x.test", "192.0.2.1"]), vec![]),
            (json!({"allowed_domains": []}), json!({}), vec!["identifiers[0] allowed_domains"]),
            (
                json!({"allowed_domains": ["bücher.example"]}),
                names(&["xn--bcher-kva.example"]),
                vec![],
            ),
            (
                json!({"allowed_domains": ["bücher.example"]}),
                names(&["BÜCHER.example"]),
                vec![],
            ),
            (
                json!({"denied_domains": ["admin.example.com", "*.bad.example"]}),
                names(&["admin.example.com", "*.example.com", "x.y.bad.example", "bad.example", "ok.example"]),
                vec!["identifiers[0] denied_domains", "identifiers[1] denied_domains", "identifiers[2] denied_domains"],
            ),
            (
                json!({"allow_wildcards": false}),
                names(&["*.example.com", "a.example.com"]),
                vec!["identifiers[0] allow_wildcards"],
            ),
            (json!({"allow_wildcards": true}), names(&["*.example.com"]), vec![]),
            (
                json!({"allow_ip_addresses": false}),
                names(&["2001:db8::1", "a.example"]),
                vec!["identifiers[0] allow_ip_addresses"],
            ),
            (json!({"allowed_profiles": ["TLS-199d"]}), json!({}), vec!["profile allowed_profiles"]),
            (json!({"allowed_profiles": ["TLS-199d"]}), json!({"profile": "TLS-199d"}), vec![]),
            (
                json!({"allowed_key_types": ["ec-p384"]}),
                json!({"key_type": "ec-p256"}),
                vec!["key_type allowed_key_types"],
            ),
            (json!({"allowed_key_types": ["ec-p384"]}), json!({"key_type": "ec-p384"}), vec![]),
            // What is not said is judged where nothing that could be said would do: of keys, and of ways to show a name.
            (json!({"allowed_key_types": ["ec-p384"]}), json!({}), vec![]),
            (json!({"allowed_key_types": []}), json!({}), vec!["key_type allowed_key_types"]),
            (json!({"allowed_challenge_types": []}), json!({}), vec!["identifiers[0] allowed_challenge_types"]),
            (
                json!({"allowed_challenge_types": ["http-01"]}),
                names(&["*.example.com", "example.com"]),
                vec!["identifiers[0] allowed_challenge_types"],
            ),
            (
                json!({"allowed_challenge_types": ["dns-01"]}),
                json!({"challenge_type": "http-01"}),
                vec!["challenge_type allowed_challenge_types"],
            ),
            (json!({"max_names": 2}), names(&["a.test", "b.test", "c.test"]), vec!["identifiers max_names"]),
            (json!({"issuance_enabled": false}), json!({}), vec!["issuance_enabled issuance_enabled"]),
            (json!({"issuance_enabled": true}), json!({}), vec![]),
            (json!({}), json!({"key_type": "ed25519"}), vec!["key_type allowed_key_types"]),
        ];
        for (number, (rules, request, expected)) in cases.into_iter().enumerate() {
            let (account, policy) = under(&tenant, &format!("case-{number}"), rules.clone()).await;
            let verdict = verdict(&tenant, &account, request).await;
            assert_eq!(broken(&verdict), expected, "{rules} {verdict}");
            assert_eq!(verdict["policies"], json!([{"lookup": policy, "name": format!("case-{number}")}]));
            // A refusal names the policy; what the profile refuses has none.
            let by_profile = rules == json!({});
            for violation in verdict["violations"].as_array().unwrap() {
                assert_eq!(violation["policy"].as_str(), (!by_profile).then_some(policy.as_str()));
            }
        }
    }

    async fn every_policy_of_every_group_must_permit(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (account, domains) = under(&tenant, "Domains", json!({"allowed_domains": ["*.example.com"]})).await;
        let (web, mail) = (tenant.make_group("Web").await, tenant.make_group("Mail").await);
        let short = tenant.make_policy("Short", json!({"max_validity_days": 30})).await;
        let few = tenant.make_policy("Few", json!({"max_names": 1, "max_validity_days": 60})).await;
        let unused = tenant.make_policy("Unused", json!({"issuance_enabled": false})).await;
        for (group, policy) in [(&web, &short), (&web, &few), (&mail, &few)] {
            tenant.assign(group, policy).await.expect(200);
        }
        for group in [&web, &mail] {
            tenant.add_members(group, std::slice::from_ref(&account)).await.expect(200);
        }
        let good = verdict(&tenant, &account, json!({})).await;
        assert_eq!(broken(&good), Vec::<String>::new());
        assert_eq!(good["validityDays"], 30);
        // Each is asked once, however many groups it comes through.
        assert_eq!(
            good["policies"],
            json!([
                {"lookup": domains, "name": "Domains"},
                {"lookup": few, "name": "Few"},
                {"lookup": short, "name": "Short"},
            ])
        );
        let bad = verdict(&tenant, &account, json!({"identifiers": ["a.test", "b.example.com"]})).await;
        assert_eq!(broken(&bad), ["identifiers[0] allowed_domains", "identifiers max_names"]);
        let by: Vec<_> =
            bad["violations"].as_array().unwrap().iter().map(|violation| violation["policy"].clone()).collect();
        assert_eq!(by, [json!(domains), json!(few)]);

        tenant.assign(&mail, &unused).await.expect(200);
        assert_eq!(broken(&verdict(&tenant, &account, json!({})).await), ["issuance_enabled issuance_enabled"]);
        tenant.delete(&format!("/v1/policy/{unused}")).await.expect(200);
        assert_eq!(verdict(&tenant, &account, json!({})).await, good);
        tenant.delete(&format!("/v1/account-group/{web}")).await.expect(200);
        assert_eq!(verdict(&tenant, &account, json!({})).await["validityDays"], 60);
    }

    async fn a_short_policy_shortens_and_an_explicit_validity_beyond_it_is_refused(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (account, _) = under(&tenant, "Short", json!({"max_validity_days": 30})).await;
        let (free, _) = under(&tenant, "Long", json!({"max_validity_days": 400})).await;
        let days = |days: u32| json!({"validity_days": days});
        let shortened = verdict(&tenant, &account, json!({})).await;
        assert_eq!((broken(&shortened), &shortened["validityDays"]), (vec![], &json!(30)));
        let shorter = verdict(&tenant, &account, days(7)).await;
        assert_eq!((broken(&shorter), &shorter["validityDays"]), (vec![], &json!(7)));
        assert_eq!(broken(&verdict(&tenant, &account, days(31)).await), ["validity_days max_validity_days"]);
        // A policy cannot lengthen what the profile gives.
        assert_eq!(verdict(&tenant, &free, json!({})).await["validityDays"], 90);
        assert_eq!(broken(&verdict(&tenant, &free, days(91)).await), ["validity_days max_validity_days"]);
    }

    async fn what_policies_leave_nothing_of_together_is_told_with_each(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (account, _) = under(&tenant, "RSA", json!({"allowed_key_types": ["rsa-2048"]})).await;
        let group = tenant.make_group("more").await;
        tenant.add_members(&group, std::slice::from_ref(&account)).await.expect(200);
        assert_eq!(broken(&verdict(&tenant, &account, json!({})).await), Vec::<String>::new());
        let rules = json!({"allowed_key_types": ["ec-p256"], "allowed_challenge_types": ["http-01"]});
        let other = tenant.make_policy("EC", rules).await;
        tenant.assign(&group, &other).await.expect(200);
        let both = ["key_type allowed_key_types"; 2];
        assert_eq!(broken(&verdict(&tenant, &account, json!({})).await), both);
        assert_eq!(broken(&verdict(&tenant, &account, json!({"key_type": "ec-p256"})).await), both[..1]);
        let way = tenant.make_policy("DNS", json!({"allowed_challenge_types": ["dns-01"]})).await;
        tenant.assign(&group, &way).await.expect(200);
        let told = verdict(&tenant, &account, json!({"key_type": "rsa-2048"})).await;
        let messages: Vec<_> = told["violations"].as_array().unwrap().iter().map(|each| each["message"].to_string()).collect();
        for (kind, policy) in [("http-01", "EC"), ("dns-01", "DNS")] {
            let says = |message: &&String| message.contains(&format!("of which {kind} alone")) && message.contains(policy);
            assert_eq!(messages.iter().filter(says).count(), 1, "{messages:?}");
        }
    }

    async fn an_account_is_named_in_exactly_one_way(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = tenant.make_account("Me@example.com").await;
        let path = format!("/v1/account/{}/eab-credential", lookup(&account));
        let further = tenant.post_empty(&path).await.expect(201);
        let with = |ways: Value| {
            let mut body = json!({"identifiers": ["a.test"]});
            for (name, value) in ways.as_object().unwrap() {
                body[name] = value.clone();
            }
            ask(&tenant, body)
        };
        let (me, kid, second) = (lookup(&account), &account["kid"], &further["kid"]);
        for way in [
            json!({"account_lookup": me}),
            json!({"account_lookup": account["id"].to_string()}),
            json!({"account_lookup": kid}),
            json!({"customer_email": "ME@EXAMPLE.COM"}),
            json!({"eab_kid": kid}),
            json!({"eab_kid": second}),
        ] {
            with(way).await.expect(200);
        }
        for ways in [
            json!({}),
            json!({"account_lookup": me, "eab_kid": kid}),
            json!({"account_lookup": me, "customer_email": "me@example.com", "eab_kid": kid}),
        ] {
            let reply = with(ways).await;
            assert_eq!(reply.refusal(400), "invalid_request");
            assert_eq!(reply.json()["errors"][0]["code"], "exactly_one");
        }
        let other = world.tenant("OTHER").await.make_account("them@example.com").await;
        for (ways, code) in [
            (json!({"account_lookup": "acc_00000000000000000000000000"}), "account_not_found"),
            (json!({"account_lookup": lookup(&other)}), "account_not_found"),
            (json!({"account_lookup": other["id"].to_string()}), "account_not_found"),
            (json!({"account_lookup": second}), "account_not_found"),
            (json!({"customer_email": "them@example.com"}), "account_not_found"),
            (json!({"customer_email": "no address"}), "account_not_found"),
            (json!({"customer_email": me}), "account_not_found"),
            (json!({"eab_kid": other["kid"]}), "eab_credential_not_found"),
            (json!({"eab_kid": "me@example.com"}), "eab_credential_not_found"),
        ] {
            let reply = with(ways.clone()).await;
            assert_eq!(reply.refusal(404), code, "{ways}");
            // Whoever named a credential is told of that, not of an account.
            let message = reply.json()["message"].as_str().unwrap().to_owned();
            assert_eq!(message.contains("EAB credential"), ways.get("eab_kid").is_some(), "{message}");
        }
    }

    async fn an_account_that_cannot_order_is_told_so(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = tenant.make_account("me@example.com").await;
        let path = format!("/v1/account/{}", lookup(&account));
        let further = tenant.post_empty(&format!("{path}/eab-credential")).await.expect(201);
        let ask_by = |way: &str, value: &Value| ask(&tenant, json!({way: value, "identifiers": ["a.test"]}));

        tenant.patch(&path, json!({"suspended": true})).await.expect(200);
        let suspended = ask_by("account_lookup", &account["lookup"]).await;
        assert_eq!(
            (suspended.status.as_u16(), suspended.header("content-type")),
            (403, Some("text/plain; charset=utf-8"))
        );
        assert!(suspended.text().contains("suspended"), "{}", suspended.text());
        tenant.patch(&path, json!({"suspended": false})).await.expect(200);

        tenant.delete(&format!("/v1/eab-credential/{}", further["kid"].as_str().unwrap())).await.expect(200);
        assert_eq!(ask_by("eab_kid", &further["kid"]).await.refusal(410), "eab_credential_gone");
        ask_by("eab_kid", &account["kid"]).await.expect(200);

        tenant.delete(&path).await.expect(200);
        for (way, value) in [
            ("account_lookup", &account["lookup"]),
            ("eab_kid", &account["kid"]),
            ("customer_email", &account["email"]),
        ] {
            let gone = ask_by(way, value).await;
            assert_eq!(gone.refusal(410), "account_terminated");
            assert!(gone.json()["message"].as_str().unwrap().contains("terminated"), "{}", gone.text());
        }
    }

    async fn a_name_may_say_its_type_and_must_say_the_right_one(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (account, _) = under(&tenant, "Ip", json!({"allow_ip_addresses": false})).await;
        let (dns, ip) = (json!({"type": "dns", "value": "a.test"}), json!({"type": "ip", "value": "2001:DB8::1"}));
        let typed = json!({"identifiers": [dns, ip, "192.0.2.1"]});
        let verdict = verdict(&tenant, &account, typed).await;
        assert_eq!(broken(&verdict), ["identifiers[1] allow_ip_addresses", "identifiers[2] allow_ip_addresses"]);
        let cases = [
            (json!([{"type": "ip", "value": "a.test"}]), "identifiers[0]"),
            (json!([7]), "identifiers[0]"),
            (json!([null]), "identifiers[0]"),
            (json!([["a.test"]]), "identifiers[0]"),
            (json!([{"type": "dns", "value": "192.0.2.1"}]), "identifiers[0]"),
            (json!([{"type": "dns", "value": "192.0.2.1."}]), "identifiers[0]"),
            (json!(["a.test", {"type": "email", "value": "a@a.test"}]), "identifiers[1]"),
            (json!(["a_b.test"]), "identifiers[0]"),
            (json!(["a.*.test"]), "identifiers[0]"),
            (json!([]), "identifiers"),
            (json!(vec!["a.test"; 1001]), "identifiers"),
        ];
        for (identifiers, field) in cases {
            let reply = ask(&tenant, json!({"account_lookup": account, "identifiers": identifiers})).await;
            assert_eq!(reply.refusal(400), "invalid_request");
            assert!(reply.fields().iter().any(|found| found.starts_with(field)), "{field}: {}", reply.text());
        }
    }

    async fn what_is_wrong_within_a_name_is_told_at_its_place(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("me@example.com").await);
        for (identifiers, code, told) in [
            (
                json!([{"type": "dns", "value": "a.test", "vlaue": "b.test"}]),
                "unknown_field",
                vec!["identifiers[0].vlaue unknown_field"],
            ),
            (
                json!(["a.test", {"type": "dns", "vlaue": "b.test"}]),
                "invalid_request",
                vec!["identifiers[1].vlaue unknown_field", "identifiers[1].value missing"],
            ),
            (
                json!([{"type": 1, "value": "a.test"}, {"value": "b.test"}]),
                "invalid_request",
                vec!["identifiers[0].type wrong_type", "identifiers[1].type missing"],
            ),
        ] {
            let reply = ask(&tenant, json!({"account_lookup": account, "identifiers": identifiers})).await;
            assert_eq!(reply.refusal(400), code, "{identifiers}");
            assert_eq!(problems(&reply), told, "{identifiers}");
        }
    }

    async fn what_cannot_be_asked_is_refused_and_nothing_is_kept(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("me@example.com").await);
        let base = json!({"account_lookup": account, "identifiers": ["a.test"]});
        let with = |name: &str, value: Value| {
            let mut body = base.clone();
            body[name] = value;
            ask(&tenant, body)
        };
        for (name, value) in [
            ("key_type", json!("dsa")),
            ("challenge_type", json!("http-02")),
            ("validity_days", json!(0)),
            ("validity_days", json!(-1)),
            ("profile", json!("not a name")),
            ("account_lookup", json!(null)),
        ] {
            let reply = with(name, value).await;
            assert_eq!(reply.refusal(400), "invalid_request");
            assert_eq!(reply.fields()[0], name);
        }
        assert_eq!(with("prfile", json!("TLS-90d")).await.refusal(400), "unknown_field");
        let unknown = with("profile", json!("TLS-1d")).await;
        assert_eq!(unknown.refusal(400), "invalid_request");
        assert_eq!(problems(&unknown), ["profile unknown"]);
    }
}

#[tokio::test]
async fn the_operators_default_policy_is_replaced_not_joined_by_others() {
    let default_policy = PolicyRules { max_names: Some(1), ..PolicyRules::default() };
    let settings = chancery_service::Settings { default_policy, ..settings() };
    let world = World::over(TestStore::sqlite(), settings, Vec::new()).await;
    let tenant = world.tenant("DEMO").await;
    let alone = lookup(&tenant.make_account("alone@example.com").await);
    let (governed, _) = under(&tenant, "Own", json!({"max_names": 2})).await;
    let two = json!({"identifiers": ["a.test", "b.test"]});
    let refused = verdict(&tenant, &alone, two.clone()).await;
    assert_eq!(broken(&refused), ["identifiers max_names"]);
    assert!(refused["violations"][0].get("policy").is_none(), "the operator's policy has no lookup");
    assert!(refused["violations"][0]["message"].as_str().unwrap().contains("operator default"));
    assert_eq!(broken(&verdict(&tenant, &governed, two).await), Vec::<String>::new());
}
