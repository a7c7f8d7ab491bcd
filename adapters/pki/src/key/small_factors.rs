//! Moduli that are divisible by a small prime.

use std::sync::LazyLock;

use num_bigint::BigUint;

/// All primes below this are tried.
const LIMIT: u32 = 1 << 16;

/// How many products of primes are divided by at once: one long division instead of many.
const BUNDLE: usize = 8;

/// Primes and their product, which fits into 64 bits.
struct Product {
    product: u64,
    primes: Vec<u32>,
}

struct Bundle {
    product: BigUint,
    products: Vec<Product>,
}

static BUNDLES: LazyLock<Vec<Bundle>> = LazyLock::new(bundles);

/// The smallest prime below 2^16 that divides the modulus.
pub(super) fn smallest_factor(modulus: &BigUint) -> Option<u32> {
    BUNDLES.iter().find_map(|bundle| {
        let rest = modulus % &bundle.product;
        bundle.products.iter().find_map(|product| {
            let rest = u64::try_from(&rest % product.product).expect("a remainder is smaller than its divisor");
            product.primes.iter().copied().find(|prime| rest.is_multiple_of(u64::from(*prime)))
        })
    })
}

fn bundles() -> Vec<Bundle> {
    let mut products: Vec<Product> = Vec::new();
    for prime in primes() {
        match products.last_mut() {
            Some(last) if last.product.checked_mul(u64::from(prime)).is_some() => {
                last.product *= u64::from(prime);
                last.primes.push(prime);
            }
            Some(_) | None => products.push(Product { product: u64::from(prime), primes: vec![prime] }),
        }
    }
    let mut bundles = Vec::new();
    while !products.is_empty() {
        let rest = products.split_off(products.len().min(BUNDLE));
        let product = products.iter().map(|product| BigUint::from(product.product)).product();
        bundles.push(Bundle { product, products });
        products = rest;
    }
    bundles
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
    fn every_small_prime_is_found_and_a_large_one_is_not() {
        // A prime, by the table of Mersenne primes.
        let large = (BigUint::from(1_u32) << 2203) - 1_u32;
        assert_eq!(smallest_factor(&large), None);
        for prime in primes() {
            assert_eq!(smallest_factor(&(&large * prime)), Some(prime));
        }
        assert_eq!(smallest_factor(&(&large * 65537_u32)), None);
    }
}
