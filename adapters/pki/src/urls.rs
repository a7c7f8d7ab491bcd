//! Where relying parties find what they need to know about an issuer.

use crate::serial::Serial;

/// The addresses that go into an issuer's certificates, all plain `http://`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IssuerUrls {
    /// The issuer's own certificate in DER.
    pub ca_issuers: Option<String>,
    /// The OCSP responder, where there is one.
    pub ocsp: Option<String>,
    /// The revocation lists.
    pub crl: Option<CrlShards>,
}

/// An issuer's revocation lists: so many, each for a share of the serial numbers, so that none grows large.
///
/// The address of a certificate's list is in the certificate for ever. Whoever changes the number of lists keeps
/// serving, and filling, the old ones: which list a certificate belongs to is to be stored with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrlShards {
    base: String,
    count: u32,
}

impl CrlShards {
    /// `count` lists, at least one, at `base/0.crl`, `base/1.crl`, …
    pub fn new(base: &str, count: u32) -> Self {
        Self { base: base.trim_end_matches('/').to_owned(), count: count.max(1) }
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The list that a serial number belongs to.
    pub fn shard_of(&self, serial: &Serial) -> u32 {
        // The last octets are as random as any.
        let tail = serial.as_bytes().last_chunk().map_or(0, |tail| u64::from_be_bytes(*tail));
        u32::try_from(tail % u64::from(self.count)).expect("a remainder is smaller than its divisor")
    }

    /// Where a list is.
    pub fn url(&self, shard: u32) -> String {
        format!("{}/{shard}.crl", self.base)
    }

    /// Where the list of a serial number is.
    pub fn url_of(&self, serial: &Serial) -> String {
        self.url(self.shard_of(serial))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chancery_domain::Entropy;

    struct Counting(u8);

    impl Entropy for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0);
            *bytes.last_mut().expect("not empty") = self.0;
        }
    }

    #[test]
    fn every_shard_gets_its_share_and_an_address_of_its_own() {
        let shards = CrlShards::new("http://crl.example/1/", 4);
        let mut counts = [0; 4];
        for number in 0..=255 {
            let serial = Serial::draw(&Counting(number));
            let shard = shards.shard_of(&serial);
            counts[shard as usize] += 1;
            assert_eq!(shards.url_of(&serial), format!("http://crl.example/1/{shard}.crl"));
        }
        assert_eq!(counts, [64; 4]);
        assert_eq!(CrlShards::new("http://crl.example", 0).count(), 1);
    }
}
