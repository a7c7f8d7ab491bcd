//! Whom to believe that he is the server: certificates that were given, or else those of the system.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// Why nobody could be believed.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// What was given holds no certificate, or one that cannot be used.
    #[error("{0}")]
    Given(String),
    /// Nothing was given, and the system has none.
    #[error("the system has no trusted certificates: {0}")]
    NoSystemRoots(String),
    /// The TLS library refuses its settings.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}

/// These certificates and no others, one PEM block after the other. Every one must be usable: a half-read bundle would trust
/// fewer than its owner believes.
pub fn given(pem: &[u8]) -> Result<RootCertStore, TrustError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| TrustError::Given(error.to_string()))?;
        roots.add(certificate).map_err(|error| TrustError::Given(error.to_string()))?;
    }
    match roots.is_empty() {
        true => Err(TrustError::Given("there is no certificate in PEM form".to_owned())),
        false => Ok(roots),
    }
}

/// The certificates of the system, as many as can be read: old stores hold a few that no library takes.
pub fn of_the_system() -> Result<RootCertStore, TrustError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let errors: Vec<_> = found.errors.iter().map(ToString::to_string).collect();
        let reason = if errors.is_empty() { "none found".to_owned() } else { errors.join("; ") };
        return Err(TrustError::NoSystemRoots(reason));
    }
    Ok(roots)
}

/// Verifies servers by these certificates, over TLS 1.2 or 1.3, and offers these protocols.
pub fn client(roots: RootCertStore, protocols: &[&[u8]]) -> Result<Arc<ClientConfig>, TrustError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_is_taken_whole_or_not_at_all() {
        for nothing in ["", "nothing of use", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
            let refused = given(nothing.as_bytes());
            assert!(matches!(&refused, Err(TrustError::Given(why)) if why.contains("no certificate")), "{refused:?}");
        }
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(matches!(given(broken.as_bytes()), Err(TrustError::Given(_))));
    }

    #[test]
    fn what_is_offered_is_what_was_said() {
        let config = client(RootCertStore::empty(), &[b"h2", b"http/1.1"]).unwrap();
        assert_eq!(config.alpn_protocols, [b"h2".to_vec(), b"http/1.1".to_vec()]);
    }
}
