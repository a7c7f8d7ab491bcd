//! Beginnings that many tests share, and what every refusal has to look like.

use chancery_jose::{SigningKey, base64url, jws};
use chancery_tests::Reply;
use serde_json::{Map, Value, json};

pub(crate) use crate::common::stage;

/// The problem in the answer to a POST, which must have this status and type and say this.
#[track_caller]
pub(crate) fn refused(reply: &Reply, status: u16, kind: &str, word: &str) -> Value {
    assert!(reply.header("replay-nonce").is_some(), "no nonce: {}", reply.text());
    problem(reply, status, kind, word)
}

/// The problem in an answer.
#[track_caller]
pub(crate) fn problem(reply: &Reply, status: u16, kind: &str, word: &str) -> Value {
    let body = reply.expect(status);
    assert_eq!(body["type"], format!("urn:ietf:params:acme:error:{kind}"), "{body}");
    assert_eq!(body["status"], status, "{body}");
    assert!(body["detail"].as_str().unwrap().contains(word), "no {word:?} in {body}");
    assert_eq!(reply.header("content-type"), Some("application/problem+json"));
    assert!(links(reply).iter().any(|link| link.ends_with("/directory>;rel=\"index\"")), "{:?}", links(reply));
    assert!(body["requestId"].is_string(), "{body}");
    body
}

pub(crate) fn links(reply: &Reply) -> Vec<&str> {
    reply.headers.get_all("link").iter().map(|link| link.to_str().unwrap()).collect()
}

/// A header with some members replaced; null takes one away.
pub(crate) fn with(mut header: Map<String, Value>, changes: Value) -> Map<String, Value> {
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => header.remove(name),
            value => header.insert(name.clone(), value.clone()),
        };
    }
    header
}

/// A body in three parts of one's own choice.
pub(crate) fn parts(protected: &str, payload: &str, signature: &[u8]) -> Value {
    json!({
        "protected": base64url::encode(protected.as_bytes()),
        "payload": base64url::encode(payload.as_bytes()),
        "signature": base64url::encode(signature),
    })
}

/// What a key signs.
pub(crate) fn signed(header: Map<String, Value>, payload: &[u8], key: &SigningKey) -> Value {
    jws::sign_flattened(header, payload, key).unwrap()
}

pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}"))
}

/// A CSR for these names by a key that the test keeps, in base64url.
pub(crate) fn csr_of(key: &SigningKey, names: &[&str]) -> String {
    csr_named(key, "/", names)
}

/// The same with a subject, and without the extension where there are no names for it.
pub(crate) fn csr_named(key: &SigningKey, subject: &str, names: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key.der");
    std::fs::write(&file, &*key.to_pkcs8().unwrap()).unwrap();
    let names: Vec<_> = names.iter().map(|name| format!("DNS:{name}")).collect();
    let extension = (!names.is_empty()).then(|| format!("subjectAltName={}", names.join(",")));
    let output = std::process::Command::new("openssl")
        .args(["req", "-new", "-subj", subject, "-outform", "DER", "-keyform", "DER", "-key"])
        .arg(&file)
        .args(extension.iter().flat_map(|extension| ["-addext", extension]))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    base64url::encode(&output.stdout)
}
