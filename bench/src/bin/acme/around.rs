//! What a server of others needs to be measured: a CA, a certificate for its HTTPS, and a DNS server that knows every name.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use chancery_testkit::free_port;
use tempfile::TempDir;

pub(crate) struct Around {
    /// Where the DNS server for tests that comes with pebble listens.
    pub(crate) resolver: String,
    folder: TempDir,
    _dns: Running,
}

/// A program that ends with this.
pub(crate) struct Running(Child);

impl Around {
    /// Nothing where a program for it is not installed.
    pub(crate) fn make() -> Option<Self> {
        let (resolver, management) = (local(free_port()), local(free_port()));
        let mut dns = Command::new("pebble-challtestsrv");
        dns.args(["-defaultIPv4", "127.0.0.1", "-defaultIPv6", "", "-dns01", &resolver, "-http01", "", "-https01", ""]);
        let dns = Running::start(dns.args(["-tlsalpn01", "", "-management", &management]))?;
        let around = Self { resolver, folder: tempfile::tempdir().unwrap(), _dns: dns };
        // Without the system's, which makes a CA of everything.
        std::fs::write(around.settings(), "[req]\ndistinguished_name = names\n[names]\n").unwrap();
        around.certify("root", None, "basicConstraints=critical,CA:true")?;
        around.certify("issuing", Some("root"), "basicConstraints=critical,CA:true,pathlen:0")?;
        around.certify("https", Some("root"), "subjectAltName=DNS:localhost,IP:127.0.0.1")?;
        Some(around)
    }

    fn certify(&self, name: &str, by: Option<&str>, extension: &str) -> Option<()> {
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]);
        openssl.arg("-config").arg(self.settings()).args(["-subj", &format!("/CN={name}"), "-addext", extension]);
        openssl.arg("-keyout").arg(self.key(name)).arg("-out").arg(self.certificate(name));
        if let Some(by) = by {
            openssl.arg("-CA").arg(self.certificate(by)).arg("-CAkey").arg(self.key(by));
        }
        openssl.stderr(Stdio::null()).status().ok()?.success().then_some(())
    }

    fn settings(&self) -> PathBuf {
        self.folder().join("openssl.cnf")
    }

    pub(crate) fn certificate(&self, name: &str) -> PathBuf {
        self.folder().join(format!("{name}.pem"))
    }

    pub(crate) fn key(&self, name: &str) -> PathBuf {
        self.folder().join(format!("{name}-key.pem"))
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Option<Self> {
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok().map(Self)
    }

    /// Waits until it takes connections; false where it ends before.
    pub(crate) fn listens(&mut self, at: &str) -> bool {
        while TcpStream::connect(at).is_err() {
            if self.0.try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        true
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn local(port: u16) -> String {
    format!("127.0.0.1:{port}")
}
