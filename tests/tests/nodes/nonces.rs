//! Nonces that were redeemed are not redeemed again, though PostgreSQL loses the record of it in a crash or a failover.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::agent::Agent;
use crate::cluster::Cluster;
use crate::ledger::Ledger;
use crate::outage::BACK;
use crate::postgres::{Postgres, execute, number, texts};

/// PostgreSQL writes nothing to the disk but what somebody waits for, which nobody does for a nonce.
const LAZY: &[&str] = &["wal_writer_delay=10s", "wal_writer_flush_after=1GB"];

mod slow {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_nonce_is_redeemed_twice_when_the_database_crashes() {
        let Some(mut postgres) = Postgres::start(LAZY) else { return };
        let Some(cluster) = Cluster::start(&postgres.url("ca"), 2).await else { return };
        let agent = Agent::register(&cluster, 0, Arc::new(Ledger::default())).await;
        // The server and all its processes; then one process, after which the server starts the others again.
        for crash in [Postgres::kill_and_resume, Postgres::kill_a_backend] {
            let used = redeem(&agent).await;
            tokio::task::block_in_place(|| crash(&mut postgres));
            is_refused_everywhere(&cluster, &agent, &used).await;
        }
        // A server that ends in order has lost nothing, and nobody has to ask again.
        let (used, unused) = (redeem(&agent).await, agent.nonce().await.unwrap());
        tokio::task::block_in_place(|| {
            postgres.stop();
            postgres.resume();
        });
        cluster.until_all_say(200, BACK).await;
        is_bad(&agent, &used, "used before").await;
        let body = agent.signed(agent.account(), &unused, b"");
        assert_eq!(agent.send(agent.account(), body).await.unwrap().status, 200);
    }

    /// The standby takes over without the last that was written.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_nonce_is_redeemed_twice_after_an_asynchronous_failover() {
        let Some(mut first) = Postgres::start(&[]) else { return };
        let second = first.standby("second", &[]);
        let both = format!("postgres://postgres@127.0.0.1:{},127.0.0.1:{}/ca", first.port, second.port);
        let Some(cluster) = Cluster::start(&both, 2).await else { return };
        let agent = Agent::register(&cluster, 0, Arc::new(Ledger::default())).await;
        cut_off(&first, &second).await;
        let used = redeem(&agent).await;
        tokio::task::block_in_place(|| {
            first.crash();
            second.promote();
        });
        assert_eq!(
            number(&second.url("ca"), &format!("SELECT COUNT(*) FROM acme_nonces WHERE nonce = '{}'", used.nonce)),
            0
        );
        is_refused_everywhere(&cluster, &agent, &used).await;
    }
}

/// A request that was accepted.
struct Used {
    nonce: String,
    body: String,
}

/// Has a nonce redeemed by a request that writes nothing else.
async fn redeem(agent: &Agent) -> Used {
    let nonce = agent.nonce().await.unwrap();
    let body = agent.signed(agent.account(), &nonce, b"");
    let answer = agent.send(agent.account(), body.clone()).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    Used { nonce, body }
}

/// Each node refuses the request, and the nonce that comes with the refusal is good.
async fn is_refused_everywhere(cluster: &Cluster, agent: &Agent, used: &Used) {
    cluster.until_all_say(200, BACK).await;
    for node in &cluster.nodes {
        let agent = agent.speaking_to(&node.api);
        is_bad(&agent, used, "the database has recovered").await;
        let answer = agent.once(agent.account(), b"").await.unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    // The nonce that is left over from before costs one more request.
    agent.post(agent.account(), b"").await;
}

async fn is_bad(agent: &Agent, used: &Used, why: &str) {
    let answer = agent.send(agent.account(), used.body.clone()).await.unwrap();
    let said = answer.text();
    assert!(answer.status == 400 && said.contains("badNonce") && said.contains(why), "{}: {said}", answer.status);
}

/// Waits until the standby has all that was written, and sees to it that it gets nothing more.
async fn cut_off(first: &Postgres, second: &Postgres) {
    let began = Instant::now();
    let until = async |condition: &str| {
        while number(&second.url("postgres"), &format!("SELECT ({condition})::int::bigint")) == 0 {
            assert!(began.elapsed() < Duration::from_secs(20), "{condition}: {}", second.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let written = texts(&first.url("postgres"), "SELECT pg_current_wal_lsn()::text");
    until(&format!("pg_last_wal_replay_lsn() >= '{}'", written[0])).await;
    execute(&second.url("postgres"), "ALTER SYSTEM SET primary_conninfo = ''");
    execute(&second.url("postgres"), "SELECT pg_reload_conf()");
    until("NOT EXISTS (SELECT 1 FROM pg_stat_wal_receiver)").await;
}
