//! The real program in hard circumstances, and a ledger of what it acknowledged.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use chancery_client::{Client, RawRequest};
use chancery_store::Store;
use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};

/// Long enough for anything that is going to happen at all.
pub(crate) const GENEROUS: Duration = Duration::from_secs(60);

/// A running `chancery dev --skip-validation`.
pub(crate) struct Server {
    child: Child,
    data: PathBuf,
    log: PathBuf,
    pub(crate) facts: Value,
    pub(crate) client: Client,
    /// Its own process, where it was started through another.
    pub(crate) pid: u32,
}

impl Server {
    /// Starts it on a folder; `before` are shell commands that set up its circumstances. None without a binary.
    pub(crate) fn start(data: &Path, log: &Path, before: &str, environment: &[(&str, &OsStr)]) -> Option<Self> {
        let mut command = Self::command(data, before, environment)?;
        let _ = fs::remove_file(data.join("dev.json"));
        let file = File::options().create(true).append(true).open(log).unwrap();
        let mut child = command.stdout(Stdio::null()).stderr(file).spawn().unwrap();
        let (path, began) = (data.join("dev.json"), Instant::now());
        while !path.exists() {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended: {}", fs::read_to_string(log).unwrap());
            assert!(began.elapsed() < GENEROUS, "not ready: {}", fs::read_to_string(log).unwrap());
            sleep(Duration::from_millis(20));
        }
        let facts: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let fact = |name: &str| facts[name].as_str().unwrap().to_owned();
        let client = Client::builder(fact("base_url"))
            .ca_pem(fs::read(fact("ca_bundle")).unwrap())
            .api_key(fact("api_key"))
            .timeout(GENEROUS)
            .build()
            .unwrap();
        let pid = child.id();
        Some(Self { child, data: data.to_owned(), log: log.to_owned(), facts, client, pid })
    }

    /// What starts it.
    pub(crate) fn command(data: &Path, before: &str, environment: &[(&str, &OsStr)]) -> Option<Command> {
        let binary = binary()?;
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("{before}\nexec \"$0\" \"$@\"")])
            .arg(binary)
            .args(["dev", "--skip-validation", "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"])
            .args(["--admin-listen", "127.0.0.1:0", "--data-dir"])
            .arg(data)
            .envs(environment.iter().copied())
            .stdin(Stdio::null());
        Some(command)
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.data.join("chancery.db")
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Status and body of `/readyz`; 0 where nobody answers.
    pub(crate) fn readiness(&self) -> (u16, String) {
        let address = self.facts["admin_url"].as_str().unwrap().strip_prefix("http://").unwrap();
        let ask = || -> Option<(u16, String)> {
            let mut stream = TcpStream::connect(address).ok()?;
            stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
            stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").ok()?;
            let mut text = String::new();
            stream.read_to_string(&mut text).ok()?;
            let status = text.split(' ').nth(1)?.parse().ok()?;
            Some((status, text.split_once("\r\n\r\n")?.1.to_owned()))
        };
        ask().unwrap_or_default()
    }

    /// Waits until it is ready, or is not.
    #[track_caller]
    pub(crate) fn until_ready(&self, ready: bool) -> String {
        let began = Instant::now();
        loop {
            let (status, body) = self.readiness();
            if (status == 200) == ready {
                return body;
            }
            assert!(began.elapsed() < GENEROUS, "ready is not {ready}: {body}\n{}", self.log());
            sleep(Duration::from_millis(100));
        }
    }

    pub(crate) async fn get(&self, path: &str) -> u16 {
        match self.client.raw(RawRequest::new(Method::GET, path)).await {
            Ok(response) => response.status.as_u16(),
            Err(_) => 0,
        }
    }

    pub(crate) fn stop(mut self) -> ExitStatus {
        Command::new("kill").args(["-TERM", &self.pid.to_string()]).status().unwrap();
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < GENEROUS, "does not stop: {}", self.log());
            sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program, where `scripts/test` or a person has said which.
fn binary() -> Option<PathBuf> {
    let named = std::env::var_os("CHANCERY_TEST_BINARY").map(PathBuf::from);
    if named.is_none() {
        eprintln!("skipped: CHANCERY_TEST_BINARY is not set");
    }
    named
}

/// What was acknowledged, and what was not.
#[derive(Default)]
pub(crate) struct Ledger {
    /// The lookups of accounts that were said to be there.
    pub(crate) made: Vec<String>,
    /// How many were answered with each other status.
    pub(crate) refused: BTreeMap<u16, usize>,
    /// Requests without any answer.
    pub(crate) unanswered: usize,
}

impl Ledger {
    /// Makes accounts, so many at a time, until the time is over.
    pub(crate) async fn fill(&mut self, server: &Server, at_once: usize, span: Duration) {
        static NAMES: AtomicUsize = AtomicUsize::new(0);
        let over = Arc::new(AtomicBool::new(false));
        let workers = (0..at_once).map(|_| {
            let (client, over) = (server.client.clone(), over.clone());
            async move {
                let mut own = Self::default();
                while !over.load(Ordering::SeqCst) {
                    let name = NAMES.fetch_add(1, Ordering::SeqCst);
                    let body = json!({"customer_email": format!("c{name}@example.com")});
                    let answer = client.raw(RawRequest::new(Method::POST, "/v1/account").json(&body)).await;
                    own.note(answer);
                }
                own
            }
        });
        let stop = async {
            tokio::time::sleep(span).await;
            over.store(true, Ordering::SeqCst);
        };
        let (all, ()) = tokio::join!(join_all(workers), stop);
        for own in all {
            self.made.extend(own.made);
            self.unanswered += own.unanswered;
            own.refused.into_iter().for_each(|(status, count)| *self.refused.entry(status).or_default() += count);
        }
    }

    fn note(&mut self, answer: Result<chancery_client::Response, chancery_client::Error>) {
        let Ok(answer) = answer else {
            self.unanswered += 1;
            return;
        };
        let status = answer.status.as_u16();
        let body: Value = answer.json().unwrap_or_default();
        if status == 201 {
            self.made.push(body["lookup"].as_str().unwrap().to_owned());
            return;
        }
        // Whoever is refused is told so in the form that clients know, and when to come back.
        assert_eq!(body["status"], status, "{}", answer.text());
        assert!(status != 503 || answer.retry_after().is_some(), "{}", answer.text());
        *self.refused.entry(status).or_default() += 1;
    }

    /// All that was acknowledged is there.
    pub(crate) async fn check(&self, server: &Server) {
        for few in self.made.chunks(32) {
            let asked = few.iter().map(|lookup| async move {
                let status = server.get(&format!("/v1/account/{lookup}")).await;
                assert_eq!(status, 200, "{lookup} was acknowledged, and is not there");
            });
            join_all(asked).await;
        }
    }
}

/// Nothing in the file is half written.
#[track_caller]
pub(crate) fn require_sound(database: &Path) {
    assert_eq!(Store::inspect_file(database).unwrap(), Vec::<String>::new());
}
