//! Structures put together by hand, where a type for each would say less.

use der::{Encode, Length};

use crate::error::PkiError;

/// A tag, a length in its shortest form, and the parts one after the other.
pub(crate) fn tlv(tag: u8, parts: &[&[u8]]) -> Result<Vec<u8>, PkiError> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let length = Length::try_from(length).and_then(|length| length.to_der()).map_err(PkiError::Encoding)?;
    Ok([&[tag], length.as_slice()].into_iter().chain(parts.iter().copied()).collect::<Vec<_>>().concat())
}
