//! Reads a [`Tree`] as any type that serde knows.
//!
//! Why not serde_json's own reader: its errors are sentences, ours are data ([`Fault`]); it takes a list for a struct,
//! which an API must not; and it has nothing like [`Tree::Recorded`], with which *all* problems can be found.

use serde::de::{
    Deserializer, Error as _, IntoDeserializer, Unexpected, Visitor,
    value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer, StrDeserializer},
};

use super::{fault::Fault, tree::Tree};

/// A part of a document, to be read.
#[derive(Clone, Copy)]
pub(super) struct Node<'t>(pub(super) &'t Tree);

impl<'t> IntoDeserializer<'t, Fault> for &'t Tree {
    type Deserializer = Node<'t>;

    fn into_deserializer(self) -> Node<'t> {
        Node(self)
    }
}

impl<'t> Node<'t> {
    fn visit_list<V: Visitor<'t>>(items: &'t [Tree], visitor: V) -> Result<V::Value, Fault> {
        let mut list = SeqDeserializer::new(items.iter());
        let value = visitor.visit_seq(&mut list)?;
        list.end()?;
        Ok(value)
    }

    fn visit_object<V: Visitor<'t>>(members: &'t [(String, Tree)], visitor: V) -> Result<V::Value, Fault> {
        let mut object = MapDeserializer::new(members.iter().map(|(name, value)| (name.as_str(), value)));
        let value = visitor.visit_map(&mut object)?;
        object.end()?;
        Ok(value)
    }
}

/// Whole numbers: a query parameter is parsed, and 1 passes for any of them.
macro_rules! whole_numbers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
            match self.0 {
                Tree::Recorded => visitor.visit_u64(1),
                Tree::Text(text) => match (text.parse::<u64>(), text.parse::<i64>()) {
                    // `parse` would take a leading plus sign.
                    _ if text.starts_with('+') => Err(Fault::invalid_value(Unexpected::Str(text), &visitor)),
                    (Ok(number), _) => visitor.visit_u64(number),
                    (_, Ok(number)) => visitor.visit_i64(number),
                    _ => Err(Fault::invalid_value(Unexpected::Str(text), &visitor)),
                },
                _ => self.deserialize_any(visitor),
            }
        }
    )*};
}

macro_rules! fractions {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
            match self.0 {
                Tree::Recorded => visitor.visit_f64(1.0),
                Tree::Text(text) => match text.parse::<f64>() {
                    Ok(number) if number.is_finite() => visitor.visit_f64(number),
                    _ => Err(Fault::invalid_value(Unexpected::Str(text), &visitor)),
                },
                _ => self.deserialize_any(visitor),
            }
        }
    )*};
}

macro_rules! strings {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
            match self.0 {
                Tree::Recorded => visitor.visit_str("x"),
                _ => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'t> Deserializer<'t> for Node<'t> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Tree::Null | Tree::Recorded => visitor.visit_unit(),
            Tree::Bool(value) => visitor.visit_bool(*value),
            Tree::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), _, _) => visitor.visit_u64(number),
                (_, Some(number), _) => visitor.visit_i64(number),
                (_, _, Some(number)) => visitor.visit_f64(number),
                (None, None, None) => Err(Fault::custom("is a number out of range")),
            },
            Tree::String(text) | Tree::Text(text) => visitor.visit_borrowed_str(text),
            Tree::List(items) => Self::visit_list(items, visitor),
            Tree::Object(members) => Self::visit_object(members, visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Tree::Recorded => visitor.visit_bool(false),
            Tree::Text(text) => match text.as_str() {
                "true" => visitor.visit_bool(true),
                "false" => visitor.visit_bool(false),
                _ => Err(Fault::InvalidValue { expected: "true or false".to_owned() }),
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

    fn deserialize_option<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Tree::Null | Tree::Recorded => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'t>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Tree::Recorded => Self::visit_list(&[], visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'t>>(self, len: usize, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Tree::Recorded => {
                visitor.visit_seq(SeqDeserializer::<_, Fault>::new(std::iter::repeat_n(&Tree::Recorded, len)))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'t>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_tuple(len, visitor)
    }

    fn deserialize_map<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Tree::Recorded => Self::visit_object(&[], visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'t>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.0 {
            Tree::Recorded => {
                visitor.visit_map(MapDeserializer::<_, Fault>::new(fields.iter().map(|name| (*name, &Tree::Recorded))))
            }
            // Derived code would take a list for a struct, its items for the fields in the order of the source.
            Tree::List(_) => Err(Fault::invalid_type(Unexpected::Seq, &visitor)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'t>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.0 {
            Tree::String(text) | Tree::Text(text) => visitor.visit_enum(StrDeserializer::<Fault>::new(text)),
            Tree::Recorded => visitor.visit_enum(StrDeserializer::<Fault>::new(variants.first().unwrap_or(&""))),
            Tree::Object(members) if members.len() == 1 => {
                let object = MapDeserializer::new(members.iter().map(|(name, value)| (name.as_str(), value)));
                visitor.visit_enum(MapAccessDeserializer::new(object))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! { <V: Visitor<'t>> bytes byte_buf unit unit_struct }
}
