//! A responder for tls-alpn-01 on loopback (RFC 8737), right or wrong as the test wants it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use aws_lc_rs::digest::{SHA256, digest};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::server::Acceptor;
use rustls::{ServerConfig, SupportedProtocolVersion};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::LazyConfigAcceptor;

use crate::der::{HandMade, alt_names, extension, tlv};

/// id-pe-acmeIdentifier.
pub const ACME_IDENTIFIER: [u32; 9] = [1, 3, 6, 1, 5, 5, 7, 1, 31];

/// Shows one certificate to everybody.
pub struct TestTlsAlpn {
    address: SocketAddr,
    greetings: Arc<Mutex<Vec<Greeting>>>,
    task: JoinHandle<()>,
}

/// What a client said first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    pub server_name: Option<String>,
    pub protocols: Vec<String>,
}

/// What the responder shows and speaks.
pub struct TlsAlpnAnswer {
    pub certificate: HandMade,
    /// Whether it has the key of its certificate, and not another.
    pub has_key: bool,
    /// What it agrees to speak.
    pub protocols: Vec<Vec<u8>>,
    pub versions: Vec<&'static SupportedProtocolVersion>,
}

impl TlsAlpnAnswer {
    /// The right answer for a general name (see [`crate::der`]) and a key authorization.
    pub fn right(name: Vec<u8>, key_authorization: &str) -> Self {
        Self {
            certificate: HandMade::new(vec![alt_names(&[name]), acme_identifier(true, key_authorization)]),
            has_key: true,
            protocols: vec![b"acme-tls/1".to_vec()],
            versions: rustls::ALL_VERSIONS.to_vec(),
        }
    }
}

/// The extension with the digest of a key authorization.
pub fn acme_identifier(critical: bool, key_authorization: &str) -> Vec<u8> {
    let digest = digest(&SHA256, key_authorization.as_bytes());
    extension(&ACME_IDENTIFIER, critical, &tlv(0x04, &[digest.as_ref()]))
}

impl TestTlsAlpn {
    pub async fn start(address: impl Into<SocketAddr>, answer: &TlsAlpnAnswer) -> Self {
        let listener = TcpListener::bind(address.into()).await.expect("loopback has ports");
        let address = listener.local_addr().expect("it is bound");
        let (certificate, key) = answer.certificate.make();
        let key = if answer.has_key { key } else { answer.certificate.make().1 };
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let signer =
            provider.key_provider.load_private_key(PrivatePkcs8KeyDer::from(key).into()).expect("the key can be read");
        // Not checked against the certificate: a test may want them not to fit.
        let certified = rustls::sign::CertifiedKey::new(vec![CertificateDer::from(certificate)], signer);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&answer.versions)
            .expect("the provider knows them")
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(certified)));
        config.alpn_protocols.clone_from(&answer.protocols);
        let greetings = Arc::default();
        let task = tokio::spawn(accept(listener, Arc::new(config), Arc::clone(&greetings)));
        Self { address, greetings, task }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// What all clients so far said first.
    pub fn greetings(&self) -> Vec<Greeting> {
        self.greetings.lock().expect("no test panics while it holds it").clone()
    }
}

impl Drop for TestTlsAlpn {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, config: Arc<ServerConfig>, greetings: Arc<Mutex<Vec<Greeting>>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (config, greetings) = (Arc::clone(&config), Arc::clone(&greetings));
        tokio::spawn(async move {
            let Ok(start) = LazyConfigAcceptor::new(Acceptor::default(), stream).await else { return };
            let hello = start.client_hello();
            let protocols = hello.alpn().into_iter().flatten().map(|name| String::from_utf8_lossy(name).into_owned());
            let greeting =
                Greeting { server_name: hello.server_name().map(str::to_owned), protocols: protocols.collect() };
            greetings.lock().expect("no test panics while it holds it").push(greeting);
            // A client that goes away is no concern of ours.
            let _ = start.into_stream(config).await;
        });
    }
}
