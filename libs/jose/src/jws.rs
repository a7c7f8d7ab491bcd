//! JSON Web Signature (RFC 7515) with one signature and a protected header only.

use serde_json::{Map, Value};

use crate::{Algorithm, Jwk, JwsError, KeyError, Signer, base64url, json};

/// Something that verifies the signature of a JWS: a public [`Jwk`], or an [`crate::HmacKey`].
pub trait Verifier {
    /// Checks a signature over the signing input; refuses an algorithm that the key is not made for.
    fn verify(&self, alg: Algorithm, input: &[u8], signature: &[u8]) -> Result<(), JwsError>;
}

/// The protected header. There is no other: an unprotected one is refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// The algorithm, a supported one.
    pub alg: Algorithm,
    /// The name of the key.
    pub kid: Option<String>,
    /// The media type of the whole.
    pub typ: Option<String>,
    /// The public key itself, where the sender includes it. Whether to trust it is for the caller to say.
    pub jwk: Option<Jwk>,
    /// Every member as it was sent, these included.
    pub members: Map<String, Value>,
}

/// Members that would make it another JWS: an unprotected header, and several signatures (RFC 7515 section 7.2.1). Others are
/// to be ignored.
const OTHER_FORMS: [&str; 2] = ["header", "signatures"];

/// A JWS that is well-formed. Its payload is handed out by [`Jws::verify`] alone.
#[derive(Debug, Clone)]
pub struct Jws {
    header: Header,
    pub(crate) payload: Vec<u8>,
    input: String,
    signature: Vec<u8>,
}

impl Jws {
    /// Parses the compact form (RFC 7515 section 7.1) of at most `limit` bytes.
    pub fn compact(text: &str, limit: usize) -> Result<Self, JwsError> {
        if text.len() > limit {
            return Err(JwsError::TooLong(limit));
        }
        let [protected, payload, signature] = text.split('.').collect::<Vec<_>>()[..] else {
            return Err(JwsError::Form("not three parts".to_owned()));
        };
        Self::from_parts(protected, payload, signature)
    }

    /// Parses the flattened JSON form (RFC 7515 section 7.2.2) of at most `limit` bytes: `protected`, `payload` and
    /// `signature`, each once.
    pub fn flattened(text: &[u8], limit: usize) -> Result<Self, JwsError> {
        if text.len() > limit {
            return Err(JwsError::TooLong(limit));
        }
        let members = json::object(text).map_err(JwsError::Form)?;
        if let Some(name) = OTHER_FORMS.into_iter().find(|name| members.contains_key(*name)) {
            return Err(JwsError::Refused(name.to_owned()));
        }
        let part = |name| members.get(name).and_then(Value::as_str).ok_or(JwsError::Missing(name));
        Self::from_parts(part("protected")?, part("payload")?, part("signature")?)
    }

    /// The protected header, not yet verified: enough to choose the key.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The payload, if the signature verifies with this key under the algorithm of the header.
    pub fn verify(&self, key: &impl Verifier) -> Result<&[u8], JwsError> {
        key.verify(self.header.alg, self.input.as_bytes(), &self.signature)?;
        Ok(&self.payload)
    }

    fn from_parts(protected: &str, payload: &str, signature: &str) -> Result<Self, JwsError> {
        let decode = |name, text| base64url::decode(text).ok_or(JwsError::Encoding(name));
        let header = Header::parse(&decode("protected", protected)?)?;
        let (input, signature) = (format!("{protected}.{payload}"), decode("signature", signature)?);
        Ok(Self { header, payload: decode("payload", payload)?, input, signature })
    }
}

impl Header {
    fn parse(text: &[u8]) -> Result<Self, JwsError> {
        let members = json::object(text).map_err(JwsError::Header)?;
        // No extension is understood here, so RFC 7515 section 4.1.11 has every `crit` refused, an empty one too.
        // `b64` (RFC 7797) would change what is signed.
        if let Some(name) = ["crit", "b64"].into_iter().find(|name| members.contains_key(*name)) {
            return Err(JwsError::Refused(name.to_owned()));
        }
        let text = |name| json::text(&members, name).map_err(JwsError::Missing);
        let name = text("alg")?.ok_or(JwsError::Missing("alg"))?;
        let alg = Algorithm::from_name(&name).ok_or(JwsError::UnsupportedAlgorithm(name))?;
        let jwk = members.get("jwk").map(Jwk::from_value).transpose()?;
        Ok(Self { alg, kid: text("kid")?, typ: text("typ")?, jwk, members })
    }
}

/// Signs `payload` into the compact form. `alg` is added to the header, whatever it held.
pub fn sign_compact(header: Map<String, Value>, payload: &[u8], key: &impl Signer) -> Result<String, KeyError> {
    let [protected, payload, signature] = sign(header, payload, key)?;
    Ok(format!("{protected}.{payload}.{signature}"))
}

/// Signs `payload` into the flattened JSON form. `alg` is added to the header, whatever it held.
pub fn sign_flattened(header: Map<String, Value>, payload: &[u8], key: &impl Signer) -> Result<Value, KeyError> {
    let [protected, payload, signature] = sign(header, payload, key)?;
    Ok(serde_json::json!({ "protected": protected, "payload": payload, "signature": signature }))
}

fn sign(mut header: Map<String, Value>, payload: &[u8], key: &impl Signer) -> Result<[String; 3], KeyError> {
    header.insert("alg".to_owned(), key.algorithm().name().into());
    let protected = base64url::encode(Value::Object(header).to_string().as_bytes());
    let payload = base64url::encode(payload);
    let signature = base64url::encode(&key.sign(format!("{protected}.{payload}").as_bytes())?);
    Ok([protected, payload, signature])
}
