//! Every change leaves one record: who, from where, what, before and after, and no secret.

use std::time::Duration;

use chancery_domain::{ClientId, Name, ScopeSet};
use chancery_store::{AuditFilter, Outcome};
use chancery_tests::{Tenant, lookup, on_both_databases};
use http::Method;
use serde_json::{Value, json};

use crate::trail::{ADDRESS, Writer, about, detail, done, from_an_address, named, records};

/// A change, and what is to be written about it: its action, its subject (where that is not what was made), and parts
/// of its detail.
struct Change {
    method: Method,
    path: String,
    body: Option<Value>,
    action: &'static str,
    subject: Option<String>,
    detail: Value,
}

fn change(
    method: Method,
    path: &str,
    body: Value,
    action: &'static str,
    subject: Option<&str>,
    detail: Value,
) -> Change {
    let body = Some(body).filter(|body| !body.is_null());
    Change { method, path: path.to_owned(), body, action, subject: subject.map(str::to_owned), detail }
}

/// Whether all of `part` is in `whole`.
fn holds(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(name, value)| whole.get(name).is_some_and(|found| holds(found, value)))
        }
        (whole, part) => whole == part,
    }
}

/// Every kind of change that a reseller can make to what it has.
async fn changes(tenant: &Tenant) -> Vec<Change> {
    let (post, put, patch, delete) = (Method::POST, Method::PUT, Method::PATCH, Method::DELETE);
    let account = tenant.make_account("a@example.com").await;
    let (a, kid) = (lookup(&account), account["kid"].as_str().unwrap());
    let (g, h, p) =
        (tenant.make_group("G").await, tenant.make_group("H").await, tenant.make_policy("P", json!({})).await);
    let (group, policy, path) =
        (format!("/v1/account-group/{g}"), format!("/v1/policy/{p}"), format!("/v1/account/{a}"));
    let (members, assignment) = (format!("{group}/member"), format!("{group}/policy/{p}"));
    let one = || json!({"accounts": [a]});
    vec![
        change(
            post.clone(),
            "/v1/account",
            json!({"customer_email": "n@example.com", "external_id": "x"}),
            "account.create",
            None,
            json!({"after": {"email": "n@example.com", "externalId": "x", "status": "active"}}),
        ),
        change(
            patch.clone(),
            &path,
            json!({"customer_email": "b@example.com"}),
            "account.change",
            Some(&a),
            json!({"before": {"email": "a@example.com"}, "after": {"email": "b@example.com"}}),
        ),
        change(
            post.clone(),
            &format!("{path}/eab-credential"),
            json!({"label": "web"}),
            "eab_credential.create",
            None,
            json!({"account": a, "after": {"label": "web", "status": "unused"}}),
        ),
        change(
            post.clone(),
            "/v1/account-group",
            json!({"name": "New"}),
            "account_group.create",
            None,
            json!({"after": {"name": "New"}}),
        ),
        change(
            put.clone(),
            &group,
            json!({"name": "G2"}),
            "account_group.replace",
            Some(&g),
            json!({"before": {"name": "G"}, "after": {"name": "G2"}}),
        ),
        change(
            post.clone(),
            "/v1/policy",
            json!({"name": "New", "max_names": 3}),
            "policy.create",
            None,
            json!({"after": {"name": "New", "rules": {"max_names": 3}}}),
        ),
        change(
            put,
            &policy,
            json!({"name": "P", "allowed_domains": ["a.test"]}),
            "policy.replace",
            Some(&p),
            json!({"before": {"rules": {}}, "after": {"rules": {"allowed_domains": ["a.test"]}}}),
        ),
        change(post.clone(), &assignment, Value::Null, "account_group.assign_policy", Some(&g), json!({"policy": p})),
        change(
            delete.clone(),
            &assignment,
            Value::Null,
            "account_group.unassign_policy",
            Some(&g),
            json!({"policy": p}),
        ),
        change(post, &members, one(), "account_group.add_members", Some(&g), json!({"accounts": [a]})),
        change(
            patch,
            &format!("/v1/account-group/{g}/{h}/member"),
            one(),
            "account_group.move_members",
            Some(&g),
            json!({"accounts": [a], "to": h}),
        ),
        change(
            delete.clone(),
            &format!("/v1/account-group/{h}/member"),
            one(),
            "account_group.remove_members",
            Some(&h),
            json!({"accounts": [a]}),
        ),
        change(delete.clone(), &policy, Value::Null, "policy.delete", Some(&p), json!({"before": {"name": "P"}})),
        change(
            delete.clone(),
            &group,
            Value::Null,
            "account_group.delete",
            Some(&g),
            json!({"before": {"name": "G2"}}),
        ),
        change(
            delete.clone(),
            &format!("/v1/eab-credential/{kid}"),
            Value::Null,
            "eab_credential.revoke",
            Some(kid),
            json!({"before": {"status": "unused"}, "after": {"status": "revoked"}}),
        ),
        change(
            delete,
            &path,
            Value::Null,
            "account.terminate",
            Some(&a),
            json!({"before": {"status": "active"}, "after": {"status": "terminated"}}),
        ),
    ]
}

on_both_databases! {
    async fn every_change_is_written_down_once_with_who_and_what(world: World) {
        let world = from_an_address(world);
        let tenant = world.tenant("DEMO").await;
        let reseller = world.services.operator.reseller("DEMO").await.unwrap().id;
        let changes = changes(&tenant).await;
        let before = done(&world).await;
        for (number, change) in changes.iter().enumerate() {
            let id = format!("change-{number}");
            world.advance(Duration::from_secs(1));
            let reply = named(&tenant, &id, change.method.clone(), &change.path, change.body.clone()).await;
            assert!(reply.status.is_success(), "{}: {}", change.action, reply.text());
            let [record] = &about(&world, &id).await[..] else { panic!("{}: not one record", change.action) };
            let made = || {
                if change.action.starts_with("eab") {
                    reply.json()["kid"].clone()
                } else {
                    reply.json()["lookup"].clone()
                }
            };
            let subject = change.subject.clone().unwrap_or_else(|| made().as_str().unwrap().to_owned());
            assert_eq!((record.action.as_str(), &record.subject), (change.action, &subject));
            assert_eq!((record.actor_kind.as_str(), &record.actor), ("client", &tenant.client_id), "{}", change.action);
            assert_eq!((record.address.as_str(), record.reseller), (ADDRESS, Some(reseller)), "{}", change.action);
            assert_eq!((record.outcome, record.at.as_secs()), (Outcome::Done, world.services.now().as_secs()));
            assert!(holds(&detail(record), &change.detail), "{}: {}", change.action, record.detail);
        }
        assert_eq!(done(&world).await, before + changes.len());
    }

    async fn what_changes_nothing_is_not_written_down_as_a_change(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (group, policy) = (tenant.make_group("G").await, tenant.make_policy("P", json!({})).await);
        let accounts = tenant.make_accounts(2).await;
        tenant.add_members(&group, &accounts).await.expect(200);
        tenant.assign(&group, &policy).await.expect(200);
        let made = tenant
            .send(Method::POST, "/v1/account-group", &[("idempotency-key", "k")], Some(&json!({"name": "K"})))
            .await;
        made.expect(200);
        let before = done(&world).await;

        for path in ["/v1/account", "/v1/policy", "/v1/account-group", "/v1/eab-credential"] {
            tenant.get(path).await.expect(200);
        }
        tenant
            .post("/v1/policy/evaluate", json!({"account_lookup": accounts[0], "identifiers": ["a.test"]}))
            .await
            .expect(200);
        // Again what is so already, and a replay.
        tenant.assign(&group, &policy).await.expect(200);
        tenant.add_members(&group, &accounts).await.expect(200);
        tenant
            .patch(&format!("/v1/account-group/{group}/{group}/member"), json!({"accounts": accounts}))
            .await
            .expect(200);
        let again = tenant
            .send(Method::POST, "/v1/account-group", &[("idempotency-key", "k")], Some(&json!({"name": "K"})))
            .await;
        assert_eq!(again.expect(200), made.json());
        // Units that fail, some of them half way.
        tenant.post("/v1/account-group", json!({"name": "G"})).await.expect(400);
        tenant.put(&format!("/v1/account-group/{group}"), json!({"name": "K"})).await.expect(400);
        tenant.post("/v1/policy", json!({"name": "P"})).await.expect(400);
        tenant.post("/v1/account", json!({"customer_email": "customer-0@example.com"})).await.expect(409);
        let groups = json!([group, "grp_00000000000000000000000000"]);
        tenant
            .post("/v1/account", json!({"customer_email": "n@example.com", "account_groups": groups}))
            .await
            .expect(404);
        let some = json!({"accounts": [accounts[0], "nobody@example.com"]});
        let members = format!("/v1/account-group/{group}/member");
        tenant.post(&members, some.clone()).await.expect(404);
        tenant.delete_with(&members, some.clone()).await.expect(404);
        let other = tenant.make_group("Other").await;
        let from = format!("/v1/account-group/{other}/{group}/member");
        tenant.patch(&from, json!({"accounts": accounts})).await.expect(404);
        tenant.delete(&format!("/v1/account-group/{group}/policy/pol_00000000000000000000000000")).await.expect(404);
        assert_eq!(done(&world).await, before + 1, "only the one group more");
    }

    async fn no_secret_is_ever_written_down(world: World) {
        let writer = Writer::start(&world);
        let operator = &world.services.operator;
        let tenant = world.tenant("DEMO").await;
        let client: ClientId = tenant.client_id.parse().unwrap();
        let rotated = operator.begin_rotation(client).await.map(|made| made.secret.reveal().to_owned()).unwrap();
        let key = operator.create_api_key("DEMO", Name::parse("k").unwrap(), ScopeSet::all()).await;
        let key = key.map(|made| made.text.reveal().to_owned()).unwrap();
        let account = tenant
            .send(
                Method::POST,
                "/v1/account",
                &[("idempotency-key", "k")],
                Some(&json!({"customer_email": "a@example.com"})),
            )
            .await
            .expect(201);
        let path = format!("/v1/account/{}/eab-credential", lookup(&account));
        let further = tenant.with_authorization(&key).post_empty(&path).await.expect(201);
        // Refusals of one who has mixed his papers up.
        let token = tenant.authorization.clone().unwrap();
        let token = token.strip_prefix("Bearer ").unwrap();
        let hmac = further["hmacKey"].as_str().unwrap().to_owned();
        tenant.with_authorization(&format!("Bearer {rotated}")).get("/v1/account").await;
        tenant.with_authorization(&format!("Basic {token}")).get("/v1/account").await;
        tenant.with_authorization(&key.replace("chk_", "chk")).get("/v1/account").await;
        tenant.with_authorization(&format!("{key}x")).get("/v1/account").await;
        tenant.ask_token(json!({"client_id": rotated, "client_secret": tenant.client_id})).await.expect(401);
        tenant.ask_token(json!({"scope": rotated})).await.expect(400);
        tenant.ask_token(json!({"audience": rotated})).await.expect(400);
        tenant.ask_token(json!({"grant_type": rotated})).await.expect(400);
        tenant.ask_token(json!({"client_secret": ["not", rotated]})).await.expect(400);
        tenant.post("/v1/account", json!({"customer_email": hmac, "hmacKey": hmac})).await.expect(400);
        tenant.post("/v1/policy", json!({"name": "x", "allowed_key_types": [hmac]})).await.expect(400);
        tenant.post("/v1/policy", json!({"name": "x", hmac.as_str(): 1})).await.expect(400);
        tenant.delete(&format!("/v1/eab-credential/{hmac}")).await.expect(404);
        let members = format!("/v1/account-group/{}/member", tenant.make_group("G").await);
        tenant.post(&members, json!({"accounts": [hmac, rotated]})).await.expect(404);
        tenant.post(&path, json!({"max_bindings": hmac})).await.expect(400);
        tenant.delete(&format!("/v1/account/{}", lookup(&account))).await.expect(200);
        writer.stop().await;

        let written = format!("{:?}", records(&world, AuditFilter::default()).await);
        let secrets = [&tenant.client_secret, &rotated, &key, &hmac, token, account["hmacKey"].as_str().unwrap()];
        for secret in secrets {
            assert!(secret.len() > 40);
            // Neither whole nor a good part of it.
            let part = &secret[secret.len() - 20..];
            let context = written.find(part).map(|place| written[..place].chars().rev().take(200).collect::<Vec<_>>());
            let context: Option<String> = context.map(|context| context.into_iter().rev().collect());
            assert_eq!(context, None, "a secret was written down");
        }
    }
}
