//! Reads a [`Tree`] as any type that serde knows.
//!
//! Why not serde_json's own reader: its errors are sentences, ours are data ([`Fault`]); it takes a list for a struct,
//! which an API must not; and it has nothing like [`Tree::Recorded`], with which *all* problems can be found.

use std::slice;

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Unexpected, Visitor,
    value::{MapAccessDeserializer, StrDeserializer},
};

use super::{
    fault::{Fault, Placed},
    tree::{Step, Tree},
};

/// A part of a document, to be read.
#[derive(Clone, Copy)]
pub(super) struct Node<'t>(pub(super) &'t Tree);

impl<'t> Node<'t> {
    fn visit_list<V: Visitor<'t>>(mut list: List<'t>, visitor: V) -> Result<V::Value, Placed> {
        let value = visitor.visit_seq(&mut list)?;
        list.end()?;
        Ok(value)
    }
}

/// The items of a list; and behind them, of one that stands in for another, as many as are asked for. One type for both, as for
/// objects: what is read would be compiled anew with each.
#[derive(Default)]
struct List<'t> {
    sent: slice::Iter<'t, Tree>,
    stand_ins: usize,
    taken: usize,
}

impl List<'_> {
    /// That all was taken.
    fn end(self) -> Result<(), Placed> {
        match (self.sent.len(), self.taken) {
            (0, _) => Ok(()),
            (more, 1) => Err(Placed::invalid_length(1 + more, &"1 element in sequence")),
            (more, taken) => {
                Err(Placed::invalid_length(taken + more, &format!("{taken} elements in sequence").as_str()))
            }
        }
    }
}

impl<'t> SeqAccess<'t> for List<'t> {
    type Error = Placed;

    fn next_element_seed<T: DeserializeSeed<'t>>(&mut self, seed: T) -> Result<Option<T::Value>, Placed> {
        let item = match (self.sent.next(), self.stand_ins) {
            (Some(item), _) => item,
            (None, 0) => return Ok(None),
            (None, left) => {
                self.stand_ins = left - 1;
                &Tree::Recorded
            }
        };
        let place = self.taken;
        self.taken += 1;
        seed.deserialize(Node(item)).map(Some).map_err(|error| error.within(Step::Item(place)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.sent.len() + self.stand_ins)
    }
}

/// The members of an object; and behind them, of one that stands in for another, those that are asked for.
#[derive(Default)]
struct Object<'t> {
    sent: slice::Iter<'t, (String, Tree)>,
    stand_ins: slice::Iter<'static, &'static str>,
    /// The value behind the name that was read last.
    current: Option<(&'t str, &'t Tree)>,
}

impl<'t> Object<'t> {
    fn sent(members: &'t [(String, Tree)]) -> Self {
        Self { sent: members.iter(), ..Self::default() }
    }
}

impl<'t> MapAccess<'t> for Object<'t> {
    type Error = Placed;

    fn next_key_seed<K: DeserializeSeed<'t>>(&mut self, seed: K) -> Result<Option<K::Value>, Placed> {
        let sent = self.sent.next().map(|(name, value)| (name.as_str(), value));
        self.current = sent.or_else(|| self.stand_ins.next().map(|name| (*name, &Tree::Recorded)));
        self.current.map(|(name, _)| seed.deserialize(StrDeserializer::new(name))).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'t>>(&mut self, seed: V) -> Result<V::Value, Placed> {
        let (name, value) = self.current.take().expect("a value is asked for after its name");
        seed.deserialize(Node(value)).map_err(|error| error.within(Step::Member(name.to_owned())))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.sent.len() + self.stand_ins.len())
    }
}

/// Whole numbers: a query parameter is parsed, and 1 passes for any of them.
macro_rules! whole_numbers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Placed> {
            match self.0 {
                Tree::Recorded => visitor.visit_u64(1),
                Tree::Text(text) => match (text.parse::<u64>(), text.parse::<i64>()) {
                    // `parse` would take a leading plus sign.
                    _ if text.starts_with('+') => Err(Placed::invalid_value(Unexpected::Str(text), &visitor)),
                    (Ok(number), _) => visitor.visit_u64(number),
                    (_, Ok(number)) => visitor.visit_i64(number),
                    _ => Err(Placed::invalid_value(Unexpected::Str(text), &visitor)),
                },
                _ => self.deserialize_any(visitor),
            }
        }
    )*};
}

macro_rules! fractions {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Placed> {
            match self.0 {
                Tree::Recorded => visitor.visit_f64(1.0),
                Tree::Text(text) => match text.parse::<f64>() {
                    Ok(number) if number.is_finite() => visitor.visit_f64(number),
                    _ => Err(Placed::invalid_value(Unexpected::Str(text), &visitor)),
                },
                _ => self.deserialize_any(visitor),
            }
        }
    )*};
}

macro_rules! strings {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Placed> {
            match self.0 {
                Tree::Recorded => visitor.visit_str("x"),
                _ => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'t> Deserializer<'t> for Node<'t> {
    type Error = Placed;

    fn deserialize_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Placed> {
        match self.0 {
            Tree::Null | Tree::Recorded => visitor.visit_unit(),
            Tree::Bool(value) => visitor.visit_bool(*value),
            Tree::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), _, _) => visitor.visit_u64(number),
                (_, Some(number), _) => visitor.visit_i64(number),
                (_, _, Some(number)) => visitor.visit_f64(number),
                (None, None, None) => Err(Placed::custom("is a number out of range")),
            },
            Tree::String(text) | Tree::Text(text) => visitor.visit_borrowed_str(text),
            Tree::List(items) => Self::visit_list(List { sent: items.iter(), ..List::default() }, visitor),
            Tree::Object(members) => visitor.visit_map(&mut Object::sent(members)),
        }
    }

    fn deserialize_bool<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Placed> {
        match self.0 {
            Tree::Recorded => visitor.visit_bool(false),
            Tree::Text(text) => match text.as_str() {
                "true" => visitor.visit_bool(true),
                "false" => visitor.visit_bool(false),
                _ => Err(Fault::InvalidValue { expected: "true or false".to_owned() }.into()),
            },
            _ => self.deserialize_any(visitor),
        }
    }

    whole_numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
    }
    fractions! { deserialize_f32 deserialize_f64 }
    strings! { deserialize_char deserialize_str deserialize_string deserialize_identifier }

    fn deserialize_option<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Placed> {
        match self.0 {
            Tree::Null | Tree::Recorded => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'t>>(self, _: &'static str, visitor: V) -> Result<V::Value, Placed> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Placed> {
        match self.0 {
            Tree::Recorded => Self::visit_list(List::default(), visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'t>>(self, len: usize, visitor: V) -> Result<V::Value, Placed> {
        match self.0 {
            Tree::Recorded => Self::visit_list(List { stand_ins: len, ..List::default() }, visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'t>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Placed> {
        self.deserialize_tuple(len, visitor)
    }

    fn deserialize_map<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Placed> {
        match self.0 {
            Tree::Recorded => visitor.visit_map(&mut Object::default()),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'t>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Placed> {
        match self.0 {
            Tree::Recorded => visitor.visit_map(&mut Object { stand_ins: fields.iter(), ..Object::default() }),
            // Derived code would take a list for a struct, its items for the fields in the order of the source.
            Tree::List(_) => Err(Placed::invalid_type(Unexpected::Seq, &visitor)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'t>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Placed> {
        match self.0 {
            Tree::String(text) | Tree::Text(text) => visitor.visit_enum(StrDeserializer::<Placed>::new(text)),
            Tree::Recorded => visitor.visit_enum(StrDeserializer::<Placed>::new(variants.first().unwrap_or(&""))),
            Tree::Object(members) if members.len() == 1 => {
                visitor.visit_enum(MapAccessDeserializer::new(Object::sent(members)))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Placed> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! { <V: Visitor<'t>> bytes byte_buf unit unit_struct }
}
