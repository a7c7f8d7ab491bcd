//! A public key as a JWK (RFC 7517, RFC 7518 section 6, RFC 8037 section 2).

use std::sync::{Arc, OnceLock};

use aws_lc_rs::digest;
use aws_lc_rs::signature::{self as lc, ParsedPublicKey, RsaPublicKeyComponents, VerificationAlgorithm};
use serde_json::{Value, json};

use crate::Algorithm::*;
use crate::{Algorithm, JwsError, KeyError, Verifier, base64url, ed25519, json, spki};

/// A public key that is known to be well-formed. Cheap to clone; equal when the keys are, whatever else the JSON said.
#[derive(Debug, Clone)]
pub struct Jwk(Arc<Key>);

#[derive(Debug)]
struct Key {
    material: Material,
    /// Made when it is first asked for, and asked for with every request.
    thumbprint: OnceLock<String>,
}

#[derive(Debug)]
enum Material {
    Point(&'static Curve, ParsedPublicKey),
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
}

/// Members that only a private or symmetric key has (RFC 7518 sections 6.2.2, 6.3.2, 6.4.1).
const PRIVATE: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

impl Jwk {
    /// Parses the JSON text of a key; a repeated member is refused. See [`Jwk::from_value`].
    pub fn parse(text: &[u8]) -> Result<Self, KeyError> {
        Self::from_value(&Value::Object(json::object(text).map_err(KeyError::Json)?))
    }

    /// Reads a key from parsed JSON. Private members are refused; members that do not define the key are ignored.
    pub fn from_value(value: &Value) -> Result<Self, KeyError> {
        if let Some(name) = PRIVATE.into_iter().find(|name| value.get(name).is_some()) {
            return Err(KeyError::Private(name));
        }
        let text = |name| value.get(name).and_then(Value::as_str).ok_or(KeyError::Missing(name));
        let bytes = |name| base64url::decode(text(name)?).ok_or(KeyError::Encoding(name));
        match text("kty")? {
            "RSA" => {
                // RFC 7518 section 2: an integer has the least octets that hold it. One spelling, one thumbprint.
                let is_minimal = |integer: &Vec<u8>| integer.first().is_some_and(|first| *first != 0);
                let integer = |name| Some(bytes(name)?).filter(is_minimal).ok_or(KeyError::Encoding(name));
                Self::from_rsa(integer("n")?, integer("e")?)
            }
            kty @ ("EC" | "OKP") => {
                let name = text("crv")?;
                let curve = CURVES.iter().find(|curve| curve.kty == kty && curve.name == name);
                let curve = curve.ok_or_else(|| KeyError::Unsupported(name.to_owned()))?;
                // Leading zeros are kept (RFC 7518 section 6.2.1.2), so the length is always that of the curve.
                let coordinate = |name| Some(bytes(name)?).filter(|c| c.len() == curve.len).ok_or(KeyError::Point);
                let y = if kty == "EC" { coordinate("y")? } else { Vec::new() };
                Self::from_point(curve, &[curve.prefix, &coordinate("x")?, &y].concat())
            }
            other => Err(KeyError::Unsupported(other.to_owned())),
        }
    }

    /// The algorithms this key may verify; an HMAC is never among them.
    pub fn algorithms(&self) -> &'static [Algorithm] {
        match &self.0.material {
            Material::Point(curve, _) => &curve.algorithms,
            Material::Rsa(_) => &[RS256, RS384, RS512, PS256, PS384, PS512],
        }
    }

    /// The size of an RSA key in bits; `None` for keys of other kinds.
    pub fn rsa_bits(&self) -> Option<usize> {
        match &self.0.material {
            Material::Point(..) => None,
            Material::Rsa(RsaPublicKeyComponents { n, .. }) => Some(bit_length(n)),
        }
    }

    /// The members that define the key, and no others.
    pub fn to_value(&self) -> Value {
        // Written in lexicographic order, so that a map that keeps insertion order is canonical as well.
        match &self.0.material {
            Material::Point(curve, key) => {
                let (x, y) = key.as_ref()[curve.prefix.len()..].split_at(curve.len);
                let mut value = json!({ "crv": curve.name, "kty": curve.kty, "x": base64url::encode(x) });
                if !y.is_empty() {
                    value["y"] = base64url::encode(y).into();
                }
                value
            }
            Material::Rsa(RsaPublicKeyComponents { n, e }) => {
                json!({ "e": base64url::encode(e), "kty": "RSA", "n": base64url::encode(n) })
            }
        }
    }

    /// The members that define the key as text, in the order of RFC 7638 section 3.3 and without white space.
    pub fn to_canonical_json(&self) -> String {
        self.to_value().to_string()
    }

    /// The RFC 7638 SHA-256 thumbprint, in base64url.
    pub fn thumbprint(&self) -> String {
        let made = || base64url::encode(digest::digest(&digest::SHA256, self.to_canonical_json().as_bytes()).as_ref());
        self.0.thumbprint.get_or_init(made).clone()
    }

    /// The SubjectPublicKeyInfo of the key in DER, as it would stand in a certificate (RFC 5280 section 4.1).
    pub fn to_spki(&self) -> Vec<u8> {
        match &self.0.material {
            Material::Point(curve, key) => spki::point(curve.oids, key.as_ref()),
            Material::Rsa(RsaPublicKeyComponents { n, e }) => spki::rsa(n, e),
        }
    }

    /// From the encoded point, which is checked to be on the curve and to be somebody's.
    pub(crate) fn from_point(curve: &'static Curve, point: &[u8]) -> Result<Self, KeyError> {
        // The cryptographic library takes every point of it. Other curves here have none of small order.
        if curve.name == "Ed25519" {
            ed25519::check(point)?;
        }
        let key = ParsedPublicKey::new(curve.by, point).map_err(|_| KeyError::Point)?;
        Ok(Self::of(Material::Point(curve, key)))
    }

    fn from_rsa(n: Vec<u8>, e: Vec<u8>) -> Result<Self, KeyError> {
        let is_odd = |integer: &[u8]| integer.last().is_some_and(|last| last & 1 == 1);
        let bits = bit_length(&n);
        if !(2048..=8192).contains(&bits) || !is_odd(&n) {
            return Err(KeyError::Modulus(bits));
        }
        if e.len() > 4 || e == [1] || !is_odd(&e) {
            return Err(KeyError::Exponent);
        }
        Ok(Self::of(Material::Rsa(RsaPublicKeyComponents { n, e })))
    }

    fn of(material: Material) -> Self {
        Self(Arc::new(Key { material, thumbprint: OnceLock::new() }))
    }
}

fn bit_length(integer: &[u8]) -> usize {
    integer.len() * 8 - integer.first().map_or(0, |first| first.leading_zeros() as usize)
}

impl Verifier for Jwk {
    fn verify(&self, alg: Algorithm, input: &[u8], signature: &[u8]) -> Result<(), JwsError> {
        let verified = match &self.0.material {
            Material::Point(curve, key) => (curve.algorithms == [alg]).then(|| key.verify_sig(input, signature)),
            Material::Rsa(key) => RSA.iter().find(|rsa| rsa.0 == alg).map(|rsa| key.verify(rsa.1, input, signature)),
        };
        verified.ok_or(JwsError::AlgorithmDoesNotFit(alg.name()))?.map_err(|_| JwsError::BadSignature)
    }
}

// Parsing lets one spelling of each key through, so the canonical members decide.
impl PartialEq for Jwk {
    fn eq(&self, other: &Self) -> bool {
        self.to_value() == other.to_value()
    }
}

impl Eq for Jwk {}

/// A curve, with the one algorithm that goes with it (RFC 7518 section 3.4, RFC 8037 section 3.1).
#[derive(Debug)]
pub(crate) struct Curve {
    kty: &'static str,
    name: &'static str,
    /// What stands before the coordinates: 4 for an uncompressed point (SEC 1 section 2.3.3).
    prefix: &'static [u8],
    /// Octets in a coordinate.
    len: usize,
    algorithms: [Algorithm; 1],
    /// What names the algorithm in a SubjectPublicKeyInfo: the content of its AlgorithmIdentifier.
    oids: &'static [u8],
    by: &'static dyn VerificationAlgorithm,
}

// JOSE signatures are r and s at fixed length, hence `FIXED`.
static CURVES: [Curve; 4] = [
    Curve {
        kty: "EC",
        name: "P-256",
        prefix: &[4],
        len: 32,
        algorithms: [ES256],
        oids: spki::P256,
        by: &lc::ECDSA_P256_SHA256_FIXED,
    },
    Curve {
        kty: "EC",
        name: "P-384",
        prefix: &[4],
        len: 48,
        algorithms: [ES384],
        oids: spki::P384,
        by: &lc::ECDSA_P384_SHA384_FIXED,
    },
    Curve {
        kty: "EC",
        name: "P-521",
        prefix: &[4],
        len: 66,
        algorithms: [ES512],
        oids: spki::P521,
        by: &lc::ECDSA_P521_SHA512_FIXED,
    },
    Curve {
        kty: "OKP",
        name: "Ed25519",
        prefix: &[],
        len: 32,
        algorithms: [EdDSA],
        oids: spki::ED25519,
        by: &lc::ED25519,
    },
];
pub(crate) static P256: &Curve = &CURVES[0];

static RSA: [(Algorithm, &lc::RsaParameters); 6] = [
    (RS256, &lc::RSA_PKCS1_2048_8192_SHA256),
    (RS384, &lc::RSA_PKCS1_2048_8192_SHA384),
    (RS512, &lc::RSA_PKCS1_2048_8192_SHA512),
    (PS256, &lc::RSA_PSS_2048_8192_SHA256),
    (PS384, &lc::RSA_PSS_2048_8192_SHA384),
    (PS512, &lc::RSA_PSS_2048_8192_SHA512),
];
