//! Debian's pebble, and the DNS server for tests that comes with it.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::load::free_port;

pub(crate) struct Pebble {
    pub(crate) directory: String,
    pebble: Child,
    dns: Child,
}

impl Pebble {
    /// With the HTTPS certificate of a `chancery dev`; nothing where it is not installed.
    pub(crate) async fn start(dev: &Path, http01_port: u16) -> Option<Self> {
        let (listen, management, dns_port, dns_management) = (free_port(), free_port(), free_port(), free_port());
        let at = |port: u16| format!("127.0.0.1:{port}");
        let config = json!({"pebble": {
            "listenAddress": at(listen),
            "managementListenAddress": at(management),
            "certificate": dev.join("tls/server.pem"),
            "privateKey": dev.join("tls/server-key.pem"),
            "httpPort": http01_port,
            "tlsPort": free_port(),
            "externalAccountBindingRequired": false,
        }});
        let file = dev.join("pebble.json");
        std::fs::write(&file, config.to_string()).unwrap();
        let dns = Command::new("pebble-challtestsrv")
            .args(["-defaultIPv4", "127.0.0.1", "-defaultIPv6", "", "-dns01", &at(dns_port), "-http01", "", "-https01"])
            .args(["", "-tlsalpn01", "", "-management", &at(dns_management)])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let pebble = Command::new("pebble")
            .args(["-dnsserver", &at(dns_port), "-config"])
            .arg(&file)
            .envs([("PEBBLE_VA_NOSLEEP", "1"), ("PEBBLE_WFE_NONCEREJECT", "0")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        while TcpStream::connect(at(listen)).is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Some(Self { directory: format!("https://localhost:{listen}/dir"), pebble, dns })
    }

    pub(crate) fn id(&self) -> u32 {
        self.pebble.id()
    }
}

impl Drop for Pebble {
    fn drop(&mut self) {
        for process in [&mut self.pebble, &mut self.dns] {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
