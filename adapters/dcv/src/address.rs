//! Addresses that a validator must not be pointed at.

use std::net::{IpAddr, Ipv4Addr};

use chancery_domain::special_use;

/// An ordinary address, where a cloud keeps its metadata service.
const AZURE_METADATA: IpAddr = IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16));

/// Why an address is not spoken to; none if it may be.
pub(crate) fn set_aside(address: IpAddr) -> Option<&'static str> {
    special_use(address).or((address == AZURE_METADATA).then_some("a metadata service (Azure's)"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
