//! Addresses that belong to nobody in particular.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is set aside for; none if it is an ordinary one of the Internet.
///
/// IANA's registries of special-purpose addresses (RFC 6890 and its successors), multicast, and all IPv6 outside of the
/// global unicast block. Every form that carries an IPv4 address inside (mapped, compatible, translated, 6to4, Teredo) is
/// special as a whole: where the packet ends up is decided by somebody else. The Baseline Requirements (section 7.1.2.7.12)
/// call these addresses reserved and forbid certificates for them.
pub fn special_use(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => {
            let bits = u128::from(address.to_bits());
            V4.iter().find(|(block, length, _)| same(bits, u128::from(block.to_bits()), 32 - length)).map(|row| row.2)
        }
        IpAddr::V6(address) => {
            let inside = |block: &Ipv6Addr, length: u32| same(address.to_bits(), block.to_bits(), 128 - length);
            let special = V6.iter().find(|(block, length, _)| inside(block, *length)).map(|row| row.2);
            special.or((!inside(&v6([0x2000]), 3)).then_some("not of the global Internet"))
        }
    }
}

/// An ordinary address, where a cloud keeps its metadata service.
const AZURE_METADATA: IpAddr = IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16));

/// Why an address is not spoken to, by a validator or with a webhook's message; none if it may be.
pub fn set_aside(address: IpAddr) -> Option<&'static str> {
    special_use(address).or((address == AZURE_METADATA).then_some("a metadata service (Azure's)"))
}

/// Whether two addresses are the same but for their last bits.
fn same(a: u128, b: u128, last: u32) -> bool {
    (a ^ b).checked_shr(last).unwrap_or(0) == 0
}

const fn v4(a: u8, b: u8, c: u8) -> Ipv4Addr {
    Ipv4Addr::new(a, b, c, 0)
}

const fn v6<const N: usize>(head: [u16; N]) -> Ipv6Addr {
    let mut segments = [0; 8];
    let mut index = 0;
    while index < N {
        segments[index] = head[index];
        index += 1;
    }
    let [a, b, c, d, e, f, g, h] = segments;
    Ipv6Addr::new(a, b, c, d, e, f, g, h)
}

const V4: [(Ipv4Addr, u32, &str); 17] = [
    (v4(0, 0, 0), 8, "for “this network” (RFC 791)"),
    (v4(10, 0, 0), 8, "for private use (RFC 1918)"),
    (v4(100, 64, 0), 10, "for carrier-grade NAT (RFC 6598)"),
    (v4(127, 0, 0), 8, "for loopback"),
    (v4(169, 254, 0), 16, "link-local, metadata services among them (RFC 3927)"),
    (v4(172, 16, 0), 12, "for private use (RFC 1918)"),
    (v4(192, 0, 0), 24, "for protocol assignments (RFC 6890)"),
    (v4(192, 0, 2), 24, "for documentation (RFC 5737)"),
    (v4(192, 31, 196), 24, "for AS112 (RFC 7535)"),
    (v4(192, 52, 193), 24, "for AMT (RFC 7450)"),
    (v4(192, 88, 99), 24, "for 6to4 relays (RFC 7526)"),
    (v4(192, 168, 0), 16, "for private use (RFC 1918)"),
    (v4(192, 175, 48), 24, "for AS112 (RFC 7534)"),
    (v4(198, 18, 0), 15, "for benchmarks (RFC 2544)"),
    (v4(198, 51, 100), 24, "for documentation (RFC 5737)"),
    (v4(203, 0, 113), 24, "for documentation (RFC 5737)"),
    (v4(224, 0, 0), 3, "for multicast or reserved"),
];

const V6: [(Ipv6Addr, u32, &str); 15] = [
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified"),
    (Ipv6Addr::LOCALHOST, 128, "for loopback"),
    (v6([0, 0, 0, 0, 0, 0xffff]), 96, "an IPv4-mapped address"),
    (v6::<0>([]), 96, "an IPv4-compatible address"),
    (v6([0x64, 0xff9b]), 32, "an IPv4 address for translation (RFC 6052)"),
    (v6([0x100]), 64, "for discarding (RFC 6666)"),
    (v6([0x2001]), 32, "a Teredo address (RFC 4380)"),
    (v6([0x2001]), 23, "for protocol assignments (RFC 2928)"),
    (v6([0x2001, 0xdb8]), 32, "for documentation (RFC 3849)"),
    (v6([0x2002]), 16, "a 6to4 address (RFC 3056)"),
    (v6([0x2620, 0x4f, 0x8000]), 48, "for AS112 (RFC 7534)"),
    (v6([0x3fff]), 20, "for documentation (RFC 9637)"),
    (v6([0xfc00]), 7, "for private use (RFC 4193)"),
    (v6([0xfe80]), 10, "link-local (RFC 4291)"),
    (v6([0xff00]), 8, "for multicast"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_every_block_are_special_and_their_neighbours_are_not() {
        let special = [
            "0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.0 127.255.255.255",
            "169.254.0.0 169.254.169.254 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.255 192.0.2.0",
            "192.0.2.255 192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.0 192.168.255.255 192.175.48.1 198.18.0.0",
            "198.19.255.255 198.51.100.0 203.0.113.255 224.0.0.0 239.255.255.255 240.0.0.1 255.255.255.255",
            ":: ::1 ::2 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:8.8.8.8 64:ff9b::7f00:1 64:ff9b::808:808",
            "64:ff9b:1::1 100::1 2001::1 2001:0:ffff::1 2001:1ff:ffff::1 2001:db8:: 2001:db8:ffff::1 2002::1",
            "2002:7f00:1::1 2620:4f:8000::1 3fff::1 3fff:fff:ffff::1 5f00::1 fc00::1 fdff:ffff::1 fe80::1 febf::1",
            "127.0.0.1 192.0.0.170 192.0.2.1 198.51.100.1 1fff::1 2001:db8:ffff:: 2002:808:808:: 224.0.0.1 3fff:fff::1 fdff::1",
            "fec0::1 ff02::1 4000::1 1fff:ffff::1 fd00:ec2::254",
        ];
        for address in special.iter().flat_map(|line| line.split(' ')) {
            assert!(special_use(address.parse().unwrap()).is_some(), "{address}");
        }
        let ordinary = [
            "1.0.0.0 1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0",
            "168.63.129.16 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.3.0 192.167.255.255",
            "2001:db7::1",
            "192.169.0.0 198.17.255.255 198.20.0.0 203.0.112.255 203.0.114.0 223.255.255.255",
            "2000::1 2001:200::1 2001:db7:ffff::1 2001:db9::1 2003::1 2606:4700::1111 2a00:1450::1 3ffe::1 3fff:1000::1",
        ];
        for address in ordinary.iter().flat_map(|line| line.split(' ')) {
            assert_eq!(special_use(address.parse().unwrap()), None, "{address}");
        }
    }

    #[test]
    fn metadata_services_are_set_aside_and_their_neighbours_are_not() {
        for address in ["168.63.129.16", "169.254.169.254", "fd00:ec2::254"] {
            assert!(set_aside(address.parse().unwrap()).is_some(), "{address}");
        }
        for address in ["168.63.129.15", "168.63.129.17", "1.1.1.1", "2606:4700::1111"] {
            assert_eq!(set_aside(address.parse().unwrap()), None, "{address}");
        }
    }
}
