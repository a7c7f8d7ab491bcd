//! Servers are believed by the given certificates, and by no others.

use std::process::Command;
use std::sync::Arc;

use chancery_client::{Client, ClientBuilder, Error, TransportError};
use http::Version;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tempfile::TempDir;
use tokio_rustls::TlsAcceptor;

use crate::server::{Answer, Server};

/// A certificate that vouches for itself, and its key, as PEM.
struct Pair {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

fn pair(names: &str) -> Pair {
    let directory = TempDir::new().unwrap();
    let (certificate, key) = (directory.path().join("certificate"), directory.path().join("key"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"])
        .args(["-subj", "/CN=test", "-addext", &format!("subjectAltName={names}")])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Pair { certificate: std::fs::read(certificate).unwrap(), key: std::fs::read(key).unwrap() }
}

async fn start(pair: &Pair, protocols: &[&str]) -> Server {
    let certificate = CertificateDer::from_pem_slice(&pair.certificate).unwrap();
    let key = PrivateKeyDer::from_pem_slice(&pair.key).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    Server::listen(Some(TlsAcceptor::from(Arc::new(config))), |seen| match seen.target.as_str() {
        "/oauth/token" => {
            Answer::json(200, json!({"access_token": "t", "scope": "x", "expires_in": 60, "token_type": "Bearer"}))
        }
        "/v1/version" => Answer::json(200, json!({"name": "chancery", "version": "0.1.0", "apiVersion": "v1"})),
        _ => Answer::json(200, json!({"success": true, "message": "Done."})),
    })
    .await
}

async fn refusal(builder: ClientBuilder) -> String {
    match builder.build().unwrap().version().await.unwrap_err() {
        Error::Transport(TransportError::Connect(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_server_is_believed_by_the_given_certificates() {
    let pair = pair("DNS:localhost");
    let server = start(&pair, &["h2", "http/1.1"]).await;
    let client = server.with_credentials().ca_pem(pair.certificate).build().unwrap();
    client.accounts().delete("acc_1").await.unwrap();
    assert_eq!(server.lines(), ["POST /oauth/token", "DELETE /v1/account/acc_1"]);
    assert!(server.seen().iter().all(|seen| seen.version == Version::HTTP_2));
}

#[tokio::test]
async fn an_unknown_server_is_told_nothing() {
    let (ours, theirs) = (pair("DNS:localhost"), pair("DNS:localhost"));
    let server = start(&theirs, &["h2", "http/1.1"]).await;
    let reason = refusal(Client::builder(&server.url).ca_pem(ours.certificate)).await;
    assert!(reason.contains("certificate"), "{reason}");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_certificate_must_bear_the_name_of_the_server() {
    let pair = pair("DNS:ca.example.com");
    let server = start(&pair, &["h2", "http/1.1"]).await;
    let reason = refusal(Client::builder(&server.url).ca_pem(pair.certificate)).await;
    assert!(reason.contains("not valid for name"), "{reason}");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_server_may_be_named_by_its_address() {
    let pair = pair("IP:127.0.0.1");
    let server = start(&pair, &["http/1.1"]).await;
    let url = server.url.replace("localhost", "127.0.0.1");
    Client::builder(url).ca_pem(pair.certificate).build().unwrap().version().await.unwrap();
}

#[tokio::test]
async fn http1_is_spoken_where_the_server_or_the_client_has_nothing_else() {
    let pair = pair("DNS:localhost");
    let (old, new, silent) =
        (start(&pair, &["http/1.1"]).await, start(&pair, &["h2", "http/1.1"]).await, start(&pair, &[]).await);
    let client = |server: &Server| Client::builder(&server.url).ca_pem(pair.certificate.clone());
    client(&old).build().unwrap().version().await.unwrap();
    client(&new).http1_only().build().unwrap().version().await.unwrap();
    client(&silent).build().unwrap().version().await.unwrap();
    for server in [old, new, silent] {
        assert_eq!(server.seen()[0].version, Version::HTTP_11);
    }
}
