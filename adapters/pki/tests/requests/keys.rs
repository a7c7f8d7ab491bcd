//! The rules for keys and signatures.

use crate::{
    build::{Key, Parts, codes, dns, oid, problems, read, request, rsa_spki, rules, sequence, tlv},
    primes::{LONG, NEXT, OTHER, PRIME, ROCA_P, ROCA_Q, WIDE},
};
use chancery_domain::KeyType;
use chancery_pki::{
    BadKey, CsrProblem, CsrRules, KeyAlgorithm, KeyBlocklist, KeyProblem, KnownBadKeys, NoKnownBadKeys, SubscriberKey,
};
use num_bigint::BigUint;

fn number(value: u32) -> BigUint {
    BigUint::from(value)
}

fn power_of_two(exponent: u32) -> BigUint {
    number(1) << exponent
}

/// Primes whose product, and themselves, can be written without a table.
fn mersenne(exponent: u32) -> BigUint {
    power_of_two(exponent) - 1_u32
}

/// A request with a key of which nobody has the private part: its signature is not looked at.
fn with_modulus(modulus: &BigUint) -> Vec<u8> {
    let key = Key::new(KeyAlgorithm::EcP256);
    let mut parts = Parts::new(&key, &[dns("example.com")]);
    parts.spki = rsa_spki(modulus, &number(65537));
    parts.sign(&key)
}

#[test]
fn good_keys_of_every_kind_pass() {
    for algorithm in KeyAlgorithm::ALL {
        assert_eq!(problems(&request(&Key::new(algorithm))), Vec::new(), "{algorithm:?}");
    }
    assert_eq!(problems(&request(&Key::ed25519())), Vec::new());
    let between = Key::rsa(PRIME, WIDE, &number(65537));
    assert_eq!(problems(&request(&between)), Vec::new());
    let key = read(&request(&between));
    assert_eq!(key.key().unwrap().describe(), "rsa-2056");
    assert_eq!(key.key().unwrap().key_type(), KeyType::Rsa2048);
}

#[test]
fn a_key_type_that_the_profile_does_not_list_is_refused() {
    let rules = CsrRules { key_types: &[KeyType::EcP256], ..rules() };
    let found = |key: &Key| read(&request(key)).check(&rules, &NoKnownBadKeys);
    assert_eq!(found(&Key::new(KeyAlgorithm::EcP256)), Vec::new());
    for key in [Key::new(KeyAlgorithm::EcP384), Key::ed25519(), Key::new(KeyAlgorithm::Rsa2048)] {
        let found = found(&key);
        assert_eq!(found.iter().map(CsrProblem::code).collect::<Vec<_>>(), ["key_type_not_allowed"]);
        assert!(found[0].to_string().ends_with("use one of: ec-p256"), "{}", found[0]);
    }
    let ed25519 = read(&request(&Key::ed25519())).check(&CsrRules::default(), &NoKnownBadKeys);
    assert_eq!(ed25519[0].code(), "key_type_not_allowed");
}

#[test]
fn a_signature_by_another_key_or_over_other_bytes_is_refused() {
    for algorithm in [KeyAlgorithm::EcP256, KeyAlgorithm::EcP384, KeyAlgorithm::Rsa2048] {
        let (key, other) = (Key::new(algorithm), Key::new(algorithm));
        assert_eq!(codes(&Parts::new(&key, &[dns("example.com")]).sign(&other)), ["bad_signature"]);
        let mut altered = request(&key);
        let at = altered.windows(11).position(|window| window == b"example.com").unwrap();
        altered[at..at + 11].copy_from_slice(b"example.org");
        assert_eq!(codes(&altered), ["bad_signature"]);
    }
    let (key, other) = (Key::ed25519(), Key::ed25519());
    assert_eq!(codes(&Parts::new(&key, &[dns("example.com")]).sign(&other)), ["bad_signature"]);
}

#[test]
fn the_signature_counts_over_the_bytes_received() {
    // Attributes in an order that DER forbids, and that a new encoding would put right.
    let key = Key::new(KeyAlgorithm::EcP256);
    let parts = Parts::new(&key, &[dns("example.com")]);
    let extensions = sequence(&[&sequence(&[&parts.extensions.concat()])]);
    let extensions = sequence(&[&oid("1.2.840.113549.1.9.14"), &tlv(0x31, &[&extensions[2..]])]);
    let challenge = sequence(&[&oid("1.2.840.113549.1.9.7"), &tlv(0x31, &[&tlv(0x0c, &[b"secret"])])]);
    for attributes in [[extensions.clone(), challenge.clone()], [challenge, extensions]] {
        let der = parts.sign_with_attributes(&key, &attributes.concat());
        assert_eq!(codes(&der), [""; 0]);
        assert_eq!(read(&der).identifiers().len(), 1);
    }
}

#[test]
fn signatures_with_broken_or_foreign_algorithms_are_refused() {
    let sha1_with_rsa = sequence(&[&oid("1.2.840.113549.1.1.5"), b"\x05\x00"]);
    let pss = sequence(&[&oid("1.2.840.113549.1.1.10")]);
    let ecdsa = sequence(&[&oid("1.2.840.10045.4.3.2")]);
    let rsa = Key::new(KeyAlgorithm::Rsa2048);
    for algorithm in [sha1_with_rsa.clone(), pss, ecdsa, sequence(&[])] {
        let mut parts = Parts::new(&rsa, &[dns("example.com")]);
        parts.signature_algorithm = Some(algorithm);
        assert_eq!(codes(&parts.sign(&rsa)), ["unsupported_signature"]);
    }
    for key in [Key::new(KeyAlgorithm::EcP256), Key::new(KeyAlgorithm::EcP384), Key::ed25519()] {
        let mut parts = Parts::new(&key, &[dns("example.com")]);
        parts.signature_algorithm = Some(sha1_with_rsa.clone());
        assert_eq!(codes(&parts.sign(&key)), ["unsupported_signature"]);
    }
}

#[test]
fn short_keys_are_weak_and_odd_sizes_are_not_supported() {
    assert_eq!(problems(&with_modulus(&mersenne(1279))), [CsrProblem::Key(KeyProblem::Weak(1279))]);
    assert_eq!(problems(&with_modulus(&mersenne(2203))), [CsrProblem::Key(KeyProblem::OddSize(2203))]);
    assert_eq!(problems(&with_modulus(&mersenne(4423))), [CsrProblem::Key(KeyProblem::OddSize(4423))]);
    // One bit less than 2048: what a careless generator makes of two primes of 1024 bits.
    let short = mersenne(1279) * mersenne(521) * mersenne(127) * mersenne(107) * mersenne(13);
    assert_eq!(short.bits(), 2047);
    assert_eq!(codes(&with_modulus(&short)), ["weak_key", "small_factor"]);
    // A multiple of 8 beyond the largest size.
    let large = mersenne(4253) * mersenne(19) * mersenne(2203);
    assert!(large.bits() > 4096);
    assert_eq!(codes(&with_modulus(&large)), ["unsupported_key"]);
    assert_eq!(codes(&with_modulus(&number(0))), ["weak_key", "small_factor", "close_primes"]);
}

#[test]
fn exponents_are_odd_and_from_65537_to_256_bits() {
    // The first odd one from here on that an RSA key of these primes can have.
    let odd_up_from = |mut exponent: BigUint| {
        loop {
            match Key::try_rsa(PRIME, OTHER, &exponent) {
                Some(key) => return key,
                None => exponent += 2_u32,
            }
        }
    };
    assert_eq!(codes(&request(&odd_up_from(number(65537)))), [""; 0]);
    assert_eq!(codes(&request(&odd_up_from(power_of_two(32) + 1_u32))), [""; 0]);
    assert_eq!(codes(&request(&odd_up_from(power_of_two(33) + 1_u32))), [""; 0]);
    assert_eq!(codes(&request(&odd_up_from(power_of_two(64) + 1_u32))), [""; 0]);
    assert_eq!(codes(&request(&odd_up_from(power_of_two(256) - 2001_u32))), [""; 0]);
    assert_eq!(codes(&request(&odd_up_from(number(3)))), ["small_exponent"]);
    assert_eq!(codes(&request(&odd_up_from(number(32769)))), ["small_exponent"]);
    assert!(codes(&request(&odd_up_from(power_of_two(256) + 1_u32))).contains(&"bad_exponent"));

    let modulus = BigUint::parse_bytes(PRIME.as_bytes(), 16).unwrap() * mersenne(1279);
    let key = Key::new(KeyAlgorithm::EcP256);
    let mut parts = Parts::new(&key, &[dns("example.com")]);
    for exponent in [number(65538), power_of_two(200)] {
        parts.spki = rsa_spki(&modulus, &exponent);
        assert!(codes(&parts.sign(&key)).contains(&"bad_exponent"));
    }
    for exponent in [number(0), number(1), number(2)] {
        parts.spki = rsa_spki(&modulus, &exponent);
        assert!(codes(&parts.sign(&key)).contains(&"small_exponent"));
    }
}

#[test]
fn a_wrong_signature_with_a_long_exponent_is_refused() {
    let exponent = power_of_two(64) + 13_u32;
    let (key, other) = (Key::rsa(PRIME, OTHER, &exponent), Key::rsa(PRIME, WIDE, &exponent));
    let altered = |change: fn(&mut Vec<u8>)| {
        let mut der = request(&key);
        change(&mut der);
        codes(&der)
    };
    assert_eq!(altered(|_| {}), [""; 0]);
    assert_eq!(altered(|der| *der.last_mut().unwrap() ^= 1), ["bad_signature"]);
    // As long as it must be, and larger than the modulus.
    assert_eq!(altered(|der| der.iter_mut().rev().take(256).for_each(|byte| *byte = 0xff)), ["bad_signature"]);
    assert_eq!(altered(|der| der.iter_mut().rev().take(256).for_each(|byte| *byte = 0)), ["bad_signature"]);
    assert_eq!(codes(&Parts::new(&key, &[dns("example.com")]).sign(&other)), ["bad_signature"]);
}

#[test]
fn keys_of_flawed_generators_are_refused() {
    let e = number(65537);
    assert_eq!(codes(&request(&Key::rsa(PRIME, OTHER, &e))), [""; 0]);
    assert_eq!(codes(&request(&Key::rsa(ROCA_P, ROCA_Q, &e))), ["roca"]);
    assert_eq!(codes(&request(&Key::rsa(PRIME, NEXT, &e))), ["close_primes"]);
    assert_eq!(codes(&request(&Key::rsa(PRIME, PRIME, &e)))[0], "close_primes");
    let found = problems(&request(&Key::rsa(LONG, "fff1", &e)));
    assert_eq!(found, [CsrProblem::Key(KeyProblem::SmallFactor(65521))]);
}

#[test]
fn keys_that_are_known_to_others_are_refused() {
    struct Compromised(Vec<u8>);
    impl KnownBadKeys for Compromised {
        fn verdict(&self, key: &SubscriberKey) -> Option<BadKey> {
            (key.spki() == self.0).then_some(BadKey::Compromised)
        }
    }
    let key = Key::rsa(PRIME, OTHER, &number(65537));
    let request = read(&request(&key));
    let spki = digest_hex(&key.spki());
    let blocked = KeyBlocklist::read(spki.as_bytes()).unwrap();
    let debian = data_encoding::HEXLOWER.encode(&request.key().unwrap().debian_hash().unwrap());
    let debian = KeyBlocklist::read(debian.as_bytes()).unwrap();
    let compromised = Compromised(key.spki());
    for (known, code) in [
        (&blocked as &dyn KnownBadKeys, "blocked_key"),
        (&debian, "blocked_key"),
        (&compromised, "compromised_key"),
        (&[&compromised as &dyn KnownBadKeys, &blocked], "compromised_key"),
    ] {
        let found = request.check(&rules(), known);
        assert_eq!(found.iter().map(CsrProblem::code).collect::<Vec<_>>(), [code]);
    }
    let empty = KeyBlocklist::default();
    assert_eq!(request.check(&rules(), &empty), Vec::new());
}

fn digest_hex(bytes: &[u8]) -> String {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
    data_encoding::HEXLOWER.encode(digest.as_ref())
}

#[test]
fn other_kinds_of_keys_and_broken_ones_are_refused() {
    let key = Key::new(KeyAlgorithm::EcP256);
    let found = |spki: Vec<u8>| {
        let mut parts = Parts::new(&key, &[dns("example.com")]);
        parts.spki = spki;
        codes(&parts.sign(&key))
    };
    let ec = |curve: &str, point: &[u8]| {
        sequence(&[&sequence(&[&oid("1.2.840.10045.2.1"), &oid(curve)]), &tlv(0x03, &[&[0], point])])
    };
    let (p256, p521, k256) = ("1.2.840.10045.3.1.7", "1.3.132.0.35", "1.3.132.0.10");
    assert_eq!(found(ec(p521, &[4; 133])), ["unsupported_key"]);
    assert_eq!(found(ec(k256, &[4; 65])), ["unsupported_key"]);
    assert_eq!(found(ec(p256, &[4; 65])), ["invalid_key"]);
    assert_eq!(found(ec(p256, &[2; 33])), ["invalid_key"]);
    assert_eq!(found(ec(p256, &[0])), ["invalid_key"]);
    assert_eq!(found(ec(p256, &[])), ["invalid_key"]);
    // RSA without its NULL, and restricted to PSS: not what the Baseline Requirements spell.
    let rsa = rsa_spki(&mersenne(2203), &number(65537));
    // After the header of the SEQUENCE (4 bytes) and the algorithm (15).
    let bits = &rsa[19..];
    assert_eq!(found(sequence(&[&sequence(&[&oid("1.2.840.113549.1.1.1")]), bits])), ["invalid_key"]);
    assert_eq!(found(sequence(&[&sequence(&[&oid("1.2.840.113549.1.1.10")]), bits])), ["unsupported_key"]);
    let rsa_algorithm = sequence(&[&oid("1.2.840.113549.1.1.1"), b"\x05\x00"]);
    assert_eq!(found(sequence(&[&rsa_algorithm, b"\x03\x02\x00\x05"])), ["invalid_key"]);
    assert_eq!(found(sequence(&[&rsa_algorithm, b"\x03\x02\x01\x00"])), ["invalid_key"]);
    let negative = sequence(&[b"\x02\x01\x80", b"\x02\x01\x03"]);
    assert_eq!(found(sequence(&[&rsa_algorithm, &tlv(0x03, &[&[0], &negative])])), ["invalid_key"]);
    assert_eq!(found(sequence(&[&sequence(&[&oid("1.3.101.112")]), &tlv(0x03, &[&[0; 32]])])), ["invalid_key"]);
    assert_eq!(found(b"\x05\x00".to_vec()), ["invalid_key"]);
}
