//! `/v1/account-group`: groups themselves and the policies assigned to them.

use std::time::Duration;

use chancery_tests::{Tenant, lookup, on_both_databases};
use futures_util::future::join_all;
use serde_json::{Value, json};

const GROUPS: &str = "/v1/account-group";

fn path(lookup: &str) -> String {
    format!("{GROUPS}/{lookup}")
}

async fn shown(tenant: &Tenant, lookup: &str) -> Value {
    tenant.get(&path(lookup)).await.expect(200)
}

on_both_databases! {
    async fn a_group_is_created_shown_and_listed_in_one_shape(world: World) {
        let tenant = world.tenant("DEMO").await;
        let made = tenant.post(GROUPS, json!({"name": "Web hosting", "description": "All\nof it"})).await.expect(200);
        assert!(lookup(&made).starts_with("grp_"), "{made}");
        let expected = json!({
            "lookup": made["lookup"],
            "name": "Web hosting",
            "description": "All\nof it",
            "memberCount": 0,
            "policies": [],
            "createdAt": "2027-01-15T08:00:00Z",
            "updatedAt": "2027-01-15T08:00:00Z",
        });
        assert_eq!(made, expected);
        assert_eq!(shown(&tenant, &lookup(&made)).await, expected);
        assert_eq!(tenant.get(GROUPS).await.expect(200), json!({"items": [expected]}));

        // What is absent is left out.
        let bare = tenant.post(GROUPS, json!({"name": "Bare"})).await.expect(200);
        assert!(bare.get("description").is_none(), "{bare}");
    }

    async fn put_replaces_name_and_description_and_keeps_the_rest(world: World) {
        let tenant = world.tenant("DEMO").await;
        let made = tenant.post(GROUPS, json!({"name": "Old", "description": "words"})).await.expect(200);
        let group = lookup(&made);
        let policy = tenant.make_policy("Rules", json!({})).await;
        tenant.assign(&group, &policy).await.expect(200);
        tenant.add_members(&group, &tenant.make_accounts(2).await).await.expect(200);
        world.advance(Duration::from_secs(60));

        let replaced = tenant.put(&path(&group), json!({"name": "New"})).await.expect(200);
        let expected = json!({
            "lookup": group,
            "name": "New",
            "memberCount": 2,
            "policies": [{"lookup": policy, "name": "Rules"}],
            "createdAt": "2027-01-15T08:00:00Z",
            "updatedAt": "2027-01-15T08:01:00Z",
        });
        assert_eq!(replaced, expected);
        assert_eq!(shown(&tenant, &group).await, expected);
    }

    async fn a_name_belongs_to_one_group_of_a_reseller(world: World) {
        let (tenant, other) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        let (web, mail) = (tenant.make_group("Web").await, tenant.make_group("Mail").await);

        let taken = tenant.post(GROUPS, json!({"name": "Web"})).await;
        assert_eq!(taken.refusal(400), "name_in_use");
        assert_eq!(taken.fields(), ["name"]);
        let body = json!({"name": "Web", "description": "I want it"});
        assert_eq!(tenant.put(&path(&mail), body).await.refusal(400), "name_in_use");
        assert!(shown(&tenant, &mail).await.get("description").is_none(), "a refused change changed something");

        tenant.put(&path(&web), json!({"name": "Web", "description": "mine"})).await.expect(200);
        other.make_group("Web").await;
        tenant.make_policy("Web", json!({})).await;
        tenant.delete(&path(&web)).await.expect(200);
        tenant.make_group("Web").await;
    }

    async fn of_many_creations_at_the_same_instant_one_wins(world: World) {
        let tenant = world.tenant("DEMO").await;
        let create = |_| tenant.post(GROUPS, json!({"name": "Only one"}));
        let replies = join_all((0..16).map(create)).await;
        let made: Vec<_> = replies.iter().filter(|reply| reply.status == 200).collect();
        assert_eq!(made.len(), 1);
        for reply in replies.iter().filter(|reply| reply.status != 200) {
            assert_eq!(reply.refusal(400), "name_in_use");
        }
        assert_eq!(tenant.get(GROUPS).await.expect(200)["items"], json!([made[0].json()]));
    }

    async fn every_problem_of_a_body_is_told_at_once(world: World) {
        let tenant = world.tenant("DEMO").await;
        let group = tenant.make_group("Web").await;
        let long = "x".repeat(2001);
        let cases = [
            (json!({"name": "", "description": long}), "invalid_request", vec!["description", "name"]),
            (json!({"name": "é".repeat(256)}), "invalid_request", vec!["name"]),
            (json!({"name": " padded "}), "invalid_request", vec!["name"]),
            (json!({"name": "a\u{202e}b"}), "invalid_request", vec!["name"]),
            (json!({"name": "line\nbreak"}), "invalid_request", vec!["name"]),
            (json!({"name": null}), "invalid_request", vec!["name"]),
            (json!({"name": 5, "description": ["a"]}), "invalid_request", vec!["description", "name"]),
            (json!({}), "invalid_request", vec!["name"]),
            (
                json!({"name": "ok", "desciption": "typo", "members": []}),
                "unknown_field",
                vec!["desciption", "members"],
            ),
        ];
        for (body, code, expected) in cases {
            for reply in [tenant.post(GROUPS, body.clone()).await, tenant.put(&path(&group), body.clone()).await] {
                assert_eq!(reply.refusal(400), code, "{body}");
                assert_eq!(reply.fields(), expected, "{body}");
            }
        }
        tenant.post(GROUPS, json!({"name": "é".repeat(255), "description": "y".repeat(2000)})).await.expect(200);
        assert_eq!(shown(&tenant, &group).await["name"], "Web");
    }

    async fn deleting_a_group_keeps_its_accounts_and_policies(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (group, stays) = (tenant.make_group("Goes").await, tenant.make_group("Stays").await);
        let policy = tenant.make_policy("Rules", json!({})).await;
        let accounts = tenant.make_accounts(2).await;
        for group in [&group, &stays] {
            tenant.assign(group, &policy).await.expect(200);
            tenant.add_members(group, &accounts).await.expect(200);
        }
        let told = tenant.delete(&path(&group)).await.expect(200);
        assert_eq!(told["success"], true);
        assert!(told["message"].as_str().unwrap().contains(&group));

        assert_eq!(tenant.get(&path(&group)).await.refusal(404), "group_not_found");
        assert_eq!(tenant.delete(&path(&group)).await.refusal(404), "group_not_found");
        for account in &accounts {
            let account = tenant.get(&format!("/v1/account/{account}")).await.expect(200);
            assert_eq!(account["status"], "active");
            assert_eq!(account["groups"], json!([{"lookup": stays, "name": "Stays"}]));
        }
        let policy = tenant.get(&format!("/v1/policy/{policy}")).await.expect(200);
        assert_eq!(policy["assignedGroups"], json!([{"lookup": stays, "name": "Stays"}]));
        assert_eq!(shown(&tenant, &stays).await["memberCount"], 2);
    }

    async fn a_policy_is_assigned_once_however_often_and_taken_off_once(world: World) {
        let tenant = world.tenant("DEMO").await;
        let group = tenant.make_group("Web").await;
        let (late, early) = (tenant.make_policy("B", json!({})).await, tenant.make_policy("A", json!({})).await);
        for policy in [&late, &early, &late] {
            assert_eq!(tenant.assign(&group, policy).await.expect(200)["success"], true);
        }
        let both = json!([{"lookup": early, "name": "A"}, {"lookup": late, "name": "B"}]);
        assert_eq!(shown(&tenant, &group).await["policies"], both);
        assert_eq!(tenant.get(GROUPS).await.expect(200)["items"][0]["policies"], both);

        let assignment = |policy: &str| format!("{}/policy/{policy}", path(&group));
        assert_eq!(tenant.delete(&assignment(&late)).await.expect(200)["success"], true);
        assert_eq!(tenant.delete(&assignment(&late)).await.refusal(404), "policy_not_found");
        assert_eq!(shown(&tenant, &group).await["policies"], json!([{"lookup": early, "name": "A"}]));

        tenant.delete(&format!("/v1/policy/{early}")).await.expect(200);
        assert_eq!(shown(&tenant, &group).await["policies"], json!([]));
        assert_eq!(tenant.delete(&assignment(&early)).await.refusal(404), "policy_not_found");
    }

    async fn a_lookup_of_another_kind_names_nothing(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (group, policy) = (tenant.make_group("Web").await, tenant.make_policy("Rules", json!({})).await);
        let account = lookup(&tenant.make_account("a@example.com").await);
        let disguised = policy.replace("pol_", "grp_");
        for wrong in
            [policy.as_str(), account.as_str(), &disguised, "Web", "1", "grp_", &group.to_uppercase(), "%00", "a%2Fb"]
        {
            let refused = if wrong == "%00" { (400, "invalid_request") } else { (404, "group_not_found") };
            for reply in [
                tenant.get(&path(wrong)).await,
                tenant.put(&path(wrong), json!({"name": "x"})).await,
                tenant.delete(&path(wrong)).await,
                tenant.get(&format!("{}/member", path(wrong))).await,
                tenant.assign(wrong, &policy).await,
            ] {
                assert_eq!(reply.refusal(refused.0), refused.1, "{wrong}");
            }
        }
        for wrong in [group.as_str(), account.as_str(), "Rules"] {
            assert_eq!(tenant.assign(&group, wrong).await.refusal(404), "policy_not_found");
        }
    }

    async fn a_group_and_a_policy_of_two_resellers_do_not_meet(world: World) {
        let (mine, theirs) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        let (my_group, their_group) = (mine.make_group("Web").await, theirs.make_group("Web").await);
        let (my_policy, their_policy) =
            (mine.make_policy("P", json!({})).await, theirs.make_policy("P", json!({})).await);
        assert_eq!(mine.assign(&my_group, &their_policy).await.refusal(404), "policy_not_found");
        assert_eq!(mine.assign(&their_group, &my_policy).await.refusal(404), "group_not_found");
        assert_eq!(mine.assign(&their_group, &their_policy).await.refusal(404), "group_not_found");
        assert_eq!(theirs.get(&path(&their_group)).await.expect(200)["policies"], json!([]));
    }

    async fn what_is_not_there_is_told_before_what_is_wrong_with_the_body(world: World) {
        let tenant = world.tenant("DEMO").await;
        let gone = tenant.make_group("Gone").await;
        tenant.delete(&path(&gone)).await.expect(200);
        assert_eq!(tenant.put(&path(&gone), json!({"nme": 1})).await.refusal(404), "group_not_found");
        assert_eq!(tenant.post(&format!("{}/member", path(&gone)), json!([])).await.refusal(404), "group_not_found");
    }
}
