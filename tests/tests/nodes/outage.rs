//! The database goes away, hangs up, says nothing or is slow, and comes back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::agent::{Agent, Load};
use crate::balanced::crl_path;
use crate::cluster::Cluster;
use crate::ledger::Ledger;
use crate::postgres::Postgres;
use crate::process::get;
use crate::proxy::{Proxy, Way};

/// How soon everything works again once the database is back: in a second or two, but other tests are on this machine too.
pub(crate) const BACK: Duration = Duration::from_secs(20);
/// No request takes longer than this, whatever happens.
const LONGEST: Duration = Duration::from_secs(25);
const FLOWS: usize = 16;

mod slow {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn i5_the_database_is_restarted_under_load() {
        // Nothing reaches the disk but what somebody waits for.
        let lazy = ["wal_writer_delay=10s", "wal_writer_flush_after=1GB"];
        let Some(mut postgres) = Postgres::start(&lazy) else { return };
        let Some(cluster) = Cluster::start(&postgres.url("ca"), 3).await else { return };
        let ledger = Arc::new(Ledger::default());
        let agents = Agent::crowd(&cluster, FLOWS, &ledger).await;
        agents[0].issue().await;
        let load = Load::begin(&agents);
        for (turn, agent) in agents.iter().take(3).enumerate() {
            tokio::time::sleep(Duration::from_secs(2)).await;
            // Once as an operator does it, and then as crashes do.
            if turn == 0 {
                postgres.stop()
            } else {
                postgres.crash()
            }
            cluster.until_all_say(503, Duration::from_secs(10)).await;
            // Relying parties need no database.
            relying(&cluster, &ledger.chains()[0]);
            tokio::time::sleep(Duration::from_secs(2)).await;
            postgres.resume();
            is_back(&cluster, agent).await;
        }
        load.finish().await;
        said_so(&ledger);
        ledger.check(&agents, &postgres.url("ca")).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn i5_connections_are_cut_under_load() {
        let Some(postgres) = Postgres::start(&[]) else { return };
        let proxy = Proxy::to(postgres.port).await;
        let through = format!("postgres://postgres@127.0.0.1:{}/ca", proxy.port);
        let Some(cluster) = Cluster::start(&through, 3).await else { return };
        let ledger = Arc::new(Ledger::default());
        let agents = Agent::crowd(&cluster, FLOWS, &ledger).await;
        let load = Load::begin(&agents);
        for turn in 0..24 {
            tokio::time::sleep(Duration::from_millis(400)).await;
            let way = match turn % 4 {
                0 => {
                    tokio::task::block_in_place(|| postgres.cut_connections());
                    continue;
                }
                1 => Way::Cut,
                2 => Way::LosesCommits,
                _ => Way::LosesAnswers,
            };
            proxy.set(way);
            tokio::time::sleep(Duration::from_millis(150)).await;
            proxy.set(Way::Open);
        }
        is_back(&cluster, &agents[0]).await;
        load.finish().await;
        assert!(ledger.heard().slowest < LONGEST, "{:?}", ledger.heard());
        ledger.check(&agents, &postgres.url("ca")).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn i5_the_way_to_the_database_swallows_everything() {
        let Some(postgres) = Postgres::start(&[]) else { return };
        let proxy = Proxy::to(postgres.port).await;
        let through = format!("postgres://postgres@127.0.0.1:{}/ca", proxy.port);
        let Some(cluster) = Cluster::start(&through, 3).await else { return };
        let ledger = Arc::new(Ledger::default());
        let agents = Agent::crowd(&cluster, FLOWS, &ledger).await;
        let load = Load::begin(&agents);
        tokio::time::sleep(Duration::from_secs(2)).await;
        proxy.set(Way::Swallowed);
        cluster.until_all_say(503, Duration::from_secs(15)).await;
        tokio::time::sleep(Duration::from_secs(10)).await;
        // Connections that were swallowed stay so: only new ones get through.
        proxy.set(Way::Open);
        is_back(&cluster, &agents[0]).await;
        load.finish().await;
        said_so(&ledger);
        ledger.check(&agents, &postgres.url("ca")).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_database_that_is_slow_only_takes_longer() {
        let Some(postgres) = Postgres::start(&[]) else { return };
        let proxy = Proxy::to(postgres.port).await;
        let through = format!("postgres://postgres@127.0.0.1:{}/ca", proxy.port);
        let Some(cluster) = Cluster::start(&through, 3).await else { return };
        let ledger = Arc::new(Ledger::default());
        let agents = Agent::crowd(&cluster, 4, &ledger).await;
        proxy.set(Way::Slow(Duration::from_millis(20)));
        let load = Load::begin(&agents);
        tokio::time::sleep(Duration::from_secs(5)).await;
        load.finish().await;
        let heard = ledger.heard();
        assert!(!heard.answers.contains_key(&503) && heard.slowest < LONGEST, "{heard:?}");
        // So slow that nothing can be done in time: said, and not waited for.
        proxy.set(Way::Slow(Duration::from_secs(6)));
        ledger.forget_heard();
        let began = Instant::now();
        let answer = agents[0].once(agents[0].account(), b"").await;
        assert!(answer.is_ok_and(|answer| answer.status == 503) && began.elapsed() < LONGEST, "{:?}", ledger.heard());
        proxy.set(Way::Open);
        is_back(&cluster, &agents[0]).await;
        ledger.check(&agents, &postgres.url("ca")).await;
    }
}

/// That the service is itself again, in time: every node says so, and a certificate is issued.
pub(crate) async fn is_back(cluster: &Cluster, agent: &Agent) {
    let began = Instant::now();
    cluster.until_all_say(200, BACK).await;
    for node in &cluster.nodes {
        let agent = agent.speaking_to(&node.api);
        let mut answer = agent.once(agent.account(), b"").await;
        // A node learns of a recovery by the first nonce that it issued before: it is refused, and clients retry.
        if answer.as_ref().is_ok_and(|answer| answer.status == 400 && answer.text().contains("badNonce")) {
            answer = agent.once(agent.account(), b"").await;
        }
        assert!(answer.as_ref().is_ok_and(|answer| answer.status == 200), "{answer:?}");
    }
    assert!(began.elapsed() < BACK, "it took {:?}", began.elapsed());
}

/// That clients were told to come again, each in time, and that nothing worse was said.
pub(crate) fn said_so(ledger: &Ledger) {
    let heard = ledger.heard();
    assert!(heard.answers.get(&503).is_some_and(|refused| *refused > 0), "{heard:?}");
    assert!(heard.unanswered == 0 && heard.slowest < LONGEST, "{heard:?}");
}

/// What relying parties get of a node that has lost its database.
fn relying(cluster: &Cluster, chain: &str) {
    let path = crl_path(cluster, cluster.folder(), chain);
    for node in &cluster.nodes {
        assert_eq!(get(&node.http, &path).unwrap().0, 200, "{path}");
    }
}
