//! TLS to servers whose certificates prove nothing to us.
//!
//! A page is believed because of where it was found, and an answer to tls-alpn-01 because of what its certificate
//! says; neither can have a certificate that somebody vouches for. That the server holds the key of the certificate
//! that it shows is still checked.

use std::sync::Arc;

use chancery_domain::ProblemKind;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::{
    CertificateDer, ServerName, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, PeerMisbehaved, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use webpki::RawPublicKeyEntity;
use x509_parser::parse_x509_certificate;

use crate::dial::Host;
use crate::refusal::Refusal;

/// Connects with TLS 1.2 or 1.3.
pub(crate) struct WebTls(TlsConnector);

impl WebTls {
    /// Offers this protocol and no other. Nothing is kept from one connection for the next.
    pub(crate) fn offering(protocol: &[u8]) -> Result<Self, Error> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = Arc::new(KeyHolder { provider: Arc::clone(&provider) });
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        config.resumption = Resumption::disabled();
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    pub(crate) async fn connect(
        &self,
        name: ServerName<'static>,
        stream: TcpStream,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        self.0.connect(name, stream).await
    }
}

/// Whom to ask for in the handshake.
pub(crate) fn server_name(host: &Host) -> Result<ServerName<'static>, Refusal> {
    match host {
        Host::Address(address) => Ok(ServerName::IpAddress((*address).into())),
        Host::Name(name) => ServerName::try_from(name.clone())
            .map_err(|_| Refusal::wrong(ProblemKind::Tls, format!("{name} cannot be asked for in TLS"))),
    }
}

/// Whether one of the algorithms finds that the key has signed the message.
pub(crate) fn signed_by(
    key: &[u8],
    algorithms: impl IntoIterator<Item = &'static dyn SignatureVerificationAlgorithm>,
    message: &[u8],
    signature: &[u8],
) -> bool {
    let key = SubjectPublicKeyInfoDer::from(key);
    let Ok(key) = RawPublicKeyEntity::try_from(&key) else { return false };
    algorithms.into_iter().any(|algorithm| key.verify_signature(algorithm, message, signature).is_ok())
}

/// Asks only that the server has the key of its certificate. The library's own check of that reads certificates too
/// strictly for us: it stops at a critical extension that it does not know, such as that of tls-alpn-01.
#[derive(Debug)]
struct KeyHolder {
    provider: Arc<CryptoProvider>,
}

impl KeyHolder {
    fn algorithms(&self) -> &WebPkiSupportedAlgorithms {
        &self.provider.signature_verification_algorithms
    }

    fn verify(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = public_key(certificate).ok_or(CertificateError::BadEncoding)?;
        let scheme = self.algorithms().mapping.iter().find(|(scheme, _)| *scheme == signature.scheme);
        let (_, algorithms) = scheme.ok_or(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme)?;
        if signed_by(&key, algorithms.iter().copied(), message, signature.signature()) {
            Ok(HandshakeSignatureValid::assertion())
        } else {
            Err(CertificateError::BadSignature.into())
        }
    }
}

fn public_key(certificate: &[u8]) -> Option<Vec<u8>> {
    let (_, certificate) = parse_x509_certificate(certificate).ok()?;
    Some(certificate.tbs_certificate.subject_pki.raw.to_vec())
}

impl ServerCertVerifier for KeyHolder {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms().supported_schemes()
    }
}
