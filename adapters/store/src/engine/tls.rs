//! TLS to PostgreSQL, always verified: by the given certificates, or else by the system's.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use aws_lc_rs::digest;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use crate::error::StoreError;

/// Makes TLS connections where the database's URL asks for them (`sslmode=require`).
#[derive(Clone)]
pub(crate) struct Connector {
    config: Arc<ClientConfig>,
}

impl Connector {
    pub(crate) fn new(ca: Option<&Path>) -> Result<Self, StoreError> {
        let roots = match ca {
            Some(path) => {
                let unreadable = |error: &dyn std::fmt::Display| {
                    StoreError::Url(format!("cannot read the database's CA file {}: {error}", path.display()))
                };
                let pem = fs::read(path).map_err(|error| unreadable(&error))?;
                chancery_trust::given(&pem).map_err(|error| unreadable(&error))?
            }
            // Not every database is spoken to over TLS; where one is, it is told that nobody vouches for it.
            None => chancery_trust::of_the_system().unwrap_or_else(|_| RootCertStore::empty()),
        };
        // The protocol is required of whoever begins with TLS at once.
        let config =
            chancery_trust::client(roots, &[b"postgresql"]).map_err(|error| StoreError::Url(error.to_string()))?;
        Ok(Self { config })
    }

    pub(crate) fn config(&self) -> Arc<ClientConfig> {
        self.config.clone()
    }

    /// What stands for a connection to the server with this certificate (RFC 5929 `tls-server-end-point`), so that a password
    /// exchange cannot be relayed.
    pub(crate) fn binding(certificate: &CertificateDer<'_>) -> Option<Vec<u8>> {
        let algorithm = binding_digest(certificate)?;
        Some(digest::digest(algorithm, certificate).as_ref().to_vec())
    }
}

/// The hash of the certificate's own signature, with SHA-256 in the place of weaker ones (RFC 5929 section 4.1); none where
/// a signature has no such hash, as Ed25519.
fn binding_digest(certificate: &[u8]) -> Option<&'static digest::Algorithm> {
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];
    // Certificate ::= SEQUENCE { tbsCertificate, SEQUENCE { algorithm OBJECT IDENTIFIER, … }, … }
    let (certificate, _) = element(certificate)?;
    let (_, after_tbs) = element(certificate)?;
    let (identifier, _) = element(after_tbs)?;
    let (algorithm, _) = element(identifier)?;
    if let Some(rsa) = algorithm.strip_prefix(RSA) {
        return match rsa {
            [4 | 5 | 11] => Some(&digest::SHA256),
            [12] => Some(&digest::SHA384),
            [13] => Some(&digest::SHA512),
            _ => None,
        };
    }
    match algorithm.strip_prefix(ECDSA)? {
        [1] | [3, 2] => Some(&digest::SHA256),
        [3, 3] => Some(&digest::SHA384),
        [3, 4] => Some(&digest::SHA512),
        _ => None,
    }
}

/// What is inside the first DER element, and what comes after it.
fn element(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&length, rest) = der.get(1..)?.split_first()?;
    let (length, rest) = match length {
        short @ ..0x80 => (usize::from(short), rest),
        long => {
            let (octets, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            if octets.len() > 4 {
                return None;
            }
            (octets.iter().fold(0, |length, octet| length << 8 | usize::from(*octet)), rest)
        }
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn certificate(key: &[&str], hash: &str) -> Vec<u8> {
        let made = Command::new("openssl")
            .args(["req", "-x509", "-nodes", "-subj", "/CN=db", "-outform", "DER", "-keyout", "/dev/null", "-newkey"])
            .args(key)
            .arg(hash)
            .output()
            .expect("openssl runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        made.stdout
    }

    #[test]
    fn the_binding_is_hashed_as_the_certificate_was_signed() {
        let (rsa, ec) = (["rsa:2048"].as_slice(), ["ec", "-pkeyopt", "ec_paramgen_curve:P-384"].as_slice());
        for key in [rsa, ec] {
            for (hash, expected) in
                [("-sha256", &digest::SHA256), ("-sha384", &digest::SHA384), ("-sha512", &digest::SHA512)]
            {
                assert_eq!(binding_digest(&certificate(key, hash)), Some(expected), "{key:?} {hash}");
            }
        }
        assert_eq!(binding_digest(&certificate(&["ed25519"], "-sha256")), None);
    }

    #[test]
    fn no_cut_certificate_makes_it_panic() {
        let whole = certificate(&["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], "-sha256");
        for end in 0..whole.len() {
            let _ = binding_digest(&whole[..end]);
        }
    }
}
