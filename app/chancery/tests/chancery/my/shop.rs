//! A reseller at its desk: a service somewhere, a home folder of its own, and the web server of a customer.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::*;

pub struct Shop {
    pub dev: Dev,
    pub home: TempDir,
    folder: TempDir,
}

impl Shop {
    /// With the customers' web server, and logged in.
    pub fn open() -> Self {
        Self::open_with(&[])
    }

    pub fn open_with(args: &[&str]) -> Self {
        let shop = Self::closed_with(args);
        shop.my(&["login", "--dev", shop.data().to_str().unwrap()]).ok();
        shop
    }

    /// Not logged in.
    pub fn closed() -> Self {
        Self::closed_with(&[])
    }

    fn closed_with(args: &[&str]) -> Self {
        let (folder, home) = (folder(), folder());
        let webroot = folder.path().join("www");
        fs::create_dir(&webroot).unwrap();
        let port = serve_files(webroot).to_string();
        let dev = Dev::start_with(&folder.path().join("data"), &[&["--http01-port", &port], args].concat());
        Self { dev, home, folder }
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub fn webroot(&self) -> String {
        self.folder.path().join("www").display().to_string()
    }

    /// A command, at home.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = chancery();
        for variable in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"] {
            command.env_remove(variable);
        }
        command.env("HOME", self.home.path()).current_dir(self.home.path()).arg("my").args(args);
        command
    }

    #[track_caller]
    pub fn my(&self, args: &[&str]) -> Outcome {
        outcome(&mut self.command(args))
    }

    /// The same on a terminal, which is both of its outputs.
    #[track_caller]
    pub fn on_a_terminal(&self, args: &[&str]) -> Outcome {
        let usual = self.command(args);
        let words: Vec<_> = std::iter::once(usual.get_program()).chain(usual.get_args()).collect();
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command"]).arg(words.join(OsStr::new(" "))).arg("/dev/null");
        for (name, value) in usual.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        outcome(command.current_dir(self.home.path()).stdin(Stdio::null()))
    }

    /// The answer for scripts.
    #[track_caller]
    pub fn json(&self, args: &[&str]) -> Value {
        self.my(&[args, &["--json"]].concat()).json()
    }

    /// The error for scripts, whose exit code must be this.
    #[track_caller]
    pub fn refused(&self, code: i32, args: &[&str]) -> Value {
        let outcome = self.my(&[args, &["--json"]].concat());
        assert_eq!(outcome.code, code, "{outcome:?}");
        let error: Value = serde_json::from_str(&outcome.stderr).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
        assert_eq!(error["error"]["exitCode"], code, "{error}");
        error["error"].clone()
    }

    /// An account to order for.
    pub fn account(&self) -> String {
        let account = self.json(&["account", "create", "admin@customer.example"]);
        account["lookup"].as_str().unwrap().to_owned()
    }

    pub fn at_home(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    pub fn credentials(&self) -> PathBuf {
        self.at_home(".config/chancery/credentials.toml")
    }
}

/// What every test asks of an outcome.
impl Outcome {
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }
}

pub fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).permissions().mode() & 0o777
}

/// A web server that shows the files in a folder, as long as the test runs.
fn serve_files(root: PathBuf) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            let root = root.clone();
            thread::spawn(move || show_file(stream, &root));
        }
    });
    port
}

fn show_file(mut stream: TcpStream, root: &Path) -> Option<()> {
    let mut line = String::new();
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    reader.read_line(&mut line).ok()?;
    let mut header = String::new();
    while reader.read_line(&mut header).ok()? > 2 {
        header.clear();
    }
    let path = line.split(' ').nth(1)?.trim_start_matches('/').to_owned();
    let (status, body) = match fs::read(root.join(path)) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body)).ok()
}
