//! Messages over the wire: whom the publisher believes, what it sends, and when it gives up.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use chancery_publish::{Post, PostError, Publisher, PublisherConfig, Resolver};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{RootCertStore, ServerConfig};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Knows `localhost`, and that there is no `gone.test`.
struct Loopback;

#[async_trait]
impl Resolver for Loopback {
    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        match host {
            "localhost" => Ok(vec![Ipv4Addr::LOCALHOST.into()]),
            "gone.test" => Ok(Vec::new()),
            _ => Err("no answer".to_owned()),
        }
    }
}

/// A certificate for `localhost` that vouches for itself, made by OpenSSL.
fn certificate() -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
    certificate_with("basicConstraints=critical,CA:FALSE")
}

fn certificate_with(extension: &str) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
    let folder = TempDir::new().unwrap();
    let file = |name: &str| folder.path().join(name);
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
        .args(["-addext", extension, "-keyout"])
        .arg(file("key.pem"))
        .arg("-out")
        .arg(file("certificate.pem"))
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let certificate = CertificateDer::from_pem_file(file("certificate.pem")).unwrap();
    (certificate, PrivateKeyDer::from_pem_file(file("key.pem")).unwrap())
}

fn trusting(certificate: &CertificateDer<'static>) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    roots
}

fn publisher(roots: Option<RootCertStore>) -> Publisher {
    let config = PublisherConfig { timeout: Duration::from_secs(2), roots, ..PublisherConfig::new(true, true) };
    Publisher::new(config, Arc::new(Loopback))
}

async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, said: &str) -> String {
    let mut heard = Vec::new();
    while !heard.ends_with(b"{}") {
        if stream.read_buf(&mut heard).await.unwrap_or(0) == 0 {
            break;
        }
    }
    drop(stream.write_all(said.as_bytes()).await);
    drop(stream.flush().await);
    String::from_utf8_lossy(&heard).into_owned()
}

async fn post(publisher: &Publisher, url: &str) -> Result<u16, PostError> {
    let headers = [("webhook-id", "evt_1".to_owned())];
    publisher.post(&Post { url, headers: &headers, body: b"{}" }).await
}

/// A server on loopback that says 204 to all who believe it; gives the URL that leads there.
async fn server(certificate: CertificateDer<'static>, key: PrivateKeyDer<'static>) -> String {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            if let Ok(stream) = acceptor.accept(stream).await {
                answer(stream, "HTTP/1.1 204 No Content\r\n\r\n").await;
            }
        }
    });
    format!("https://localhost:{port}/hook")
}

#[tokio::test]
async fn a_server_is_believed_by_its_certificate_and_no_other() {
    let (certificate, key) = certificate();
    let url = server(certificate.clone(), key).await;
    assert!(matches!(post(&publisher(Some(trusting(&certificate))), &url).await, Ok(204)));
    let (stranger, _) = self::certificate();
    let refused = post(&publisher(Some(trusting(&stranger))), &url).await;
    assert!(matches!(refused, Err(PostError::Handshake(_))), "{refused:?}");
    let none = post(&publisher(Some(RootCertStore::empty())), &url).await;
    assert!(matches!(none, Err(PostError::NoRoots)), "{none:?}");
}

#[tokio::test]
async fn why_a_certificate_is_not_believed_is_told_in_words() {
    let (certificate, key) = certificate_with("basicConstraints=critical,CA:TRUE");
    let url = server(certificate.clone(), key).await;
    let refused = post(&publisher(Some(trusting(&certificate))), &url).await.unwrap_err();
    assert_eq!(refused.to_string(), "the TLS handshake failed: invalid peer certificate: ca used as end entity");
}

#[tokio::test]
async fn what_is_sent_is_one_post_and_a_redirect_is_an_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let heard = answer(stream, "HTTP/1.1 307 Temporary Redirect\r\nlocation: /elsewhere\r\n\r\n").await;
        let more = tokio::time::timeout(Duration::from_millis(300), listener.accept()).await;
        assert!(more.is_err(), "nobody comes a second time");
        heard
    });
    let status = post(&publisher(None), &format!("http://127.0.0.1:{port}/a/b?c=d")).await;
    assert!(matches!(status, Ok(307)), "{status:?}");
    let heard = heard.await.unwrap();
    assert!(heard.starts_with("POST /a/b?c=d HTTP/1.1\r\n"), "{heard}");
    for line in [&format!("host: 127.0.0.1:{port}"), "webhook-id: evt_1", "content-length: 2"] {
        assert!(heard.contains(line), "no {line} in {heard}");
    }
}

#[tokio::test]
async fn whoever_says_nothing_or_never_ends_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                drop(stream.write_all(b"HTTP/1.1 200 OK\r\n").await);
                // A header that has no end.
                loop {
                    if stream.write_all(b"x-more: 0123456789\r\n").await.is_err() {
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            });
        }
    });
    let began = Instant::now();
    let given_up = post(&publisher(None), &format!("http://127.0.0.1:{port}/")).await;
    assert!(matches!(given_up, Err(PostError::Timeout(_) | PostError::Exchange(_))), "{given_up:?}");
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn i10_guards_hold_for_the_scheme_and_for_addresses() {
    let strict = Publisher::new(PublisherConfig::new(false, false), Arc::new(Loopback));
    for (url, special) in [
        ("http://example.com/", false),
        ("https://127.0.0.1:9/", true),
        ("https://localhost:9/", true),
        ("https://[::1]:9/", true),
        ("https://169.254.169.254/latest", true),
        ("ftp://example.com/", false),
        ("nonsense", false),
    ] {
        let refused = post(&strict, url).await;
        match refused {
            Err(PostError::Withheld(why)) => assert!(special && matches!(*why, PostError::Special(..)), "{url}: {why}"),
            Err(PostError::PlainHttp | PostError::Url) => assert!(!special, "{url}"),
            other => panic!("{url}: {other:?}"),
        }
    }
}

/// Told apart, they would show name by name what there is inside.
#[tokio::test]
async fn i10_a_name_that_leads_inside_and_one_that_is_not_there_are_told_alike() {
    let (gone, unknown) = ("https://gone.test:9/", "https://unknown.test:9/");
    let strict = Publisher::new(PublisherConfig::new(false, false), Arc::new(Loopback));
    for url in ["https://localhost:9/", "https://127.0.0.1:9/", "https://[::1]:9/", gone, unknown] {
        let refused = post(&strict, url).await.unwrap_err();
        assert_eq!(refused.to_string(), "the host has no address that may be spoken to", "{url}");
    }
    let within_a_network = [post(&publisher(None), gone).await, post(&publisher(None), unknown).await];
    assert!(
        matches!(&within_a_network, [Err(PostError::NoAddress), Err(PostError::Lookup(why))] if why == "no answer"),
        "{within_a_network:?}"
    );
}
