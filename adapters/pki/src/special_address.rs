//! Addresses that belong to nobody in particular.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What a special-use address is for; none if it is an ordinary address of the Internet.
///
/// After IANA's registries of special-purpose addresses (RFC 6890 and its updates), multicast, and everything in IPv6
/// that is outside the global unicast block 2000::/3. The Baseline Requirements (section 7.1.2.7.12) call these
/// reserved and forbid certificates for them.
pub fn special_use(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => V4.iter().find(|(net, bits, _)| in_v4(address, *net, *bits)).map(|(.., what)| *what),
        IpAddr::V6(address) => {
            let found = V6.iter().find(|(net, bits, _)| in_v6(address, *net, *bits)).map(|(.., what)| *what);
            found.or_else(|| (!in_v6(address, GLOBAL_UNICAST, 3)).then_some("reserved"))
        }
    }
}

const GLOBAL_UNICAST: Ipv6Addr = Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0);

const V4: [(Ipv4Addr, u32, &str); 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "shared between providers and customers"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "for protocol assignments"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "for documentation"),
    (Ipv4Addr::new(192, 31, 196, 0), 24, "for AS112"),
    (Ipv4Addr::new(192, 52, 193, 0), 24, "for AMT"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "for 6to4 relays"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(192, 175, 48, 0), 24, "for AS112"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "for benchmarks"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "for documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "for documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 3, "multicast or reserved"),
];

const V6: [(Ipv6Addr, u32, &str); 16] = [
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified"),
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96, "an IPv4 address written as IPv6"),
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96, "a translated IPv4 address"),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, "a translated IPv4 address"),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64, "discarded"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "for protocol assignments"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "for documentation"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "a 6to4 address"),
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48, "for AS112"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "for documentation"),
    (Ipv6Addr::new(0x5f00, 0, 0, 0, 0, 0, 0, 0), 16, "for segment routing"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "private"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link-local"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "site-local"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "multicast"),
];

fn in_v4(address: Ipv4Addr, net: Ipv4Addr, bits: u32) -> bool {
    (address.to_bits() ^ net.to_bits()) >> (32 - bits) == 0
}

fn in_v6(address: Ipv6Addr, net: Ipv6Addr, bits: u32) -> bool {
    (address.to_bits() ^ net.to_bits()) >> (128 - bits) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_are_told_from_ordinary_ones_at_both_ends_of_their_blocks() {
        for special in [
            "0.0.0.0",
            "10.0.0.0",
            "10.255.255.255",
            "100.64.0.0",
            "100.127.255.255",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.170",
            "192.0.2.1",
            "192.168.255.255",
            "198.18.0.0",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.255",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::2",
            "::ffff:8.8.8.8",
            "::8.8.8.8",
            "64:ff9b::808:808",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::",
            "2001:db8:ffff::",
            "2002:808:808::",
            "3fff:fff::1",
            "5f00::1",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "4000::1",
            "1fff::1",
        ] {
            assert!(special_use(special.parse().unwrap()).is_some(), "{special}");
        }
        for ordinary in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2001:200::1",
            "2001:db7::1",
            "2001:db9::1",
            "2606:4700::1111",
            "2a00:1450::1",
            "3ffe::1",
        ] {
            assert_eq!(special_use(ordinary.parse().unwrap()), None, "{ordinary}");
        }
    }
}
