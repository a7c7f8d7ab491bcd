//! Any request of a flow may go to any node.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use chancery_client::RawRequest;
use http::Method;

use crate::agent::{Agent, Load};
use crate::cluster::Cluster;
use crate::ledger::Ledger;
use crate::postgres::Postgres;
use crate::process::{get, program};

mod slow {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_flow_goes_on_at_whichever_node_its_next_request_comes_to() {
        let Some(postgres) = Postgres::start(&[]) else { return };
        let Some(cluster) = Cluster::start(&postgres.url("ca"), 3).await else { return };
        let ledger = Arc::new(Ledger::default());
        let agents = Agent::crowd(&cluster, 8, &ledger).await;
        let load = Load::begin(&agents);
        tokens_are_taken_everywhere(&cluster).await;
        load.finish().await;
        let heard = ledger.heard();
        assert!(heard.answers.keys().all(|status| matches!(status, 200 | 201)), "{heard:?}");
        assert_eq!(heard.unanswered, 0);
        ledger.check(&agents, &postgres.url("ca")).await;
        each_step_at_another_node(&cluster, &agents[0]).await;
        a_nonce_is_taken_once(&cluster, &agents[0]).await;
        ledger.check(&agents, &postgres.url("ca")).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn certbot_and_lego_notice_nothing() {
        let (Some(certbot), Some(lego)) = (program("certbot"), program("lego")) else { return };
        let Some(postgres) = Postgres::start(&[]) else { return };
        let Some(cluster) = Cluster::start(&postgres.url("ca"), 3).await else { return };
        let text = |name: &str| cluster.credential[name].as_str().unwrap().to_owned();
        let (kid, hmac_key, place) = (text("kid"), text("hmacKey"), cluster.folder().to_owned());
        // The site answers in the place of both clients, who are told so by hooks or have the port themselves: here each
        // has a webroot, which is published as they write into it.
        let webroot = place.join("webroot");
        std::fs::create_dir_all(&webroot).unwrap();
        let serving = tokio::spawn(publish_files(cluster.site.clone(), webroot.clone()));
        let directory = cluster.directory();
        let run = |mut command: Command| {
            let output: Output = command.output().unwrap();
            let said = [output.stdout, output.stderr].concat();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
        };
        for turn in 0..2 {
            let mut command = Command::new(&certbot);
            command.args([
                "certonly",
                "--non-interactive",
                "--agree-tos",
                "--server",
                &directory,
                "--email",
                "a@example.com",
            ]);
            command.args(["--eab-kid", &kid, "--eab-hmac-key", &hmac_key, "--webroot", "--webroot-path"]).arg(&webroot);
            command.args(["-d", &format!("c{turn}.nodes.test"), "-d", &format!("d{turn}.nodes.test")]);
            for (flag, name) in [("--config-dir", "config"), ("--work-dir", "work"), ("--logs-dir", "logs")] {
                command.arg(flag).arg(place.join("certbot").join(name));
            }
            run(command);
            let mut command = Command::new(&lego);
            command.args(["--server", &directory, "--accept-tos", "--email", "b@example.com", "--eab", "--kid", &kid]);
            command
                .args(["--hmac", &hmac_key, "--http", "--http.webroot"])
                .arg(&webroot)
                .arg("--path")
                .arg(place.join("lego"));
            command.args(["-d", &format!("l{turn}.nodes.test"), "-d", &format!("m{turn}.nodes.test"), "run"]);
            run(command);
        }
        run({
            let mut command = Command::new(&lego);
            command.args(["--server", &directory, "--accept-tos", "--email", "b@example.com", "--eab", "--kid", &kid]);
            command.args(["--hmac", &hmac_key, "--path"]).arg(place.join("lego"));
            command.args(["-d", "l0.nodes.test", "revoke", "--keep"]);
            command
        });
        serving.abort();
        let chain = std::fs::read_to_string(place.join("lego/certificates/l0.nodes.test.crt")).unwrap();
        revocation_is_told_everywhere(&cluster, &chain).await;
    }
}

/// A token from one node is good at each. Who gets the next request is for the balancer to say, which has other requests
/// to share out meanwhile: it is asked until each has got one.
async fn tokens_are_taken_everywhere(cluster: &Cluster) {
    let reseller = cluster.reseller(&cluster.base_url);
    let mut nodes = BTreeSet::new();
    for turn in 0..300 {
        let answer = reseller.raw(RawRequest::new(Method::GET, "/v1/account?limit=1")).await.unwrap();
        assert_eq!(answer.status, 200, "{turn}: {}", answer.text());
        nodes.extend(answer.header("x-node").map(str::to_owned));
        if nodes.len() == cluster.nodes.len() {
            return;
        }
    }
    panic!("the balancer gave requests to {nodes:?} only");
}

/// Order, authorization, challenge, finalization and download, each asked of the next node.
async fn each_step_at_another_node(cluster: &Cluster, agent: &Agent) {
    let at: Vec<Agent> = cluster.nodes.iter().map(|node| agent.speaking_to(&node.api)).collect();
    for turn in 0..3 {
        let begun = at[turn].begin().await;
        at[(turn + 1) % 3].answer(&begun).await;
        at[(turn + 2) % 3].complete(&begun).await;
    }
}

/// One nonce, redeemed at all nodes in the same instant, many times: one request gets through.
async fn a_nonce_is_taken_once(cluster: &Cluster, agent: &Agent) {
    let at: Vec<Agent> = cluster.nodes.iter().map(|node| agent.speaking_to(&node.api)).collect();
    for turn in 0..40 {
        let nonce = at[turn % at.len()].nonce().await.unwrap();
        let body = agent.signed(agent.account(), &nonce, b"");
        let all = (0..4 * at.len()).map(|place| at[place % at.len()].send(agent.account(), body.clone()));
        let answers = futures_util::future::join_all(all).await;
        let statuses: Vec<u16> = answers.into_iter().map(|answer| answer.unwrap().status.as_u16()).collect();
        assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{turn}: {statuses:?}");
        assert!(statuses.iter().all(|status| matches!(status, 200 | 400)), "{turn}: {statuses:?}");
    }
}

/// Every node serves the same list, and says the same by OCSP.
pub(crate) async fn revocation_is_told_everywhere(cluster: &Cluster, chain: &str) {
    let place = cluster.folder().join("revoked");
    std::fs::create_dir_all(&place).unwrap();
    let path = &crl_path(cluster, &place, chain);
    let serial = openssl(&place, &["x509", "-noout", "-serial", "-in", "leaf.pem"]);
    let serial = serial.trim().trim_start_matches("serial=").to_owned();
    // Within 30 s everywhere, as is promised.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    for node in &cluster.nodes {
        loop {
            let said = openssl(
                &place,
                &[
                    "ocsp",
                    "-no_nonce",
                    "-noverify",
                    "-issuer",
                    "issuer.pem",
                    "-cert",
                    "leaf.pem",
                    "-url",
                    &format!("http://{}/ocsp", node.http),
                ],
            );
            std::fs::write(place.join("list.crl"), fetch(&node.http, path)).unwrap();
            let listed = openssl(&place, &["crl", "-inform", "DER", "-noout", "-text", "-in", "list.crl"]);
            if said.contains("leaf.pem: revoked") && listed.contains(&serial) {
                break;
            }
            assert!(std::time::Instant::now() < deadline, "{}: {said}\n{listed}", node.http);
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        }
    }
    assert_eq!(get(cluster.http_url.trim_start_matches("http://"), path).unwrap().0, 200);
}

/// Where the list of a certificate is, which is left in `leaf.pem` with its issuer beside it.
pub(crate) fn crl_path(cluster: &Cluster, place: &Path, chain: &str) -> String {
    let issuer = chain.match_indices("-----BEGIN").nth(1).unwrap().0;
    std::fs::write(place.join("leaf.pem"), &chain[..issuer]).unwrap();
    std::fs::write(place.join("issuer.pem"), &chain[issuer..]).unwrap();
    let text = openssl(place, &["x509", "-noout", "-text", "-in", "leaf.pem"]);
    let list = text.split("URI:").find(|part| part.contains("/crl/")).unwrap().lines().next().unwrap().to_owned();
    list.strip_prefix(&cluster.http_url).unwrap_or_else(|| panic!("{list}")).to_owned()
}

pub(crate) fn openssl(place: &Path, arguments: &[&str]) -> String {
    let output = Command::new("openssl").args(arguments).current_dir(place).output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn fetch(address: &str, path: &str) -> Vec<u8> {
    let fetched = Command::new("curl").args(["-sS", "-f", &format!("http://{address}{path}")]).output().unwrap();
    assert!(fetched.status.success(), "{}", String::from_utf8_lossy(&fetched.stderr));
    fetched.stdout
}

/// Publishes what clients write below a webroot.
async fn publish_files(site: crate::site::Site, webroot: std::path::PathBuf) {
    let place = webroot.join(".well-known/acme-challenge");
    loop {
        for entry in std::fs::read_dir(&place).into_iter().flatten().flatten() {
            // One that is empty is just being written.
            if let (Ok(body), Some(token)) = (std::fs::read_to_string(entry.path()), entry.file_name().to_str())
                && !body.is_empty()
            {
                site.publish(token, body.trim());
            }
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}
