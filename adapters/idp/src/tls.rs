//! How connections to a provider are encrypted.

use std::fs;
use std::path::Path;

use chancery_trust::TrustError;
use tokio_rustls::TlsConnector;

use crate::FetcherError;

/// Verifies by the certificates in the file and no others, or else by the system's.
pub(crate) fn connector(ca: Option<&Path>) -> Result<TlsConnector, FetcherError> {
    let roots = match ca {
        Some(path) => {
            let unusable = |reason: String| FetcherError::CaFile { path: path.to_owned(), reason };
            let pem = fs::read(path).map_err(|error| unusable(error.to_string()))?;
            chancery_trust::given(&pem).map_err(|error| unusable(error.to_string()))?
        }
        None => chancery_trust::of_the_system()?,
    };
    Ok(TlsConnector::from(chancery_trust::client(roots, &[b"http/1.1"])?))
}

impl From<TrustError> for FetcherError {
    fn from(error: TrustError) -> Self {
        match error {
            TrustError::Given(why) | TrustError::NoSystemRoots(why) => Self::NoSystemRoots(why),
            TrustError::Tls(error) => Self::Tls(error),
        }
    }
}
