//! A PostgreSQL server of the test's own, which it can stop, crash and start again, and its standby.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use chancery_testkit::free_port;
use postgres::NoTls;
use tempfile::TempDir;

use crate::process::{signal, skip};

/// Changed settings make no difference to what is tested, only to how long it takes.
const SETTINGS: &[&str] = &["listen_addresses=127.0.0.1", "max_connections=100", "timezone=UTC", "fsync=on"];

pub(crate) struct Postgres {
    programs: PathBuf,
    folder: TempDir,
    settings: Vec<String>,
    pub(crate) port: u16,
    child: Option<Child>,
}

impl Postgres {
    /// A new server that answers; none where PostgreSQL is not installed.
    pub(crate) fn start(settings: &[&str]) -> Option<Self> {
        let Some(programs) = programs() else {
            assert!(std::env::var_os("CHANCERY_REQUIRE_POSTGRES").is_none(), "PostgreSQL is not installed");
            return skip("PostgreSQL");
        };
        let mut server = Self::place(programs, settings);
        let made = server
            .command("initdb")
            .args(["--username", "postgres", "--encoding", "UTF8", "--locale", "C", "--auth", "trust", "--pgdata"])
            .arg(server.data())
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let trust = "local all all trust\nhost all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust\n";
        fs::write(server.data().join("pg_hba.conf"), trust).unwrap();
        server.resume();
        execute(&server.url("postgres"), "CREATE DATABASE ca TEMPLATE template0");
        Some(server)
    }

    /// A standby of this one, which follows it.
    pub(crate) fn standby(&self, name: &str, settings: &[&str]) -> Self {
        let mut standby = Self::place(self.programs.clone(), settings);
        let copied = standby
            .command("pg_basebackup")
            .args(["--checkpoint=fast", "--write-recovery-conf", "--dbname"])
            .arg(format!("host=127.0.0.1 port={} user=postgres application_name={name}", self.port))
            .arg("--pgdata")
            .arg(standby.data())
            .output()
            .unwrap();
        assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
        standby.resume();
        standby
    }

    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// Tells everybody to go, and waits until it has ended.
    pub(crate) fn stop(&mut self) {
        self.end("INT");
    }

    /// Ends it at once, as a crash does; the next start recovers.
    pub(crate) fn crash(&mut self) {
        self.end("QUIT");
    }

    /// SIGKILL to the server itself, as the kernel does it when memory is short; then starts it, and it recovers.
    pub(crate) fn kill_and_resume(&mut self) {
        let processes = texts(&self.url("postgres"), "SELECT pid::text FROM pg_stat_activity");
        self.end("KILL");
        // They notice that they are orphans. A server does not start before all of them have gone.
        let deadline = Instant::now() + Duration::from_secs(20);
        while processes.iter().any(|process| Path::new("/proc").join(process).exists()) {
            assert!(Instant::now() < deadline, "processes of PostgreSQL are left:\n{}", self.log());
            sleep(Duration::from_millis(20));
        }
        self.resume();
    }

    /// SIGKILL to the process of one connection, and waits until the server has recovered from it.
    pub(crate) fn kill_a_backend(&mut self) {
        let recovered = |log: &str| log.matches("all server processes terminated; reinitializing").count();
        let before = recovered(&self.log());
        let sql = "SELECT pid::text FROM pg_stat_activity WHERE application_name = 'chancery' LIMIT 1";
        let process = texts(&self.url("postgres"), sql).remove(0);
        assert!(Command::new("kill").args(["-KILL", &process]).status().unwrap().success());
        let deadline = Instant::now() + Duration::from_secs(20);
        while recovered(&self.log()) == before || !self.answers() {
            assert!(Instant::now() < deadline, "PostgreSQL does not recover:\n{}", self.log());
            sleep(Duration::from_millis(20));
        }
    }

    /// Starts it and waits until it answers.
    pub(crate) fn resume(&mut self) {
        let log = File::options().create(true).append(true).open(self.folder.path().join("log")).unwrap();
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data()).args(["-p", &self.port.to_string(), "-c"]);
        command.arg(format!("unix_socket_directories={}", self.folder.path().display()));
        for setting in SETTINGS.iter().copied().chain(self.settings.iter().map(String::as_str)) {
            command.args(["-c", setting]);
        }
        self.child = Some(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
        let deadline = Instant::now() + Duration::from_secs(30);
        while !self.answers() {
            let ended = self.child.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < deadline, "PostgreSQL does not start:\n{}", self.log());
            sleep(Duration::from_millis(50));
        }
    }

    /// Makes a standby the one that is written to.
    pub(crate) fn promote(&self) {
        execute(&self.url("postgres"), "SELECT pg_promote()");
    }

    /// Ends every connection but the one that says so.
    pub(crate) fn cut_connections(&self) {
        let others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                      WHERE application_name = 'chancery' AND pid <> pg_backend_pid()";
        execute(&self.url("postgres"), others);
    }

    /// Gives a file or folder to the user that the server runs as.
    pub(crate) fn own(&self, path: &Path) {
        if is_root() {
            assert!(Command::new("chown").arg("postgres").arg(path).status().unwrap().success());
        }
    }

    /// A database as SQL that the driver can run.
    pub(crate) fn dump(&self, database: &str) -> String {
        let mut command = self.command("pg_dump");
        command.args(["--inserts", "--no-owner", "--no-privileges", "--dbname"]).arg(self.url(database));
        let dumped = command.output().unwrap();
        assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
        String::from_utf8(dumped.stdout).unwrap()
    }

    /// Every statement, where the settings ask for that log.
    pub(crate) fn statement_log(&self) -> String {
        fs::read_to_string(self.data().join("log/all.json")).unwrap()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn place(programs: PathBuf, settings: &[&str]) -> Self {
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        let folder = tempfile::tempdir().unwrap();
        let server = Self { programs, folder, settings, port: free_port(), child: None };
        server.own(server.folder.path());
        server
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// One of its programs, run by a user it accepts; the kernel ends it with this process.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "INT"]);
        if is_root() {
            command.args(["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]);
        }
        command.arg(self.programs.join(program)).current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    fn answers(&self) -> bool {
        let asked = Command::new(self.programs.join("pg_isready"))
            .args(["--quiet", "--host", "127.0.0.1", "--port", &self.port.to_string()])
            .status();
        asked.unwrap().success()
    }

    fn end(&mut self, how: &str) {
        if let Some(mut child) = self.child.take() {
            signal(&child, how);
            let deadline = Instant::now() + Duration::from_secs(20);
            while child.try_wait().unwrap().is_none() {
                assert!(Instant::now() < deadline, "PostgreSQL does not end:\n{}", self.log());
                sleep(Duration::from_millis(20));
            }
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            signal(&child, "QUIT");
            let _reaped = child.wait();
        }
    }
}

/// Runs statements, one after the other.
pub(crate) fn execute(url: &str, sql: &str) {
    ask(url, |client| client.batch_execute(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}")));
}

/// The one number that a question is answered with.
pub(crate) fn number(url: &str, sql: &str) -> i64 {
    ask(url, |client| client.query_one(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error:?}")).get(0))
}

/// The texts of the first column.
pub(crate) fn texts(url: &str, sql: &str) -> Vec<String> {
    ask(url, |client| client.query(sql, &[]).unwrap().iter().map(|row| row.get(0)).collect())
}

/// The driver blocks, which it may not do on a thread of a runtime.
pub(crate) fn ask<T: Send>(url: &str, ask: impl FnOnce(&mut postgres::Client) -> T + Send) -> T {
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| ask(&mut postgres::Client::connect(url, NoTls).unwrap()));
        asked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Debian keeps them off the PATH.
fn programs() -> Option<PathBuf> {
    let mut versions: Vec<PathBuf> =
        fs::read_dir("/usr/lib/postgresql").ok()?.flatten().map(|entry| entry.path()).collect();
    versions.sort_by_key(|path| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()));
    versions.into_iter().rev().map(|path| path.join("bin")).find(|path| path.join("initdb").is_file())
}
