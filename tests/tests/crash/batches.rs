//! I5: a change that is applied in batches survives a kill before its first batch and between two of them. What was acknowledged
//! holds at once, and another process applies the rest.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use chancery_domain::{AcmeAccountId, GroupId, OrderId, OrderStatus, PageRequest};
use chancery_service::fault::{self, Step};
use chancery_service::{JobKind, Origin};
use chancery_store::{OrderFilter, Tx};
use chancery_testkit::Builders;
use chancery_tests::{AcmeClient, Node, Tenant, World, lookup, on_both_databases, settings};
use http::Method;
use serde_json::{Value, json};

use super::{AUTHORIZATION, DATABASE, FOR_BATCHES, KEK, SEED, SIGKILL, STEP, database};

/// What the child is to change: a request to the reseller API, or an authorization of an ACME account to deactivate.
const CHANGE: &str = "CHANCERY_CRASH_CHANGE";
/// Several batches of rows, whatever they are.
const MANY: usize = 250;

on_both_databases! {
    async fn i5_a_termination_survives_a_kill_between_two_batches(world: World) {
        let tenant = world.tenant("DEMO").await;
        for step in FOR_BATCHES {
            let account = lookup(&tenant.make_account("a@example.com").await);
            let order: OrderId = lookup(&tenant.make_order(&account, &["a.test"]).await).parse().unwrap();
            world.copy_order(order, MANY - 1).await;
            kill_at(&world, &tenant, &json!({"method": "DELETE", "path": format!("/v1/account/{account}")}), step);
            let left = open(&world, &account).await;
            assert!((1..=MANY).contains(&left), "{step:?}: {left} orders are left");
            assert_eq!(tenant.get(&format!("/v1/account/{account}")).await.expect(200)["status"], "terminated");
            let finalized = tenant.post_empty(&format!("/v1/order/{order}/finalize")).await;
            assert_eq!(finalized.status, 410, "{step:?}: {}", finalized.text());
            bring_to_an_end(&world).await;
            assert_eq!(open(&world, &account).await, 0, "{step:?}");
        }
    }

    async fn i5_a_deactivation_survives_a_kill_between_two_batches(world: World) {
        let tenant = world.tenant("DEMO").await;
        let credential = tenant.make_account("a@example.com").await;
        let client = AcmeClient::registered(&world, &credential).await;
        for step in FOR_BATCHES {
            let (_, order) = client.order(&["a.test"]).await;
            client.answer_all(&order).await;
            world.work(None).await;
            let (url, ready) = client.order(&["a.test"]).await;
            assert_eq!(ready["status"], "ready", "{step:?}: {ready}");
            world.copy_order(last(&url).parse().unwrap(), MANY - 1).await;
            let account = last(client.kid.as_ref().unwrap());
            let authorization = last(order["authorizations"][0].as_str().unwrap());
            kill_at(&world, &tenant, &json!({"account": account, "authorization": authorization}), step);
            // Nothing is issued by it any more, though no batch may have reached the order.
            assert_eq!(client.read(&url).await.expect(200)["status"], "invalid", "{step:?}");
            assert_eq!(client.finalize(&ready, &["a.test"]).await.status, 403, "{step:?}");
            assert!(open(&world, &lookup(&credential)).await > 0, "{step:?}");
            bring_to_an_end(&world).await;
            assert_eq!(open(&world, &lookup(&credential)).await, 0, "{step:?}");
        }
    }

    async fn i5_groups_and_their_members_survive_a_kill_between_two_batches(world: World) {
        let tenant = world.tenant("DEMO").await;
        let accounts = tenant.make_accounts(MANY).await;
        for step in FOR_BATCHES {
            let (one, two) = (tenant.make_group("one").await, tenant.make_group("two").await);
            let path = format!("/v1/account-group/{one}/member");
            // Whoever asks for it is not answered before all is done, and may ask again.
            kill_at(&world, &tenant, &json!({"method": "POST", "path": path, "body": {"accounts": accounts}}), step);
            bring_to_an_end(&world).await;
            assert_eq!(members(&tenant, &one).await, MANY, "{step:?}");
            tenant.add_members(&one, &accounts).await.expect(200);
            let path = format!("/v1/account-group/{one}/{two}/member");
            kill_at(&world, &tenant, &json!({"method": "PATCH", "path": path, "body": {"accounts": accounts}}), step);
            bring_to_an_end(&world).await;
            assert_eq!((members(&tenant, &one).await, members(&tenant, &two).await), (0, MANY), "{step:?}");
            kill_at(&world, &tenant, &json!({"method": "DELETE", "path": format!("/v1/account-group/{two}")}), step);
            assert_eq!(tenant.get(&format!("/v1/account-group/{two}")).await.status, 404, "{step:?}");
            bring_to_an_end(&world).await;
            let group: GroupId = two.parse().unwrap();
            let left = world.store.write(move |tx: &mut Tx<'_>| tx.delete_members(group, 1)).await.unwrap();
            assert_eq!(left, 0, "{step:?}: a membership is left");
            tenant.delete(&format!("/v1/account-group/{one}")).await.expect(200);
        }
    }

    async fn i5_the_deletion_of_a_policy_survives_a_kill_between_two_batches(world: World) {
        let tenant = world.tenant("DEMO").await;
        for step in FOR_BATCHES {
            let policy = tenant.make_policy("policy", json!({})).await;
            let (id, code) = (policy.parse().unwrap(), tenant.code.clone());
            let make = Builders::seeded(step as u32);
            let assign = move |tx: &mut Tx<'_>| {
                let reseller = tx.reseller_by_code(&code)?.unwrap().id;
                for _ in 0..MANY {
                    let group = make.group(reseller);
                    assert!(tx.insert_group(&group)? && tx.assign_policy(group.id, id, make.now())?);
                }
                Ok::<_, chancery_store::StoreError>(())
            };
            world.store.write(assign).await.unwrap();
            kill_at(&world, &tenant, &json!({"method": "DELETE", "path": format!("/v1/policy/{policy}")}), step);
            assert_eq!(tenant.get(&format!("/v1/policy/{policy}")).await.status, 404, "{step:?}");
            bring_to_an_end(&world).await;
            let left = world.store.write(move |tx: &mut Tx<'_>| tx.delete_assignments(id, 1)).await.unwrap();
            assert_eq!(left, 0, "{step:?}: an assignment is left");
        }
    }
}

/// The process that is killed, if a test above has started it; else there is nothing to do.
#[test]
fn child() {
    let Ok(change) = std::env::var(CHANGE) else { return };
    let said = |name: &str| std::env::var(name).unwrap();
    let step = Step::ALL.iter().find(|step| step.name() == said(STEP)).unwrap();
    let change: Value = serde_json::from_str(&change).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let seed = said(SEED).parse().unwrap();
        let node = Node::join(&said(DATABASE), said(KEK).as_ref(), seed, settings()).await;
        fault::arm(*step);
        match change["method"].as_str() {
            Some(method) => {
                let tenant = node.stranger().with_authorization(&said(AUTHORIZATION));
                let body = Some(&change["body"]).filter(|body| !body.is_null());
                let method = Method::from_bytes(method.as_bytes()).unwrap();
                tenant.send(method, change["path"].as_str().unwrap(), &[], body).await;
            }
            None => deactivate(&node, &change).await,
        }
    });
    panic!("it was to be killed");
}

/// As an ACME client would, whose key this process has not.
async fn deactivate(node: &Node, change: &Value) {
    let text = |member: &str| change[member].as_str().unwrap();
    let (acme, account) = (&node.services.acme, text("account").parse::<AcmeAccountId>().unwrap());
    let speaker = acme.key_of(account).await.unwrap();
    let nonce = AcmeClient::at(node.stranger(), "TLS-90d").await.nonce().await;
    let nonce = acme.check_nonce(&nonce).unwrap();
    let by = acme.admit(account, nonce, &speaker, &Origin::default()).await.unwrap();
    acme.deactivate_authorization(&by, text("authorization").parse().unwrap()).await.unwrap();
}

#[track_caller]
fn kill_at(world: &World, tenant: &Tenant, change: &Value, step: Step) {
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "batches::child", "--nocapture"])
        .env(DATABASE, database(world))
        .env(KEK, world.kek())
        .env(SEED, (2000 + step as u64).to_string())
        .env(CHANGE, change.to_string())
        .env(AUTHORIZATION, tenant.authorization.as_deref().unwrap())
        .env(STEP, step.name())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned() + &String::from_utf8_lossy(&ended.stdout);
    assert_eq!(ended.status.signal(), Some(SIGKILL), "{step:?}: {said}");
}

/// Another process finds what was left behind, once the lease has ended.
async fn bring_to_an_end(world: &World) {
    let cascades = async || {
        let queues = world.services.jobs.backlog().await.unwrap();
        queues.iter().find(|queue| queue.kind == JobKind::Cascade).unwrap().jobs
    };
    assert_eq!(cascades().await, 1, "the rest is to be done by somebody");
    world.work(None).await;
    assert_eq!(cascades().await, 0);
}

/// How many orders of a customer can still become something, as their rows say.
async fn open(world: &World, account: &str) -> usize {
    let (account, now) = (account.parse().unwrap(), world.services.now());
    let count = move |tx: &mut Tx<'_>| {
        let reseller = tx.reseller_by_code("DEMO")?.unwrap().id;
        let mut open = 0;
        for status in [OrderStatus::Pending, OrderStatus::Ready] {
            let filter = OrderFilter { account: Some(account), status: Some(status), external_id: None, now };
            open += tx.orders(reseller, &filter, &PageRequest { after: None, limit: 1000 })?.items.len();
        }
        Ok::<_, chancery_store::StoreError>(open)
    };
    world.store.read(count).await.unwrap()
}

async fn members(tenant: &Tenant, group: &str) -> usize {
    let listed = tenant.get(&format!("/v1/account-group/{group}/member?limit=1000")).await.expect(200);
    let count = tenant.get(&format!("/v1/account-group/{group}")).await.expect(200)["memberCount"].clone();
    let listed = listed["items"].as_array().unwrap().len();
    assert_eq!(count, listed);
    listed
}

fn last(url: &str) -> &str {
    url.rsplit('/').next().unwrap()
}
