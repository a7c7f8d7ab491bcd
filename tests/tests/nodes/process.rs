//! What the tests know of processes and ports.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

pub(crate) fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status().unwrap();
    assert!(sent.success(), "the process has ended already");
}

/// The binary to test; none where the test is to be skipped.
pub(crate) fn binary() -> Option<PathBuf> {
    match std::env::var_os("CHANCERY_TEST_BINARY") {
        Some(path) => Some(PathBuf::from(path)),
        None => skip("CHANCERY_TEST_BINARY"),
    }
}

/// A program that `scripts/test` installs.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let places = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&places).chain([PathBuf::from("/usr/sbin")]);
    let found = places.map(|place| place.join(name)).find(|path| path.is_file());
    if found.is_some() { found } else { skip(name) }
}

/// Says that something is missing, which is a mistake where it was promised.
pub(crate) fn skip<T>(what: &str) -> Option<T> {
    assert!(std::env::var_os("CHANCERY_REQUIRE_TOOLS").is_none(), "{what} is not there");
    eprintln!("skipped: {what} is not there; ./scripts/test provides it");
    None
}

/// GET over plain HTTP: the status and the body, where somebody answers.
pub(crate) fn get(address: &str, path: &str) -> Option<(u16, String)> {
    let address: SocketAddr = address.parse().unwrap();
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(2)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").ok()?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}
