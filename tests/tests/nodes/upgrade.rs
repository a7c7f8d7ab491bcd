//! Two releases on one database: the schema only ever grows under a program that knows less of it.
//!
//! What the earlier release left is kept in `earlier/`: a database with its keys, and every statement that it makes. It
//! was written by the test `the_snapshot_is_made_anew`, with the earlier program.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chancery_client::RawRequest;
use chancery_store::{DatabaseUrl, Options, Store, migrations};
use http::Method;
use serde_json::{Value, json};

use crate::agent::{Agent, Load};
use crate::cluster::Cluster;
use crate::ledger::Ledger;
use crate::postgres::{Postgres, ask, execute, texts};

/// A folder to write a new snapshot into, by the program in CHANCERY_TEST_BINARY.
const SNAPSHOT: &str = "CHANCERY_TEST_NODES_SNAPSHOT";
/// Another program to run beside the one that is tested, such as that of the last release.
const EARLIER: &str = "CHANCERY_TEST_EARLIER_BINARY";
/// A step as a later release may have it: it only adds.
const EXPAND: &str = "
    ALTER TABLE orders ADD COLUMN of_the_future TEXT;
    ALTER TABLE certificates ADD COLUMN of_the_future BIGINT NOT NULL DEFAULT 7;
    ALTER TABLE jobs ADD COLUMN of_the_future TEXT;
    CREATE INDEX of_the_future ON orders (of_the_future);
    CREATE TABLE things_of_the_future (id TEXT PRIMARY KEY, order_id TEXT REFERENCES orders (id));
    INSERT INTO schema_migrations (version, name, needs) VALUES (9001, 'of the future', 0);";

mod slow {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn nodes_go_on_while_a_newer_release_brings_the_schema_forward() {
        let Some(postgres) = Postgres::start(&[]) else { return };
        let Some(mut cluster) = Cluster::start(&postgres.url("ca"), 3).await else { return };
        let ledger = Arc::new(Ledger::default());
        let agents = Agent::crowd(&cluster, 8, &ledger).await;
        let load = Load::begin(&agents);
        tokio::time::sleep(Duration::from_secs(2)).await;
        expand(&postgres);
        tokio::time::sleep(Duration::from_secs(2)).await;
        // A node that is started anew, because its machine was, finds a schema that it does not know.
        cluster.nodes[0].kill();
        cluster.nodes[0].start();
        tokio::task::block_in_place(|| cluster.nodes[0].wait_until_ready());
        tokio::time::sleep(Duration::from_secs(2)).await;
        load.finish().await;
        let heard = ledger.heard();
        assert!(heard.answers.keys().all(|status| matches!(status, 200 | 201)), "{heard:?}");
        agents[0].speaking_to(&cluster.nodes[0].api).issue().await;
        ledger.check(&agents, &postgres.url("ca")).await;

        // What takes something away needs programs that know so.
        let contract = "INSERT INTO schema_migrations (version, name, needs) VALUES (9002, 'takes away', 9001)";
        execute(&postgres.url("ca"), contract);
        cluster.nodes[0].kill();
        let said = cluster.nodes[0].is_refused();
        assert!(said.contains("needs a program that knows 9001") && said.contains("run the newer release"), "{said}");
        agents[0].speaking_to(&cluster.nodes[1].api).issue().await;
    }

    /// As nodes are replaced, one after the other.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn nodes_that_are_stopped_and_started_in_turn_keep_nobody_waiting() {
        let Some(postgres) = Postgres::start(&[]) else { return };
        let Some(mut cluster) = Cluster::start(&postgres.url("ca"), 3).await else { return };
        let ledger = Arc::new(Ledger::default());
        let agents = Agent::crowd(&cluster, 8, &ledger).await;
        let load = Load::begin(&agents);
        let slow = Agent::register(&cluster, 8, ledger.clone()).await;
        for place in 0..3 {
            let at_this = slow.speaking_to(&cluster.nodes[place].api);
            let begun = at_this.begin().await;
            let held = cluster.site.hold(&begun.token, "whatever");
            at_this.answer(&begun).await;
            held.asked().await;
            let node = &mut cluster.nodes[place];
            tokio::task::block_in_place(|| node.stop());
            let stopped = Instant::now();
            // Long before its lease ends.
            slow.wait(&begun.authorization, &["valid"]).await;
            assert!(stopped.elapsed() < Duration::from_secs(12), "{:?}", stopped.elapsed());
            slow.complete(&begun).await;
            node.start();
            tokio::task::block_in_place(|| node.wait_until_ready());
        }
        load.finish().await;
        let heard = ledger.heard();
        assert!(heard.answers.keys().all(|status| matches!(status, 200 | 201)), "{heard:?}");
        let agents: Vec<_> = agents.into_iter().chain([slow]).collect();
        ledger.check(&agents, &postgres.url("ca")).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_the_earlier_release_left_is_served_and_goes_on() {
        let Some(postgres) = Postgres::start(&[]) else { return };
        restore(&postgres.url("ca"));
        let facts: Value = serde_json::from_str(&fs::read_to_string(earlier("facts.json")).unwrap()).unwrap();
        let there = Some((&*earlier("kek.json"), facts["client"].clone()));
        let Some(mut cluster) = Cluster::start_on(&postgres.url("ca"), 2, there).await else { return };
        let newest = migrations().last().unwrap().version.to_string();
        assert_eq!(texts(&postgres.url("ca"), "SELECT MAX(version)::text FROM schema_migrations"), [newest]);

        let reseller = cluster.reseller(&cluster.base_url);
        let account = facts["credential"]["lookup"].as_str().unwrap();
        let path = format!("/v1/certificates?account_lookup={account}");
        let list: Value = reseller.raw(RawRequest::new(Method::GET, path)).await.unwrap().json().unwrap();
        let chains = facts["chains"].as_array().unwrap();
        // One was only ordered.
        let issued: Vec<_> =
            list["items"].as_array().unwrap().iter().filter(|item| item["serialNumber"].is_string()).collect();
        assert_eq!(issued.len(), chains.len(), "{list}");
        for item in issued {
            let path = format!("/v1/certificate/{}", item["lookup"].as_str().unwrap_or_else(|| panic!("{item}")));
            let fetched = reseller.raw(RawRequest::new(Method::GET, path)).await.unwrap();
            let leaf = fetched.text().split_inclusive("-----END CERTIFICATE-----").next().unwrap().trim().to_owned();
            let known = chains.iter().any(|chain| chain.as_str().unwrap().starts_with(&leaf));
            assert!(known, "{item}: {}", fetched.text());
        }
        // Its customers go on with their old credentials, also beside a node of the earlier release.
        cluster.credential = facts["credential"].clone();
        if let Some(binary) = std::env::var_os(EARLIER).map(PathBuf::from) {
            cluster.nodes[1].kill();
            cluster.nodes[1].becomes(&binary);
            cluster.nodes[1].start();
            tokio::task::block_in_place(|| cluster.nodes[1].wait_until_ready());
        }
        let ledger = Arc::new(Ledger::default());
        let agents = Agent::crowd(&cluster, 4, &ledger).await;
        let load = Load::begin(&agents);
        tokio::time::sleep(Duration::from_secs(3)).await;
        load.finish().await;
        ledger.check(&agents, &postgres.url("ca")).await;
    }

    #[test]
    fn the_schema_has_room_for_the_earlier_release() {
        let Some(postgres) = Postgres::start(&[]) else { return };
        execute(&postgres.url("postgres"), "CREATE DATABASE earlier TEMPLATE template0");
        let (then, now) = (postgres.url("earlier"), postgres.url("ca"));
        restore(&then);
        migrate(&now);
        // Every statement of the earlier release can be made.
        let statements: Vec<String> =
            serde_json::from_str(&fs::read_to_string(earlier("statements.json")).unwrap()).unwrap();
        assert!(statements.len() > 100);
        let refused: Vec<String> = ask(&now, |client| {
            let refused = |sql: &String| client.prepare(sql).err().map(|error| format!("{sql}: {error:?}"));
            statements.iter().filter_map(refused).collect()
        });
        assert!(refused.is_empty(), "{refused:#?}");
        // And what it writes without knowing better is taken.
        assert_eq!(lost(&then, &now), Vec::<String>::new());
        // The check itself is worth something.
        execute(
            &now,
            "ALTER TABLE jobs ADD COLUMN strict TEXT NOT NULL; ALTER TABLE orders ALTER COLUMN csr SET NOT NULL;
                       ALTER TABLE certificates DROP COLUMN subject; CREATE UNIQUE INDEX strict ON orders (kid);
                       ALTER TABLE orders ADD CONSTRAINT short CHECK (length(kid) < 100)",
        );
        assert_eq!(lost(&then, &now).len(), 5, "{:#?}", lost(&then, &now));
    }

    /// A step that waits for a table must not make everybody wait behind it.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_step_that_cannot_have_a_table_keeps_nobody_waiting() {
        let Some(postgres) = Postgres::start(&[]) else { return };
        restore(&postgres.url("ca"));
        // A report that somebody runs on a table that is to be changed.
        let url = postgres.url("ca");
        let held = ask_and_hold(&url);
        let other = url.clone();
        let waiting = tokio::task::spawn_blocking(move || migrate(&other));
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let began = Instant::now();
            let _ = tokio::task::block_in_place(|| texts(&url, "SELECT name FROM schema_migrations"));
            assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
        }
        assert!(!waiting.is_finished());
        drop(held);
        waiting.await.unwrap();
    }
}

/// Writes `earlier/` anew where it is asked for; else there is nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_snapshot_is_made_anew() {
    let Some(folder) = std::env::var_os(SNAPSHOT).map(PathBuf::from) else { return };
    let logged = [
        "logging_collector=on",
        "log_destination=jsonlog",
        "log_statement=all",
        "log_filename=all",
        "log_rotation_size=0",
    ];
    let Some(postgres) = Postgres::start(&logged) else { return };
    let Some(cluster) = Cluster::start(&postgres.url("ca"), 2).await else { return };
    let ledger = Arc::new(Ledger::default());
    let agents = Agent::crowd(&cluster, 2, &ledger).await;
    for agent in &agents {
        agent.issue().await;
    }
    agents[0].begin().await;
    let path = format!("/v1/certificates?account_lookup={}", cluster.credential["lookup"].as_str().unwrap());
    let reseller = cluster.reseller(&cluster.base_url);
    reseller.raw(RawRequest::new(Method::GET, path)).await.unwrap();
    let facts = json!({"client": cluster.client(), "credential": cluster.credential, "chains": ledger.chains()});
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("facts.json"), format!("{facts:#}\n")).unwrap();
    fs::copy(cluster.folder().join("kek.json"), folder.join("kek.json")).unwrap();
    fs::write(folder.join("database.sql"), postgres.dump("ca")).unwrap();
    fs::write(folder.join("statements.json"), format!("{:#}\n", json!(statements(&postgres.statement_log())))).unwrap();
}

/// The statements of the service in a log of all statements.
fn statements(log: &str) -> BTreeSet<String> {
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let ours = lines.filter(|line| line["application_name"] == "chancery" && line["dbname"] != "postgres");
    let texts = ours.filter_map(|line| {
        let message = line["message"].as_str()?.strip_prefix("execute ")?;
        Some(message.split_once(": ")?.1.to_owned())
    });
    texts.filter(|text| !text.contains("schema_migrations") && !text.contains("pg_")).collect()
}

fn earlier(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nodes/earlier").join(name)
}

fn restore(url: &str) {
    // Lines for psql alone are left out.
    let dump = fs::read_to_string(earlier("database.sql")).unwrap();
    let sql: String = dump.lines().filter(|line| !line.starts_with('\\')).flat_map(|line| [line, "\n"]).collect();
    execute(url, &sql);
}

fn migrate(url: &str) {
    let url: DatabaseUrl = url.parse().unwrap();
    Store::migrate(&url, &Options::default()).unwrap();
}

/// Brings the schema forward as a newer release would: by a step that gives way to whoever is at work.
fn expand(postgres: &Postgres) {
    let url = postgres.url("ca");
    for _ in 0..100 {
        let step = format!("BEGIN; SET LOCAL lock_timeout = '200ms'; {EXPAND} COMMIT;");
        if ask(&url, |client| client.batch_execute(&step)).is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the tables were never free");
}

/// What the earlier release relies on and would not find, or would be refused.
fn lost(then: &str, now: &str) -> Vec<String> {
    let all = |url: &str, sql: &str| -> BTreeSet<String> { texts(url, sql).into_iter().collect() };
    let columns = "SELECT table_name || '.' || column_name || ' ' || data_type FROM information_schema.columns
                   WHERE table_schema = 'public' AND table_name <> 'schema_migrations'";
    let demanded = "SELECT table_name || '.' || column_name FROM information_schema.columns
                    WHERE table_schema = 'public' AND is_nullable = 'NO' AND column_default IS NULL
                    AND table_name <> 'schema_migrations'";
    let rules = "SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
                 WHERE connamespace = 'public'::regnamespace AND conrelid <> 0";
    let unique = "SELECT tablename || ' ' || substring(indexdef FROM 'USING.*') FROM pg_indexes
                  WHERE schemaname = 'public' AND indexdef LIKE 'CREATE UNIQUE%'";
    let tables = all(then, "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public'");
    let of_old = |text: &String| {
        let table = text.split(['.', ' ']).next().unwrap_or_default();
        tables.contains(table) && table != "schema_migrations"
    };
    let mut lost: Vec<String> = all(then, columns).difference(&all(now, columns)).cloned().collect();
    // Asked for now and not then, whether the column is new or could be left out.
    lost.extend(all(now, demanded).difference(&all(then, demanded)).filter(|text| of_old(text)).cloned());
    for sql in [rules, unique] {
        lost.extend(all(now, sql).difference(&all(then, sql)).filter(|text| of_old(text)).cloned());
    }
    lost.sort();
    lost.dedup();
    lost
}

/// Holds a table as a long report does, until it is dropped.
fn ask_and_hold(url: &str) -> std::sync::mpsc::Sender<()> {
    let (let_go, held) = std::sync::mpsc::channel::<()>();
    let (ready, is_ready) = std::sync::mpsc::channel();
    let url = url.to_owned();
    std::thread::spawn(move || {
        let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
        let mut report = client.transaction().unwrap();
        report.batch_execute("LOCK TABLE schema_migrations IN ACCESS SHARE MODE").unwrap();
        ready.send(()).unwrap();
        let _dropped = held.recv();
    });
    is_ready.recv().unwrap();
    let_go
}
