//! The program under measurement, in a process of its own.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use chancery_client::{Client, ClientCredentials};
use serde_json::Value;
use tempfile::TempDir;

/// A `chancery dev` on a database of its own; it ends with this.
pub struct Server {
    /// The reseller of the demo.
    pub client: Client,
    /// Of the listener for health and metrics.
    pub admin: Client,
    process: Child,
    dev: Value,
    folder: TempDir,
}

impl Server {
    /// Starts it, and waits until it is ready.
    pub async fn start(binary: &Path, http01_port: u16, database: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(binary);
        command.args(["dev", "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--admin-listen"]);
        command.args(["127.0.0.1:0", "--http01-port", &http01_port.to_string(), "--data-dir"]).arg(folder.path());
        command.args(database.iter().flat_map(|url| ["--database-url", url]));
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).env("RUST_LOG", "warn").spawn();
        let process = process
            .unwrap_or_else(|error| panic!("{}: {error}; build it first: cargo build --release", binary.display()));
        let dev = loop {
            match std::fs::read_to_string(folder.path().join("dev.json")) {
                Ok(text) => break serde_json::from_str::<Value>(&text).unwrap(),
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        };
        let text = |name: &str| dev[name].as_str().unwrap().to_owned();
        let credentials = ClientCredentials {
            client_id: text("client_id"),
            client_secret: text("client_secret"),
            audience: text("audience"),
            auth_url: text("auth_url"),
        };
        let ca = std::fs::read(text("ca_bundle")).unwrap();
        let client = Client::builder(text("base_url")).ca_pem(ca).credentials(credentials).build().unwrap();
        let admin = Client::builder(text("admin_url")).build().unwrap();
        Self { client, admin, process, dev, folder }
    }

    /// What `dev.json` says.
    pub fn fact(&self, name: &str) -> &str {
        self.dev[name].as_str().unwrap()
    }

    /// Where it keeps everything.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
