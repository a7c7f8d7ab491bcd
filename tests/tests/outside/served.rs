//! `chancery serve` with a configuration, TLS, and a provider to sign in with, stopped when the test ends.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use chancery_testkit::free_port;
use chancery_tests::node_script_with;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::dev_server::{tool, wait_for};

/// The server and the provider, and what `dev.json` says of a `dev`.
pub(crate) struct Served {
    processes: [Child; 2],
    folder: TempDir,
}

impl Served {
    /// `None` where there are no tools for it.
    pub(crate) fn start_with_provider() -> Option<Self> {
        let binary = tool("CHANCERY_TEST_BINARY")?;
        let (port, http01_port) = (free_port(), free_port());
        let base_url = format!("https://localhost:{port}");
        let back = format!("{base_url}/console/sign-in/with/partners/return");
        let mut provider = node_script_with("console/oidc-provider.mjs", &[("CHANCERY_TEST_REDIRECT", &back)])?;
        let mut hello = String::new();
        BufReader::new(provider.stdout.take().unwrap()).read_line(&mut hello).unwrap();
        let hello: Value = serde_json::from_str(&hello).unwrap();
        let folder = tempfile::tempdir().unwrap();
        certify(folder.path());
        let config = configuration(port, http01_port, hello["issuer"].as_str().unwrap());
        fs::write(folder.path().join("chancery.toml"), config).unwrap();

        let operate = |arguments: &[&str]| operate(&binary, folder.path(), arguments);
        operate(&["init"]);
        operate(&["reseller", "create", "--code", "NORTH", "--name", "The North"]);
        let client = operate(&["client", "create", "--reseller", "NORTH"]);
        let facts = json!({
            "base_url": base_url, "auth_url": base_url, "audience": base_url, "http01_port": http01_port,
            "client_id": client["client_id"], "client_secret": client["client_secret"],
        });
        fs::write(folder.path().join("dev.json"), facts.to_string()).unwrap();

        let log = folder.path().join("log");
        let written = File::create(&log).unwrap();
        let mut command = Command::new(&binary);
        command.args(["serve", "--config"]).arg(folder.path().join("chancery.toml")).env_remove("RUST_LOG");
        let server = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(written).spawn().unwrap();
        let served = Self { processes: [server, provider], folder };
        wait_for("the server", || fs::read_to_string(&log).unwrap().contains(r#""message":"ready""#));
        Some(served)
    }

    pub(crate) fn facts_file(&self) -> PathBuf {
        self.folder.path().join("dev.json")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        for process in &mut self.processes {
            drop(process.kill());
            drop(process.wait());
        }
    }
}

/// One failure pauses a name, and this machine may be asked about itself.
fn configuration(port: u16, http01_port: u16, issuer: &str) -> String {
    format!(
        r#"
[server]
listen = "127.0.0.1:{port}"
http_listen = "127.0.0.1:0"
admin_listen = "127.0.0.1:0"
base_url = "https://localhost:{port}"
tls = {{ certificate = "tls.pem", key = "tls-key.pem" }}
[dcv]
resolvers = ["127.0.0.1"]
allow_special_addresses = true
http01_port = {http01_port}
retry_window = "0s"
[limits]
failures_to_pause = 1
[log]
format = "json"
[[identity.external]]
issuer = "{issuer}"
jwks_url = "{issuer}/jwks"
audience = "chancery"
reseller_claim = "https://ca.test/reseller"
resellers = ["NORTH"]
[identity.external.sign_in]
name = "partners"
label = "Partners"
authorize_url = "{issuer}/auth"
token_url = "{issuer}/token"
client_id = "open"
request_scope = "openid profile"
"#
    )
}

fn certify(folder: &Path) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-days", "2"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
        .args(["-keyout", "tls-key.pem", "-out", "tls.pem"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

fn operate(binary: &Path, folder: &Path, arguments: &[&str]) -> Value {
    let mut command = Command::new(binary);
    command.args(arguments).args(["--json", "--config"]).arg(folder.join("chancery.toml"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}
