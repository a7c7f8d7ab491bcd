//! A store with so many certificates in it, and whoever uses it.

use std::path::{Path, PathBuf};
use std::process::Command;

use chancery_bench::Server;
use chancery_client::Client;
use chancery_client::wire::ResellerAccountRequest;
use chancery_domain::Timestamp;
use chancery_load::Responder;
use chancery_testkit::postgres::TestDatabase;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::database::{Address, size};
use crate::fill::{Known, fill};
use crate::templates;

pub(crate) const RESELLERS: usize = 8;
const DONE: &str = "stored.json";

/// A store that is filled; servers are started on it.
pub(crate) struct Place {
    pub(crate) stored: usize,
    pub(crate) resellers: Vec<Reseller>,
    binary: PathBuf,
    folder: PathBuf,
    database: Option<TestDatabase>,
    _temporary: Option<TempDir>,
}

/// How a reseller gets in, and what it has.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Reseller {
    pub(crate) code: String,
    pub(crate) client_id: String,
    pub(crate) client_secret: String,
    pub(crate) known: Vec<Known>,
}

impl Place {
    /// Fills a new store, or finds one that an earlier run has filled in the same folder.
    pub(crate) fn prepare(
        runtime: &Runtime,
        binary: &Path,
        pages: &Responder,
        stored: usize,
        postgres: Option<String>,
        keep: Option<&Path>,
    ) -> Self {
        let temporary = keep.is_none().then(|| tempfile::tempdir().unwrap());
        let folder = match (keep, &temporary) {
            (Some(keep), _) => keep.join(stored.to_string()),
            (None, temporary) => temporary.as_ref().map(|folder| folder.path().to_owned()).unwrap_or_default(),
        };
        std::fs::create_dir_all(&folder).unwrap();
        let database = postgres.map(TestDatabase::create_on);
        let mut place =
            Self { stored, resellers: Vec::new(), binary: binary.to_owned(), folder, database, _temporary: temporary };
        let done = place.folder.join(DONE);
        match std::fs::read(&done) {
            Ok(text) => place.resellers = serde_json::from_slice(&text).unwrap(),
            Err(_) => {
                place.fill(runtime, pages);
                std::fs::write(&done, serde_json::to_vec(&place.resellers).unwrap()).unwrap();
            }
        }
        let label = if place.database.is_some() { "PostgreSQL" } else { "SQLite" };
        println!("  {label}: {stored} certificates are {:.0} MB on the disk", size(&place.address()));
        place
    }

    /// Starts a server on it.
    pub(crate) async fn start(&self, pages: &Responder, limits: bool) -> Server {
        let url = self.database.as_ref().map(TestDatabase::url);
        Server::start_in(&self.folder, &self.binary, pages.port(), url, limits).await
    }

    fn fill(&mut self, runtime: &Runtime, pages: &Responder) {
        let server = runtime.block_on(self.start(pages, false));
        self.resellers = (1..=RESELLERS).map(|number| self.reseller(&format!("LOAD{number}"))).collect();
        runtime.block_on(async {
            let clients: Vec<_> = self.resellers.iter().map(|reseller| reseller.client(&server)).collect();
            templates::make(&server, &clients[0], pages).await;
            customers(&clients, (self.stored / 100).clamp(RESELLERS * 2, 20_000)).await;
        });
        drop(server);
        let codes: Vec<_> = self.resellers.iter().map(|reseller| reseller.code.clone()).collect();
        let now = Timestamp::from_millis(i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap());
        let known = fill(&self.address(), self.stored, &codes, now);
        for (reseller, known) in self.resellers.iter_mut().zip(known) {
            reseller.known = known;
        }
    }

    fn address(&self) -> Address {
        match &self.database {
            Some(database) => Address::Postgres(database.url().to_owned()),
            None => Address::Sqlite(self.folder.join("chancery.db")),
        }
    }

    fn reseller(&self, code: &str) -> Reseller {
        self.operate(&["reseller", "create", "--code", code, "--name", code]);
        let client = self.operate(&["client", "create", "--reseller", code]);
        let text = |name: &str| client[name].as_str().unwrap().to_owned();
        let (client_id, client_secret) = (text("client_id"), text("client_secret"));
        Reseller { code: code.to_owned(), client_id, client_secret, known: Vec::new() }
    }

    fn operate(&self, arguments: &[&str]) -> Value {
        let mut command = Command::new(&self.binary);
        let output = command.args(arguments).arg("--json").arg("--data-dir").arg(&self.folder).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Reseller {
    pub(crate) fn client(&self, server: &Server) -> Client {
        server.client_of(&self.client_id, &self.client_secret)
    }
}

async fn customers(clients: &[Client], count: usize) {
    let mut at_work = JoinSet::new();
    for number in 0..count {
        let client = clients[number % clients.len()].clone();
        let customer_email = format!("c{number}@stored.test");
        if at_work.len() >= 32 {
            at_work.join_next().await.unwrap().unwrap();
        }
        at_work.spawn(async move {
            let request = ResellerAccountRequest { customer_email, ..Default::default() };
            client.accounts().create(&request).await.unwrap();
        });
    }
    at_work.join_all().await;
}
