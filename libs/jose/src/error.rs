//! What can be wrong, each thing by its own name, so that a caller can answer precisely.

/// A key that cannot be read, made or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The text is not a JSON object, or repeats a member.
    #[error("the key is not a JSON object: {0}")]
    Json(String),
    /// A member that this type of key needs is absent or not a string (in a set: `keys` is not an array).
    #[error("the key has no usable `{0}`")]
    Missing(&'static str),
    /// Private or symmetric material where only a public key belongs.
    #[error("the key carries the private member `{0}`")]
    Private(&'static str),
    /// A `kty` or `crv` that this crate does not know.
    #[error("key type or curve `{0}` is not supported")]
    Unsupported(String),
    /// A member that is not strict base64url, or an integer with leading zeros.
    #[error("`{0}` is not canonical base64url")]
    Encoding(&'static str),
    /// Coordinates of the wrong length (RFC 7518 section 6.2.1.2), of no point on the curve, or not in the one spelling
    /// that a point has (RFC 8032 section 5.1.3).
    #[error("the coordinates are not those of a point on the curve")]
    Point,
    /// A point of Ed25519 for which anyone can sign (RFC 8032 section 5.1.7 lets its signatures verify).
    #[error("the point is one of the few of small order, for which anyone can sign; make a new key")]
    SmallOrder,
    /// An RSA modulus that is even, or outside 2048 to 8192 bits.
    #[error("an RSA modulus of {0} bits is refused: it must be odd, 2048 to 8192 bits")]
    Modulus(usize),
    /// An RSA exponent that is even, below 3, or past 32 bits (beyond what verification would accept).
    #[error("the RSA exponent must be odd, at least 3, at most 32 bits")]
    Exponent,
    /// An HMAC key for something other than HS256, HS384, HS512, or shorter than the hash (RFC 7518 section 3.2).
    #[error("the secret does not suit {0}")]
    Hmac(&'static str),
    /// Bytes that are not the PKCS#8 form of a P-256 key.
    #[error("not a PKCS#8 P-256 private key")]
    Pkcs8,
    /// The cryptographic library failed.
    #[error("the cryptographic library failed")]
    Crypto,
}

/// A JWS that cannot be read or does not verify.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JwsError {
    /// Longer than the caller allows.
    #[error("longer than {0} bytes")]
    TooLong(usize),
    /// Neither three parts with two dots nor, where that is asked for, a JSON object without repeated members.
    #[error("not a JWS: {0}")]
    Form(String),
    /// A part is absent, or is not a string.
    #[error("`{0}` is absent or not a string")]
    Missing(&'static str),
    /// A member that may not be there: beside the three parts, `header` or `signatures`; in the protected header, `crit`
    /// (RFC 7515 section 4.1.11) or `b64` (RFC 7797), which change the meaning of the whole.
    #[error("member `{0}` is refused")]
    Refused(String),
    /// A part is not strict base64url.
    #[error("`{0}` is not base64url")]
    Encoding(&'static str),
    /// The protected header is not a JSON object, or repeats a member.
    #[error("the protected header is not a JSON object: {0}")]
    Header(String),
    /// The `alg` is not one of [`crate::Algorithm`]; `none` never is.
    #[error("algorithm `{0}` is not supported")]
    UnsupportedAlgorithm(String),
    /// The `jwk` in the protected header is no acceptable public key.
    #[error("`jwk`: {0}")]
    Key(#[from] KeyError),
    /// The key is of another kind than the `alg` in the header.
    #[error("the key does not fit algorithm {0}")]
    AlgorithmDoesNotFit(&'static str),
    /// The signature or MAC is wrong.
    #[error("the signature does not verify")]
    BadSignature,
}

/// A token that is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Not a well-formed JWS.
    #[error("malformed token: {0}")]
    Malformed(JwsError),
    /// The payload is not a JSON object, repeats a member, or has a checked claim of the wrong JSON type.
    #[error("malformed claims: {0}")]
    MalformedClaims(String),
    /// An unknown `alg`, or an HMAC: tokens are verified with public keys only.
    #[error("algorithm `{0}` is not supported")]
    UnsupportedAlgorithm(String),
    /// The `typ` is neither an access token (RFC 9068 section 2.1) nor a plain JWT.
    #[error("token type `{0}` is not accepted")]
    WrongType(String),
    /// No key for this `kid` (inside, if the token had one) and `alg`: a caller may refresh its keys and try again.
    #[error("no key known for this token")]
    UnknownKey(Option<String>),
    /// A key was found and the signature does not verify with it.
    #[error("the signature does not verify")]
    BadSignature,
    /// A claim that must be there is not.
    #[error("claim `{0}` is missing")]
    MissingClaim(&'static str),
    /// Issued by someone else; the issuer it claims is inside.
    #[error("wrong issuer `{0}`")]
    WrongIssuer(String),
    /// Meant for someone else.
    #[error("wrong audience")]
    WrongAudience,
    /// Something else than an access token; the claim that gives it away is inside.
    #[error("claim `{0}` says that this is no access token")]
    NotAnAccessToken(String),
    /// An ID token for another client (`azp`), or for several without saying which.
    #[error("issued to another client")]
    WrongParty,
    /// An ID token that answers to another request.
    #[error("it answers to another request")]
    WrongNonce,
    /// `exp` has passed.
    #[error("the token has expired")]
    Expired,
    /// `nbf` or `iat` lies in the future.
    #[error("the token is not yet valid")]
    NotYetValid,
}

impl From<JwsError> for TokenError {
    fn from(error: JwsError) -> Self {
        match error {
            JwsError::UnsupportedAlgorithm(alg) => Self::UnsupportedAlgorithm(alg),
            other => Self::Malformed(other),
        }
    }
}
