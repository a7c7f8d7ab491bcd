//! JSON objects whose member names are unique at every depth (RFC 7515 section 4 lets a parser insist on it).
//! `serde_json` alone would silently keep the last of two equal names, and two parsers could then disagree.

use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Parses one JSON object, and nothing after it; the error says where and what is wrong.
pub fn object(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    match serde_json::from_slice::<Unique>(bytes) {
        Ok(Unique(Value::Object(members))) => Ok(members),
        Ok(Unique(_)) => Err("not an object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// An optional member that must be a string; in error its name, when it is anything else.
pub(crate) fn text(members: &Map<String, Value>, name: &'static str) -> Result<Option<String>, &'static str> {
    members.get(name).map(|value| value.as_str().map(str::to_owned).ok_or(name)).transpose()
}

struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Self)
    }
}

macro_rules! scalars {
    ($($visit:ident: $scalar:ty),*) => {
        $(fn $visit<E>(self, value: $scalar) -> Result<Value, E> { Ok(value.into()) })*
    };
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    scalars! { visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Value, A::Error> {
        let items = Vec::<Unique>::deserialize(SeqAccessDeserializer::new(items))?;
        Ok(items.into_iter().map(|Unique(item)| item).collect())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, Unique(value))) = entries.next_entry::<String, Unique>()? {
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom("a member name is repeated"));
            }
        }
        Ok(Value::Object(object))
    }
}
