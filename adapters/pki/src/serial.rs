//! Serial numbers.

use std::fmt;

use chancery_domain::Entropy;
use data_encoding::HEXLOWER;
use x509_cert::serial_number::SerialNumber;

use crate::error::PkiError;

/// A new certificate's serial number: positive, exactly 20 octets, 158 of its bits random.
///
/// RFC 5280 section 4.1.2.2 allows at most 20 octets; the Baseline Requirements (section 7.1) want at
/// least 64 random bits. Whoever draws one sees to it that no certificate of the same issuer has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Serial([u8; 20]);

impl Serial {
    /// Draws one.
    pub fn draw(entropy: &dyn Entropy) -> Self {
        let mut bytes = entropy.bytes::<20>();
        // First bit clear: positive. Second bit set: the same length each time.
        bytes[0] = bytes[0] & 0b0011_1111 | 0b0100_0000;
        Self(bytes)
    }

    /// A serial number that was drawn before; none if these octets cannot have been.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; 20] = bytes.try_into().ok()?;
        (bytes[0] >> 6 == 0b01).then_some(Self(bytes))
    }

    /// The octets, most significant first.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn encode(self) -> Result<SerialNumber, PkiError> {
        SerialNumber::new(&self.0).map_err(PkiError::Encoding)
    }
}

/// 40 hexadecimal digits in lower case.
impl fmt::Display for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use der::Encode;

    struct Constant(u8);

    impl Entropy for Constant {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    #[test]
    fn is_positive_and_twenty_octets_whatever_is_drawn() {
        for byte in 0..=255 {
            let serial = Serial::draw(&Constant(byte));
            let der = serial.encode().unwrap().to_der().unwrap();
            assert_eq!(der[..2], [0x02, 20]);
            assert!((0x40..0x80).contains(&der[2]));
            assert_eq!(serial.to_string().len(), 40);
            assert_eq!(Serial::from_bytes(serial.as_bytes()), Some(serial));
        }
    }

    #[test]
    fn keeps_all_but_two_of_the_bits_drawn() {
        let (zeros, ones) = (Serial::draw(&Constant(0)), Serial::draw(&Constant(0xff)));
        let differing: u32 = zeros.0.iter().zip(ones.0).map(|(a, b)| (a ^ b).count_ones()).sum();
        assert_eq!(differing, 158);
    }
}
