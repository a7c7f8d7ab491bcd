//! The signature and MAC algorithms (RFC 7518 section 3.1, RFC 8037 section 3.1). There is no `none`.

macro_rules! algorithms {
    ($($name:ident)*) => {
        /// A JWS algorithm, named as in the registry. Which of them fit a public key is told by
        /// [`crate::Jwk::algorithms`]; the HMACs (`HS…`) fit none.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Algorithm { $(#[allow(missing_docs)] $name),* }

        impl Algorithm {
            /// Every algorithm there is.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The registered name, as in `alg`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }
        }
    };
}

algorithms! { ES256 ES384 ES512 RS256 RS384 RS512 PS256 PS384 PS512 EdDSA HS256 HS384 HS512 }

impl Algorithm {
    /// The algorithm of that exact name; names are case-sensitive (RFC 7515 section 4.1.1).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|alg| alg.name() == name)
    }

    /// Whether it is a MAC, verified with a shared secret and never with a public key.
    pub const fn is_hmac(self) -> bool {
        matches!(self, Self::HS256 | Self::HS384 | Self::HS512)
    }
}
