//! What reaches us and whom we reach: listeners, the running service, the TLS certificate, DNS servers.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use chancery_domain::{Entropy, Timestamp};
use chancery_machine::SystemEntropy;
use http::Uri;
use rustls::client::verify_server_name;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;
use serde_json::Value;

use super::finding::Report;
use crate::config::span::roughly;
use crate::failure::Failure;
use crate::installation::{Installation, TlsFiles, Validation};

const PATIENCE: Duration = Duration::from_secs(2);
/// A certificate that ends sooner should have been renewed by now.
const SOON: Duration = Duration::from_secs(14 * 86_400);

/// `nodes` are the services that run on the database, where that can be read.
pub(super) fn look(
    installation: &Installation,
    asked: Result<(), Failure>,
    nodes: Option<&[String]>,
    now: Timestamp,
    report: &mut Report,
) {
    look_at_ports(installation, nodes, report);
    match &installation.tls {
        Some(files) => look_at_certificate(files, &installation.urls.base_url, now, report),
        None => report.well("tls", "ends at a proxy: this service speaks plain HTTP on this machine"),
    }
    match (asked, &installation.validation) {
        (Err(failure), _) => report.problem("dns", failure.to_string(), "set dcv.resolvers"),
        (Ok(()), Validation::Checked(config)) => {
            for server in &config.resolvers {
                look_at_resolver(*server, report);
            }
        }
        (Ok(()), Validation::Skipped) => {}
    }
}

fn look_at_ports(installation: &Installation, nodes: Option<&[String]>, report: &mut Report) {
    let listen = installation.listen;
    let running = readiness(listen.admin);
    let is_ours = running.as_ref().is_some_and(|running| !running.is_of_others(nodes));
    match &running {
        Some(_) if !is_ours => {
            let advice = "look at what it was started with, or give this one ports of its own";
            report.problem("service", format!("the one at {} runs on another database", listen.admin), advice);
        }
        Some(Readiness { status: 200, .. }) => report.well("service", "runs, and is ready"),
        Some(Readiness { said, .. }) => {
            let advice = "see its log; what is red is named here";
            report.problem("service", format!("runs, and is not ready: {said}"), advice);
        }
        None => report.well("service", "does not run here, or not yet"),
    }
    for (setting, address) in
        [("server.listen", listen.api), ("server.http_listen", listen.http), ("server.admin_listen", listen.admin)]
    {
        match TcpListener::bind(address) {
            Ok(_) => report.well("ports", format!("{setting}: {address} is free")),
            Err(error) if error.kind() == ErrorKind::AddrInUse && is_ours => {
                report.well("ports", format!("{setting}: {address} is served by the running service"));
            }
            Err(error) => {
                let advice = match error.kind() {
                    ErrorKind::AddrInUse => "stop what listens there (ss -ltnp), or choose another port",
                    ErrorKind::PermissionDenied => {
                        "give the service CAP_NET_BIND_SERVICE (AmbientCapabilities=), or a port from 1024 on"
                    }
                    _ => "choose an address that this machine has",
                };
                report.problem("ports", format!("{setting}: cannot listen on {address}: {error}"), advice);
            }
        }
    }
}

/// What a service answers at `/readyz`.
struct Readiness {
    status: u16,
    said: String,
}

impl Readiness {
    /// Whether it runs, but not on the database with these. One that does not say who it is may be one of them, and so may one
    /// that is not ready: it may be that it could not write itself down.
    fn is_of_others(&self, nodes: Option<&[String]>) -> bool {
        let said: Value = serde_json::from_str(&self.said).unwrap_or_default();
        let is_unknown = |node: &str, nodes: &[String]| nodes.iter().all(|known| known != node);
        self.status == 200 && said["node"].as_str().zip(nodes).is_some_and(|(node, nodes)| is_unknown(node, nodes))
    }
}

/// What is said of a service that runs, where it is one of ours that answers.
fn readiness(admin: SocketAddr) -> Option<Readiness> {
    let to = match admin.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
    };
    if admin.port() == 0 {
        return None;
    }
    let mut stream = TcpStream::connect_timeout(&SocketAddr::new(to, admin.port()), PATIENCE).ok()?;
    // Its own checks may take two seconds each.
    stream.set_read_timeout(Some(3 * PATIENCE)).ok()?;
    stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.take(65_536).read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    body.contains("\"ready\"").then(|| Readiness { status, said: body.trim().to_owned() })
}

fn look_at_certificate(files: &TlsFiles, base_url: &str, now: Timestamp, report: &mut Report) {
    let advice = "renew it: the service reads the files again when they change";
    let path = files.certificate.display();
    let read = fs::read(&files.certificate).ok().and_then(|pem| CertificateDer::from_pem_slice(&pem).ok());
    let parsed = read.as_ref().and_then(|der| chancery_pki::Certificate::from_der(der).ok());
    let (Some(der), Some(certificate)) = (read, parsed) else {
        return report.problem("tls", format!("{path} cannot be read"), "give server.tls a certificate in PEM");
    };
    let ends = Timestamp::from_secs(certificate.not_after());
    match ends.since(now) {
        Duration::ZERO => report.problem("tls", format!("{path} ended at {ends}"), advice),
        _ if Timestamp::from_secs(certificate.not_before()) > now => {
            report.problem("tls", format!("{path} is not valid yet"), "look at the clock, or renew it");
        }
        left if left < SOON => report.warn("tls", format!("{path} ends in {}", roughly(left)), advice),
        left => report.well("tls", format!("{path} lasts for {}", roughly(left))),
    }
    let host = base_url.parse::<Uri>().ok().and_then(|url| url.host().map(str::to_owned)).unwrap_or_default();
    let host = host.trim_matches(['[', ']']).to_owned();
    let name = ServerName::try_from(host.clone()).ok();
    let covered = ParsedCertificate::try_from(&der)
        .ok()
        .zip(name)
        .is_some_and(|(parsed, name)| verify_server_name(&parsed, &name).is_ok());
    if !covered {
        let what = format!("{path} is not for {host}, the host of server.base_url");
        report.problem("tls", what, "use a certificate with this name");
    }
}

fn look_at_resolver(server: SocketAddr, report: &mut Report) {
    let what = |said: &str| format!("{server} {said}");
    let advice = "see that it runs and answers this machine (dig @SERVER . NS), or change dcv.resolvers";
    match ask(server).or_else(|_| ask(server)) {
        // REFUSED and NOTIMP: it does not work for us.
        Ok(4 | 5) => report.problem("dns", what("refuses to look names up for us"), advice),
        Ok(0) => report.well("dns", what("answers")),
        Ok(code) => report.warn("dns", what(&format!("answers with code {code} when asked for the root")), advice),
        Err(error) => report.problem("dns", what(&format!("does not answer: {error}")), advice),
    }
}

/// Asks for the name servers of the root (RFC 1035 section 4.1); the code of the answer.
fn ask(server: SocketAddr) -> std::io::Result<u8> {
    let own: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(own)?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let entropy: &dyn Entropy = &SystemEntropy;
    let id = entropy.bytes::<2>();
    // Recursion is wanted; one question: `.`, NS, IN.
    let question = [id[0], id[1], 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1];
    socket.send(&question)?;
    let mut answer = [0; 4096];
    let length = socket.recv(&mut answer)?;
    match answer.get(..length) {
        Some([first, second, flags, code, ..]) if [*first, *second] == id && flags & 0x80 != 0 => Ok(code & 0x0f),
        _ => Err(std::io::Error::new(ErrorKind::InvalidData, "what came back is no answer")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_is_well_and_says_another_name_is_of_others() {
        let (known, nobody) = (["a".to_owned(), "b".to_owned()], []);
        let of_others = |status, said: &str, nodes| Readiness { status, said: said.to_owned() }.is_of_others(nodes);
        assert!(of_others(200, r#"{"ready": true, "node": "c"}"#, Some(&known[..])));
        assert!(of_others(200, r#"{"ready": true, "node": "c"}"#, Some(&nobody[..])));
        assert!(!of_others(200, r#"{"ready": true, "node": "b"}"#, Some(&known[..])));
        assert!(!of_others(200, r#"{"ready": true, "node": "c"}"#, None));
        assert!(!of_others(200, r#"{"ready": true}"#, Some(&known[..])));
        // It may have started where nothing can be written.
        assert!(!of_others(503, r#"{"ready": false, "node": "c"}"#, Some(&known[..])));
    }
}
