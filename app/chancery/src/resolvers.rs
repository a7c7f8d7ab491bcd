//! Whom to ask for names, where the operator names nobody: the servers that this machine asks, read once.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use chancery_dcv::{ResolvConf, ValidatorConfig};

use crate::failure::Failure;
use crate::installation::{Installation, Validation};

/// Where the system says whom it asks.
pub const SYSTEM: &str = "/etc/resolv.conf";
const DNS_PORT: u16 = 53;

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
        match &mut self.validation {
            Validation::Checked(config) => find(config, system, "set dcv.resolvers"),
            Validation::Skipped => Ok(()),
        }
    }
}

/// Sees to it that a validator has DNS servers to ask; `choose` says how a person names others.
pub fn find(config: &mut ValidatorConfig, system: &Path, choose: &str) -> Result<(), Failure> {
    if !config.resolvers.is_empty() {
        return Ok(());
    }
    config.resolvers = ResolvConf::read(system).servers;
    if config.resolvers.is_empty() {
        let missing = format!("there is no DNS server to validate with: {} names none", system.display());
        return Err(Failure::usage(missing).advise(choose));
    }
    let resolvers: Vec<_> = config.resolvers.iter().map(SocketAddr::to_string).collect();
    let (resolvers, system) = (resolvers.join(", "), system.display());
    tracing::info!(resolvers, "asking the DNS servers of {system}; {choose} to choose others");
    Ok(())
}

/// One server as a person writes it: an address, with a port or without.
pub fn parse(text: &str) -> Result<SocketAddr, String> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse::<IpAddr>().map(|address| SocketAddr::new(address, DNS_PORT));
    let address = address.or_else(|_| text.parse::<SocketAddr>());
    let address = address.ok().filter(|address| address.port() != 0 && !address.ip().is_unspecified());
    address.ok_or_else(|| format!("must be addresses such as 192.0.2.53 or [2001:db8::53]:5353, not {text:?}"))
}
