//! The database fails over to a standby that had everything which was acknowledged.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::agent::{Agent, Load};
use crate::cluster::Cluster;
use crate::ledger::Ledger;
use crate::outage::{is_back, said_so};
use crate::postgres::{Postgres, execute, number};
use crate::proxy::Proxy;

mod slow {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn i5_nothing_that_was_acknowledged_is_lost_in_a_failover() {
        let Some(mut first) = Postgres::start(&[]) else { return };
        let second = first.standby("second", &[]);
        follows(&first).await;
        let both = format!("postgres://postgres@127.0.0.1:{},127.0.0.1:{}/ca", first.port, second.port);
        let Some(cluster) = Cluster::start(&both, 3).await else { return };
        let ledger = Arc::new(Ledger::default());
        let agents = Agent::crowd(&cluster, 16, &ledger).await;
        let load = Load::begin(&agents);
        tokio::time::sleep(Duration::from_secs(4)).await;
        first.crash();
        // The standby lets nobody write, and is not taken for the database.
        cluster.until_all_say(503, Duration::from_secs(5)).await;
        tokio::task::block_in_place(|| second.promote());
        is_back(&cluster, &agents[0]).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        load.finish().await;
        said_so(&ledger);
        ledger.check(&agents, &second.url("ca")).await;
    }

    /// Without a word: connections stay, to a server that may not be written to any more.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn i5_a_server_that_has_become_a_standby_is_left() {
        let Some(first) = Postgres::start(&[]) else { return };
        let second = first.standby("second", &[]);
        follows(&first).await;
        let proxy = Proxy::to(first.port).await;
        let through = format!("postgres://postgres@127.0.0.1:{}/ca", proxy.port);
        let Some(cluster) = Cluster::start(&through, 2).await else { return };
        let ledger = Arc::new(Ledger::default());
        let agents = Agent::crowd(&cluster, 8, &ledger).await;
        let load = Load::begin(&agents);
        tokio::time::sleep(Duration::from_secs(2)).await;
        execute(&first.url("postgres"), "ALTER SYSTEM SET default_transaction_read_only = on");
        execute(&first.url("postgres"), "SELECT pg_reload_conf()");
        // What was under way when it was told may still be written, and must arrive.
        tokio::time::sleep(Duration::from_secs(1)).await;
        tokio::task::block_in_place(|| second.promote());
        proxy.lead_to(second.port);
        is_back(&cluster, &agents[0]).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        load.finish().await;
        ledger.check(&agents, &second.url("ca")).await;
    }
}

/// From now on nothing is acknowledged that the standby does not have.
async fn follows(first: &Postgres) {
    let began = Instant::now();
    execute(&first.url("postgres"), "ALTER SYSTEM SET synchronous_standby_names = 'second'");
    execute(&first.url("postgres"), "SELECT pg_reload_conf()");
    let following = "SELECT COUNT(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
    while number(&first.url("postgres"), following) == 0 {
        assert!(began.elapsed() < Duration::from_secs(20), "the standby does not follow:\n{}", first.log());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
