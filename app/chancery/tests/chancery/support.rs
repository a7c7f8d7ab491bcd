//! Runs the binary, and talks to what it serves.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

pub use chancery_testkit::free_port;
use serde_json::Value;
use tempfile::TempDir;

/// Long enough for anything that is going to happen at all.
pub const GENEROUS: Duration = Duration::from_secs(30);

/// The binary, without settings from the environment of whoever runs the tests.
pub fn chancery() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chancery"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CHANCERY_") || name == "RUST_LOG" {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null());
    command
}

/// What came of a command.
#[derive(Debug)]
pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a command to its end, which must come: a server that starts where it should have refused is stopped.
#[track_caller]
pub fn outcome(command: &mut Command) -> Outcome {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
    let (stdout, stderr) = (read_aside(child.stdout.take()), read_aside(child.stderr.take()));
    let began = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if began.elapsed() > GENEROUS => break None,
            None => sleep(Duration::from_millis(5)),
        }
    };
    if status.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
    let Some(status) = status else { panic!("does not end:\n{stdout}\n{stderr}") };
    Outcome { code: status.code().expect("it ends by itself"), stdout, stderr }
}

fn read_aside(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    let mut pipe = pipe.expect("it was asked for");
    thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).expect("what is printed is text");
        text
    })
}

pub fn run(args: &[&str]) -> Outcome {
    outcome(chancery().args(args))
}

impl Outcome {
    /// The JSON of a command that went well.
    #[track_caller]
    pub fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The one line of a command that failed with this code.
    #[track_caller]
    pub fn line(&self, code: i32) -> &str {
        assert_eq!(self.code, code, "{self:?}");
        let line = self.stderr.strip_suffix('\n').expect("a line ends");
        assert!(line.starts_with("chancery: ") && !line.contains('\n'), "not one line: {self:?}");
        line
    }
}

/// A command on the folder of a `dev`, whose answer is JSON.
#[track_caller]
pub fn json_in(folder: &Path, args: &[&str]) -> Value {
    outcome(chancery().args(args).arg("--json").arg("--data-dir").arg(folder)).json()
}

pub fn folder() -> TempDir {
    tempfile::tempdir().expect("there is room for a temporary folder")
}

/// A process that is ended with this value.
pub struct Running {
    child: Child,
    log: PathBuf,
    out: PathBuf,
}

impl Running {
    /// Starts it; what it prints goes to files in `logs`.
    pub fn start(command: &mut Command, logs: &Path) -> Self {
        let (log, out) = (logs.join("stderr.log"), logs.join("stdout.log"));
        let child = command.stderr(File::create(&log).unwrap()).stdout(File::create(&out).unwrap()).spawn();
        Self { child: child.expect("the binary starts"), log, out }
    }

    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    pub fn out(&self) -> String {
        fs::read_to_string(&self.out).unwrap()
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([format!("-{name}"), self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits until something is there, as long as the process lives.
    #[track_caller]
    pub fn until<T>(&mut self, what: &str, mut look: impl FnMut(&Self) -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("ended with {status} before {what}:\n{}", self.log());
            }
            assert!(began.elapsed() < GENEROUS, "waited too long for {what}:\n{}", self.log());
            sleep(Duration::from_millis(10));
        }
    }

    /// Waits for the end that was asked for.
    #[track_caller]
    pub fn ended(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < GENEROUS, "does not end:\n{}", self.log());
            sleep(Duration::from_millis(10));
        }
    }

    #[track_caller]
    pub fn stop(&mut self) {
        self.signal("TERM");
        assert_eq!(self.ended().code(), Some(0), "{}", self.log());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let ended = self.child.try_wait();
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            let last = log.lines().count().saturating_sub(50);
            eprintln!("it had ended: {ended:?}; the end of its log:");
            log.lines().skip(last).for_each(|line| eprintln!("{line}"));
        }
    }
}

/// A `chancery dev` that is ready.
pub struct Dev {
    pub process: Running,
    pub json: Value,
    _logs: TempDir,
}

impl Dev {
    #[track_caller]
    pub fn start(folder: &Path) -> Self {
        Self::start_with(folder, &[] as &[&str])
    }

    #[track_caller]
    pub fn start_with<S: AsRef<OsStr>>(folder: &Path, args: &[S]) -> Self {
        let logs = tempfile::tempdir().unwrap();
        let mut process =
            Running::start(free_ports(chancery().arg("dev").arg("--data-dir").arg(folder)).args(args), logs.path());
        let path = folder.join("dev.json");
        let text = process.until("dev.json", |_| fs::read_to_string(&path).ok());
        Self { process, json: serde_json::from_str(&text).expect("dev.json is JSON"), _logs: logs }
    }

    pub fn value(&self, name: &str) -> &str {
        self.json[name].as_str().unwrap_or_else(|| panic!("dev.json has {name}"))
    }

    /// The path of an URL in dev.json, asked for with the demo's API key.
    #[track_caller]
    pub fn curl(&self, path: &str, args: &[&str]) -> Answer {
        let url = format!("{}{path}", self.value("base_url"));
        let authorization = format!("Authorization: {}", self.value("api_key"));
        curl(&[&["--cacert", self.value("ca_bundle"), "-H", &authorization, &url], args].concat())
    }

    pub fn admin(&self, path: &str) -> Answer {
        get(self.value("admin_url").strip_prefix("http://").unwrap(), path)
    }
}

/// Three ports that are free, whichever they are.
pub fn free_ports(command: &mut Command) -> &mut Command {
    command.args(["--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"])
}

/// A status and a body.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: String,
}

impl Answer {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Asks as a person would.
#[track_caller]
pub fn curl(args: &[&str]) -> Answer {
    let output = Command::new("curl").args(["-sS", "-w", "\n%{http_code}"]).args(args).output().expect("curl runs");
    let text = String::from_utf8(output.stdout).unwrap();
    let (body, status) = text.rsplit_once('\n').expect("curl writes the status");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Answer { status: status.parse().unwrap(), body: body.to_owned() }
}

/// GET over plain HTTP, without any help.
#[track_caller]
pub fn get(address: &str, path: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap_or_else(|error| panic!("{address}: {error}"));
    stream.set_read_timeout(Some(GENEROUS)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    read_answer(&mut stream)
}

/// Reads an answer to its end.
#[track_caller]
pub fn read_answer(stream: &mut TcpStream) -> Answer {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("the server answers and closes");
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Answer { status: status.unwrap_or_else(|| panic!("no status: {head}")), body: body.to_owned() }
}

/// A configuration in a folder of its own, with free ports and plain HTTP on loopback.
pub struct Configured {
    pub folder: TempDir,
}

impl Configured {
    pub fn new(more: &str) -> Self {
        let folder = folder();
        let text = format!(
            "server.listen = '127.0.0.1:0'\nserver.http_listen = '127.0.0.1:0'\nserver.admin_listen = '127.0.0.1:0'\n\
             server.base_url = 'http://localhost:8443'\n\
             dcv.resolvers = ['127.0.0.1']\n{more}\n"
        );
        fs::write(folder.path().join("chancery.toml"), text).unwrap();
        Self { folder }
    }

    /// The same, with keys, schema and CAs.
    #[track_caller]
    pub fn initialised(more: &str) -> Self {
        let configured = Self::new(more);
        assert_eq!(configured.run(&["init"]).code, 0);
        configured
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("chancery.toml")
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = chancery();
        command.args(args).arg("--config").arg(self.path());
        command
    }

    pub fn run(&self, args: &[&str]) -> Outcome {
        outcome(&mut self.command(args))
    }

    /// Starts the service and waits until it says that it is ready, and where.
    #[track_caller]
    pub fn serve(&self) -> Serving {
        let mut process = Running::start(&mut self.command(&["serve"]), self.folder.path());
        let ready = process.until("ready", |process| {
            let log = process.log();
            let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            lines.into_iter().find(|line| line["message"] == "ready")
        });
        let at = |name: &str| ready[name].as_str().unwrap().to_owned();
        Serving { process, api: at("listen"), http: at("http_listen"), admin: at("admin_listen"), ready: ready.clone() }
    }
}

/// A `chancery serve` that is ready.
pub struct Serving {
    pub process: Running,
    pub api: String,
    pub http: String,
    pub admin: String,
    pub ready: Value,
}

/// A CSR with a new key for a name.
pub fn csr(name: &str) -> String {
    let folder = folder();
    let output = Command::new("openssl")
        .args([
            "req",
            "-new",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-subj",
            "/",
            "-keyout",
        ])
        .arg(folder.path().join("key.pem"))
        .args(["-addext", &format!("subjectAltName=DNS:{name}")])
        .output()
        .expect("openssl runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
