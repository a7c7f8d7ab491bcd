//! Ports for servers that cannot be told to take any port: other programs, and what has to come back at the same place.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::ops::Range;

/// Below those that the system gives to connections, and to who asks for any port.
const PORTS: Range<u16> = 20_000..32_000;

/// A port that nobody listens on, and that nobody else is given for a long while: neither by the system nor by this.
pub fn free_port() -> u16 {
    // Tests run side by side as processes. They take turns at one file, beside the binaries that they are.
    let binary = std::env::current_exe().expect("a test is a program");
    let turns = binary.with_file_name("next-test-port");
    let mut turns =
        File::options().read(true).write(true).create(true).truncate(false).open(turns).expect("a folder to write to");
    turns.lock().expect("a file that can be locked");
    let mut next = String::new();
    turns.read_to_string(&mut next).expect("a file that can be read");
    // Two working copies do not begin at the same place.
    let anywhere = || PORTS.clone().nth(std::process::id() as usize % PORTS.len()).expect("a place in the range");
    let mut port = next.parse().ok().filter(|port| PORTS.contains(port)).unwrap_or_else(anywhere);
    let free = loop {
        let this = port;
        port = if PORTS.contains(&(this + 1)) { this + 1 } else { PORTS.start };
        if TcpListener::bind(("127.0.0.1", this)).is_ok() && UdpSocket::bind(("127.0.0.1", this)).is_ok() {
            break this;
        }
    };
    turns.rewind().and_then(|()| write!(turns, "{port}")).expect("a file that can be written");
    free
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::thread;

    use super::free_port;

    #[test]
    fn those_who_ask_at_once_are_given_different_ports() {
        let asking: Vec<_> = (0..8).map(|_| thread::spawn(|| [(); 8].map(|()| free_port()))).collect();
        let given: BTreeSet<_> = asking.into_iter().flat_map(|asking| asking.join().unwrap()).collect();
        assert_eq!(given.len(), 64);
    }
}
