//! Nodes are killed, and stopped, in the middle of their work.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::agent::{Agent, Load};
use crate::cluster::Cluster;
use crate::ledger::Ledger;
use crate::postgres::{Postgres, number};

/// How long nodes are killed; two minutes where this is set.
const LONG: &str = "CHANCERY_TEST_NODES_LONG";
const FLOWS: usize = 64;
/// How long a job is a node's own, as the service has it.
const LEASE: Duration = Duration::from_secs(15);
/// Others look every second whether a lease has ended; and the machine may be slow.
const NOTICED: Duration = Duration::from_secs(15);

mod slow {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn i5_i6_orders_survive_nodes_that_are_killed_again_and_again() {
        let Some(postgres) = Postgres::start(&[]) else { return };
        let Some(mut cluster) = Cluster::start(&postgres.url("ca"), 3).await else { return };
        let ledger = Arc::new(Ledger::default());
        let agents = Agent::crowd(&cluster, FLOWS, &ledger).await;
        let (load, began) = (Load::begin(&agents), Instant::now());
        let time = Duration::from_secs(if std::env::var_os(LONG).is_some() { 120 } else { 30 });
        let mut kills = 0;
        while began.elapsed() < time {
            tokio::time::sleep(Duration::from_millis(1500)).await;
            let node = &mut cluster.nodes[kills % 3];
            node.kill();
            tokio::time::sleep(Duration::from_millis(300)).await;
            node.start();
            tokio::task::block_in_place(|| node.wait_until_ready());
            kills += 1;
        }
        let ended = Instant::now();
        load.finish().await;
        let rest = ended.elapsed();
        // What the last one left behind is taken over when its lease ends; then there is still a certificate to be made.
        assert!(rest < LEASE + NOTICED + Duration::from_secs(20), "the last orders took {rest:?}");
        no_jobs_left(&postgres, LEASE + NOTICED).await;
        ledger.check(&agents, &postgres.url("ca")).await;
        eprintln!("{kills} kills, {} certificates, {:?}", ledger.certificates(), ledger.heard());
        assert!(kills > 2 && ledger.certificates() > FLOWS);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_a_killed_node_was_at_is_taken_over_when_its_lease_ends() {
        let Some(postgres) = Postgres::start(&[]) else { return };
        let Some(mut cluster) = Cluster::start(&postgres.url("ca"), 3).await else { return };
        let ledger = Arc::new(Ledger::default());
        let agent = Agent::register(&cluster, 0, ledger.clone()).await;
        let at_first = agent.speaking_to(&cluster.nodes[0].api);
        let begun = at_first.begin().await;
        let held = cluster.site.hold(&begun.token, "whatever");
        at_first.answer(&begun).await;
        held.asked().await;
        cluster.nodes[0].kill();
        let killed = Instant::now();
        agent.wait(&begun.authorization, &["valid"]).await;
        let took = killed.elapsed();
        assert!(took < LEASE + NOTICED, "{took:?}");
        // And not before: the node might have been alive.
        assert!(took > LEASE / 2, "{took:?}");
        agent.complete(&begun).await;
        ledger.check(&[agent], &postgres.url("ca")).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_node_that_was_stopped_past_its_lease_does_no_harm() {
        let Some(postgres) = Postgres::start(&[]) else { return };
        let Some(cluster) = Cluster::start(&postgres.url("ca"), 2).await else { return };
        let ledger = Arc::new(Ledger::default());
        let agent = Agent::register(&cluster, 0, ledger.clone()).await;
        let (sleeper, other) = (agent.speaking_to(&cluster.nodes[0].api), agent.speaking_to(&cluster.nodes[1].api));
        let begun = sleeper.begin().await;
        let right = format!("{}.{}", begun.token, agent.thumbprint());
        let first = cluster.site.hold(&begun.token, "this is not the answer");
        sleeper.answer(&begun).await;
        first.asked().await;
        cluster.nodes[0].signal("STOP");
        // The other takes over, and sees what is right; the sleeper sees what is wrong, however often it looks.
        let second = cluster.site.hold(&begun.token, &right);
        cluster.site.publish(&begun.token, "this is not the answer");
        second.asked().await;
        // It wakes while the other is still at it, and has something to tell first.
        cluster.nodes[0].signal("CONT");
        first.let_go();
        tokio::time::sleep(Duration::from_secs(3)).await;
        let seen = other.read(&begun.authorization).await;
        assert_eq!(seen["status"], "pending", "{seen}");
        second.let_go();
        other.wait(&begun.authorization, &["valid"]).await;
        other.complete(&begun).await;
        // It goes on with what is new.
        sleeper.issue().await;
        no_jobs_left(&postgres, LEASE + NOTICED).await;
        ledger.check(&[agent], &postgres.url("ca")).await;
    }
}

/// Waits until nothing is left to be done.
async fn no_jobs_left(postgres: &Postgres, patience: Duration) {
    let began = Instant::now();
    while number(&postgres.url("ca"), "SELECT COUNT(*) FROM jobs") > 0 {
        assert!(began.elapsed() < patience, "jobs are left after {patience:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
