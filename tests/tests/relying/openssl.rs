//! The program `openssl`, as a relying party uses it.

use std::fs;
use std::path::Path;
use std::process::Command;

use chancery_domain::{IssuerId, Timestamp};
use chancery_tests::World;
use tempfile::TempDir;

use crate::customer::Held;

/// A folder with `root.pem`, `issuer.pem`, and `trusted.pem`, which has both.
pub(crate) struct RelyingParty {
    folder: TempDir,
}

impl RelyingParty {
    pub(crate) async fn of(world: &World, held: &Held) -> Self {
        Self::below(world, held.issuer()).await
    }

    /// One that cares for certificates of this CA.
    pub(crate) async fn below(world: &World, issuer: IssuerId) -> Self {
        let me = Self { folder: tempfile::tempdir().unwrap() };
        let issuers = world.services.operator.issuers().await.unwrap();
        let pem = |id| issuers.iter().find(|issuer| issuer.id == id).unwrap().certificate.to_pem();
        let parent = issuers.iter().find(|known| known.id == issuer).unwrap().parent.unwrap();
        let (root, issuer) = (pem(parent), pem(issuer));
        me.write("trusted.pem", (root.clone() + &issuer).as_bytes());
        me.write("issuer.pem", issuer.as_bytes());
        me.write("root.pem", root.as_bytes());
        me
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path().join(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path().join(name)).unwrap()
    }

    /// What it says, wherever it says it.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let output = Command::new("openssl").current_dir(self.path()).args(arguments).output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    /// An OCSP request about a serial number.
    pub(crate) fn ask(&self, serial: &str, options: &[&str]) -> Vec<u8> {
        let serial = format!("0x{serial}");
        let mut arguments = vec!["ocsp", "-issuer", "issuer.pem"];
        arguments.extend_from_slice(options);
        arguments.extend_from_slice(&["-serial", &serial, "-reqout", "request.der"]);
        let said = self.run(&arguments);
        assert_eq!(said, "", "{said}");
        self.read("request.der")
    }

    /// What it makes of an OCSP answer to such a request.
    pub(crate) fn judge(&self, answer: &[u8], serial: &str, now: Timestamp, options: &[&str]) -> String {
        self.write("answer.der", answer);
        let (serial, now) = (format!("0x{serial}"), now.as_secs().to_string());
        let mut arguments = vec!["ocsp", "-CAfile", "trusted.pem", "-attime", &now, "-validity_period", "315360000"];
        arguments.extend_from_slice(&["-no_nonce", "-respin", "answer.der", "-issuer", "issuer.pem"]);
        arguments.extend_from_slice(options);
        arguments.extend_from_slice(&["-serial", &serial]);
        self.run(&arguments)
    }

    /// What it makes of the nonce in an answer to the last request.
    pub(crate) fn judge_nonce(&self, answer: &[u8], now: Timestamp) -> String {
        self.write("answer.der", answer);
        let now = now.as_secs().to_string();
        let arguments = ["ocsp", "-CAfile", "trusted.pem", "-attime", &now, "-reqin", "request.der"];
        self.run(&[&arguments[..], &["-respin", "answer.der", "-issuer", "issuer.pem"]].concat())
    }
}
