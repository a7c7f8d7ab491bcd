//! I5 and I6: a process that is killed at any step from a chosen challenge to the certificate leaves an order that
//! another process brings to its end: one certificate, with the serial that was stored before it was signed.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod batches;

use std::collections::HashSet;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use chancery_domain::CertificateId;
use chancery_service::fault::{self, Step};
use chancery_testkit::{Address, FrozenClock};
use chancery_tests::{
    LogPlace, LogPlaces, Node, START, Tenant, World, lookup, on_both_databases, settings, start_logs,
};
use serde_json::{Value, json};

/// Where the child finds its world, and what it is to do there.
const DATABASE: &str = "CHANCERY_CRASH_DATABASE";
const KEK: &str = "CHANCERY_CRASH_KEK";
const SEED: &str = "CHANCERY_CRASH_SEED";
const ORDER: &str = "CHANCERY_CRASH_ORDER";
const AUTHORIZATION: &str = "CHANCERY_CRASH_AUTHORIZATION";
/// The logs that it shows to what it issues.
const LOGS: &str = "CHANCERY_CRASH_LOGS";
/// The step that it dies at.
const STEP: &str = "CHANCERY_CRASH_STEP";
const SIGKILL: i32 = 9;

/// The steps that are only taken where logs are shown what is issued.
const FOR_LOGS: [Step; 4] = [Step::PrecertificateSigned, Step::PrecertificateKept, Step::Promised, Step::Logged];
/// The steps of changes that are applied in batches, which no order takes.
const FOR_BATCHES: [Step; 2] = [Step::Cascading, Step::Batched];

/// The steps from a chosen challenge to the certificate.
fn steps() -> impl Iterator<Item = &'static Step> {
    Step::ALL.iter().filter(|step| !FOR_BATCHES.contains(step))
}

on_both_databases! {
    async fn i5_an_order_survives_a_kill_at_every_step(world: World) {
        let steps: Vec<_> = steps().filter(|step| !FOR_LOGS.contains(step)).collect();
        survive(&world, &LogPlaces(Vec::new()), &steps).await;
    }

    async fn i5_and_so_does_one_that_is_shown_to_logs(world: World) {
        let (logs, places) = start_logs(&["a", "b"]);
        survive(&world, &places, &steps().collect::<Vec<_>>()).await;
        // Each certificate once, and once more where nobody could know that it was taken already.
        let taken = logs[0].taken();
        assert_eq!(taken.len(), steps().count() + 1);
        let different: HashSet<_> = taken.into_iter().map(|chain| chain[0].clone()).collect();
        assert_eq!(different.len(), steps().count(), "a precertificate was signed twice");
    }
}

/// Kills a process at each of these steps, and has another go on from there.
async fn survive(world: &World, places: &LogPlaces, steps: &[&Step]) {
    let mut node = world.another_node(places.show_in(settings()), Vec::new()).await;
    node.logs = places.keepers(world.clock.clone());
    let tenant = world.tenant("DEMO").await;
    let account = lookup(&tenant.make_account("a@example.com").await);
    for (place, step) in steps.iter().enumerate() {
        let name = format!("step-{place}.test");
        let order = tenant.make_order(&account, &[&name]).await;
        tenant.codes(&lookup(&order["authorizations"][0])).await;
        kill_at(world, &tenant, &lookup(&order), places, place, **step);
        let drafted = draft(world, &order).await;

        let ended = bring_to_an_end(&node, &tenant, &lookup(&order)).await;
        assert_eq!(ended["status"], "valid", "{step:?}: {ended}");
        let certificates = tenant.get(&format!("/v1/certificates?name={name}")).await.expect(200);
        let [certificate] = certificates["items"].as_array().unwrap().as_slice() else {
            panic!("{step:?}: {certificates}")
        };
        assert_eq!(certificate["status"], "issued", "{step:?}");
        if let Some(serial) = drafted {
            assert_eq!(certificate["serialNumber"], serial, "{step:?}: a second serial was drawn");
        }
        assert!(world.services.jobs.lease().await.unwrap().is_empty(), "{step:?}: a job is left");
        world.services.issuance.settle_precertificates().await.unwrap();
        let left = world.store.read(|tx| tx.open_precertificates("", 10)).await.unwrap();
        assert_eq!(left, [], "{step:?}");
        let lists = world.store.read(|tx| tx.crl_heads()).await.unwrap();
        assert!(lists.iter().all(|list| !list.lacking), "{step:?}: something was revoked");
    }
}

/// The process that is killed, where the test above has started it; else there is nothing to do.
#[test]
fn child() {
    let Ok(database) = std::env::var(DATABASE) else { return };
    let said = |name: &str| std::env::var(name).unwrap();
    let step = Step::ALL.iter().find(|step| step.name() == said(STEP)).unwrap();
    fault::arm(*step);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let (places, seed) = (read_places(&said(LOGS)), said(SEED).parse().unwrap());
        let mut node = Node::join(&database, said(KEK).as_ref(), seed, places.show_in(settings())).await;
        node.logs = places.keepers(Arc::new(FrozenClock::at(START)));
        let tenant = node.stranger().with_authorization(&said(AUTHORIZATION));
        let mut fresh = node.services.jobs.take_fresh().unwrap();
        let path = format!("/v1/order/{}", said(ORDER));
        let order = tenant.get(&path).await.expect(200);
        tenant.choose_all(&order).await;
        node.work_fresh(&mut fresh).await;
        tenant.post_empty(&format!("{path}/finalize")).await.expect(202);
        node.work_fresh(&mut fresh).await;
    });
    panic!("it was to be killed");
}

/// The database of a world, as a process of its own names it.
fn database(world: &World) -> String {
    match world.store.address() {
        Address::Sqlite(path) => format!("sqlite://{}", path.display()),
        Address::Postgres(url) => url,
    }
}

fn kill_at(world: &World, tenant: &Tenant, order: &str, places: &LogPlaces, seed: usize, step: Step) {
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(DATABASE, database(world))
        .env(KEK, world.kek())
        .env(SEED, (1000 + seed).to_string())
        .env(ORDER, order)
        .env(AUTHORIZATION, tenant.authorization.as_deref().unwrap())
        .env(STEP, step.name())
        .env(LOGS, write_places(places))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned() + &String::from_utf8_lossy(&ended.stdout);
    assert_eq!(ended.status.signal(), Some(SIGKILL), "{step:?}: {said}");
}

fn write_places(LogPlaces(places): &LogPlaces) -> String {
    let write = |LogPlace { operator, url, spki, .. }: &LogPlace| json!([operator, url, spki]);
    Value::Array(places.iter().map(write).collect()).to_string()
}

fn read_places(text: &str) -> LogPlaces {
    let read = |(operator, url, spki)| LogPlace { operator, url, spki, takes_until: None };
    LogPlaces(serde_json::from_str::<Vec<_>>(text).unwrap().into_iter().map(read).collect())
}

/// A build of the whole workspace has the feature in the program, too: all that keeps a process from dying is that nobody
/// arms it.
#[test]
fn the_program_arms_no_faults() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders: Vec<_> = ["app", "doors", "core", "adapters", "libs"].map(|name| root.join(name)).into();
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                seen += 1;
                let text = std::fs::read_to_string(&path).unwrap();
                if path.ends_with("core/service/src/fault.rs") {
                    assert!(!text.contains("env::var"), "a variable must not arm it");
                } else {
                    assert!(!text.contains("fault::arm") && !text.contains("fault::{arm"), "{}", path.display());
                }
            }
        }
    }
    assert!(seen > 100, "{seen}");
}

/// The serial that was stored for the order's certificate, where it came so far.
async fn draft(world: &World, order: &Value) -> Option<Value> {
    let id: CertificateId = order["certificateLookup"].as_str().unwrap().parse().unwrap();
    let draft = world.store.read(move |tx| tx.draft(id)).await.unwrap();
    draft.map(|draft| json!(draft.serial))
}

/// What a reseller would do who only knows the order, beside workers that find what was left behind.
async fn bring_to_an_end(node: &Node, tenant: &Tenant, order: &str) -> Value {
    for _ in 0..5 {
        node.work(None).await;
        let seen = tenant.show_order(order).await;
        match seen["status"].as_str().unwrap() {
            "ready" => {
                tenant.post_empty(&format!("/v1/order/{order}/finalize")).await.expect(202);
            }
            "pending" | "processing" => {}
            _ => return seen,
        }
    }
    panic!("the order is stuck: {}", tenant.show_order(order).await)
}
