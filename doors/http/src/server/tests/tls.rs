//! The same over TLS.

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName},
};
use tempfile::TempDir;
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::*;
use crate::tls::{
    ReloadingCertificate, server_config,
    tests::{certificate, write_pair},
};

async fn start(certificate: Arc<ReloadingCertificate>, limits: Limits) -> Running {
    let config = server_config(certificate).unwrap();
    Running::start(Server::tls(router(), config).limits(limits)).await
}

/// Connects as a client that trusts these certificates and no others.
async fn connect(
    server: &Running,
    trusted: &[CertificateDer<'static>],
    alpn: &[u8],
) -> io::Result<TlsStream<TcpStream>> {
    handshake(server.connect().await, trusted, alpn).await
}

async fn handshake(
    stream: TcpStream,
    trusted: &[CertificateDer<'static>],
    alpn: &[u8],
) -> io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(trusted.iter().cloned());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![alpn.to_vec()];
    let name = ServerName::try_from("localhost").unwrap();
    within(TlsConnector::from(Arc::new(config)).connect(name, stream)).await
}

#[tokio::test]
async fn requests_over_tls_are_answered_with_strict_transport_security() {
    let directory = TempDir::new().unwrap();
    let (chain, key) = write_pair(&directory, "a");
    let server = start(ReloadingCertificate::load(&chain, key).unwrap(), Limits::default()).await;
    let mut stream = connect(&server, &[certificate(&chain)], b"http/1.1").await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    stream.write_all(b"GET /peer HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    within(stream.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("strict-transport-security: "), "{answer}");

    let stream = connect(&server, &[certificate(&chain)], b"h2").await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
}

#[tokio::test]
async fn a_replaced_certificate_is_served_without_a_restart() {
    let directory = TempDir::new().unwrap();
    let (chain, key) = write_pair(&directory, "a");
    let (new_chain, new_key) = write_pair(&directory, "b");
    let (old, new) = (certificate(&chain), certificate(&new_chain));
    let reloading = ReloadingCertificate::load(&chain, &key).unwrap();
    let watching = tokio::spawn(reloading.clone().watch(SMALL / 5));
    let server = start(reloading, Limits::default()).await;
    assert!(connect(&server, std::slice::from_ref(&old), b"h2").await.is_ok());
    assert!(connect(&server, std::slice::from_ref(&new), b"h2").await.is_err());

    std::fs::copy(&new_chain, &chain).unwrap();
    std::fs::copy(&new_key, &key).unwrap();
    within(async {
        while connect(&server, std::slice::from_ref(&new), b"h2").await.is_err() {
            tokio::time::sleep(SMALL / 5).await;
        }
    })
    .await;
    watching.abort();
}

#[tokio::test]
async fn a_handshake_that_does_not_come_is_cut_off_and_a_bad_one_harms_nobody() {
    let directory = TempDir::new().unwrap();
    let (chain, key) = write_pair(&directory, "a");
    let limits = Limits { handshake: SMALL, ..Limits::default() };
    let server = start(ReloadingCertificate::load(&chain, key).unwrap(), limits).await;
    assert!(closed(&mut server.connect().await).await.is_empty());
    let mut plain = server.connect().await;
    plain.write_all(GET_PEER.as_bytes()).await.unwrap();
    assert!(!closed(&mut plain).await.starts_with(b"HTTP"));
    assert!(connect(&server, &[certificate(&chain)], b"h2").await.is_ok());
}

#[tokio::test]
async fn a_handshake_under_way_does_not_delay_the_end() {
    let directory = TempDir::new().unwrap();
    let (chain, key) = write_pair(&directory, "a");
    let limits = Limits { handshake: GENEROUS * 2, drain: GENEROUS * 2, linger: SMALL, ..Limits::default() };
    let mut server = start(ReloadingCertificate::load(&chain, key).unwrap(), limits).await;
    let _silent = server.connect().await;
    // Accepted later than the silent one, so that one is under way too.
    drop(connect(&server, &[certificate(&chain)], b"h2").await.unwrap());
    server.stop();
    assert_eq!(server.end().await, Drained { cut: 0 });
}

#[tokio::test]
async fn the_proxy_says_whose_it_is_before_the_handshake() {
    let directory = TempDir::new().unwrap();
    let (chain, key) = write_pair(&directory, "a");
    let config = server_config(ReloadingCertificate::load(&chain, key).unwrap()).unwrap();
    let networks = vec!["127.0.0.1".parse().unwrap()];
    let proxies = crate::TrustedProxies { networks, announce: true, ..Default::default() };
    let server = Running::start(Server::tls(router(), config).trusting(&proxies)).await;
    assert!(connect(&server, &[certificate(&chain)], b"http/1.1").await.is_err(), "it has to be said");
    let mut stream = server.connect().await;
    stream.write_all(b"PROXY TCP6 2001:db8::7 ::1 4711 443\r\n").await.unwrap();
    let mut stream = handshake(stream, &[certificate(&chain)], b"http/1.1").await.unwrap();
    stream.write_all(b"GET /peer HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    within(stream.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("[2001:db8::7]:4711"), "{answer}");
}
