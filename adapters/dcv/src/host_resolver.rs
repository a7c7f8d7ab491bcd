//! Resolves host names as this machine does, without the C library: its `getaddrinfo` blocks, so the runtime would run it on
//! the threads that also sign.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chancery_domain::Entropy;
use parking_lot::Mutex;

use crate::config::{ConfigError, Dnssec, ValidatorConfig};
use crate::resolver::Resolver;
use crate::system_files::{Hosts, ResolvConf};

/// Where a [`HostResolver`] finds what this machine knows of names.
#[derive(Clone, Debug)]
pub struct HostResolverConfig {
    pub hosts: PathBuf,
    pub resolv_conf: PathBuf,
    /// The port of the DNS servers: 53, but for tests.
    pub dns_port: u16,
    /// How often changes to the files are looked for.
    pub refresh: Duration,
}

impl Default for HostResolverConfig {
    fn default() -> Self {
        Self {
            hosts: "/etc/hosts".into(),
            resolv_conf: "/etc/resolv.conf".into(),
            dns_port: 53,
            refresh: Duration::from_secs(5),
        }
    }
}

/// Looks up the addresses of hosts: in `/etc/hosts`, then at the DNS servers of `/etc/resolv.conf` with its search list.
/// `localhost` and names below it are this machine (RFC 6761 section 6.3). Nothing is cached but the two files.
///
/// DNSSEC is not checked and the case of names is not mixed: as with `getaddrinfo`, it is TLS that authenticates a server.
/// A lookup has no timeout of its own beyond those of single questions; the caller sets one.
#[derive(Clone)]
pub struct HostResolver(Arc<Inner>);

struct Inner {
    config: HostResolverConfig,
    entropy: Arc<dyn Entropy>,
    cached: Mutex<Option<(Instant, Arc<System>)>>,
}

/// What the files say.
struct System {
    hosts: Hosts,
    resolv_conf: ResolvConf,
    dns: Resolver,
}

impl HostResolver {
    pub fn new(config: HostResolverConfig, entropy: Arc<dyn Entropy>) -> Self {
        Self(Arc::new(Inner { config, entropy, cached: Mutex::new(None) }))
    }

    /// The addresses of a host, none if it does not exist; or why that is not known, for people.
    pub async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        let system = self.0.system().map_err(|error| error.to_string())?;
        let listed = system.hosts.addresses(host);
        if !listed.is_empty() {
            return Ok(listed);
        }
        let mut failure = None;
        for name in system.resolv_conf.candidates(host) {
            match system.dns.addresses(&name).await {
                Ok(addresses) if addresses.found.is_empty() => {}
                Ok(addresses) => return Ok(addresses.found),
                // Another name of the search list may be answered.
                Err(error) => failure = failure.or(Some(error.to_string())),
            }
        }
        failure.map_or(Ok(Vec::new()), Err)
    }
}

impl Inner {
    /// The files as they are, or were a moment ago. They are small and local: reading them does not need another thread.
    fn system(&self) -> Result<Arc<System>, ConfigError> {
        let mut cached = self.cached.lock();
        if let Some((read_at, system)) = &*cached
            && read_at.elapsed() < self.config.refresh
        {
            return Ok(system.clone());
        }
        let system = Arc::new(self.read()?);
        *cached = Some((Instant::now(), system.clone()));
        Ok(system)
    }

    fn read(&self) -> Result<System, ConfigError> {
        let resolv_conf = ResolvConf::read(&self.config.resolv_conf);
        let mut servers = resolv_conf.servers_to_ask();
        servers.iter_mut().for_each(|server| server.set_port(self.config.dns_port));
        let dns = ValidatorConfig {
            resolvers: servers,
            dnssec: Dnssec::Unchecked,
            plain_case: true,
            builtin_loopback_suffixes: vec!["localhost".to_owned()],
            ..ValidatorConfig::default()
        };
        let dns = Resolver::new(&dns, self.entropy.clone())?;
        Ok(System { hosts: Hosts::read(&self.config.hosts), resolv_conf, dns })
    }
}
