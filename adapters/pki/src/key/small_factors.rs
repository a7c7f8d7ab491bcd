//! Moduli that are divisible by a small prime.

use std::sync::LazyLock;

use num_bigint::BigUint;

/// All primes below this are tried.
const LIMIT: u32 = 1 << 16;

/// Odd primes and their product, which fits into 64 bits.
struct Product {
    product: u64,
    inverse: u64,
    primes: Vec<u32>,
}

static PRODUCTS: LazyLock<Vec<Product>> = LazyLock::new(products);

/// The smallest prime below 2^16 that divides the modulus.
pub(super) fn smallest_factor(modulus: &BigUint) -> Option<u32> {
    if !modulus.bit(0) {
        return Some(2);
    }
    let digits = modulus.to_u64_digits();
    PRODUCTS.iter().find_map(|product| {
        let rest = product.remainder_of(&digits);
        product.primes.iter().copied().find(|prime| rest.is_multiple_of(u64::from(*prime)))
    })
}

impl Product {
    /// The number (its digits begin with the lowest) times some power of 1/2 modulo the product: that has the same
    /// factors in common with the product as the number, and takes multiplications instead of divisions (Montgomery
    /// reduction).
    fn remainder_of(&self, digits: &[u64]) -> u64 {
        digits.iter().fold(0, |carry, digit| {
            let (digit, borrow) = digit.overflowing_sub(carry);
            let multiple = u128::from(digit.wrapping_mul(self.inverse)) * u128::from(self.product);
            u64::try_from(multiple >> 64).expect("the upper half of 128 bits") + u64::from(borrow)
        })
    }
}

fn products() -> Vec<Product> {
    let mut products: Vec<Product> = Vec::new();
    for prime in primes().skip(1) {
        match products.last_mut() {
            Some(last) if last.product.checked_mul(u64::from(prime)).is_some() => {
                last.product *= u64::from(prime);
                last.primes.push(prime);
            }
            Some(_) | None => products.push(Product { product: u64::from(prime), inverse: 0, primes: vec![prime] }),
        }
    }
    for product in &mut products {
        product.inverse = inverse(product.product);
    }
    products
}

/// The inverse of an odd number modulo 2^64, by Newton's method: each step doubles the number of right bits, of which
/// an odd number is its own inverse in three.
fn inverse(odd: u64) -> u64 {
    (0..5).fold(odd, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse))))
}

/// The sieve of Eratosthenes.
fn primes() -> impl Iterator<Item = u32> {
    let mut composite = vec![false; LIMIT as usize];
    for divisor in 2..256 {
        if !composite[divisor] {
            (divisor * divisor..composite.len()).step_by(divisor).for_each(|multiple| composite[multiple] = true);
        }
    }
    (2..LIMIT).filter(move |number| !composite[*number as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_6542_primes_below_65536() {
        assert_eq!(primes().count(), 6542);
        assert_eq!(primes().last(), Some(65521));
    }

    #[test]
    fn small_primes_are_found_and_a_large_one_is_not() {
        // A prime, by the table of Mersenne primes.
        let large = (BigUint::from(1_u32) << 521) - 1_u32;
        assert_eq!(smallest_factor(&large), None);
        for prime in primes().step_by(19).chain([65521]) {
            assert_eq!(smallest_factor(&(&large * prime)), Some(prime));
        }
        assert_eq!(smallest_factor(&(&large * 65521_u32 * 257_u32)), Some(257));
        assert_eq!(smallest_factor(&(&large * 65537_u32)), None);
    }
}
