//! Whom to believe that he is the server.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

use crate::builder::BuildError;
use crate::error::causes;

/// Verifies by the given certificates and no others, or else by the system's. TLS 1.2 or 1.3, and HTTP/2 where the
/// server has it.
pub(crate) fn connector(ca_pem: Option<&[u8]>, http1_only: bool) -> Result<TlsConnector, BuildError> {
    let roots = match ca_pem {
        Some(pem) => given_roots(pem)?,
        None => system_roots()?,
    };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| BuildError::Tls(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = if http1_only { vec![] } else { vec![b"h2".to_vec()] };
    config.alpn_protocols.push(b"http/1.1".to_vec());
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Every certificate must be usable: a half-read bundle would trust fewer than its owner believes.
fn given_roots(pem: &[u8]) -> Result<RootCertStore, BuildError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| BuildError::CaPem(causes(&error)))?;
        roots.add(certificate).map_err(|error| BuildError::CaPem(causes(&error)))?;
    }
    if roots.is_empty() {
        return Err(BuildError::CaPem("there is no certificate in PEM form".to_owned()));
    }
    Ok(roots)
}

/// The system's certificates, as many as can be read: old stores hold a few that no library takes.
fn system_roots() -> Result<RootCertStore, BuildError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let errors: Vec<_> = found.errors.iter().map(|error| causes(error)).collect();
        let reason = if errors.is_empty() { "none found".to_owned() } else { errors.join("; ") };
        return Err(BuildError::NoSystemRoots(reason));
    }
    Ok(roots)
}
