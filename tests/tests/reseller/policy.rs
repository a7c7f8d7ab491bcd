//! `/v1/policy`: policies as they are kept.

use std::time::Duration;

use chancery_tests::{lookup, on_both_databases};
use futures_util::future::join_all;
use serde_json::{Value, json};

const POLICIES: &str = "/v1/policy";

fn path(lookup: &str) -> String {
    format!("{POLICIES}/{lookup}")
}

/// Every rule there is.
fn full() -> Value {
    json!({
        "name": "Everything",
        "description": "All the rules",
        "allowed_domains": ["example.com", "*.Bücher.example", "**"],
        "denied_domains": ["ADMIN.example.com."],
        "allow_wildcards": false,
        "allow_ip_addresses": true,
        "allowed_profiles": ["TLS-90d", "TLS-199d"],
        "allowed_key_types": ["rsa-2048", "rsa-3072", "rsa-4096", "ec-p256", "ec-p384", "ed25519"],
        "allowed_challenge_types": ["http-01", "dns-01", "tls-alpn-01"],
        "max_names": 100,
        "max_validity_days": 825,
        "max_certificates_per_day": 0,
        "max_certificates_per_week": 4_294_967_295_u32,
        "max_active_certificates": 7,
        "issuance_enabled": true,
    })
}

/// What is wrong with a policy: fields and messages.
fn problems(body: &Value) -> Vec<(String, String)> {
    let text = |problem: &Value, name: &str| problem[name].as_str().unwrap().to_owned();
    let errors = body["errors"].as_array().unwrap().iter();
    errors.map(|problem| (text(problem, "field"), text(problem, "message"))).collect()
}

on_both_databases! {
    async fn every_rule_comes_back_normalised_and_in_one_shape(world: World) {
        let tenant = world.tenant("DEMO").await;
        let made = tenant.post(POLICIES, full()).await.expect(200);
        assert!(lookup(&made).starts_with("pol_"), "{made}");
        let expected = json!({
            "lookup": made["lookup"],
            "name": "Everything",
            "description": "All the rules",
            "allowedDomains": ["example.com", "*.xn--bcher-kva.example", "**"],
            "deniedDomains": ["admin.example.com"],
            "allowWildcards": false,
            "allowIpAddresses": true,
            "allowedProfiles": ["TLS-90d", "TLS-199d"],
            "allowedKeyTypes": ["rsa-2048", "rsa-3072", "rsa-4096", "ec-p256", "ec-p384", "ed25519"],
            "allowedChallengeTypes": ["http-01", "dns-01", "tls-alpn-01"],
            "maxNames": 100,
            "maxValidityDays": 825,
            "maxCertificatesPerDay": 0,
            "maxCertificatesPerWeek": 4_294_967_295_u32,
            "maxActiveCertificates": 7,
            "issuanceEnabled": true,
            "assignedGroups": [],
            "createdAt": "2027-01-15T08:00:00Z",
            "updatedAt": "2027-01-15T08:00:00Z",
        });
        assert_eq!(made, expected);
        assert_eq!(tenant.get(&path(&lookup(&made))).await.expect(200), expected);

        // A rule that is left out is left out; one that allows nothing is something else.
        let bare = tenant.post(POLICIES, json!({"name": "Bare"})).await.expect(200);
        assert_eq!(bare.as_object().unwrap().len(), 5, "{bare}");
        let nothing = tenant.post(POLICIES, json!({"name": "Nothing", "allowed_domains": []})).await.expect(200);
        assert_eq!(nothing["allowedDomains"], json!([]));
        assert_eq!(tenant.get(POLICIES).await.expect(200), json!({"items": [nothing, bare, expected]}));
    }

    async fn put_replaces_the_whole_policy(world: World) {
        let tenant = world.tenant("DEMO").await;
        let policy = lookup(&tenant.post(POLICIES, full()).await.expect(200));
        let group = tenant.make_group("Web").await;
        tenant.assign(&group, &policy).await.expect(200);
        world.advance(Duration::from_secs(60));
        let replaced = tenant.put(&path(&policy), json!({"name": "Less", "max_names": 1})).await.expect(200);
        let expected = json!({
            "lookup": policy,
            "name": "Less",
            "maxNames": 1,
            "assignedGroups": [{"lookup": group, "name": "Web"}],
            "createdAt": "2027-01-15T08:00:00Z",
            "updatedAt": "2027-01-15T08:01:00Z",
        });
        assert_eq!(replaced, expected);
        assert_eq!(tenant.get(&path(&policy)).await.expect(200), expected);
    }

    async fn a_name_belongs_to_one_policy_of_a_reseller(world: World) {
        let (tenant, other) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        let (first, second) =
            (tenant.make_policy("First", json!({})).await, tenant.make_policy("Second", json!({})).await);
        let taken = tenant.post(POLICIES, json!({"name": "First"})).await;
        assert_eq!(taken.refusal(400), "name_in_use");
        assert_eq!(taken.fields(), ["name"]);
        let body = json!({"name": "First", "max_names": 1});
        assert_eq!(tenant.put(&path(&second), body.clone()).await.refusal(400), "name_in_use");
        assert!(tenant.get(&path(&second)).await.expect(200).get("maxNames").is_none());
        tenant.put(&path(&first), body).await.expect(200);
        other.make_policy("First", json!({})).await;
        tenant.delete(&path(&first)).await.expect(200);
        tenant.make_policy("First", json!({})).await;

        let create = |_| tenant.post(POLICIES, json!({"name": "Only one"}));
        let replies = join_all((0..16).map(create)).await;
        assert_eq!(replies.iter().filter(|reply| reply.status == 200).count(), 1);
        assert!(replies.iter().all(|reply| reply.status == 200 || reply.refusal(400) == "name_in_use"));
    }

    async fn what_no_rule_can_be_is_told_with_what_it_can_be(world: World) {
        let tenant = world.tenant("DEMO").await;
        let policy = tenant.make_policy("Kept", json!({"max_names": 3})).await;
        let bad_patterns = [
            "",
            "*",
            "***",
            "a.*",
            "*.*.a",
            "a b.example",
            "_x.example",
            "https://example.com",
            "192.0.2.1",
            "2001:db8::1",
            "-a.example",
            "xn--zzzzzzzz99999.example",
        ];
        let mut cases: Vec<(Value, &str, &str)> = bad_patterns
            .iter()
            .flat_map(|bad| {
                [
                    (json!({"allowed_domains": ["a.example", bad]}), "allowed_domains[1]", "pattern"),
                    (json!({"denied_domains": [bad]}), "denied_domains[0]", "pattern"),
                ]
            })
            .collect();
        cases.extend([
            (
                json!({"allowed_key_types": ["rsa-1024"]}),
                "allowed_key_types[0]",
                "rsa-2048, rsa-3072, rsa-4096, ec-p256, ec-p384, ed25519",
            ),
            (json!({"allowed_key_types": ["RSA-2048"]}), "allowed_key_types[0]", "known are"),
            (
                json!({"allowed_challenge_types": ["http-02"]}),
                "allowed_challenge_types[0]",
                "http-01, dns-01, tls-alpn-01",
            ),
            (json!({"allowed_profiles": ["TLS-90d", "TLS-1d"]}), "allowed_profiles[1]", "TLS-90d, TLS-199d"),
            (json!({"allowed_profiles": ["not a name"]}), "allowed_profiles[0]", "profile name"),
            (json!({"max_names": 0}), "max_names", "1 to 100"),
            (json!({"max_names": 101}), "max_names", "1 to 100"),
            (json!({"max_validity_days": 0}), "max_validity_days", "1 to 825"),
            (json!({"max_validity_days": 826}), "max_validity_days", "1 to 825"),
            (json!({"max_certificates_per_day": -1}), "max_certificates_per_day", ""),
            (json!({"max_certificates_per_week": 4_294_967_296_u64}), "max_certificates_per_week", ""),
            (json!({"max_active_certificates": 1.5}), "max_active_certificates", ""),
            (json!({"issuance_enabled": "true"}), "issuance_enabled", ""),
            (json!({"allow_wildcards": 1}), "allow_wildcards", ""),
            (json!({"allowed_domains": "example.com"}), "allowed_domains", ""),
            (json!({"allowed_domains": [7]}), "allowed_domains[0]", ""),
            (json!({"allowed_domains": vec!["a.example"; 1001]}), "allowed_domains", "1000"),
        ]);
        for (mut body, field, hint) in cases {
            body["name"] = "New".into();
            for reply in [tenant.post(POLICIES, body.clone()).await, tenant.put(&path(&policy), body.clone()).await] {
                assert_eq!(reply.refusal(400), "invalid_request", "{field}");
                let [(place, message)] = &problems(&reply.json())[..] else { panic!("{}", reply.text()) };
                assert_eq!(place, field, "{}", reply.text());
                assert!(message.contains(hint), "{message:?} does not say {hint:?}");
            }
        }
        assert_eq!(tenant.get(POLICIES).await.expect(200)["items"].as_array().unwrap().len(), 1);
        assert_eq!(tenant.get(&path(&policy)).await.expect(200)["name"], "Kept");
    }

    async fn every_problem_is_told_at_once(world: World) {
        let tenant = world.tenant("DEMO").await;
        let body = json!({
            "name": "",
            "description": "x".repeat(2001),
            "allowed_domains": ["*", "ok.example", "a b"],
            "allowed_profiles": ["nope"],
            "allowed_key_types": ["dsa"],
            "max_names": 0,
            "max_validity_days": "90",
            "issuance_enabeld": false,
        });
        let reply = tenant.post(POLICIES, body).await;
        reply.expect(400);
        assert_eq!(
            reply.fields(),
            [
                "allowed_domains[0]",
                "allowed_domains[2]",
                "allowed_key_types[0]",
                "allowed_profiles[0]",
                "description",
                "issuance_enabeld",
                "max_names",
                "max_validity_days",
                "name"
            ]
        );
        // A mistyped rule must never be dropped in silence.
        let mistyped = tenant.post(POLICIES, json!({"name": "x", "issuance_enabeld": false})).await;
        assert_eq!(mistyped.refusal(400), "unknown_field");
        assert_eq!(mistyped.fields(), ["issuance_enabeld"]);
        let camel = tenant.post(POLICIES, json!({"name": "x", "maxNames": 1})).await;
        assert_eq!(camel.refusal(400), "unknown_field");
    }

    async fn deleting_takes_the_policy_off_its_groups(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (gone, stays) = (tenant.make_policy("Gone", json!({})).await, tenant.make_policy("Stays", json!({})).await);
        let (web, mail) = (tenant.make_group("Web").await, tenant.make_group("Mail").await);
        for group in [&web, &mail] {
            tenant.assign(group, &gone).await.expect(200);
            tenant.assign(group, &stays).await.expect(200);
        }
        let shown = tenant.get(&path(&gone)).await.expect(200);
        assert_eq!(shown["assignedGroups"], json!([{"lookup": mail, "name": "Mail"}, {"lookup": web, "name": "Web"}]));
        let told = tenant.delete(&path(&gone)).await.expect(200);
        assert_eq!(told["success"], true);
        assert_eq!(tenant.delete(&path(&gone)).await.refusal(404), "policy_not_found");
        assert_eq!(tenant.get(&path(&gone)).await.refusal(404), "policy_not_found");
        for group in [web, mail] {
            let group = tenant.get(&format!("/v1/account-group/{group}")).await.expect(200);
            assert_eq!(group["policies"], json!([{"lookup": stays, "name": "Stays"}]));
        }
    }

    async fn a_lookup_of_another_kind_names_no_policy(world: World) {
        let tenant = world.tenant("DEMO").await;
        let group = tenant.make_group("Web").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let disguised = group.replace("grp_", "pol_");
        for wrong in [group.as_str(), account.as_str(), &disguised, "pol_", "Bare", "%20"] {
            for reply in [
                tenant.get(&path(wrong)).await,
                tenant.put(&path(wrong), json!({"nme": 1})).await,
                tenant.delete(&path(wrong)).await,
            ] {
                assert_eq!(reply.refusal(404), "policy_not_found", "{wrong}");
            }
        }
    }
}
