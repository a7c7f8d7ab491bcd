//! Decisions are made from the policies that a node remembers, and hold only if these are the policies in the database.

use chancery_testkit::{Address, TestStore};
use chancery_tests::{AcmeClient, Tenant, World, csr, identifiers, lookup, on_both_databases, settings};
use serde_json::{Value, json};

use crate::common::{finalize_path, order_path, stage, text};
use crate::policies::under;

/// Orders a name; the code of the refusal, if it is refused.
async fn order(tenant: &Tenant, account: &str, name: &str) -> Option<String> {
    let reply = tenant.post("/v1/order", json!({"account_lookup": account, "csr": csr(&[name])})).await;
    (reply.status != 201).then(|| reply.refusal(400))
}

/// Changes a policy, keeping its name.
async fn change(tenant: &Tenant, policy: &str, name: &str, rules: Value) {
    let mut body = rules;
    body["name"] = name.into();
    tenant.put(&format!("/v1/policy/{policy}"), body).await.expect(200);
}

fn refused() -> Option<String> {
    Some("policy_violation".to_owned())
}

/// Runs statements behind the back of the service.
fn execute(world: &World, statements: &str) {
    match world.store.address() {
        Address::Sqlite(path) => rusqlite::Connection::open(path).unwrap().execute_batch(statements).unwrap(),
        Address::Postgres(_) => panic!("a test of SQLite"),
    }
}

on_both_databases! {
    async fn an_order_sees_every_change_of_policies_that_was_acknowledged(world: World) {
        let (tenant, account) = stage(&world).await;
        let second = world.another_node(settings(), Vec::new()).await;
        let there = second.hears(&tenant);
        // The second node has read nothing yet, and takes the account for one without policies.
        let policy = under(&tenant, &account, "one", json!({"allowed_domains": ["*.a.test"]})).await;
        assert_eq!(order(&there, &account, "x.b.test").await, refused());
        assert_eq!(order(&there, &account, "x.a.test").await, None);
        // Stricter, looser, joined by another, deleted: what the second node remembers is outdated each time.
        change(&tenant, &policy, "one", json!({"allowed_domains": ["*.b.test"]})).await;
        assert_eq!(order(&there, &account, "y.a.test").await, refused());
        assert_eq!(order(&there, &account, "y.b.test").await, None);
        let other = under(&tenant, &account, "two", json!({"denied_domains": ["*.b.test"]})).await;
        assert_eq!(order(&there, &account, "z.b.test").await, refused());
        tenant.delete(&format!("/v1/policy/{other}")).await.expect(200);
        assert_eq!(order(&there, &account, "z.b.test").await, None);
        tenant.delete(&format!("/v1/policy/{policy}")).await.expect(200);
        assert_eq!(order(&there, &account, "z.a.test").await, None);
        under(&tenant, &account, "three", json!({"issuance_enabled": false})).await;
        assert_eq!(order(&there, &account, "last.test").await, refused());
    }

    async fn an_account_is_under_the_same_policies_by_all_its_names(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = tenant.make_account("a@example.com").await;
        let second = world.another_node(settings(), Vec::new()).await;
        let there = second.hears(&tenant);
        let policy = under(&tenant, &lookup(&account), "one", json!({"allowed_domains": ["*.a.test"]})).await;
        let kid = text(&account, "kid");
        let names = [("account_lookup", lookup(&account)), ("customer_email", "a@example.com".to_owned()), ("eab_kid", kid)];
        for (allowed, forbidden) in [("*.a.test", "x.b.test"), ("*.b.test", "x.a.test")] {
            change(&tenant, &policy, "one", json!({"allowed_domains": [allowed]})).await;
            for (member, value) in &names {
                let request = |name: &str| json!({*member: value, "csr": csr(&[name])});
                let reply = there.post("/v1/order", request(forbidden)).await;
                assert_eq!(reply.refusal(400), "policy_violation", "{member}");
                there.post("/v1/order", request(&allowed.replace('*', "y"))).await.expect(201);
            }
        }
    }

    async fn acme_sees_every_change_of_policies_that_was_acknowledged(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = tenant.make_account("a@example.com").await;
        let client = AcmeClient::registered(&world, &account).await;
        let second = world.another_node(settings(), Vec::new()).await;
        let client = client.speaking_to(second.stranger());
        let rejected = |reply: &chancery_tests::Reply| {
            assert_eq!(reply.status, 403, "{}", reply.text());
            assert_eq!(reply.json()["type"], "urn:ietf:params:acme:error:rejectedIdentifier");
        };
        let (url, made) = client.order(&["a.test"]).await;
        let policy = under(&tenant, &lookup(&account), "one", json!({"allowed_domains": ["*.b.test"]})).await;
        rejected(&client.post(&client.url("newOrder"), &json!({"identifiers": identifiers(&["x.test"])})).await);
        rejected(&client.post(&client.url("newAuthz"), &json!({"identifier": identifiers(&["x.test"])[0]})).await);
        change(&tenant, &policy, "one", json!({"allowed_domains": ["a.test"]})).await;
        client.order(&["a.test"]).await;
        // Finalizing an order that was ready before the change.
        client.answer_all(&made).await;
        second.work(None).await;
        assert_eq!(client.read(&url).await.expect(200)["status"], "ready");
        change(&tenant, &policy, "one", json!({"denied_domains": ["a.test"]})).await;
        rejected(&client.finalize(&made, &["a.test"]).await);
        change(&tenant, &policy, "one", json!({"allowed_key_types": ["rsa-2048"]})).await;
        let reply = client.finalize(&made, &["a.test"]).await;
        assert_eq!(reply.json()["type"], "urn:ietf:params:acme:error:badCSR", "{}", reply.text());
        change(&tenant, &policy, "one", json!({"allowed_key_types": ["ec-p256"]})).await;
        assert_eq!(client.finalize(&made, &["a.test"]).await.status, 200);
    }
}

#[tokio::test]
async fn rules_are_read_once_per_version() {
    let world = World::over(TestStore::sqlite(), settings(), Vec::new()).await;
    let (tenant, account) = stage(&world).await;
    let policy = under(&tenant, &account, "one", json!({"allowed_domains": ["*.a.test"]})).await;
    assert_eq!(order(&tenant, &account, "w.a.test").await, None);
    // Rules that nobody could read, under the version that was read before.
    execute(&world, "CREATE TABLE readable AS SELECT id, rules FROM policies; UPDATE policies SET rules = 'nonsense'");
    let ready = world.make_ready(&tenant, &account, &["x.a.test"]).await;
    tenant.post_empty(&finalize_path(&ready)).await.expect(202);
    world.work(None).await;
    assert_eq!(tenant.get(&order_path(&ready)).await.expect(200)["status"], "valid");
    assert_eq!(order(&tenant, &account, "x.b.test").await, refused());
    let question = json!({"account_lookup": account, "identifiers": ["x.a.test"]});
    assert_eq!(tenant.post("/v1/policy/evaluate", question.clone()).await.expect(200)["allowed"], true);
    // A new version is read; and the next one again.
    execute(&world, "UPDATE policies SET version = version + 1");
    assert_eq!(tenant.post("/v1/policy/evaluate", question.clone()).await.status, 500);
    let body = json!({"account_lookup": account, "csr": csr(&["y.a.test"])});
    assert_eq!(tenant.post("/v1/order", body).await.status, 500);
    execute(&world, "UPDATE policies SET rules = (SELECT rules FROM readable WHERE readable.id = policies.id)");
    change(&tenant, &policy, "one", json!({"allowed_domains": ["*.b.test"]})).await;
    assert_eq!(order(&tenant, &account, "x.a.test").await, refused());
    assert_eq!(order(&tenant, &account, "x.b.test").await, None);
}

#[tokio::test]
async fn an_order_under_policies_that_change_with_every_look_is_put_off() {
    let world = World::over(TestStore::sqlite(), settings(), Vec::new()).await;
    let (tenant, account) = stage(&world).await;
    under(&tenant, &account, "one", json!({"allowed_domains": ["*.a.test"]})).await;
    execute(
        &world,
        "PRAGMA legacy_alter_table = ON;
         ALTER TABLE policies RENAME TO steady;
         CREATE VIEW policies AS SELECT id, reseller_id, name, description, rules, created_at, updated_at,
             abs(random()) AS version FROM steady",
    );
    let body = json!({"account_lookup": account, "csr": csr(&["x.a.test"])});
    let reply = tenant.post("/v1/order", body).await;
    assert_eq!((reply.refusal(503).as_str(), reply.header("retry-after")), ("unavailable", Some("1")));
    execute(&world, "DROP VIEW policies; PRAGMA legacy_alter_table = ON; ALTER TABLE steady RENAME TO policies");
    assert_eq!(order(&tenant, &account, "x.a.test").await, None);
}
