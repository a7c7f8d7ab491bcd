//! How connections to the service are encrypted.

use chancery_trust::TrustError;
use tokio_rustls::TlsConnector;

use crate::builder::BuildError;

/// Verifies by the given certificates and no others, or else by the system's; with HTTP/2 where the server has it.
pub(crate) fn connector(ca_pem: Option<&[u8]>, http1_only: bool) -> Result<TlsConnector, BuildError> {
    let roots = match ca_pem {
        Some(pem) => chancery_trust::given(pem)?,
        None => chancery_trust::of_the_system()?,
    };
    let protocols: &[&[u8]] = if http1_only { &[b"http/1.1"] } else { &[b"h2", b"http/1.1"] };
    Ok(TlsConnector::from(chancery_trust::client(roots, protocols)?))
}

impl From<TrustError> for BuildError {
    fn from(error: TrustError) -> Self {
        match error {
            TrustError::Given(why) => Self::CaPem(why),
            TrustError::NoSystemRoots(why) => Self::NoSystemRoots(why),
            TrustError::Tls(error) => Self::Tls(error.to_string()),
        }
    }
}
