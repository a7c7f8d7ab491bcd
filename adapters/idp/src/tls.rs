//! Whom to believe that he is the provider.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

use crate::FetcherError;
use crate::error::causes;

/// Verifies by the certificates in the file and no others, or else by the system's.
pub(crate) fn connector(ca: Option<&Path>) -> Result<TlsConnector, FetcherError> {
    let roots = match ca {
        Some(path) => file_roots(path)?,
        None => system_roots()?,
    };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Every certificate of the file must be usable: a half-read file would trust fewer than its owner believes.
fn file_roots(path: &Path) -> Result<RootCertStore, FetcherError> {
    let unusable = |reason: String| FetcherError::CaFile { path: path.to_owned(), reason };
    let failed = |error: &dyn Error| unusable(causes(error));
    let pem = fs::read(path).map_err(|error| failed(&error))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| failed(&error))?;
        roots.add(certificate).map_err(|error| failed(&error))?;
    }
    if roots.is_empty() {
        return Err(unusable("it holds no certificate in PEM form".to_owned()));
    }
    Ok(roots)
}

/// The system's certificates, as many as can be read: old stores hold a few that no library takes.
fn system_roots() -> Result<RootCertStore, FetcherError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let errors: Vec<_> = found.errors.iter().map(|error| causes(error)).collect();
        let reason = if errors.is_empty() { "none found".to_owned() } else { errors.join("; ") };
        return Err(FetcherError::NoSystemRoots(reason));
    }
    Ok(roots)
}
