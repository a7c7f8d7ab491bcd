//! Debian's pebble.

use std::process::Command;

use chancery_testkit::free_port;
use serde_json::json;

use crate::around::{Around, Running, local};
use crate::contender::Contender;
use crate::load::Target;

/// Nothing where it is not installed.
pub(crate) fn pebble() -> Option<Contender> {
    let around = Around::make()?;
    let (listen, http01_port) = (free_port(), free_port());
    let config = json!({"pebble": {
        "listenAddress": local(listen),
        "managementListenAddress": local(free_port()),
        "certificate": around.certificate("https"),
        "privateKey": around.key("https"),
        "httpPort": http01_port,
        "tlsPort": free_port(),
        "externalAccountBindingRequired": false,
    }});
    let file = around.folder().join("pebble.json");
    std::fs::write(&file, config.to_string()).unwrap();
    let mut command = Command::new("pebble");
    command.args(["-dnsserver", &around.resolver, "-config"]).arg(&file);
    let mut process = Running::start(command.envs([("PEBBLE_VA_NOSLEEP", "1"), ("PEBBLE_WFE_NONCEREJECT", "0")]))?;
    if !process.listens(&local(listen)) {
        return None;
    }
    let target = Target {
        directory: format!("https://localhost:{listen}/dir"),
        ca_file: around.certificate("root"),
        credential: None,
        http01_port,
        process: process.id(),
    };
    Some(Contender {
        name: "pebble",
        how: "no EAB, in memory, no nonces rejected, no sleeping before validation",
        target,
        // More than two, and it comes to a standstill.
        in_flight: &["1", "2", "16", "64"],
        best_at: "2",
        _held: Box::new((process, around)),
    })
}
