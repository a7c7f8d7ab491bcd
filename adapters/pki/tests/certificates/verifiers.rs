//! What is made here is accepted by verifiers that share no code with it, and what was altered is not.

use std::{fs, net::IpAddr, process::Command, time::Duration};

use crate::common::{Hierarchy, NOW, hierarchy, key, root_of, server_of};
use chancery_pki::{Certificate, KeyAlgorithm, chain_to_pem};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};

const NAMES: [&str; 4] = ["localhost", "ca.example", "127.0.0.1", "::1"];

fn webpki_accepts(
    root: &Certificate,
    intermediates: &[&Certificate],
    server: &[u8],
    name: &str,
    at: i64,
) -> Result<(), String> {
    let root = CertificateDer::from(root.as_der());
    let anchors = [anchor_from_trusted_cert(&root).map_err(|e| e.to_string())?];
    let intermediates: Vec<_> = intermediates.iter().map(|ca| CertificateDer::from(ca.as_der())).collect();
    let server = CertificateDer::from(server);
    let server = EndEntityCert::try_from(&server).map_err(|e| e.to_string())?;
    let at = UnixTime::since_unix_epoch(Duration::from_secs(at.unsigned_abs()));
    let usage = KeyUsage::server_auth();
    server
        .verify_for_usage(webpki::ALL_VERIFICATION_ALGS, &anchors, &intermediates, at, usage, None, None)
        .map_err(|e| e.to_string())?;
    let name = ServerName::try_from(name).map_err(|e| e.to_string())?;
    server.verify_is_valid_for_subject_name(&name).map_err(|e| e.to_string())
}

fn openssl_accepts(
    root: &Certificate,
    intermediates: &[&Certificate],
    subject: &str,
    arguments: &[&str],
) -> Result<(), String> {
    let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
    let write = |file: &str, text: &str| fs::write(dir.path().join(file), text).map_err(|e| e.to_string());
    write("root.pem", &root.to_pem())?;
    write("intermediates.pem", &chain_to_pem(intermediates.iter().copied()))?;
    write("subject.pem", subject)?;
    let at = (NOW + 60).to_string();
    let mut command = Command::new("openssl");
    command.current_dir(dir.path()).args(["verify", "-x509_strict", "-check_ss_sig", "-no-CApath", "-no-CAstore"]);
    command.args(["-CAfile", "root.pem", "-attime", &at]).args(arguments);
    if !intermediates.is_empty() {
        command.args(["-untrusted", "intermediates.pem"]);
    }
    let output = command.arg("subject.pem").output().map_err(|e| e.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

fn check(hierarchy: &Hierarchy) {
    let (root, issuing, server) = (hierarchy.root.certificate(), hierarchy.issuing.certificate(), &hierarchy.server);
    for name in NAMES {
        assert_eq!(webpki_accepts(root, &[issuing], server.as_der(), name, NOW), Ok(()), "{name}");
        let option = if name.parse::<IpAddr>().is_ok() { "-verify_ip" } else { "-verify_hostname" };
        let arguments = ["-purpose", "sslserver", option, name];
        assert_eq!(openssl_accepts(root, &[issuing], &server.to_pem(), &arguments), Ok(()), "{name}");
    }
    assert_eq!(openssl_accepts(root, &[], &root.to_pem(), &["-purpose", "crlsign"]), Ok(()));
    assert_eq!(openssl_accepts(root, &[], &issuing.to_pem(), &["-purpose", "crlsign"]), Ok(()));
}

#[test]
fn a_hierarchy_of_any_kind_of_keys_verifies() {
    use KeyAlgorithm::{EcP256, EcP384, Rsa2048, Rsa3072, Rsa4096};
    check(&hierarchy(EcP384, EcP256, EcP256));
    check(&hierarchy(EcP256, EcP384, Rsa2048));
    check(&hierarchy(Rsa4096, Rsa2048, EcP384));
    check(&hierarchy(Rsa3072, EcP256, Rsa3072));
    check(&hierarchy(Rsa2048, Rsa4096, Rsa4096));
}

#[test]
fn a_server_certificate_straight_from_the_root_verifies() {
    let root = root_of(&key(KeyAlgorithm::EcP256));
    let server = server_of(&root, &key(KeyAlgorithm::EcP256));
    assert_eq!(webpki_accepts(root.certificate(), &[], server.as_der(), "localhost", NOW), Ok(()));
    assert_eq!(openssl_accepts(root.certificate(), &[], &server.to_pem(), &["-purpose", "sslserver"]), Ok(()));
}

#[test]
fn an_altered_signature_is_refused() {
    for algorithm in [KeyAlgorithm::EcP256, KeyAlgorithm::Rsa2048] {
        let hierarchy = hierarchy(algorithm, algorithm, algorithm);
        let (root, issuing) = (hierarchy.root.certificate(), hierarchy.issuing.certificate());
        let mut altered = hierarchy.server.as_der().to_vec();
        *altered.last_mut().expect("not empty") ^= 1;
        assert!(webpki_accepts(root, &[issuing], &altered, "localhost", NOW).is_err());
        let altered = Certificate::from_der(&altered).expect("still well formed");
        assert!(openssl_accepts(root, &[issuing], &altered.to_pem(), &[]).is_err());

        let mut altered = issuing.as_der().to_vec();
        *altered.last_mut().expect("not empty") ^= 1;
        let altered = Certificate::from_der(&altered).expect("still well formed");
        assert!(webpki_accepts(root, &[&altered], hierarchy.server.as_der(), "localhost", NOW).is_err());
        assert!(openssl_accepts(root, &[&altered], &hierarchy.server.to_pem(), &[]).is_err());
    }
}

#[test]
fn another_name_another_root_and_another_purpose_are_refused() {
    let hierarchy = hierarchy(KeyAlgorithm::EcP256, KeyAlgorithm::EcP256, KeyAlgorithm::EcP256);
    let (root, issuing, server) = (hierarchy.root.certificate(), hierarchy.issuing.certificate(), &hierarchy.server);
    assert!(webpki_accepts(root, &[issuing], server.as_der(), "other.example", NOW).is_err());
    assert!(openssl_accepts(root, &[issuing], &server.to_pem(), &["-verify_hostname", "other.example"]).is_err());
    let stranger = root_of(&key(KeyAlgorithm::EcP256));
    assert!(webpki_accepts(stranger.certificate(), &[issuing], server.as_der(), "localhost", NOW).is_err());
    assert!(openssl_accepts(stranger.certificate(), &[issuing], &server.to_pem(), &[]).is_err());
    assert!(openssl_accepts(root, &[issuing], &server.to_pem(), &["-purpose", "sslclient"]).is_err());
}

#[test]
fn the_last_second_is_valid_and_the_next_is_not() {
    let root = root_of(&key(KeyAlgorithm::EcP256));
    let server = server_of(&root, &key(KeyAlgorithm::EcP256));
    let last = NOW + 90 * 86_400 - 1;
    for (at, valid) in [(NOW - 1, false), (NOW, true), (last, true), (last + 1, false)] {
        assert_eq!(webpki_accepts(root.certificate(), &[], server.as_der(), "localhost", at).is_ok(), valid, "{at}");
    }
}
