//! What policies refuse is told, whichever door was asked.

use chancery_tests::{AcmeClient, identifiers, lookup, on_both_databases};
use serde_json::json;

use crate::common::{page, texts, write_refusals};

on_both_databases! {
    async fn orders_that_policies_refuse_are_told_with_the_rules(world: World) {
        let tenant = world.tenant("DEMO").await;
        let made = tenant.make_account("a@example.com").await;
        let account = lookup(&made);
        let group = tenant.make_group("G").await;
        let policy = tenant.make_policy("P", json!({"allowed_domains": ["example.com"]})).await;
        tenant.add_members(&group, std::slice::from_ref(&account)).await.expect(200);
        tenant.assign(&group, &policy).await.expect(200);
        let body = json!({"account_lookup": account, "csr": chancery_tests::csr(&["www.elsewhere.test"])});
        assert_eq!(tenant.post("/v1/order", body).await.refusal(400), "policy_violation");
        let mut client = AcmeClient::at(world.stranger(), "TLS-90d").await;
        client.register(&made).await.expect(201);
        let names = identifiers(&["mail.elsewhere.test"]);
        client.post(&client.url("newOrder"), &json!({"identifiers": names})).await.expect(403);
        write_refusals(&world).await;
        let told = page(&tenant, "order=oldest&type=policy.refused").await;
        assert_eq!(texts(&told, "account"), [account.as_str(), &account]);
        for (event, name) in told["items"].as_array().unwrap().iter().zip(["www.elsewhere.test", "mail.elsewhere.test"]) {
            assert_eq!(event["data"]["names"], json!([name]));
            assert_eq!(event["data"]["problems"][0]["policy"], policy.as_str(), "{event}");
            assert_eq!(event["data"]["problems"][0]["code"], "allowed_domains", "{event}");
        }
    }

    async fn a_quota_that_is_used_up_is_told(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let group = tenant.make_group("G").await;
        let policy = tenant.make_policy("P", json!({"max_certificates_per_day": 1})).await;
        tenant.add_members(&group, std::slice::from_ref(&account)).await.expect(200);
        tenant.assign(&group, &policy).await.expect(200);
        world.issue(&tenant, &account, &["a.test"]).await;
        let body = json!({"account_lookup": account, "csr": chancery_tests::csr(&["b.test"])});
        assert_eq!(tenant.post("/v1/order", body).await.refusal(429), "quota_exceeded");
        write_refusals(&world).await;
        let told = page(&tenant, "type=quota.exceeded").await;
        assert_eq!(texts(&told, "subject"), [account.as_str()]);
        assert!(told["items"][0]["data"]["retryAfter"].as_u64().unwrap() > 0, "{told}");
    }
}
