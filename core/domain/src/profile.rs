//! What kind of certificate: the operator's choice of validity, keys and challenges under one name.

use std::fmt;

use crate::kinds::{ChallengeType, KeyType};

/// A certificate profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    pub name: ProfileName,
    pub description: String,
    pub validity_days: u32,
    pub key_types: Vec<KeyType>,
    pub challenge_types: Vec<ChallengeType>,
    pub allow_wildcards: bool,
    pub allow_ip_addresses: bool,
    pub max_names: u32,
}

/// The name of a profile: it stands in URLs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProfileName(String);

/// Why a text cannot name a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a profile name is 1 to 64 letters, digits, `-`, `_` or `.`, such as TLS-90d")]
pub struct ProfileNameError;

impl ProfileName {
    pub fn parse(text: &str) -> Result<Self, ProfileNameError> {
        let fits = (1..=64).contains(&text.len())
            && text.starts_with(|first: char| first.is_ascii_alphanumeric())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if fits { Ok(Self(text.to_owned())) } else { Err(ProfileNameError) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProfileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Profile {
    /// The profiles that exist where the operator names none.
    pub fn predefined() -> Vec<Self> {
        [("TLS-90d", 90), ("TLS-199d", 199)].map(|(name, days)| Self::tls(name, days)).into()
    }

    fn tls(name: &str, validity_days: u32) -> Self {
        Self {
            name: ProfileName(name.to_owned()),
            description: format!("TLS server certificate, {validity_days} days"),
            validity_days,
            key_types: vec![KeyType::Rsa2048, KeyType::Rsa3072, KeyType::Rsa4096, KeyType::EcP256, KeyType::EcP384],
            challenge_types: ChallengeType::USUAL.to_vec(),
            allow_wildcards: true,
            allow_ip_addresses: true,
            max_names: 100,
        }
    }
}
