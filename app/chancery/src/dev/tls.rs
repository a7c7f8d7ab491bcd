//! The certificate of the HTTPS listener, signed by a small CA of its own: it has nothing to do with the CA that
//! the service runs, so that trusting the one does not mean trusting the other.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use chancery_domain::{Identifier, Timestamp};
use chancery_machine::SystemEntropy;
use chancery_pki::{
    CaName, Certificate, Issuer, KeyAlgorithm, PkiError, PrivateKey, Serial, ServerCertificate, Signer, Validity, root,
    server_certificate,
};
use der::pem::LineEnding;
use rustls::client::verify_server_name;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::ParsedCertificate;

use super::folder::Folder;
use crate::failure::Failure;
use crate::files::{private_folder, write};

const CA_DAYS: u32 = 10 * 365;
/// Some clients refuse server certificates that live longer (CA/Browser Forum ballot SC31).
const SERVER_DAYS: u32 = 397;
/// A certificate with fewer days left is replaced at the next start.
const RENEW_BELOW_DAYS: i64 = 30;
const DAY: i64 = 86_400;

/// Makes sure that there is a certificate for this machine and the listeners' addresses, good for some time.
pub fn ensure(folder: &Folder, listen: &[IpAddr], now: Timestamp) -> Result<(), Failure> {
    let names = names(listen);
    private_folder(&folder.tls(""))?;
    if is_good(folder, &names, now) {
        return Ok(());
    }
    let ca = match load_ca(folder, now) {
        Some(ca) => ca,
        None => make_ca(folder, now)?,
    };
    let key = PrivateKey::generate(KeyAlgorithm::EcP256).map_err(Failure::failed)?;
    let draft = ServerCertificate {
        names: &names,
        spki: key.spki(),
        validity: Validity::days(now.as_secs(), SERVER_DAYS).map_err(Failure::failed)?,
        serial: Serial::draw(&SystemEntropy),
    };
    let certificate = server_certificate(&ca, &draft).map_err(Failure::failed)?;
    write_key(folder, "server-key.pem", &key)?;
    write(&folder.tls("server.pem"), &certificate.to_pem(), 0o644)
}

/// What vouches for the certificate, in PEM.
pub fn ca(folder: &Folder) -> Result<String, Failure> {
    let path = folder.tls("ca.pem");
    fs::read_to_string(&path).map_err(|error| Failure::failed(format!("cannot read {}: {error}", path.display())))
}

fn names(listen: &[IpAddr]) -> Vec<Identifier> {
    let mut names = vec![Identifier::Ip(Ipv4Addr::LOCALHOST.into()), Identifier::Ip(Ipv6Addr::LOCALHOST.into())];
    // In a container beside its clients it may be called as Pebble is there.
    names.extend(["localhost", "pebble"].into_iter().filter_map(|name| Identifier::parse(name).ok()));
    names.extend(listen.iter().filter(|ip| !ip.is_unspecified()).map(|ip| Identifier::Ip(*ip)));
    names
}

/// Whether the pair on the disk fits together, has all the names, is our CA's and lives on for a while.
fn is_good(folder: &Folder, names: &[Identifier], now: Timestamp) -> bool {
    let look = || -> Option<bool> {
        let ca = load_ca(folder, now)?;
        let certificate = Certificate::from_pem(&fs::read_to_string(folder.tls("server.pem")).ok()?).ok()?;
        let key = load_key(folder, "server-key.pem")?;
        let info = certificate.info().ok()?;
        let lives = info.not_after - now.as_secs() >= RENEW_BELOW_DAYS * DAY;
        let ours = info.issuer == ca.certificate().info().ok()?.subject;
        let der = CertificateDer::from(certificate.as_der());
        let parsed = ParsedCertificate::try_from(&der).ok()?;
        let named = |name: &Identifier| {
            ServerName::try_from(name.to_string()).is_ok_and(|name| verify_server_name(&parsed, &name).is_ok())
        };
        Some(lives && ours && certificate.spki().ok()? == key.spki() && names.iter().all(named))
    };
    look().unwrap_or(false)
}

/// The CA of the last time, unless a certificate signed now would outlive it.
fn load_ca(folder: &Folder, now: Timestamp) -> Option<Issuer> {
    let certificate = Certificate::from_pem(&fs::read_to_string(folder.tls("ca.pem")).ok()?).ok()?;
    let lives_on = certificate.info().ok()?.not_after >= now.as_secs() + i64::from(SERVER_DAYS) * DAY;
    let key = load_key(folder, "ca-key.pem").filter(|_| lives_on)?;
    Issuer::new(certificate, Arc::new(key)).ok()
}

fn make_ca(folder: &Folder, now: Timestamp) -> Result<Issuer, Failure> {
    let make = || -> Result<(Certificate, PrivateKey), PkiError> {
        let key = PrivateKey::generate(KeyAlgorithm::EcP256)?;
        let name = CaName::new("XX", "Chancery Dev", "Chancery Dev TLS CA")?;
        let validity = Validity::days(now.as_secs(), CA_DAYS)?;
        let certificate = root(&key, &name, validity, Serial::draw(&SystemEntropy))?;
        Ok((certificate, key))
    };
    let (certificate, key) = make().map_err(Failure::failed)?;
    write_key(folder, "ca-key.pem", &key)?;
    write(&folder.tls("ca.pem"), &certificate.to_pem(), 0o644)?;
    Issuer::new(certificate, Arc::new(key)).map_err(Failure::failed)
}

fn write_key(folder: &Folder, name: &str, key: &PrivateKey) -> Result<(), Failure> {
    let der = key.to_pkcs8().map_err(Failure::failed)?;
    let pem = der::pem::encode_string("PRIVATE KEY", LineEnding::LF, &der).map_err(Failure::failed)?;
    write(&folder.tls(name), &pem, 0o600)
}

fn load_key(folder: &Folder, name: &str) -> Option<PrivateKey> {
    let der = PrivatePkcs8KeyDer::from_pem_file(folder.tls(name)).ok()?;
    PrivateKey::from_pkcs8(der.secret_pkcs8_der()).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_767_225_600);
    const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn read(folder: &Folder, name: &str) -> String {
        fs::read_to_string(folder.tls(name)).unwrap()
    }

    fn later(days: u64) -> Timestamp {
        NOW.plus(Duration::from_secs(days * 86_400))
    }

    #[test]
    fn a_certificate_is_kept_until_it_has_few_days_left_and_its_ca_longer() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::make(directory.path()).unwrap();
        ensure(&folder, &[LOOPBACK], NOW).unwrap();
        let (ca, server) = (read(&folder, "ca.pem"), read(&folder, "server.pem"));
        ensure(&folder, &[LOOPBACK], later(360)).unwrap();
        assert_eq!(read(&folder, "server.pem"), server);
        ensure(&folder, &[LOOPBACK], later(370)).unwrap();
        assert_ne!(read(&folder, "server.pem"), server);
        assert_eq!(read(&folder, "ca.pem"), ca);
        ensure(&folder, &[LOOPBACK], later(9 * 365)).unwrap();
        assert_ne!(read(&folder, "ca.pem"), ca);
    }

    #[test]
    fn another_address_gets_another_certificate() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::make(directory.path()).unwrap();
        ensure(&folder, &[LOOPBACK], NOW).unwrap();
        let (ca, server) = (read(&folder, "ca.pem"), read(&folder, "server.pem"));
        ensure(&folder, &["0.0.0.0".parse().unwrap()], NOW).unwrap();
        assert_eq!(read(&folder, "server.pem"), server);
        ensure(&folder, &["192.0.2.7".parse().unwrap()], NOW).unwrap();
        assert_ne!(read(&folder, "server.pem"), server);
        assert_eq!(read(&folder, "ca.pem"), ca);
    }

    #[test]
    fn a_broken_or_foreign_pair_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::make(directory.path()).unwrap();
        for (name, text) in [("server.pem", "nonsense"), ("server-key.pem", ""), ("ca-key.pem", "")] {
            ensure(&folder, &[LOOPBACK], NOW).unwrap();
            let before = read(&folder, "server.pem");
            fs::write(folder.tls(name), text).unwrap();
            ensure(&folder, &[LOOPBACK], NOW).unwrap();
            assert_ne!(read(&folder, "server.pem"), before, "{name}");
            assert!(is_good(&folder, &names(&[LOOPBACK]), NOW), "{name}");
        }
    }
}
