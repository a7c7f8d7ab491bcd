//! JOSE, as little of it as is needed: JWK and JWK sets (RFC 7517), thumbprints (RFC 7638), JWS in compact and
//! flattened form (RFC 7515), and JWT access tokens (RFC 7519, RFC 9068).
//!
//! What it refuses is the point: `none` does not exist, a public key cannot verify an HMAC because that takes an
//! [`HmacKey`], unprotected headers, `crit`, `b64`, repeated JSON members and sloppy base64url are errors.

mod alg;
pub mod base64url;
mod ed25519;
mod error;
mod json;
mod jwk;
pub mod jws;
pub mod jwt;
mod set;
mod signing;
mod spki;

pub use alg::Algorithm;
pub use error::{JwsError, KeyError, TokenError};
pub use json::object as json_object;
pub use jwk::Jwk;
pub use jws::{Header, Jws, Verifier};
pub use jwt::{Claims, Expected};
pub use set::{JwkSet, PublishedKey};
pub use signing::{HmacKey, Signer, SigningKey};
