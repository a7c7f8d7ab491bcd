//! What can be wrong with a part of a document, kept as data until it is told in our own words.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

use super::{code, tree::Step};

/// One thing wrong with one part of a document.
#[derive(Debug)]
pub(super) enum Fault {
    UnknownField {
        name: String,
        known: &'static [&'static str],
    },
    MissingField(&'static str),
    WrongType {
        found: &'static str,
        expected: String,
    },
    InvalidValue {
        expected: String,
    },
    UnknownVariant {
        known: &'static [&'static str],
    },
    /// What a type's own check says.
    Other(String),
}

impl Fault {
    /// What is wrong, for programs.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Fault::UnknownField { .. } => code::UNKNOWN_FIELD,
            Fault::MissingField(_) => code::MISSING,
            Fault::WrongType { .. } => code::WRONG_TYPE,
            Fault::InvalidValue { .. } | Fault::UnknownVariant { .. } | Fault::Other(_) => code::INVALID_VALUE,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::UnknownField { known: [], .. } => f.write_str("is not known here"),
            Fault::UnknownField { known, .. } => write!(f, "is not known here; known are {}", known.join(", ")),
            Fault::MissingField(_) => f.write_str("is required"),
            Fault::WrongType { found, expected } => write!(f, "must be {expected}, not {found}"),
            Fault::InvalidValue { expected } => write!(f, "must be {expected}"),
            Fault::UnknownVariant { known } => write!(f, "must be one of {}", known.join(", ")),
            Fault::Other(message) => f.write_str(message),
        }
    }
}

/// A fault, and where it is.
#[derive(Debug)]
pub(super) struct Placed {
    fault: Fault,
    /// The steps to it, the last one first.
    steps: Vec<Step>,
}

impl Placed {
    /// The fault as it is seen from one step before.
    pub(super) fn within(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    pub(super) fn into_parts(mut self) -> (Vec<Step>, Fault) {
        self.steps.reverse();
        (self.steps, self.fault)
    }
}

impl From<Fault> for Placed {
    fn from(fault: Fault) -> Self {
        Self { fault, steps: Vec::new() }
    }
}

impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)
    }
}

impl std::error::Error for Placed {}

impl de::Error for Placed {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Fault::Other(message.to_string()).into()
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Fault::WrongType { found: kind(found), expected: plain(&expected.to_string()) }.into()
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = expected.to_string();
        // How large it may be is a rule of the member, not of the type we keep it in.
        let expected = match (found, is_whole_number(&expected)) {
            (Unexpected::Unsigned(_), true) => "a smaller number".to_owned(),
            _ => plain(&expected),
        };
        Fault::InvalidValue { expected }.into()
    }

    fn invalid_length(_: usize, expected: &dyn Expected) -> Self {
        Fault::InvalidValue { expected: plain(&expected.to_string()) }.into()
    }

    fn unknown_variant(_: &str, known: &'static [&'static str]) -> Self {
        Fault::UnknownVariant { known }.into()
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        Fault::UnknownField { name: name.to_owned(), known }.into()
    }

    fn missing_field(name: &'static str) -> Self {
        Fault::MissingField(name).into()
    }
}

/// What JSON calls the thing that was found.
fn kind(found: Unexpected<'_>) -> &'static str {
    match found {
        Unexpected::Bool(_) => "a boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "a whole number",
        // What is a whole number has no other form, and is none that we have where it is larger.
        Unexpected::Float(number) if number.fract() == 0.0 && number.abs() < 1e15 => "one with a point or an exponent",
        Unexpected::Float(number) if number.fract() == 0.0 => "a number of that size",
        Unexpected::Float(_) => "a number with a fraction",
        Unexpected::Str(_) | Unexpected::Char(_) | Unexpected::Bytes(_) => "a string",
        Unexpected::Unit | Unexpected::Option => "null",
        Unexpected::Seq => "a list",
        Unexpected::Map | Unexpected::NewtypeStruct => "an object",
        Unexpected::Enum
        | Unexpected::UnitVariant
        | Unexpected::NewtypeVariant
        | Unexpected::TupleVariant
        | Unexpected::StructVariant => "a variant",
        Unexpected::Other(_) => "something else",
    }
}

/// What JSON calls the thing that a Rust type expects: a client should not have to know our type names.
fn plain(expected: &str) -> String {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more".to_owned(),
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "option" => "a value or null".to_owned(),
        "unit" => "null".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "an object".to_owned(),
        _ if expected.starts_with("struct ") => "an object".to_owned(),
        _ if expected.starts_with("enum ") || expected == "variant identifier" => "one of its known values".to_owned(),
        _ => expected.to_owned(),
    }
}

fn is_whole_number(expected: &str) -> bool {
    matches!(expected, "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" | "isize")
}
