//! TLS for listeners, with a certificate that can be replaced while the server runs.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use parking_lot::{Mutex, RwLock};
use rustls::{
    ServerConfig,
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tracing::{error, info};

/// What keeps a certificate from being served.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The chain file is not PEM, or has no certificate.
    #[error("{0} has no certificate in PEM form")]
    NoCertificate(PathBuf),
    /// The key file has no private key in a form we know.
    #[error("{0} has no private key in PEM form (PKCS #8, PKCS #1 or SEC 1)")]
    NoKey(PathBuf),
    /// The key cannot be used, or is not the certificate's.
    #[error("the key in {key} does not fit the certificate in {chain}: {source}")]
    Mismatch {
        /// The file with the chain.
        chain: PathBuf,
        /// The file with the key.
        key: PathBuf,
        /// Why.
        source: rustls::Error,
    },
}

/// Serves the certificate and key found in two PEM files, and the new ones when the files change.
/// What does not load, or does not fit together, is never served: the last good pair stays.
pub struct ReloadingCertificate {
    chain: PathBuf,
    key: PathBuf,
    provider: Arc<CryptoProvider>,
    served: RwLock<Arc<CertifiedKey>>,
    /// How the files looked when they were last read, well or badly.
    seen: Mutex<[Option<Stamp>; 2]>,
}

/// What changes when a file is written or replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    #[cfg(unix)]
    inode: u64,
}

impl ReloadingCertificate {
    /// Reads the chain (leaf first) and its key.
    pub fn load(chain: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Result<Arc<Self>, CertificateError> {
        let (chain, key, provider) = (chain.into(), key.into(), Arc::new(aws_lc_rs::default_provider()));
        let seen = [stamp(&chain), stamp(&key)];
        let served = RwLock::new(read_pair(&chain, &key, &provider)?);
        Ok(Arc::new(Self { chain, key, provider, served, seen: Mutex::new(seen) }))
    }

    /// Reads the files again, changed or not. On an error the pair served so far stays.
    pub fn reload(&self) -> Result<(), CertificateError> {
        // Taken before reading: what is written meanwhile then looks like another change.
        *self.seen.lock() = [stamp(&self.chain), stamp(&self.key)];
        let pair = read_pair(&self.chain, &self.key, &self.provider)?;
        *self.served.write() = pair;
        Ok(())
    }

    /// Looks every so often whether the files have changed, and then reads them again; logs what came of it.
    /// Runs until it is dropped: spawn it.
    pub async fn watch(self: Arc<Self>, every: Duration) {
        loop {
            tokio::time::sleep(every).await;
            let certificate = self.clone();
            let looked = tokio::task::spawn_blocking(move || certificate.reload_if_changed()).await;
            match looked {
                Ok(None) => {}
                Ok(Some(Ok(()))) => info!(chain = %self.chain.display(), "serving a new TLS certificate"),
                Ok(Some(Err(error))) => error!(%error, "new TLS certificate refused; the old one is still served"),
                Err(error) => error!(%error, "cannot look after the TLS certificate"),
            }
        }
    }

    fn reload_if_changed(&self) -> Option<Result<(), CertificateError>> {
        let now = [stamp(&self.chain), stamp(&self.key)];
        let changed = *self.seen.lock() != now;
        changed.then(|| self.reload())
    }

    /// The certificate that is served now, without its chain.
    pub fn leaf(&self) -> Option<CertificateDer<'static>> {
        self.current().cert.first().cloned()
    }

    fn current(&self) -> Arc<CertifiedKey> {
        self.served.read().clone()
    }
}

impl ResolvesServerCert for ReloadingCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current())
    }
}

impl fmt::Debug for ReloadingCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReloadingCertificate").field("chain", &self.chain).finish_non_exhaustive()
    }
}

/// TLS 1.2 and 1.3, HTTP/2 and HTTP/1.1 by ALPN, resumption by tickets, the certificate from `certificates`.
pub fn server_config(certificates: Arc<dyn ResolvesServerCert>) -> Result<Arc<ServerConfig>, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])?
        .with_no_client_auth()
        .with_cert_resolver(certificates);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.ticketer = aws_lc_rs::Ticketer::new()?;
    Ok(Arc::new(config))
}

fn read_pair(chain: &Path, key: &Path, provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, CertificateError> {
    let read =
        |path: &Path| fs::read(path).map_err(|source| CertificateError::Unreadable { path: path.to_owned(), source });
    let certificates = CertificateDer::pem_slice_iter(&read(chain)?)
        .collect::<Result<Vec<_>, _>>()
        .ok()
        .filter(|certificates| !certificates.is_empty())
        .ok_or_else(|| CertificateError::NoCertificate(chain.to_owned()))?;
    let private = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|_| CertificateError::NoKey(key.to_owned()))?;
    CertifiedKey::from_der(certificates, private, provider).map(Arc::new).map_err(|source| CertificateError::Mismatch {
        chain: chain.to_owned(),
        key: key.to_owned(),
        source,
    })
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    Some(Stamp {
        modified: metadata.modified().ok(),
        length: metadata.len(),
        #[cfg(unix)]
        inode: std::os::unix::fs::MetadataExt::ino(&metadata),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::process::Command;

    use tempfile::TempDir;

    use super::*;

    /// Writes a self-signed certificate for `localhost` and its key; gives the certificate.
    pub(crate) fn write_pair(directory: &TempDir, name: &str) -> (PathBuf, PathBuf) {
        let (chain, key) = (directory.path().join(format!("{name}.pem")), directory.path().join(format!("{name}.key")));
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"])
            .args(["-subj", &format!("/CN={name}"), "-addext", "subjectAltName=DNS:localhost"])
            .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
            .arg(&key)
            .arg("-out")
            .arg(&chain)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        (chain, key)
    }

    pub(crate) fn certificate(chain: &Path) -> CertificateDer<'static> {
        CertificateDer::from_pem_file(chain).unwrap()
    }

    fn served(certificate: &ReloadingCertificate) -> CertificateDer<'static> {
        certificate.current().cert[0].clone()
    }

    #[test]
    fn a_changed_pair_is_served_and_a_bad_one_is_not() {
        let directory = TempDir::new().unwrap();
        let (chain, key) = write_pair(&directory, "a");
        let (new_chain, new_key) = write_pair(&directory, "b");
        let old = certificate(&chain);
        let reloading = ReloadingCertificate::load(&chain, &key).unwrap();
        assert!(reloading.reload_if_changed().is_none());

        // Half way: the new certificate with the old key.
        fs::copy(&new_chain, &chain).unwrap();
        assert!(matches!(reloading.reload_if_changed(), Some(Err(CertificateError::Mismatch { .. }))));
        assert_eq!(served(&reloading), old);
        assert!(reloading.reload_if_changed().is_none(), "a bad pair is reported once");

        fs::copy(&new_key, &key).unwrap();
        assert!(matches!(reloading.reload_if_changed(), Some(Ok(()))));
        assert_eq!(served(&reloading), certificate(&new_chain));

        fs::write(&chain, "nothing of use").unwrap();
        assert!(matches!(reloading.reload(), Err(CertificateError::NoCertificate(_))));
        fs::remove_file(&chain).unwrap();
        assert!(matches!(reloading.reload_if_changed(), Some(Err(CertificateError::Unreadable { .. }))));
        assert_eq!(served(&reloading), certificate(&new_chain));
    }

    #[test]
    fn a_pair_that_does_not_fit_is_refused_at_the_start() {
        let directory = TempDir::new().unwrap();
        let ((chain, key), (_, other_key)) = (write_pair(&directory, "a"), write_pair(&directory, "b"));
        assert!(matches!(ReloadingCertificate::load(&chain, &other_key), Err(CertificateError::Mismatch { .. })));
        assert!(matches!(ReloadingCertificate::load(&chain, &chain), Err(CertificateError::NoKey(_))));
        assert!(matches!(ReloadingCertificate::load(&key, &key), Err(CertificateError::NoCertificate(_))));
    }
}
