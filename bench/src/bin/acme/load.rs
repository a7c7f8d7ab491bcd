//! The load, from `chancery bench acme`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A server that is to be measured.
pub(crate) struct Target {
    pub(crate) directory: String,
    pub(crate) ca_file: PathBuf,
    pub(crate) credential: Option<(String, String)>,
    pub(crate) http01_port: u16,
    pub(crate) process: u32,
}

impl Target {
    /// A round as the program tells of it, or nothing where the server has stopped answering.
    pub(crate) fn load(&self, binary: &Path, in_flight: &str, until: &str, number: &str) -> Option<Value> {
        let mut command = Command::new(binary);
        command.args(["bench", "acme", "--json", "--directory", &self.directory, "--ca-file"]).arg(&self.ca_file);
        command.args(["--accounts", in_flight, &format!("--{until}"), number]);
        command.args(["--http01-port", &self.http01_port.to_string(), "--process", &self.process.to_string()]);
        if let Some((kid, hmac_key)) = &self.credential {
            command.args(["--eab-kid", kid, "--eab-hmac-key", hmac_key]);
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let began = Instant::now();
        // It gives an order up after a minute, and a round is shorter than that.
        let patience = if until == "seconds" { Duration::from_secs(150) } else { Duration::from_secs(1800) };
        while child.try_wait().unwrap().is_none() {
            if began.elapsed() > patience {
                child.kill().unwrap();
                child.wait().unwrap();
                return None;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let output = child.wait_with_output().unwrap();
        let rounds = output.status.success().then(|| serde_json::from_slice::<Vec<Value>>(&output.stdout).unwrap());
        rounds.map(|mut rounds| rounds.remove(0))
    }
}
