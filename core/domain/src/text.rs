//! Short texts that people write: bounded, printable, and storable on every database.

use std::fmt;

/// Why a text was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    #[error("must not be empty")]
    Empty,
    #[error("must be at most {max} characters, this one has {actual}")]
    TooLong { max: usize, actual: usize },
    #[error("must not contain control or invisible direction characters (found U+{0:04X})")]
    Unprintable(u32),
    #[error("must not begin or end with white space")]
    Untrimmed,
}

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident: $min:literal..=$max:literal, $lines:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            pub const MAX: usize = $max;

            pub fn parse(text: &str) -> Result<Self, TextError> {
                check(text, $min, $max, $lines).map(|()| Self(text.to_owned()))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

texts! {
    /// The name of a group, a policy, a reseller.
    Name: 1..=255, false;
    /// Free text about a thing; may have several lines.
    Description: 0..=2000, true;
    /// The reseller's own reference for a thing of ours.
    ExternalId: 1..=255, false;
    /// A short note on a credential.
    Label: 1..=100, false;
    /// What is noted where something is done; may have several lines.
    Comment: 1..=1000, true;
}

pub(crate) fn check(text: &str, min: usize, max: usize, lines: bool) -> Result<(), TextError> {
    let actual = text.chars().count();
    if actual < min {
        return Err(TextError::Empty);
    }
    if actual > max {
        return Err(TextError::TooLong { max, actual });
    }
    let line_break = |c: char| lines && matches!(c, '\n' | '\r' | '\t');
    if let Some(bad) = text.chars().find(|&c| (c.is_control() && !line_break(c)) || turns_text_around(c)) {
        return Err(TextError::Unprintable(bad as u32));
    }
    if text.trim() != text {
        return Err(TextError::Untrimmed);
    }
    Ok(())
}

/// The first `most` characters: what a stranger sent is told back no longer than that.
pub fn cut(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

/// Whether a character changes how those around it are shown (Unicode bidirectional controls and line separators): what a
/// name says must be what is seen.
pub fn turns_text_around(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_printable_trimmed_and_bounded() {
        assert!(Name::parse("Kunden – Größe 😀").is_ok());
        assert_eq!(Name::parse(""), Err(TextError::Empty));
        assert_eq!(Name::parse("a\0b"), Err(TextError::Unprintable(0)));
        assert_eq!(Name::parse("a\nb"), Err(TextError::Unprintable(10)));
        assert_eq!(Name::parse("a\u{202e}b"), Err(TextError::Unprintable(0x202e)));
        assert_eq!(Name::parse(" a"), Err(TextError::Untrimmed));
        assert!(Name::parse(&"é".repeat(255)).is_ok());
        assert_eq!(Name::parse(&"é".repeat(256)), Err(TextError::TooLong { max: 255, actual: 256 }));
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(["", "é", "éé", "ééé"].map(|text| cut(text, 2)), ["", "é", "éé", "éé"]);
        assert_eq!(cut("é", 0), "");
    }

    #[test]
    fn a_description_may_have_lines() {
        assert!(Description::parse("one\n\ttwo").is_ok());
        assert!(Description::parse("").is_ok());
    }
}
