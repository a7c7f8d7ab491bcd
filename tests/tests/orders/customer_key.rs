//! Keys of customers, and the requests they make with them: good and bad ones.

use std::path::{Path, PathBuf};
use std::process::Command;

use data_encoding::BASE64;
use tempfile::TempDir;

/// A key that OpenSSL made, on disk until it is dropped.
pub(crate) struct CustomerKey {
    folder: TempDir,
}

impl CustomerKey {
    pub(crate) fn p256() -> Self {
        Self::new("EC", &["ec_paramgen_curve:P-256"])
    }

    /// By the algorithm and the options of `openssl genpkey`.
    pub(crate) fn new(algorithm: &str, options: &[&str]) -> Self {
        let key = Self { folder: tempfile::tempdir().unwrap() };
        let options = options.iter().flat_map(|option| ["-pkeyopt", option]);
        openssl(
            Command::new("openssl").args(["genpkey", "-algorithm", algorithm, "-out"]).arg(key.path()).args(options),
        );
        key
    }

    /// A request for names, as `subjectAltName` spells them in a configuration of OpenSSL.
    pub(crate) fn request(&self, names: &str) -> String {
        self.request_with(&["-subj", "/", "-addext", &format!("subjectAltName={names}")])
    }

    /// With these options of `openssl req`.
    pub(crate) fn request_with(&self, options: &[&str]) -> String {
        let pem = openssl(Command::new("openssl").args(["req", "-new", "-key"]).arg(self.path()).args(options));
        String::from_utf8(pem).unwrap()
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }
}

/// The bytes inside a PEM file.
pub(crate) fn der_of(pem: &str) -> Vec<u8> {
    let body: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    BASE64.decode(body.as_bytes()).unwrap()
}

/// A request in PEM.
pub(crate) fn pem_of(der: &[u8]) -> String {
    let body = BASE64.encode(der);
    let lines: Vec<_> = body.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN CERTIFICATE REQUEST-----\n{}\n-----END CERTIFICATE REQUEST-----\n", lines.join("\n"))
}

/// What `openssl` says of a file with these bytes; its options end where the file is named.
pub(crate) fn openssl_on(bytes: &[u8], options: &[&str]) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let path: &Path = file.path();
    String::from_utf8(openssl(Command::new("openssl").args(options).arg(path))).unwrap()
}

pub(crate) fn openssl(command: &mut Command) -> Vec<u8> {
    let output = command.output().expect("openssl runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
