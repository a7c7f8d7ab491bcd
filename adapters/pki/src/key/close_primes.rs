//! Moduli whose two primes are so close that Fermat's method finds them (CVE-2022-26320).

use num_bigint::BigUint;

/// How many candidates are tried. Primes drawn at random are out of reach of any number of them; flawed generators,
/// which search the second prime upwards from the first, are found within one or two.
const ROUNDS: u32 = 100;

/// Whether `modulus = (a + b)(a - b)` for one of the first hundred `a` above its square root.
pub(super) fn has_close_primes(modulus: &BigUint) -> bool {
    let root = modulus.sqrt();
    let a = if &root * &root == *modulus { root } else { root + 1_u32 };
    let mut b_squared = &a * &a - modulus;
    // (a + 1)² - n = (a² - n) + 2a + 1
    let mut step = a * 2_u32 + 1_u32;
    for _ in 0..ROUNDS {
        if is_square(&b_squared) {
            return true;
        }
        b_squared += &step;
        step += 2_u32;
    }
    false
}

fn is_square(number: &BigUint) -> bool {
    // Most numbers are no square already modulo 64, 63, 65 or 11; that is cheaper than a root.
    let residue = |modulus: u32| {
        let wanted = u32::try_from(number % modulus).expect("a remainder is smaller than its divisor");
        (0..modulus).any(|root| root * root % modulus == wanted)
    };
    if !(residue(64) && residue(63) && residue(65) && residue(11)) {
        return false;
    }
    let root = number.sqrt();
    &root * &root == *number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_are_told_from_their_neighbours() {
        for root in 0_u32..2000 {
            let square = BigUint::from(root) * root;
            assert!(is_square(&square), "{root}");
            if root > 1 {
                assert!(!is_square(&(&square + 1_u32)), "{root}");
                assert!(!is_square(&(&square - 1_u32)), "{root}");
            }
        }
    }

    #[test]
    fn neighbouring_factors_are_found_and_distant_ones_not() {
        // Fermat's method does not ask whether the factors are prime.
        let factor = (BigUint::from(1_u32) << 1023) + 12_345_u32;
        assert!(has_close_primes(&(&factor * &factor)));
        assert!(has_close_primes(&(&factor * (&factor + 2_u32))));
        // (b/2)² / 2a candidates are needed: b = 2^516 is within the first hundred, b = 2^530 is not.
        assert!(has_close_primes(&(&factor * (&factor + (BigUint::from(1_u32) << 516)))));
        assert!(!has_close_primes(&(&factor * (&factor + (BigUint::from(1_u32) << 530)))));
    }
}
