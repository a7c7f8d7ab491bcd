//! Closed lists whose entries have a name and a sentence for the documentation.

/// Writes an enum, the names of its variants and what each means from one place.
macro_rules! documented {
    ($(#[$doc:meta])* $kind:ident { $($variant:ident = $name:literal: $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $kind { $(#[doc = $text] $variant,)* }

        impl $kind {
            pub const ALL: &'static [$kind] = &[$($kind::$variant,)*];

            pub const fn as_str(self) -> &'static str {
                match self { $($kind::$variant => $name,)* }
            }

            /// One sentence for the documentation.
            pub const fn describe(self) -> &'static str {
                match self { $($kind::$variant => $text,)* }
            }

            fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.as_str() == name)
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use documented;
