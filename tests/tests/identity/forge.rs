//! Tokens as somebody would make them who does not have our key, and the parts of those that we made.

use chancery_jose::{Algorithm, Claims, HmacKey, Jwk, SigningKey, jws, jwt};
use chancery_store::{SEALED_COLUMNS, StoreError};
use chancery_tests::World;
use data_encoding::{BASE64, BASE64URL_NOPAD};
use serde_json::{Map, Value};

/// The header and the claims of a token, unverified.
pub(crate) fn parts(token: &str) -> (Value, Value) {
    let mut parts = token.split('.').map(|part| {
        let bytes = BASE64URL_NOPAD.decode(part.as_bytes()).expect("base64url");
        serde_json::from_slice(&bytes).unwrap_or(Value::Null)
    });
    (parts.next().expect("a header"), parts.next().expect("claims"))
}

/// With any header and any text as its signature.
pub(crate) fn with_signature(header: &Value, claims: &Value, signature: &str) -> String {
    let [header, claims] = [header, claims].map(|part| BASE64URL_NOPAD.encode(part.to_string().as_bytes()));
    format!("{header}.{claims}.{signature}")
}

/// By a key pair of the forger's own.
pub(crate) fn signed(key: &SigningKey, kid: &str, typ: &str, claims: &Value) -> String {
    jwt::issue(key, kid, typ, &Claims(object(claims))).expect("a key that signs")
}

/// The key that signs our tokens, as nobody but a thief would have it: its name and itself.
pub(crate) async fn stolen_key(world: &World) -> (String, SigningKey) {
    let kept: Result<_, StoreError> = world.store.read(|tx| tx.token_keys()).await;
    let kept = kept.expect("a store").into_iter().next().expect("a key");
    let column = SEALED_COLUMNS.iter().find(|column| column.table == "token_keys").expect("a column");
    let der = world.keyring.open(&column.context(kept.id), &kept.sealed).expect("a key sealed by this keyring");
    (kept.id.to_string(), SigningKey::from_pkcs8(&der).expect("a key pair"))
}

/// An HMAC with this secret.
pub(crate) fn hs256(kid: &str, claims: &Value, secret: &[u8]) -> String {
    let header = Map::from_iter([("kid".to_owned(), kid.into()), ("typ".to_owned(), "at+jwt".into())]);
    let key = HmacKey::new(Algorithm::HS256, secret).expect("a secret that is long enough");
    jws::sign_compact(header, claims.to_string().as_bytes(), &key).expect("a MAC")
}

/// The texts of a published P-256 key that a careless verifier may take for a shared secret: its JWK, its PEM, its DER
/// and its bare point.
pub(crate) fn as_secrets(published: &Value) -> Vec<Vec<u8>> {
    const P256_KEY: &str = "3059301306072a8648ce3d020106082a8648ce3d030107034200";
    let coordinate = |name: &str| BASE64URL_NOPAD.decode(published[name].as_str().expect(name).as_bytes()).expect(name);
    let point = [vec![4], coordinate("x"), coordinate("y")].concat();
    let der = [data_encoding::HEXLOWER.decode(P256_KEY.as_bytes()).expect("hexadecimal"), point.clone()].concat();
    let base64 = BASE64.encode(&der);
    let lines: Vec<_> = base64.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"));
    let jwk = Jwk::from_value(published).expect("a public key").to_canonical_json();
    vec![jwk.into_bytes(), published.to_string().into_bytes(), pem.into_bytes(), der, point]
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}
