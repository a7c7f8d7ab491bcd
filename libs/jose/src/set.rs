//! Published keys and sets of them (RFC 7517 sections 4 and 5).

use serde_json::{Value, json};

use crate::{Algorithm, Jwk, KeyError, json};

/// A public key with what its publisher says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedKey {
    /// The name by which tokens refer to it.
    pub kid: Option<String>,
    /// The only algorithm it is meant for, if the publisher says so.
    pub alg: Option<Algorithm>,
    /// `use`: `sig`, `enc`, or unsaid.
    pub key_use: Option<String>,
    /// The key itself.
    pub jwk: Jwk,
}

impl PublishedKey {
    /// A key for signatures of one algorithm.
    pub fn for_signatures(kid: impl Into<String>, alg: Algorithm, jwk: Jwk) -> Self {
        Self { kid: Some(kid.into()), alg: Some(alg), key_use: Some("sig".to_owned()), jwk }
    }

    /// The JWK with `kid`, `alg` and `use` where they are known.
    pub fn to_value(&self) -> Value {
        let mut value = self.jwk.to_value();
        let alg = self.alg.map(Algorithm::name);
        let said = [("kid", self.kid.as_deref()), ("alg", alg), ("use", self.key_use.as_deref())];
        for (name, text) in said.into_iter().filter_map(|(name, text)| Some((name, text?))) {
            value[name] = text.into();
        }
        value
    }

    /// `None` for a key that could never be used here: unsupported, malformed, or private.
    fn from_value(value: &Value) -> Option<Self> {
        let jwk = Jwk::from_value(value).ok()?;
        let text = |name| json::text(value.as_object()?, name).ok();
        let supported = |name: String| Algorithm::from_name(&name).filter(|alg| jwk.algorithms().contains(alg));
        let alg = text("alg")?.map(|name| supported(name).ok_or(())).transpose().ok()?;
        Some(Self { kid: text("kid")?, alg, key_use: text("use")?, jwk })
    }
}

/// A JWK set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JwkSet {
    /// The keys, in the order of the document.
    pub keys: Vec<PublishedKey>,
}

impl JwkSet {
    /// Parses a set. Keys that cannot be used here are left out, as RFC 7517 section 5 asks; a document that is not
    /// an object with an array `keys`, or that repeats a member anywhere, is an error.
    pub fn parse(text: &[u8]) -> Result<Self, KeyError> {
        let members = json::object(text).map_err(KeyError::Json)?;
        let keys = members.get("keys").and_then(Value::as_array).ok_or(KeyError::Missing("keys"))?;
        Ok(Self { keys: keys.iter().filter_map(PublishedKey::from_value).collect() })
    }

    /// The document to publish.
    pub fn to_value(&self) -> Value {
        json!({ "keys": self.keys.iter().map(PublishedKey::to_value).collect::<Vec<_>>() })
    }

    /// The keys that may verify a token with this `kid` and `alg`: those of that name, or every fitting one when the
    /// token names none. Made to be the key lookup of [`crate::jwt::verify`].
    pub fn find(&self, kid: Option<&str>, alg: Algorithm) -> Vec<Jwk> {
        let fits = |key: &&PublishedKey| {
            (kid.is_none() || key.kid.as_deref() == kid)
                && key.alg.is_none_or(|own| own == alg)
                && key.key_use.as_deref().is_none_or(|key_use| key_use == "sig")
                && key.jwk.algorithms().contains(&alg)
        };
        self.keys.iter().filter(fits).map(|key| key.jwk.clone()).collect()
    }
}
