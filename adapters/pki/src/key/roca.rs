//! Keys of the flawed generator of Infineon chips, "ROCA" (CVE-2017-15361; Nemec and others, ACM CCS 2017).

use num_bigint::BigUint;

/// Modulo every one of these primes the flawed primes, and so their product, are powers of 65537. For all 38 at once
/// that holds for a random modulus with a probability of about 2^-154.
const PRIMES: [u32; 38] = [
    3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109,
    113, 127, 131, 137, 139, 149, 151, 157, 163, 167,
];

/// Whether the modulus has the fingerprint.
pub(super) fn has_fingerprint(modulus: &BigUint) -> bool {
    PRIMES.into_iter().all(|prime| is_power_of_65537(remainder(modulus, prime), prime))
}

fn is_power_of_65537(remainder: u32, prime: u32) -> bool {
    let mut power = 1;
    loop {
        if power == remainder {
            return true;
        }
        power = power * (65537 % prime) % prime;
        if power == 1 {
            return false;
        }
    }
}

fn remainder(modulus: &BigUint, prime: u32) -> u32 {
    u32::try_from(modulus % prime).expect("a remainder is smaller than its divisor")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 65537 to the power of `exponent` modulo the product of the primes, plus a multiple of that product.
    fn flawed_prime(exponent: u32, multiple: u32) -> BigUint {
        let product: BigUint = PRIMES.into_iter().map(BigUint::from).product::<BigUint>() * 2_u32;
        BigUint::from(65537_u32).modpow(&exponent.into(), &product) + product * multiple
    }

    #[test]
    fn a_product_of_flawed_primes_has_the_fingerprint_and_its_neighbours_have_not() {
        let modulus = flawed_prime(1_234_567, 77) * flawed_prime(7_654_321, 99);
        assert!(has_fingerprint(&modulus));
        assert!(!has_fingerprint(&(&modulus + 2_u32)));
        assert!(!has_fingerprint(&(&modulus - 2_u32)));
    }

    #[test]
    fn every_prime_of_the_test_counts() {
        let modulus = flawed_prime(5, 1) * flawed_prime(11, 3);
        let product: BigUint = PRIMES.into_iter().map(BigUint::from).product();
        for prime in PRIMES {
            // Differs modulo this prime alone, so that it becomes 0 there, which is no power of anything.
            let others = &product / prime;
            let mut altered = modulus.clone();
            while remainder(&altered, prime) != 0 {
                altered += &others;
            }
            assert!(!has_fingerprint(&altered), "{prime}");
        }
    }
}
