//! What policies and quotas refuse is told, whichever door was asked and however far an order has come. Nobody writes
//! anything down behind the answers here: what is told was durable before.

use chancery_testkit::Address;
use chancery_tests::{AcmeClient, Tenant, World, csr, identifiers, lookup, on_both_databases};
use serde_json::{Value, json};

use crate::common::{page, texts, types, whole};

/// An account, as it was made.
async fn account(tenant: &Tenant) -> (Value, String) {
    let made = tenant.make_account("a@example.com").await;
    let account = lookup(&made);
    (made, account)
}

/// Puts an account under a policy with these rules; the policy's lookup.
async fn under(tenant: &Tenant, account: &str, rules: Value) -> String {
    let (group, policy) = (tenant.make_group("G").await, tenant.make_policy("P", rules).await);
    tenant.add_members(&group, &[account.to_owned()]).await.expect(200);
    tenant.assign(&group, &policy).await.expect(200);
    policy
}

/// The only event of a type, which is about these orders and names.
async fn told_once(tenant: &Tenant, kind: &str, order: Option<&str>, names: &[&str]) -> Value {
    let told = page(tenant, &format!("type={kind}")).await;
    let [event] = &told["items"].as_array().unwrap()[..] else { panic!("not one {kind}: {told}") };
    assert_eq!(event["data"].get("order").map(|order| order.as_str().unwrap()), order, "{event}");
    assert_eq!((&event["data"]["names"], &event["data"]["profile"]), (&json!(names), &json!("TLS-90d")), "{event}");
    event.clone()
}

/// The last part of a URL.
fn last(url: &str) -> &str {
    url.rsplit('/').next().unwrap()
}

/// An order through ACME that can be finalized, and its lookup.
async fn ready(world: &World, client: &AcmeClient, name: &str) -> (String, Value) {
    let (url, order) = client.order(&[name]).await;
    client.answer_all(&order).await;
    world.work(None).await;
    (last(&url).to_owned(), client.wait_for(&url, "ready").await)
}

on_both_databases! {
    async fn orders_that_policies_refuse_are_told_with_the_rules(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (made, account) = account(&tenant).await;
        let policy = under(&tenant, &account, json!({"allowed_domains": ["example.com"]})).await;
        let body = json!({"account_lookup": account, "csr": csr(&["www.elsewhere.test"])});
        assert_eq!(tenant.post("/v1/order", body).await.refusal(400), "policy_violation");
        let client = AcmeClient::registered(&world, &made).await;
        let names = identifiers(&["mail.elsewhere.test"]);
        client.post(&client.url("newOrder"), &json!({"identifiers": names})).await.expect(403);
        let ahead = identifiers(&["ahead.elsewhere.test"]);
        client.post(&client.url("newAuthz"), &json!({"identifier": ahead[0]})).await.expect(403);
        let told = whole(&tenant, "type=policy.refused").await;
        assert_eq!(texts(&told, "account"), [account.as_str(), &account, &account]);
        let names = ["www.elsewhere.test", "mail.elsewhere.test", "ahead.elsewhere.test"];
        for (event, name) in told["items"].as_array().unwrap().iter().zip(names) {
            assert_eq!(event["data"]["names"], json!([name]));
            assert_eq!(event["data"].get("order"), None, "{event}");
            assert_eq!(event["data"]["problems"][0]["policy"], policy.as_str(), "{event}");
            assert_eq!(event["data"]["problems"][0]["code"], "allowed_domains", "{event}");
        }
    }

    async fn a_quota_that_is_used_up_is_told(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (_, account) = account(&tenant).await;
        under(&tenant, &account, json!({"max_certificates_per_day": 1})).await;
        world.issue(&tenant, &account, &["a.test"]).await;
        let body = json!({"account_lookup": account, "csr": csr(&["b.test"])});
        assert_eq!(tenant.post("/v1/order", body).await.refusal(429), "quota_exceeded");
        let event = told_once(&tenant, "quota.exceeded", None, &["b.test"]).await;
        assert_eq!(event["subject"], account.as_str());
        assert!(event["data"]["retryAfter"].as_u64().unwrap() > 0, "{event}");
    }

    async fn a_challenge_that_policies_have_come_to_forbid_is_told(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (_, account) = account(&tenant).await;
        let order = tenant.make_order(&account, &["a.test", "b.test"]).await;
        let codes = tenant.codes(&lookup(&order["authorizations"][1])).await;
        let http = codes.iter().find(|code| code["type"] == "http-01").unwrap();
        under(&tenant, &account, json!({"allowed_challenge_types": ["dns-01"]})).await;
        let chosen = tenant.post_empty(&format!("/v1/challenge/{}", lookup(http))).await;
        assert_eq!(chosen.refusal(400), "policy_violation");
        let name = order["authorizations"][1]["identifier"]["value"].as_str().unwrap();
        told_once(&tenant, "policy.refused", Some(&lookup(&order)), &[name]).await;
    }

    async fn what_is_refused_when_acme_finalizes_is_told(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (made, account) = account(&tenant).await;
        let client = AcmeClient::registered(&world, &made).await;
        let (first, second) = (ready(&world, &client, "a.test").await, ready(&world, &client, "b.test").await);
        let policy = under(&tenant, &account, json!({"allowed_key_types": ["rsa-2048"]})).await;
        client.finalize(&first.1, &["a.test"]).await.expect(400);
        let event = told_once(&tenant, "policy.refused", Some(&first.0), &["a.test"]).await;
        assert_eq!(event["data"]["problems"][0]["policy"], policy.as_str(), "{event}");
        assert_eq!(tenant.show_order(&first.0).await["status"], "ready");
        let rules = json!({"name": "P", "max_certificates_per_day": 1});
        tenant.put(&format!("/v1/policy/{policy}"), rules).await.expect(200);
        client.finalize(&first.1, &["a.test"]).await.expect(200);
        world.work(None).await;
        client.finalize(&second.1, &["b.test"]).await.expect(429);
        told_once(&tenant, "quota.exceeded", Some(&second.0), &["b.test"]).await;
        // What is wrong for another reason is no policy's refusal.
        client.finalize(&second.1, &["c.test"]).await.expect(400);
        told_once(&tenant, "policy.refused", Some(&first.0), &["a.test"]).await;
    }

    async fn an_order_that_a_policy_ends_or_a_quota_puts_back_is_told_with_that(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (_, account) = account(&tenant).await;
        world.make_ready(&tenant, &account, &["a.test"]).await;
        let policy = under(&tenant, &account, json!({"max_certificates_per_day": 1})).await;
        let [counted, over, barred] = [(); 3].map(|()| tenant.make_order(&account, &["a.test"]));
        let [counted, over, barred] = [counted.await, over.await, barred.await].map(|order| lookup(&order));
        for order in [&counted, &over] {
            tenant.post_empty(&format!("/v1/order/{order}/finalize")).await.expect(202);
        }
        // Both fitted when they were finalized.
        world.services.issuance.prepare(counted.parse().unwrap()).await.unwrap();
        world.work(None).await;
        told_once(&tenant, "quota.exceeded", Some(&over), &["a.test"]).await;
        let back = page(&tenant, "type=order.ready&limit=1").await;
        assert_eq!((&back["items"][0]["subject"], &back["items"][0]["data"]["because"]), (&json!(over), &json!("quota")));
        let rules = json!({"name": "P", "denied_domains": ["a.test"]});
        tenant.put(&format!("/v1/policy/{policy}"), rules).await.expect(200);
        tenant.post_empty(&format!("/v1/order/{barred}/finalize")).await.expect(202);
        world.work(None).await;
        let event = told_once(&tenant, "policy.refused", Some(&barred), &["a.test"]).await;
        assert_eq!(event["data"]["problems"][0]["code"], "denied_domains", "{event}");
        let ends = whole(&tenant, "type=order.invalid").await;
        assert_eq!(texts(&ends, "subject"), [barred.as_str()]);
        let last = types(&page(&tenant, "limit=2").await);
        assert!(last.contains(&"policy.refused".to_owned()) && last.contains(&"order.invalid".to_owned()), "{last:?}");
    }

    async fn a_draft_that_lasts_longer_than_policies_have_come_to_allow_is_told(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (_, account) = account(&tenant).await;
        let order = lookup(&world.make_ready(&tenant, &account, &["a.test"]).await);
        tenant.post_empty(&format!("/v1/order/{order}/finalize")).await.expect(202);
        world.services.issuance.prepare(order.parse().unwrap()).await.unwrap();
        under(&tenant, &account, json!({"max_validity_days": 10})).await;
        world.work(None).await;
        assert_eq!(tenant.show_order(&order).await["status"], "invalid");
        let event = told_once(&tenant, "policy.refused", Some(&order), &["a.test"]).await;
        assert_eq!(event["data"]["problems"][0]["code"], "max_validity_days", "{event}");
    }
}

/// Whoever hears that something was refused can rely on finding it in the feed.
#[tokio::test]
async fn a_refusal_that_cannot_be_written_down_is_not_answered() {
    let world = World::sqlite().await;
    let tenant = world.tenant("DEMO").await;
    let (_, account) = account(&tenant).await;
    under(&tenant, &account, json!({"allowed_domains": ["example.com"]})).await;
    let Address::Sqlite(file) = world.store.address() else { panic!("not SQLite") };
    let full = "CREATE TRIGGER full BEFORE INSERT ON audit WHEN NEW.action = 'order.refuse'
        BEGIN SELECT RAISE(ABORT, 'no room'); END";
    rusqlite::Connection::open(file).unwrap().execute_batch(full).unwrap();
    let body = json!({"account_lookup": account, "csr": csr(&["www.elsewhere.test"])});
    let answer = tenant.post("/v1/order", body).await;
    assert!(answer.status.is_server_error(), "{} {}", answer.status, answer.text());
}
