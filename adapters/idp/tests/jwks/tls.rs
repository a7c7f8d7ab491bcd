//! Whom the fetcher believes over TLS. The certificates are made by OpenSSL, a stranger to the code that checks them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use chancery_idp::{FetcherError, JwksFetcher};
use chancery_service::identity::KeySource;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tempfile::TempDir;
use tokio_rustls::TlsAcceptor;

use crate::provider::{EAGER, Provider, keys, kids};

/// A CA and a server certificate of it.
struct Authority {
    directory: TempDir,
}

impl Authority {
    /// The server is `localhost` and 127.0.0.1, as it is in truth.
    fn new() -> Self {
        Self::naming("subjectAltName=DNS:localhost,IP:127.0.0.1")
    }

    fn naming(names: &str) -> Self {
        let authority = Self { directory: TempDir::new().unwrap() };
        fs::write(authority.file("empty.cnf"), "[req]\ndistinguished_name = dn\n[dn]\n").unwrap();
        authority.issue("ca", &["-subj", "/CN=Test CA", "-addext", "basicConstraints=critical,CA:TRUE"]);
        let (ca, key) = (authority.file("ca.pem"), authority.file("ca.key"));
        let signed = ["-CA", text(&ca), "-CAkey", text(&key), "-subj", "/CN=Test server", "-addext", names];
        authority.issue("server", &signed);
        authority
    }

    /// The CA's own certificate.
    fn ca(&self) -> PathBuf {
        self.file("ca.pem")
    }

    fn acceptor(&self) -> TlsAcceptor {
        let chain = vec![CertificateDer::from_pem_file(self.file("server.pem")).unwrap()];
        let key = PrivateKeyDer::from_pem_file(self.file("server.key")).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth().with_single_cert(chain, key).unwrap();
        TlsAcceptor::from(Arc::new(config))
    }

    fn issue(&self, name: &str, arguments: &[&str]) {
        let output = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"])
            .args(["-config", text(&self.file("empty.cnf"))])
            .args(["-keyout", text(&self.file(&format!("{name}.key")))])
            .args(["-out", text(&self.file(&format!("{name}.pem")))])
            .args(arguments)
            .output()
            .expect("openssl is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test]
async fn a_provider_with_a_certificate_of_the_given_ca_is_believed() {
    let authority = Authority::new();
    let provider = Provider::start_tls(keys("one"), authority.acceptor()).await;
    for host in ["localhost", "127.0.0.1"] {
        let url = format!("https://{host}:{}/keys", provider.port());
        let fetcher = JwksFetcher::new(&url, Some(&authority.ca()), EAGER).unwrap();
        assert_eq!(fetcher.refresh().await, Ok(()));
        assert_eq!(kids(&fetcher), Some(vec!["one".to_owned()]));
    }
}

#[tokio::test]
async fn a_provider_with_a_certificate_of_another_ca_is_not_even_asked() {
    let provider = Provider::start_tls(keys("one"), Authority::new().acceptor()).await;
    let url = format!("https://localhost:{}/keys", provider.port());
    let fetcher = JwksFetcher::new(&url, Some(&Authority::new().ca()), EAGER).unwrap();
    let error = fetcher.refresh().await.unwrap_err();
    assert!(error.contains("the TLS handshake failed: invalid peer certificate"), "{error}");
    assert_eq!((kids(&fetcher), provider.requests()), (None, 0));
}

#[tokio::test]
async fn a_provider_whose_certificate_has_another_name_is_not_even_asked() {
    let authority = Authority::naming("subjectAltName=DNS:id.example.com,IP:192.0.2.1");
    let provider = Provider::start_tls(keys("one"), authority.acceptor()).await;
    for host in ["localhost", "127.0.0.1"] {
        let url = format!("https://{host}:{}/keys", provider.port());
        let fetcher = JwksFetcher::new(&url, Some(&authority.ca()), EAGER).unwrap();
        let error = fetcher.refresh().await.unwrap_err();
        assert!(error.contains("the TLS handshake failed: invalid peer certificate: "), "{error}");
    }
    assert_eq!(provider.requests(), 0);
}

#[tokio::test]
async fn without_a_ca_file_the_system_decides_and_does_not_know_a_private_ca() {
    let provider = Provider::start_tls(keys("one"), Authority::new().acceptor()).await;
    let url = format!("https://localhost:{}/keys", provider.port());
    match JwksFetcher::new(&url, None, EAGER) {
        Ok(fetcher) => {
            let error = fetcher.refresh().await.unwrap_err();
            assert!(error.contains("invalid peer certificate: UnknownIssuer"), "{error}");
        }
        Err(error) => assert!(matches!(error, FetcherError::NoSystemRoots(_)), "{error}"),
    }
    assert_eq!(provider.requests(), 0);
}

#[tokio::test]
async fn a_provider_that_speaks_no_tls_is_not_believed() {
    let authority = Authority::new();
    let provider = Provider::start(keys("one")).await;
    let url = format!("https://localhost:{}/keys", provider.port());
    let fetcher = JwksFetcher::new(&url, Some(&authority.ca()), EAGER).unwrap();
    let error = fetcher.refresh().await.unwrap_err();
    assert!(error.contains("the TLS handshake failed: "), "{error}");
}

#[tokio::test]
async fn a_name_that_does_not_exist_cannot_be_connected_to() {
    let fetcher = JwksFetcher::new("https://id.invalid/keys", Some(&Authority::new().ca()), EAGER).unwrap();
    let error = fetcher.refresh().await.unwrap_err();
    assert!(error.starts_with("fetching keys from https://id.invalid/keys: "), "{error}");
}

#[test]
fn a_ca_file_that_cannot_be_used_is_named() {
    let authority = Authority::new();
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    fs::write(authority.file("empty.pem"), "").unwrap();
    fs::write(authority.file("broken.pem"), fs::read_to_string(authority.ca()).unwrap() + broken).unwrap();
    for name in ["absent.pem", "empty.pem", "broken.pem", "ca.key"] {
        let path = authority.file(name);
        let error = JwksFetcher::new("https://localhost/", Some(&path), EAGER).err().unwrap().to_string();
        assert!(error.starts_with(&format!("cannot use the CA file {}: ", path.display())), "{name}: {error}");
    }
}
