//! How connections to webhooks are encrypted.

use rustls::RootCertStore;
use tokio_rustls::TlsConnector;

/// Verifies by these certificates, or else by the system's; nothing where there are none.
pub(crate) fn connector(roots: Option<RootCertStore>) -> Option<TlsConnector> {
    let roots = roots.map_or_else(chancery_trust::of_the_system, Ok).ok().filter(|roots| !roots.is_empty())?;
    Some(TlsConnector::from(chancery_trust::client(roots, &[b"http/1.1"]).ok()?))
}
