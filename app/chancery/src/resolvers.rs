//! Whom to ask for names, where the operator names nobody: the servers that this machine asks, read once.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use crate::failure::Failure;
use crate::installation::{Installation, Validation};

/// Where the system says whom it asks.
pub const SYSTEM: &str = "/etc/resolv.conf";
pub const DNS_PORT: u16 = 53;

impl Installation {
    /// Who is asked for names, or whose servers are.
    pub fn resolvers(&self) -> Vec<String> {
        match &self.validation {
            Validation::Skipped => Vec::new(),
            Validation::Checked(config) if config.resolvers.is_empty() => vec![format!("those of {SYSTEM}")],
            Validation::Checked(config) => config.resolvers.iter().map(ToString::to_string).collect(),
        }
    }

    /// Sees to it that there is somebody to ask; says so in the log where it is not the configuration that names them.
    pub fn find_resolvers(&mut self, system: &Path) -> Result<(), Failure> {
        let Validation::Checked(config) = &mut self.validation else { return Ok(()) };
        if !config.resolvers.is_empty() {
            return Ok(());
        }
        config.resolvers = servers(&std::fs::read_to_string(system).unwrap_or_default());
        if config.resolvers.is_empty() {
            let missing = format!("there is no DNS server to validate with: {} names none", system.display());
            return Err(Failure::usage(missing).advise("set dcv.resolvers"));
        }
        let resolvers: Vec<_> = config.resolvers.iter().map(SocketAddr::to_string).collect();
        tracing::info!(
            resolvers = resolvers.join(", "),
            "asking the DNS servers of {}; set dcv.resolvers to choose others",
            system.display()
        );
        Ok(())
    }
}

/// The `nameserver` lines; one that only has a meaning on an interface (`fe80::1%eth0`) is left out.
fn servers(text: &str) -> Vec<SocketAddr> {
    let server = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let address = words.next().filter(|word| *word == "nameserver").and_then(|_| words.next());
        Some(SocketAddr::new(address?.parse::<IpAddr>().ok()?, DNS_PORT))
    };
    text.lines().filter_map(server).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_of_the_system_are_read() {
        let text = "# comment\nsearch example.com\n; nameserver 192.0.2.9\nnameserver 192.0.2.1\n\
                    nameserver\t2001:db8::1 # the second\nnameserver fe80::1%eth0\nnameserver\nnameservers 192.0.2.2\n";
        let expected: Vec<SocketAddr> = vec!["192.0.2.1:53".parse().unwrap(), "[2001:db8::1]:53".parse().unwrap()];
        assert_eq!(servers(text), expected);
        assert_eq!(servers(""), Vec::<SocketAddr>::new());
    }
}
