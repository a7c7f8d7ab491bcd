//! A value that never shows itself.

use zeroize::Zeroizing;

/// Text that must not reach a log, an error or a `Debug`. It is wiped when dropped.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// The only way to the text: search for this name to see every place a secret is used.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}
