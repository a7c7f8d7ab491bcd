//! The tenant: everything belongs to exactly one reseller.

use std::fmt;

use crate::id::ResellerId;
use crate::text::Name;
use crate::time::Timestamp;

/// A reseller, created and suspended by the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reseller {
    pub id: ResellerId,
    pub code: ResellerCode,
    pub name: Name,
    pub suspended: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub version: i64,
}

impl Reseller {
    #[must_use]
    pub fn with_suspended(self, suspended: bool, now: Timestamp) -> Self {
        Self { suspended, updated_at: now, ..self }
    }
}

/// The short name of a reseller, as it stands in answers and tokens: 2 to 32 capitals, digits, `-` or `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResellerCode(String);

/// Why a text is not a reseller code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a reseller code is 2 to 32 capital letters, digits, `-` or `_`, beginning with a letter, such as ACME2")]
pub struct CodeError;

impl ResellerCode {
    pub fn parse(text: &str) -> Result<Self, CodeError> {
        let fits = (2..=32).contains(&text.len())
            && text.starts_with(|first: char| first.is_ascii_uppercase())
            && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || b"-_".contains(&byte));
        if fits { Ok(Self(text.to_owned())) } else { Err(CodeError) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ResellerCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
