//! Points that Ed25519 can write and that are nobody's key (RFC 8032 sections 5.1.3 and 5.1.7).

use crate::KeyError;

/// The y-coordinates of the eight points of small order: 0, 1 and -1, and the two of the points of order 8. Points
/// with the same one differ in the sign of x, if at all.
const SMALL_ORDER: [[u8; 32]; 5] = [
    octets(0, 0, 0),
    octets(1, 0, 0),
    octets(0xec, 0xff, 0x7f),
    *b"\x26\xe8\x95\x8f\xc2\xb2\x27\xb0\x45\xc3\xf4\x89\xf2\xef\x98\xf0\
       \xd5\xdf\xac\x05\xd3\xc6\x33\x39\xb1\x38\x02\x88\x6d\x53\xfc\x05",
    *b"\xc7\x17\x6a\x70\x3d\x4d\xd8\x4f\xba\x3c\x0b\x76\x0d\x10\x67\x0f\
       \x2a\x20\x53\xfa\x2c\x39\xcc\xc6\x4e\xc7\xfd\x77\x92\xac\x03\x7a",
];

/// Refuses a second spelling of a point, and a point with so few multiples that one signature of anybody's making fits
/// every message, or one in a few.
pub(crate) fn check(point: &[u8]) -> Result<(), KeyError> {
    let mut y: [u8; 32] = point.try_into().map_err(|_| KeyError::Point)?;
    // The highest bit is the sign of x.
    y[31] &= 0x7f;
    if !is_below_prime(&y) {
        return Err(KeyError::Point);
    }
    if SMALL_ORDER.contains(&y) { Err(KeyError::SmallOrder) } else { Ok(()) }
}

/// Whether it is less than 2^255 - 19, the lowest octet first.
fn is_below_prime(y: &[u8; 32]) -> bool {
    let [lowest, between @ .., highest] = y;
    *lowest < 0xed || *highest < 0x7f || between.iter().any(|octet| *octet != 0xff)
}

/// The lowest octet, the same one thirty times, and the highest.
const fn octets(lowest: u8, between: u8, highest: u8) -> [u8; 32] {
    let mut octets = [between; 32];
    octets[0] = lowest;
    octets[31] = highest;
    octets
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
    use serde_json::json;

    use super::*;
    use crate::{Jwk, base64url};

    fn read(point: &[u8]) -> Result<Jwk, KeyError> {
        Jwk::from_value(&json!({ "kty": "OKP", "crv": "Ed25519", "x": base64url::encode(point) }))
    }

    #[test]
    fn a_point_of_small_order_is_no_key() {
        let mut identity = [0_u8; 32];
        identity[0] = 1;
        assert_eq!(read(&identity).unwrap_err(), KeyError::SmallOrder);
        for y in SMALL_ORDER {
            let mut other_sign = y;
            other_sign[31] |= 0x80;
            for point in [y, other_sign] {
                assert_eq!(read(&point).unwrap_err(), KeyError::SmallOrder, "{point:02x?}");
            }
        }
    }

    #[test]
    fn a_second_spelling_is_no_key() {
        for lowest in 0xed..=0xff {
            for highest in [0x7f, 0xff] {
                assert_eq!(read(&octets(lowest, 0xff, highest)).unwrap_err(), KeyError::Point, "{lowest:02x}");
            }
        }
        assert!(is_below_prime(&octets(0xec, 0xff, 0x7f)));
        assert!(is_below_prime(&octets(0xff, 0xff, 0x7e)));
        assert!(is_below_prime(&octets(0xff, 0xfe, 0x7f)));
    }

    #[test]
    fn a_usual_key_is_one() {
        for _ in 0..20 {
            let pair = Ed25519KeyPair::generate().unwrap();
            assert!(read(pair.public_key().as_ref()).is_ok());
        }
    }
}
