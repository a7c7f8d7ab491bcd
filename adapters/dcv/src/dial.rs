//! Connects to a host: to the very address that was resolved and checked, and to no other.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use chancery_domain::{Attempt, ProblemKind};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::refusal::Refusal;
use crate::resolver::Resolver;

/// IPv6 comes first; where it cannot be connected to, IPv4 gets its turn, however many others there are.
const MAX_V6: usize = 2;
const MAX_V4: usize = 2;
/// So many addresses and aliases are kept in an attempt; a name can have thousands.
const MAX_KEPT: usize = 64;
/// Who is to be spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    Name(String),
    Address(IpAddr),
}

pub(crate) struct Dialer {
    pub resolver: Resolver,
    /// What an address is set aside for, if it may not be spoken to.
    pub set_aside: fn(IpAddr) -> Option<&'static str>,
    pub connect_timeout: Duration,
}

impl Dialer {
    /// A connection to the host, and in the attempt what was found on the way.
    pub(crate) async fn connect(&self, host: &Host, port: u16, attempt: &mut Attempt) -> Result<TcpStream, Refusal> {
        let found = self.resolve(host, attempt).await?;
        let mut reasons = Vec::new();
        for address in self.candidates(host, &found)? {
            let address = SocketAddr::new(address, port);
            attempt.address_used = Some(address.to_string());
            match timeout(self.connect_timeout, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => reasons.push(format!("{address}: {error}")),
                Err(_) => reasons.push(format!("{address}: no connection within {:?}", self.connect_timeout)),
            }
        }
        Err(Refusal::missing(ProblemKind::Connection, format!("could not connect to {}", reasons.join("; "))))
    }

    async fn resolve(&self, host: &Host, attempt: &mut Attempt) -> Result<Vec<IpAddr>, Refusal> {
        let name = match host {
            Host::Address(address) => return Ok(vec![*address]),
            Host::Name(name) => name,
        };
        let addresses = match self.resolver.addresses(name).await {
            Ok(addresses) => addresses,
            Err(error) => {
                attempt.dnssec = error.dnssec();
                return Err(error.into());
            }
        };
        let disclosed = addresses.found.iter().filter(|address| (self.set_aside)(**address).is_none());
        add_new(&mut attempt.addresses_resolved, disclosed.map(IpAddr::to_string));
        add_new(&mut attempt.dns_answers, addresses.aliases);
        let security = addresses.security.or_weaker(attempt.dnssec.as_deref());
        attempt.dnssec = Some(security.as_str().to_owned());
        if addresses.found.is_empty() {
            let what = if addresses.exists { "has no A and no AAAA record" } else { "does not exist (NXDOMAIN)" };
            return Err(Refusal::missing(ProblemKind::Dns, format!("{name} {what}")));
        }
        Ok(addresses.found)
    }

    /// The addresses to try, in order. Special addresses are never connected to, and never named in what applicants
    /// can read either: those that the resolver knows of may be inside the operator's network. The log has them.
    fn candidates(&self, host: &Host, found: &[IpAddr]) -> Result<Vec<IpAddr>, Refusal> {
        let (v6, v4): (Vec<IpAddr>, Vec<IpAddr>) =
            found.iter().filter(|address| (self.set_aside)(**address).is_none()).partition(|address| address.is_ipv6());
        let candidates: Vec<_> = v6.into_iter().take(MAX_V6).chain(v4.into_iter().take(MAX_V4)).collect();
        if !candidates.is_empty() {
            return Ok(candidates);
        }
        tracing::debug!(?host, addresses = ?found, "refused to connect: the host has only special addresses");
        let uses: BTreeSet<_> = found.iter().filter_map(|address| (self.set_aside)(*address)).collect();
        let uses: Vec<_> = uses.into_iter().map(|special_use| format!("an address is {special_use}")).collect();
        let host = match host {
            Host::Name(name) => format!("{name} leads to no address that may be spoken to: "),
            Host::Address(_) => "the address may not be spoken to: ".to_owned(),
        };
        Err(Refusal::wrong(ProblemKind::Connection, host + &uses.join("; ")))
    }
}

fn add_new(list: &mut Vec<String>, more: impl IntoIterator<Item = String>) {
    for item in more {
        if list.len() < MAX_KEPT && !list.contains(&item) {
            list.push(item);
        }
    }
}
