//! `chancery dev` in a folder of its own, stopped when the test ends.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// A running server and what it wrote into `dev.json`.
pub(crate) struct DevServer {
    child: Child,
    folder: TempDir,
    pub(crate) facts: Value,
}

impl DevServer {
    /// Starts it on free ports, and waits until it says that it is ready.
    ///
    /// `None` where there is no binary to start, unless `scripts/test` has promised one.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// The same, with further arguments.
    pub(crate) fn start_with(arguments: &[&str]) -> Option<Self> {
        Self::start_in(arguments, &[])
    }

    /// The same, with variables in its environment.
    pub(crate) fn start_in(arguments: &[&str], environment: &[(&str, &str)]) -> Option<Self> {
        let binary = tool("CHANCERY_TEST_BINARY")?;
        let folder = tempfile::tempdir().unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let mut child = Command::new(binary)
            .args(["dev", "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"])
            .arg("--data-dir")
            .arg(folder.path().join("data"))
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let facts = folder.path().join("data/dev.json");
        let deadline = Instant::now() + Duration::from_secs(30);
        while !facts.exists() {
            let ended = child.try_wait().unwrap();
            let said = || fs::read_to_string(folder.path().join("log")).unwrap();
            assert!(ended.is_none(), "the server ended: {}", said());
            assert!(Instant::now() < deadline, "the server is not ready: {}", said());
            sleep(Duration::from_millis(20));
        }
        let facts = serde_json::from_slice(&fs::read(facts).unwrap()).unwrap();
        Some(Self { child, folder, facts })
    }

    pub(crate) fn fact(&self, name: &str) -> &str {
        self.facts[name].as_str().unwrap()
    }

    pub(crate) fn facts_file(&self) -> PathBuf {
        self.folder.path().join("data/dev.json")
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// One request with the API key, by curl: the JSON that comes back.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let output = Command::new("curl")
            .args(["--silent", "--show-error", "--request", method, "--cacert", self.fact("ca_bundle")])
            .args(["--header", &format!("Authorization: {}", self.fact("api_key"))])
            .args(["--header", "Content-Type: application/json", "--data", &body.to_string()])
            .arg(format!("{}{path}", self.fact("base_url")))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// Looks until it is so; panics when half a minute has passed.
pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        sleep(Duration::from_millis(50));
    }
}

/// Whether a program that `scripts/test` installs is there; without it the test is skipped, and says so.
pub(crate) fn installed(program: &str) -> bool {
    let places = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&places).any(|place| place.join(program).is_file());
    if !found {
        assert!(std::env::var_os("CHANCERY_REQUIRE_TOOLS").is_none(), "{program} is not installed");
        eprintln!("skipped: {program} is not installed; ./scripts/test installs it");
    }
    found
}

impl Drop for DevServer {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// The path of a tool that `scripts/test` provides; without it the test is skipped, and says so.
pub(crate) fn tool(variable: &str) -> Option<PathBuf> {
    let found = std::env::var_os(variable).map(PathBuf::from);
    if found.is_none() {
        assert!(std::env::var_os("CHANCERY_REQUIRE_TOOLS").is_none(), "{variable} is not set");
        eprintln!("skipped: {variable} is not set; ./scripts/test sets it");
    }
    found
}
