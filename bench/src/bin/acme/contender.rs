//! Who is measured.

use std::any::Any;
use std::path::Path;

use chancery_bench::Server;
use chancery_client::wire::ResellerAccountRequest;
use chancery_testkit::free_port;
use serde_json::Value;

use crate::load::Target;

/// A server that is to be measured; it ends with this.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    /// What is to be known beside its figures.
    pub(crate) how: &'static str,
    pub(crate) target: Target,
    /// What it is tried with, from one to as many as it bears.
    pub(crate) in_flight: &'static [&'static str],
    /// Where it is at its best.
    pub(crate) best_at: &'static str,
    pub(crate) _held: Box<dyn Any>,
}

impl Contender {
    /// This software, on a database of its own.
    pub(crate) async fn ours(name: &'static str, binary: &Path, database: Option<&str>) -> Self {
        let http01_port = free_port();
        let server = Server::start(binary, http01_port, database).await;
        let request = ResellerAccountRequest { customer_email: "load@example.com".to_owned(), ..Default::default() };
        let account = server.client.accounts().create(&request).await.unwrap();
        let target = Target {
            directory: format!("{}/acme/TLS-90d/directory", server.fact("acme_url")),
            ca_file: server.fact("ca_bundle").into(),
            credential: Some((account.kid, account.hmac_key.unwrap())),
            http01_port,
            process: server.id(),
        };
        let how = "EAB, durable commits, audit";
        Self { name, how, target, in_flight: &["1", "16", "64"], best_at: "64", _held: Box::new(server) }
    }

    /// A round, or nothing where the server has stopped answering.
    pub(crate) fn round(&self, binary: &Path, in_flight: &str, seconds: u64) -> Option<Value> {
        self.target.load(binary, in_flight, "seconds", &seconds.to_string())
    }
}
