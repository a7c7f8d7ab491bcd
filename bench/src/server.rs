//! The program under measurement, in a process of its own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use chancery_client::{Client, ClientBuilder, ClientCredentials};
use serde_json::Value;
use tempfile::TempDir;

/// A `chancery dev`; it ends with this.
pub struct Server {
    /// The reseller of the demo.
    pub client: Client,
    /// Of the listener for health and metrics.
    pub admin: Client,
    /// From its start until it said that it is ready.
    pub took: Duration,
    process: Child,
    dev: Value,
    folder: PathBuf,
    _kept: Option<TempDir>,
}

impl Server {
    /// Starts it on a database of its own, and waits until it is ready.
    pub async fn start(binary: &Path, http01_port: u16, database: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut server = Self::start_in(folder.path(), binary, http01_port, database, false).await;
        server._kept = Some(folder);
        server
    }

    /// Starts it in a folder, which stays; with the rate limits of `serve`, or without any.
    pub async fn start_in(
        folder: &Path,
        binary: &Path,
        http01_port: u16,
        database: Option<&str>,
        limits: bool,
    ) -> Self {
        // Who waits for it must not find the one of the last time.
        let _ = std::fs::remove_file(folder.join("dev.json"));
        let mut command = Command::new(binary);
        command.args(["dev", "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--admin-listen"]);
        command.args(["127.0.0.1:0", "--http01-port", &http01_port.to_string(), "--data-dir"]).arg(folder);
        command.args(database.iter().flat_map(|url| ["--database-url", url]));
        command.args(limits.then_some("--limits"));
        let began = Instant::now();
        let log = std::fs::File::create(folder.join("server.log")).unwrap();
        let process = command.stdout(Stdio::null()).stderr(log).env("RUST_LOG", "warn").spawn();
        let mut process = process
            .unwrap_or_else(|error| panic!("{}: {error}; build it first: cargo build --release", binary.display()));
        let dev = loop {
            let written = std::fs::read_to_string(folder.join("dev.json")).ok();
            match written.and_then(|text| serde_json::from_str::<Value>(&text).ok()) {
                Some(dev) => break dev,
                None => tokio::time::sleep(Duration::from_millis(5)).await,
            }
            if let Some(status) = process.try_wait().unwrap() {
                let log = std::fs::read_to_string(folder.join("server.log")).unwrap_or_default();
                panic!("the server ended with {status}: {log}");
            }
        };
        let admin = Client::builder(text(&dev, "admin_url")).build().unwrap();
        while !admin.request(http::Method::GET, "/readyz", None).await.is_ok_and(|answer| answer.status == 200) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let took = began.elapsed();
        let client = client(&dev, text(&dev, "client_id"), text(&dev, "client_secret")).build().unwrap();
        Self { client, admin, took, process, dev, folder: folder.to_owned(), _kept: None }
    }

    /// A client with other credentials, and a connection for each request that it has under way.
    pub fn client_of(&self, id: &str, secret: &str) -> Client {
        client(&self.dev, id.to_owned(), secret.to_owned()).http1_only().build().unwrap()
    }

    /// What `dev.json` says.
    pub fn fact(&self, name: &str) -> &str {
        self.dev[name].as_str().unwrap()
    }

    /// The certificates that verify its HTTPS.
    pub fn ca_pem(&self) -> Vec<u8> {
        std::fs::read(self.fact("ca_bundle")).unwrap()
    }

    /// Where it keeps everything.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Lets whoever brings the load go first from now on: in life that is on other machines.
    pub fn give_way(&self) {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.id())).unwrap();
        let threads = threads.map(|thread| thread.unwrap().file_name());
        let told = std::process::Command::new("renice").args(["-n", "10", "-p"]).args(threads).output();
        // One that has ended meanwhile need not give way.
        assert!(told.is_ok(), "the program renice is needed");
    }

    /// What it has in memory, in megabytes.
    pub fn memory(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
        kilobytes.unwrap_or(0.0) / 1024.0
    }
}

impl Drop for Server {
    /// Asks it to end and waits until it has: one that counts what it does (`packaging/tune`) writes that down at its end.
    fn drop(&mut self) {
        let asked = Command::new("kill").args(["-TERM", &self.id().to_string()]).status();
        if !asked.is_ok_and(|status| status.success()) {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
    }
}

fn text(dev: &Value, name: &str) -> String {
    dev[name].as_str().unwrap().to_owned()
}

fn client(dev: &Value, client_id: String, client_secret: String) -> ClientBuilder {
    let (audience, auth_url) = (text(dev, "audience"), text(dev, "auth_url"));
    let credentials = ClientCredentials { client_id, client_secret, audience, auth_url };
    let ca = std::fs::read(text(dev, "ca_bundle")).unwrap();
    Client::builder(text(dev, "base_url")).ca_pem(ca).credentials(credentials)
}
