//! The two files by which a machine resolves host names: `/etc/hosts` and `/etc/resolv.conf`.

use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};
use std::path::Path;

/// Larger files are cut there.
const FILE_LIMIT: u64 = 1024 * 1024;
/// As the C library does.
const MAX_SERVERS: usize = 3;
const MAX_SEARCH: usize = 6;
const MAX_NDOTS: usize = 15;
const DNS_PORT: u16 = 53;

/// The addresses that `/etc/hosts` has for names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Hosts(Vec<(IpAddr, Vec<String>)>);

impl Hosts {
    pub(crate) fn read(path: &Path) -> Self {
        Self::parse(&contents(path))
    }

    /// Lines of an address and its names. Addresses that are meant for one interface (`fe80::1%eth0`) are left out.
    fn parse(text: &str) -> Self {
        let entry = |line: &str| {
            let mut words = uncommented(line).split_ascii_whitespace();
            let address = words.next()?.parse::<IpAddr>().ok()?;
            Some((address, words.map(bare).collect()))
        };
        Self(text.lines().filter_map(entry).collect())
    }

    pub(crate) fn addresses(&self, host: &str) -> Vec<IpAddr> {
        let host = bare(host);
        self.0.iter().filter(|(_, names)| names.contains(&host)).map(|(address, _)| *address).collect()
    }
}

/// What `/etc/resolv.conf` says: the DNS servers, and how names are completed. `sortlist` and the options other than
/// `ndots` are ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvConf {
    /// An address for one interface (`fe80::1%eth0`) has its scope.
    pub servers: Vec<SocketAddr>,
    pub(crate) search: Vec<String>,
    ndots: usize,
}

impl ResolvConf {
    /// Reads the file; one that cannot be read is empty.
    pub fn read(path: &Path) -> Self {
        Self::parse(&contents(path))
    }

    pub fn parse(text: &str) -> Self {
        let mut parsed = Self { servers: Vec::new(), search: Vec::new(), ndots: 1 };
        for line in text.lines() {
            let mut words = uncommented(line).split_ascii_whitespace();
            match words.next() {
                Some("nameserver") => parsed.servers.extend(words.next().and_then(server)),
                // The last line of either kind counts.
                Some("search" | "domain") => {
                    parsed.search = words.map(bare).filter(|name| !name.is_empty()).take(MAX_SEARCH).collect();
                }
                Some("options") => {
                    let ndots = words.filter_map(|word| word.strip_prefix("ndots:")?.parse::<usize>().ok()).next_back();
                    parsed.ndots = ndots.unwrap_or(parsed.ndots).min(MAX_NDOTS);
                }
                Some(_) | None => {}
            }
        }
        parsed
    }

    /// The servers to ask: at most three, and the one on this machine if none is named (resolv.conf(5)).
    pub(crate) fn servers_to_ask(&self) -> Vec<SocketAddr> {
        match self.servers.is_empty() {
            true => vec![SocketAddr::new(Ipv4Addr::LOCALHOST.into(), DNS_PORT)],
            false => self.servers.iter().copied().take(MAX_SERVERS).collect(),
        }
    }

    /// The names to look up for a host, in this order. One with a dot at its end is complete, and so is `localhost`.
    pub(crate) fn candidates(&self, host: &str) -> Vec<String> {
        let name = bare(host);
        if host.ends_with('.') || name == "localhost" || name.ends_with(".localhost") {
            return vec![name];
        }
        let mut names: Vec<_> = self.search.iter().map(|suffix| format!("{host}.{suffix}")).collect();
        let is_long = host.matches('.').count() >= self.ndots;
        names.insert(if is_long { 0 } else { names.len() }, host.to_owned());
        names
    }
}

/// A DNS server's address, which may be for one interface: `fe80::1%eth0` or `fe80::1%2`.
fn server(word: &str) -> Option<SocketAddr> {
    let Some((address, interface)) = word.split_once('%') else {
        return Some(SocketAddr::new(word.parse().ok()?, DNS_PORT));
    };
    let scope = interface.parse().ok().or_else(|| interface_index(interface))?;
    Some(SocketAddrV6::new(address.parse().ok()?, DNS_PORT, 0, scope).into())
}

/// The number of a network interface of this machine, as Linux tells it.
fn interface_index(name: &str) -> Option<u32> {
    if name.contains('/') {
        return None;
    }
    contents(&Path::new("/sys/class/net").join(name).join("ifindex")).trim().parse().ok()
}

/// The text of a file, up to the limit; empty if it cannot be read.
fn contents(path: &Path) -> String {
    let mut bytes = Vec::new();
    match File::open(path).and_then(|file| file.take(FILE_LIMIT).read_to_end(&mut bytes)) {
        Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}

fn uncommented(line: &str) -> &str {
    line.split(['#', ';']).next().unwrap_or_default()
}

fn bare(name: &str) -> String {
    name.trim_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_in_any_case_at_all_their_addresses() {
        let hosts = Hosts::parse(
            "127.0.0.1 localhost\n::1\tlocalhost ip6-localhost # comment\n# 192.0.2.9 hooks\n\n\
             192.0.2.1 hooks.internal HOOKS\nfe80::1%eth0 hooks\nnonsense hooks\n192.0.2.2 hooks\n",
        );
        let found = |host: &str| hosts.addresses(host).iter().map(IpAddr::to_string).collect::<Vec<_>>();
        assert_eq!(found("localhost"), ["127.0.0.1", "::1"]);
        for host in ["hooks", "Hooks", "hooks."] {
            assert_eq!(found(host), ["192.0.2.1", "192.0.2.2"], "{host}");
        }
        assert_eq!(found("comment"), Vec::<String>::new());
        assert_eq!(found("internal"), Vec::<String>::new());
    }

    #[test]
    fn servers_search_list_and_ndots_are_read() {
        let text = "# comment\nsearch example.com\n; nameserver 192.0.2.9\nnameserver 192.0.2.1\n\
                    nameserver\t2001:db8::1 # the second\nnameserver fe80::1%absent0\nnameserver\nnameservers 192.0.2.2\n\
                    options rotate ndots:2 timeout:1\nsearch Corp.Example. example.net\n";
        let parsed = ResolvConf::parse(text);
        let servers: Vec<SocketAddr> = vec!["192.0.2.1:53".parse().unwrap(), "[2001:db8::1]:53".parse().unwrap()];
        assert_eq!(parsed, ResolvConf { servers, search: vec!["corp.example".into(), "example.net".into()], ndots: 2 });
        let empty = ResolvConf::parse("");
        assert_eq!((empty.servers.len(), empty.ndots), (0, 1));
        assert_eq!(empty.servers_to_ask(), ["127.0.0.1:53".parse().unwrap()]);
    }

    #[test]
    fn a_server_may_be_named_for_one_interface() {
        let parsed = ResolvConf::parse("nameserver fe80::1%7\nnameserver 192.0.2.1%7\nnameserver fe80::1%../lo\n");
        let expected = SocketAddrV6::new("fe80::1".parse().unwrap(), DNS_PORT, 0, 7);
        assert_eq!(parsed.servers_to_ask(), [SocketAddr::V6(expected)]);
        assert_eq!((interface_index("lo"), interface_index("absent0")), (Some(1), None));
    }

    #[test]
    fn short_names_are_completed_first_and_long_ones_last() {
        let parsed = ResolvConf::parse("search a.test b.test\n");
        assert_eq!(parsed.candidates("hooks"), ["hooks.a.test", "hooks.b.test", "hooks"]);
        assert_eq!(parsed.candidates("hooks.c"), ["hooks.c", "hooks.c.a.test", "hooks.c.b.test"]);
        assert_eq!(parsed.candidates("hooks.c."), ["hooks.c"]);
        assert_eq!(ResolvConf::parse("").candidates("hooks"), ["hooks"]);
    }

    #[test]
    fn limits_hold_however_long_a_file_is() {
        let names: String = (0..100).map(|number| format!(" s{number}.test")).collect();
        let servers: String = (0..100).map(|number| format!("nameserver 192.0.2.{number}\n")).collect();
        let parsed = ResolvConf::parse(&format!("search{names}\noptions ndots:99999\n{servers}"));
        assert_eq!((parsed.candidates("hooks").len(), parsed.ndots), (MAX_SEARCH + 1, MAX_NDOTS));
        assert_eq!(parsed.servers_to_ask().len(), MAX_SERVERS);
    }
}
