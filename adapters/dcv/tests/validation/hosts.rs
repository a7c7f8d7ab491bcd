//! Hosts that are not applicants': found as this machine finds them.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use chancery_dcv::{HostResolver, HostResolverConfig};
use chancery_testkit::SeededEntropy;
use chancery_testkit::dns::TestDns;
use hickory_proto::op::ResponseCode;
use hickory_proto::rr::RecordType;
use tempfile::TempDir;

/// A machine with a DNS server and two files.
struct Machine {
    dns: TestDns,
    files: TempDir,
    resolver: HostResolver,
}

impl Machine {
    /// `resolv_conf` follows the line that names the server.
    async fn new(hosts: &str, resolv_conf: &str) -> Self {
        let (dns, files) = (TestDns::start().await, TempDir::new().unwrap());
        let config = HostResolverConfig {
            hosts: files.path().join("hosts"),
            resolv_conf: files.path().join("resolv.conf"),
            dns_port: dns.address().port(),
            refresh: Duration::ZERO,
        };
        let resolver = HostResolver::new(config, Arc::new(SeededEntropy::new(1)));
        let machine = Self { dns, files, resolver };
        machine.write("hosts", hosts);
        machine.write("resolv.conf", &format!("nameserver 127.0.0.1\n{resolv_conf}"));
        machine
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.files.path().join(file), text).unwrap();
    }

    async fn found(&self, host: &str) -> Vec<String> {
        let found = self.resolver.addresses(host).await.unwrap_or_else(|why| panic!("{host}: {why}"));
        found.iter().map(IpAddr::to_string).collect()
    }

    /// The names that were asked for, without their types.
    fn asked(&self) -> Vec<String> {
        let mut names: Vec<_> = self.dns.asked().into_iter().map(|asked| asked.name).collect();
        names.dedup();
        names
    }
}

#[tokio::test]
async fn hosts_in_the_file_are_found_there_and_not_asked_for() {
    let machine = Machine::new("10.0.0.7 hooks.internal hooks\n", "search corp.test\n").await;
    for host in ["hooks", "hooks.internal", "HOOKS"] {
        assert_eq!(machine.found(host).await, ["10.0.0.7"], "{host}");
    }
    assert!(machine.asked().is_empty());
}

#[tokio::test]
async fn localhost_is_this_machine_whatever_the_files_say() {
    let machine = Machine::new("", "search corp.test\n").await;
    assert_eq!(machine.found("localhost").await, ["::1", "127.0.0.1"]);
    assert_eq!(machine.found("a.localhost").await, ["::1", "127.0.0.1"]);
    assert!(machine.asked().is_empty());
}

#[tokio::test]
async fn other_hosts_are_asked_for_in_plain_case_with_both_families() {
    let machine = Machine::new("", "").await;
    let (v6, v4): (IpAddr, IpAddr) = ("2001:db8::7".parse().unwrap(), "192.0.2.7".parse().unwrap());
    machine.dns.address_of("hooks.example.test", v4).address_of("hooks.example.test", v6);
    assert_eq!(machine.found("Hooks.Example.test").await, ["2001:db8::7", "192.0.2.7"]);
    assert_eq!(machine.asked(), ["hooks.example.test."]);
}

#[tokio::test]
async fn short_names_are_completed_from_the_search_list() {
    let machine = Machine::new("", "search a.test b.test\noptions ndots:1\n").await;
    machine.dns.absent("hooks.a.test").address_of("hooks.b.test", IpAddr::from([10, 0, 0, 8]));
    assert_eq!(machine.found("hooks").await, ["10.0.0.8"]);
    assert_eq!(machine.asked(), ["hooks.a.test.", "hooks.b.test."]);
}

#[tokio::test]
async fn a_host_that_does_not_exist_has_no_address() {
    let machine = Machine::new("", "").await;
    machine.dns.absent("gone.test").empty("empty.test");
    for host in ["gone.test", "empty.test."] {
        assert_eq!(machine.found(host).await, Vec::<String>::new(), "{host}");
    }
}

#[tokio::test]
async fn a_server_that_fails_is_reported_unless_another_name_is_answered() {
    let machine = Machine::new("", "search broken.test\noptions ndots:9\n").await;
    for kind in [RecordType::A, RecordType::AAAA] {
        machine.dns.fails("hooks.test.broken.test", kind, ResponseCode::ServFail);
        machine.dns.fails("other.test.broken.test", kind, ResponseCode::ServFail);
    }
    machine.dns.address_of("hooks.test", IpAddr::from([10, 0, 0, 9])).absent("other.test");
    assert_eq!(machine.found("hooks.test").await, ["10.0.0.9"]);
    let why = machine.resolver.addresses("other.test").await.unwrap_err();
    assert!(why.contains("SERVFAIL"), "{why}");
}

#[tokio::test]
async fn changes_to_the_files_are_seen() {
    let machine = Machine::new("10.0.0.1 hooks\n", "").await;
    assert_eq!(machine.found("hooks").await, ["10.0.0.1"]);
    machine.write("hosts", "10.0.0.2 hooks\n");
    assert_eq!(machine.found("hooks").await, ["10.0.0.2"]);
    machine.write("hosts", "");
    machine.write("resolv.conf", "nameserver 127.0.0.1\nsearch corp.test\n");
    machine.dns.address_of("hooks.corp.test", IpAddr::from([10, 0, 0, 3]));
    assert_eq!(machine.found("hooks").await, ["10.0.0.3"]);
}

#[tokio::test]
async fn a_host_that_cannot_be_a_name_is_an_error() {
    let machine = Machine::new("", "").await;
    for host in ["a..b", &"a".repeat(64), &"a.".repeat(200)] {
        assert!(machine.resolver.addresses(host).await.is_err(), "{host:?}");
    }
}
