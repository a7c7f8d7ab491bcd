//! step-ca, by the program of that name or one built as `bench/peers/step-ca.go` says.

use std::process::Command;

use chancery_testkit::free_port;
use serde_json::json;

use crate::around::{Around, Running, local};
use crate::contender::Contender;
use crate::load::Target;

/// It looks at applicants on this port alone.
const HTTP01_PORT: u16 = 80;

/// Nothing where it is not installed, or may not be looked for on its port.
pub(crate) fn step_ca() -> Option<Contender> {
    std::net::TcpListener::bind(("127.0.0.1", HTTP01_PORT)).ok()?;
    let around = Around::make()?;
    let listen = free_port();
    let config = json!({
        "address": local(listen),
        "dnsNames": ["localhost", "127.0.0.1"],
        "root": around.certificate("root"),
        "crt": around.certificate("issuing"),
        "key": around.key("issuing"),
        "db": {"type": "badgerv2", "dataSource": around.folder().join("db")},
        "authority": {"provisioners": [{"type": "ACME", "name": "acme"}]},
    });
    let file = around.folder().join("step-ca.json");
    std::fs::write(&file, config.to_string()).unwrap();
    let mut process = Running::start(Command::new("step-ca").args(["--resolver", &around.resolver]).arg(&file))?;
    if !process.listens(&local(listen)) {
        return None;
    }
    let target = Target {
        directory: format!("https://localhost:{listen}/acme/acme/directory"),
        ca_file: around.certificate("root"),
        credential: None,
        http01_port: HTTP01_PORT,
        process: process.id(),
    };
    Some(Contender {
        name: "step-ca",
        how: "no EAB, its own database (badger)",
        target,
        in_flight: &["1", "2", "16", "64"],
        best_at: "64",
        _held: Box::new((process, around)),
    })
}
