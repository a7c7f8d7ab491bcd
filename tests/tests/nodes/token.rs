//! The keys of the CAs in a token that all nodes share.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chancery_jose::base64url;
use chancery_pki::Certificate;
use serde_json::{Value, json};

use crate::agent::{Agent, Load};
use crate::balanced::{crl_path, openssl, revocation_is_told_everywhere};
use crate::cluster::Cluster;
use crate::ledger::Ledger;
use crate::postgres::Postgres;
use crate::process::get;

mod slow {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn keys_in_a_token_sign_for_every_node() {
        let Some(postgres) = Postgres::start(&[]) else { return };
        let Some(cluster) = Cluster::start_with_token(&postgres.url("ca"), 2).await else { return };
        let cas: Value = serde_json::from_str(&cluster.nodes[0].operate(&["ca", "list", "--json"])).unwrap();
        assert!(cas.as_array().unwrap().iter().all(|ca| ca["key_in"] == "token"), "{cas}");
        let ledger = Arc::new(Ledger::default());
        let agents = Agent::crowd(&cluster, 8, &ledger).await;
        agents[0].issue().await;
        let chain = ledger.chains().remove(0);
        let load = Load::begin(&agents);
        tokio::time::sleep(Duration::from_secs(4)).await;
        load.finish().await;
        let heard = ledger.heard();
        assert!(heard.answers.keys().all(|status| matches!(status, 200 | 201)), "{heard:?}");
        ledger.check(&agents, &postgres.url("ca")).await;

        verifies(&cluster, &chain);
        let wish = json!({"certificate": base64url::encode(leaf(&chain).as_der())}).to_string();
        let answer = agents[0].post(agents[0].operation("revokeCert"), wish.as_bytes()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        revocation_is_told_everywhere(&cluster, &chain).await;

        // A successor whose key is in the database, and one whose key is in the token again.
        for (place, turn) in [("database", "E1"), ("token", "E3")] {
            let ca = format!("Chancery Issuing CA {turn}");
            let said = cluster.nodes[0].operate(&["ca", "rotate", &ca, "--keys", place, "--json"]);
            let rotated: Value = serde_json::from_str(&said).unwrap();
            assert_eq!(rotated["new"]["key_in"], place, "{rotated}");
            let name = rotated["new"]["name"].as_str().unwrap();
            issued_by(name, &agents[0], &ledger).await;
        }
        ledger.check(&agents, &postgres.url("ca")).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_is_to_be_signed_waits_for_a_token_that_is_away() {
        let Some(postgres) = Postgres::start(&[]) else { return };
        let Some(mut cluster) = Cluster::start_with_token(&postgres.url("ca"), 2).await else { return };
        let ledger = Arc::new(Ledger::default());
        let agents = Agent::crowd(&cluster, 2, &ledger).await;
        agents[0].issue().await;

        let (tokens, away) = (cluster.folder().join("tokens"), cluster.folder().join("away"));
        cluster.nodes.iter_mut().for_each(|node| node.stop());
        fs::rename(&tokens, &away).unwrap();
        // Whoever does not need it is served.
        cluster.nodes.iter_mut().for_each(|node| node.start());
        tokio::task::block_in_place(|| cluster.nodes.iter_mut().for_each(|node| node.wait_until_ready()));
        for node in &cluster.nodes {
            let told = || get(&node.admin, "/readyz").unwrap();
            until("/readyz tells of the token", || told().1.contains("cannot load the PKCS #11 module")).await;
            assert_eq!(told().0, 200);
            let said = || node.log().contains("the key of a CA cannot be used");
            until("the log tells of the keys", said).await;
        }
        let begun = agents[1].begin().await;
        agents[1].answer(&begun).await;
        let finished = tokio::spawn({
            let (agent, begun) = (agents[1].clone(), begun.clone());
            async move { agent.complete(&begun).await }
        });
        let processing = agents[1].speaking_to(&cluster.nodes[0].api).wait(&begun.order, &["processing"]).await;
        assert_eq!(processing["error"], Value::Null);
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert!(!finished.is_finished());
        let failures =
            get(&cluster.nodes[0].admin, "/metrics").unwrap().1 + &get(&cluster.nodes[1].admin, "/metrics").unwrap().1;
        assert!(
            failures.lines().any(|line| line.starts_with("chancery_token_failures_total ") && !line.ends_with(" 0"))
        );

        fs::rename(&away, &tokens).unwrap();
        finished.await.unwrap();
        ledger.check(&agents, &postgres.url("ca")).await;
        ledger.chains().iter().for_each(|chain| verifies(&cluster, chain));
        for node in &cluster.nodes {
            let well = || get(&node.admin, "/readyz").unwrap().1.contains("\"token\":\"ok\"");
            until("the token is well", well).await;
        }
    }
}

fn leaf(chain: &str) -> Certificate {
    Certificate::chain_from_pem(chain).unwrap().remove(0)
}

/// Issues until a certificate is of this CA: every node follows within seconds.
async fn issued_by(ca: &str, agent: &Agent, ledger: &Ledger) {
    let by_it = |chain: &String| leaf(chain).info().unwrap().issuer.contains(ca);
    let began = Instant::now();
    while !ledger.chains().iter().any(by_it) {
        assert!(began.elapsed() < Duration::from_secs(30), "nothing is of {ca}");
        agent.issue().await;
    }
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}: not within 30 s");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Whether OpenSSL believes a chain, up to the root and with the list of its issuer.
fn verifies(cluster: &Cluster, chain: &str) {
    let place = cluster.folder().join("verified");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("root.pem"), cluster.nodes[0].operate(&["ca", "show", "Chancery Root CA 1", "--pem"]))
        .unwrap();
    crl_path(cluster, &place, chain);
    let said = openssl(&place, &["verify", "-CAfile", "root.pem", "-untrusted", "issuer.pem", "leaf.pem"]);
    assert!(said.contains("leaf.pem: OK"), "{said}");
}
