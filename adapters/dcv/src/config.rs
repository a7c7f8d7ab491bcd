//! What a validator may do, and how long it waits.

use std::net::SocketAddr;
use std::time::Duration;

use crate::strictness::Strictness;

/// What a [`Validator`](crate::Validator) is told once. The default is fit for the public Internet but for its
/// resolvers and our own CAA names, which are empty.
#[derive(Clone, Debug)]
pub struct ValidatorConfig {
    /// The recursive resolvers to ask, in this order, and no others. The system's are used only where the caller
    /// lists them here.
    pub resolvers: Vec<SocketAddr>,
    pub dnssec: Dnssec,
    /// Whether names are asked for in lower case: what servers for tests know is often spelled so, and found in no other
    /// way. Only for `dev`.
    pub plain_case: bool,
    /// Where http-01 begins: 80, but for tests and `dev`.
    pub http01_port: u16,
    /// A port besides 80 and 443 that redirects may lead to: 443, but for tests and `dev`.
    pub https_port: u16,
    /// Where tls-alpn-01 looks: 443, but for tests and `dev`.
    pub tls_alpn01_port: u16,
    /// Whether to speak to loopback, private and other special addresses. Only for `dev`.
    pub allow_special_addresses: bool,
    /// Names at and under these have the loopback addresses and are not looked up; without resolvers all their other
    /// records are empty. Only for `dev`.
    pub builtin_loopback_suffixes: Vec<String>,
    /// How long to look again for what is merely missing.
    pub retry_window: Duration,
    pub timeouts: Timeouts,
    /// How many looks may be under way at once, and a quarter as many CAA checks besides. The others wait their turn,
    /// without a socket.
    pub max_in_flight: usize,
    /// The names that mean us in a CAA record (RFC 8659 section 4.2).
    pub ca_domains: Vec<String>,
    /// Shown in each attempt: from where we looked.
    pub perspective: String,
    /// How we call ourselves towards web servers.
    pub user_agent: String,
}

/// How long to wait for what.
#[derive(Clone, Debug)]
pub struct Timeouts {
    /// For one look, all of it.
    pub look: Duration,
    /// For a TCP connection to one address.
    pub connect: Duration,
    /// For one resolver's answer to one question.
    pub dns: Duration,
    /// For all questions of one CAA check.
    pub caa: Duration,
}

/// Whether signatures in DNS are checked here, whatever the resolver did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dnssec {
    /// Not checked: what the resolver says is taken.
    Unchecked,
    /// Checked from the keys of the root, or from those given: DNSKEY records in the form of a zone file. What ought
    /// to be signed and is not, or wrongly, is refused.
    Validated { anchors: Option<String> },
}

/// Why a configuration cannot work.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("max_in_flight must be at least 1")]
    NoRoom,
    #[error("DNSSEC trust anchors cannot be read: {0}")]
    TrustAnchors(String),
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    #[error("the user agent {0:?} cannot be sent in a header")]
    UserAgent(String),
}

impl ValidatorConfig {
    /// The settings that decide what the results are worth.
    pub fn strictness(&self) -> Strictness {
        Strictness {
            dnssec: matches!(self.dnssec, Dnssec::Validated { .. }),
            special_addresses: self.allow_special_addresses,
            http01_port: self.http01_port,
            tls_alpn01_port: self.tls_alpn01_port,
        }
    }
}

impl Default for ValidatorConfig {
    fn default() -> Self {
        Self {
            resolvers: Vec::new(),
            dnssec: Dnssec::Validated { anchors: None },
            plain_case: false,
            http01_port: 80,
            https_port: 443,
            tls_alpn01_port: 443,
            allow_special_addresses: false,
            builtin_loopback_suffixes: Vec::new(),
            retry_window: Duration::from_secs(20),
            timeouts: Timeouts::default(),
            max_in_flight: 500,
            ca_domains: Vec::new(),
            perspective: "primary".to_owned(),
            user_agent: concat!("Chancery/", env!("CARGO_PKG_VERSION"), " (domain validation)").to_owned(),
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            look: Duration::from_secs(10),
            connect: Duration::from_millis(2500),
            dns: Duration::from_secs(2),
            caa: Duration::from_secs(20),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_unless_told_otherwise_is_fit_for_the_internet() {
        let config = ValidatorConfig::default();
        assert_eq!((config.http01_port, config.https_port, config.tls_alpn01_port), (80, 443, 443));
        assert!(!config.allow_special_addresses && config.builtin_loopback_suffixes.is_empty());
        assert_eq!((config.retry_window, config.timeouts.look), (Duration::from_secs(20), Duration::from_secs(10)));
        assert_eq!(config.dnssec, Dnssec::Validated { anchors: None });
        assert_eq!(config.max_in_flight, 500);
        assert_eq!(config.strictness(), Strictness::PUBLIC);
    }
}
