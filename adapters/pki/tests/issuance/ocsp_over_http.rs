//! `openssl ocsp` asks a responder on loopback.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::Command,
    sync::Arc,
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::common::{Ca, DAY, key, subscriber_key};
use chancery_domain::RevocationReason;
use chancery_pki::{
    CertificateStatus, KeyAlgorithm, OcspFailure, OcspRequest, OcspTimes, Responder, Serial, SubscriberProfile,
};

/// What OpenSSL compares answers with cannot be told to it.
fn now() -> i64 {
    #[allow(clippy::disallowed_methods, reason = "`openssl ocsp` reads the clock, so its answers must fit the clock")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap()
}

/// Serves this many requests and ends.
fn serve(requests: usize, answer: impl Fn(&[u8]) -> Vec<u8> + Send + 'static) -> (String, thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        for stream in listener.incoming().take(requests) {
            respond(stream.unwrap(), &answer);
        }
    });
    (url, server)
}

fn respond(mut stream: TcpStream, answer: &impl Fn(&[u8]) -> Vec<u8>) {
    let (mut received, mut buffer) = (Vec::new(), [0; 4096]);
    let body = loop {
        let count = stream.read(&mut buffer).unwrap();
        assert_ne!(count, 0, "the client went away");
        received.extend_from_slice(&buffer[..count]);
        let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&received[..end]).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:")).unwrap();
        let length: usize = length.trim().parse().unwrap();
        if received.len() >= end + 4 + length {
            break received[end + 4..].to_vec();
        }
    };
    let response = answer(&body);
    let head = format!(
        "HTTP/1.0 200 OK\r\nContent-Type: application/ocsp-response\r\nContent-Length: {}\r\n\r\n",
        response.len()
    );
    stream.write_all(&[head.as_bytes(), &response].concat()).unwrap();
}

fn ask(dir: &Path, url: &str, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new("openssl");
    command.current_dir(dir).args(["ocsp", "-CAfile", "root.pem", "-issuer", "issuer.pem", "-url", url]);
    let output = command.args(arguments).output().expect("openssl");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    (output.status.success(), text)
}

#[test]
fn openssl_gets_good_revoked_and_unknown_signed_by_every_kind_of_key() {
    use KeyAlgorithm::{EcP256, EcP384, Rsa2048};
    for (issuer, responder_key) in [(EcP256, EcP256), (Rsa2048, EcP384), (EcP384, Rsa2048)] {
        let now = now();
        let ca = Ca::at(issuer, now);
        let responder = crate::ocsp::responder(&ca, &key(responder_key));
        let profile = SubscriberProfile { public: false, ..SubscriberProfile::tls(90) };
        let certificates = [(); 3].map(|()| ca.issue(&profile, &subscriber_key(EcP256)));
        let [good, revoked, _] = certificates.each_ref().map(Ca::serial_of);
        let status = move |serial: &Serial| match serial {
            serial if *serial == good => CertificateStatus::Good,
            serial if *serial == revoked => {
                CertificateStatus::Revoked { at: now - 60, reason: RevocationReason::KeyCompromise }
            }
            _ => CertificateStatus::Unknown,
        };
        let times = OcspTimes { produced_at: now, this_update: now - 60, next_update: now + DAY };
        let answers: Arc<Responder> = Arc::new(responder);
        let (url, server) = serve(3, move |body| match OcspRequest::parse(body) {
            Ok(request) => answers.respond(&request, times, status).unwrap(),
            Err(failure) => failure.to_der(),
        });

        let dir = tempfile::tempdir().unwrap();
        let write = |file: &str, text: String| fs::write(dir.path().join(file), text).unwrap();
        write("root.pem", ca.root.certificate().to_pem() + &ca.issuer.certificate().to_pem());
        write("issuer.pem", ca.issuer.certificate().to_pem());
        for (name, certificate) in ["good.pem", "revoked.pem", "unknown.pem"].iter().zip(&certificates) {
            write(name, certificate.to_pem());
        }
        let (ok, text) = ask(dir.path(), &url, &["-cert", "good.pem"]);
        assert!(ok && text.contains("Response verify OK") && text.contains("good.pem: good"), "{text}");
        assert!(!text.contains("WARNING"), "the nonce came back: {text}");
        let (ok, text) = ask(dir.path(), &url, &["-sha256", "-cert", "revoked.pem"]);
        assert!(ok && text.contains("Response verify OK") && text.contains("revoked.pem: revoked"), "{text}");
        assert!(text.contains("Reason: keyCompromise"), "{text}");
        let all = ["-no_nonce", "-cert", "good.pem", "-sha256", "-cert", "revoked.pem", "-cert", "unknown.pem"];
        let (ok, text) = ask(dir.path(), &url, &all);
        assert!(ok && text.contains("Response verify OK"), "{text}");
        for line in ["good.pem: good", "revoked.pem: revoked", "unknown.pem: unknown"] {
            assert!(text.contains(line), "{text}");
        }
        server.join().unwrap();
    }
}

#[test]
fn openssl_reports_failures_and_refuses_altered_answers() {
    let now = now();
    let ca = Ca::at(KeyAlgorithm::EcP256, now);
    let responder = crate::ocsp::responder(&ca, &key(KeyAlgorithm::EcP256));
    let profile = SubscriberProfile { public: false, ..SubscriberProfile::tls(90) };
    let certificate = ca.issue(&profile, &subscriber_key(KeyAlgorithm::EcP256));
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("root.pem"), ca.root.certificate().to_pem() + &ca.issuer.certificate().to_pem()).unwrap();
    fs::write(dir.path().join("issuer.pem"), ca.issuer.certificate().to_pem()).unwrap();
    fs::write(dir.path().join("c.pem"), certificate.to_pem()).unwrap();
    for (failure, text) in [
        (OcspFailure::MalformedRequest, "malformedrequest"),
        (OcspFailure::InternalError, "internalerror"),
        (OcspFailure::TryLater, "trylater"),
        (OcspFailure::Unauthorized, "unauthorized"),
    ] {
        let (url, server) = serve(1, move |_| failure.to_der());
        let (_, found) = ask(dir.path(), &url, &["-cert", "c.pem"]);
        assert!(found.contains(text), "{found}");
        server.join().unwrap();
    }
    let times = OcspTimes { produced_at: now, this_update: now - 60, next_update: now + DAY };
    let (url, server) = serve(1, move |body| {
        let request = OcspRequest::parse(body).unwrap();
        let mut response = responder.respond(&request, times, |_| CertificateStatus::Unknown).unwrap();
        // "unknown" becomes "good".
        let at = response.windows(3).position(|window| window == [0x82, 0, 0x18]).unwrap();
        response[at] = 0x80;
        response
    });
    let (_, found) = ask(dir.path(), &url, &["-cert", "c.pem"]);
    assert!(found.contains("Response Verify Failure"), "{found}");
    server.join().unwrap();
}
