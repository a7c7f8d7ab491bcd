//! What a caller was allowed to do when its token was made.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

macro_rules! scopes {
    ($($name:ident = $text:literal,)*) => {
        /// One permission. Every operation needs [`Scope::Reseller`] and at most one other.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Scope { $($name,)* }

        impl Scope {
            pub const ALL: &'static [Scope] = &[$(Scope::$name,)*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Scope::$name => $text,)* }
            }
        }
    };
}

scopes! {
    Reseller = "reseller",
    ReadOrder = "read:order",
    WriteOrder = "write:order",
    ReadAuthorization = "read:authorization",
    WriteAuthorization = "write:authorization",
    ReadCertificate = "read:certificate",
    WriteCertificate = "write:certificate",
    ReadChallenge = "read:challenge",
    WriteChallenge = "write:challenge",
    ReadAccount = "read:account",
    WriteAccount = "write:account",
    ReadEvent = "read:event",
    ReadWebhook = "read:webhook",
    WriteWebhook = "write:webhook",
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of scopes, written as OAuth writes it: names with one space between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeSet(BTreeSet<Scope>);

impl ScopeSet {
    pub fn all() -> Self {
        Self(Scope::ALL.iter().copied().collect())
    }

    pub fn contains(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn is_subset(&self, of: &Self) -> bool {
        self.0.is_subset(&of.0)
    }

    #[must_use]
    pub fn intersection(&self, with: &Self) -> Self {
        Self(self.0.intersection(&with.0).copied().collect())
    }

    /// Keeps what we know and drops the rest: a foreign token may carry scopes that are not ours.
    pub fn from_foreign(text: &str) -> Self {
        Self(text.split_ascii_whitespace().filter_map(known).collect())
    }
}

impl FromStr for ScopeSet {
    /// The first name that is not a scope.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split_ascii_whitespace()
            .map(|name| known(name).ok_or_else(|| name.to_owned()))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl fmt::Display for ScopeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, scope) in self.0.iter().enumerate() {
            write!(f, "{}{scope}", if place == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

fn known(name: &str) -> Option<Scope> {
    Scope::ALL.iter().copied().find(|scope| scope.as_str() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_from_its_text() {
        assert_eq!(ScopeSet::all().to_string().parse(), Ok(ScopeSet::all()));
    }

    #[test]
    fn an_unknown_scope_is_named() {
        assert_eq!("reseller admin".parse::<ScopeSet>(), Err("admin".to_owned()));
    }
}
