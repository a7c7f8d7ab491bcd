//! Why a key is not certified.

use chancery_domain::KeyType;

/// Why a key is not certified; the text says what to do. Baseline Requirements sections 6.1.1.3 and 6.1.6.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyProblem {
    /// A kind of key that nobody here issues for.
    #[error("keys of kind {0} are not supported; use RSA of 2048 to 4096 bits, or ECDSA on P-256 or P-384")]
    Unsupported(String),
    /// A good key that the profile does not list.
    #[error("keys of kind {key_type} are not allowed here; use one of: {}", list(.allowed))]
    NotAllowed {
        /// The kind of the key.
        key_type: KeyType,
        /// What is allowed instead.
        allowed: Vec<KeyType>,
    },
    /// Bytes that are no key of the kind they claim to be.
    #[error("the public key is broken ({0}); make a new key")]
    Invalid(&'static str),
    /// An RSA modulus that is too short.
    #[error("an RSA key of {0} bits is too weak; make a new key of 2048 bits or more")]
    Weak(u64),
    /// An RSA modulus that is too long, or not a multiple of 8 bits.
    #[error(
        "RSA keys of {0} bits are not supported, only whole bytes and up to 4096 bits; make a new key of 2048, 3072 or 4096 bits"
    )]
    OddSize(u64),
    /// An RSA exponent below 65537.
    #[error("the RSA exponent is smaller than 65537; make a new key with the exponent 65537")]
    SmallExponent,
    /// An RSA exponent that is even, or 2^256 or more.
    #[error("the RSA exponent is even or longer than 256 bits; make a new key with the exponent 65537")]
    BadExponent,
    /// A key from a chip with the flaw ROCA (CVE-2017-15361).
    #[error("the key was made by a device with the flaw ROCA (CVE-2017-15361); make a new key elsewhere")]
    Roca,
    /// Two primes so close to each other that the modulus is easily factored.
    #[error("the two primes of the RSA key are so close that it is easily broken; make a new key with other software")]
    ClosePrimes,
    /// A modulus with a small prime factor.
    #[error("the RSA modulus is divisible by the small prime {0}; make a new key with other software")]
    SmallFactor(u32),
    /// A key that is publicly known, for instance one of Debian's weak keys.
    #[error("the key is on the list of known weak or published keys; make a new key")]
    Blocked,
    /// A key for which a certificate was once revoked because of compromise.
    #[error("a certificate for this key was revoked because the key was compromised; make a new key")]
    Compromised,
}

impl KeyProblem {
    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unsupported(_) | Self::OddSize(_) => "unsupported_key",
            Self::NotAllowed { .. } => "key_type_not_allowed",
            Self::Invalid(_) => "invalid_key",
            Self::Weak(_) => "weak_key",
            Self::SmallExponent => "small_exponent",
            Self::BadExponent => "bad_exponent",
            Self::Roca => "roca",
            Self::ClosePrimes => "close_primes",
            Self::SmallFactor(_) => "small_factor",
            Self::Blocked => "blocked_key",
            Self::Compromised => "compromised_key",
        }
    }
}

fn list(key_types: &[KeyType]) -> String {
    key_types.iter().map(|key_type| key_type.as_str()).collect::<Vec<_>>().join(", ")
}
