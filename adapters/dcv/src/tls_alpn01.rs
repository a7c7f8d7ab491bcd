//! tls-alpn-01: a certificate shown to who asks for `acme-tls/1` (RFC 8737).

use std::net::IpAddr;

use aws_lc_rs::digest::{SHA256, digest};
use chancery_domain::{Attempt, Identifier, ProblemKind};
use data_encoding::HEXLOWER;
use rustls::AlertDescription;

use crate::acme_certificate;
use crate::check::Check;
use crate::dial::{Dialer, Host};
use crate::refusal::Refusal;
use crate::tls::{WebTls, server_name};

pub(crate) const ACME_TLS: &[u8] = b"acme-tls/1";

pub(crate) struct TlsAlpn01 {
    pub port: u16,
    /// Offers [`ACME_TLS`] alone.
    pub tls: WebTls,
}

impl TlsAlpn01 {
    pub(crate) async fn look(&self, dialer: &Dialer, check: &Check, attempt: &mut Attempt) -> Result<(), Refusal> {
        let expected = digest(&SHA256, check.key_authorization.as_bytes());
        attempt.expected = Some(HEXLOWER.encode(expected.as_ref()));
        let (host, asked_for) = match &check.identifier {
            Identifier::Dns(name) => (Host::Name(name.to_string()), name.to_string()),
            Identifier::Ip(address) => (Host::Address(*address), reverse_name(*address)),
        };
        let stream = dialer.connect(&host, self.port, attempt).await?;
        let spoken_to = attempt.address_used.clone().unwrap_or_default();
        let name = server_name(&Host::Name(asked_for))?;
        let connection = self.tls.connect(name, stream).await.map_err(|error| refused(&spoken_to, &error))?;
        let (_, session) = connection.get_ref();
        if session.alpn_protocol() != Some(ACME_TLS) {
            let detail = format!("{spoken_to} did not agree to speak acme-tls/1");
            return Err(Refusal::wrong(ProblemKind::Tls, detail));
        }
        let Some([certificate, ..]) = session.peer_certificates() else {
            return Err(Refusal::wrong(ProblemKind::Tls, format!("{spoken_to} showed no certificate")));
        };
        match acme_certificate::check(certificate, &check.identifier, expected.as_ref()) {
            Ok(()) => {
                attempt.actual.clone_from(&attempt.expected);
                Ok(())
            }
            Err(wrong) => {
                attempt.actual = wrong.digest.or_else(|| Some(wrong.why.clone()));
                let detail = format!("the certificate that {spoken_to} showed does not answer: {}", wrong.why);
                Err(Refusal::wrong(ProblemKind::IncorrectResponse, detail))
            }
        }
    }
}

/// A server that does not know the protocol or the name (yet) may know it in a moment.
fn refused(spoken_to: &str, error: &std::io::Error) -> Refusal {
    let detail = format!("no acme-tls/1 connection with {spoken_to}: {error}");
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match tls {
        None
        | Some(rustls::Error::AlertReceived(
            AlertDescription::NoApplicationProtocol
            | AlertDescription::UnrecognisedName
            | AlertDescription::HandshakeFailure
            | AlertDescription::InternalError,
        )) => Refusal::missing(ProblemKind::Tls, detail),
        Some(_) => Refusal::wrong(ProblemKind::Tls, detail),
    }
}

/// What stands for an address where only names can stand (RFC 8738 section 6, RFC 1034, RFC 3596).
fn reverse_name(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        IpAddr::V6(address) => {
            let nibbles = (0..32).map(|index| format!("{:x}.", address.to_bits() >> (4 * index) & 0xf));
            nibbles.collect::<String>() + "ip6.arpa"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_asked_for_by_its_reverse_name() {
        assert_eq!(reverse_name("192.0.2.55".parse().unwrap()), "55.2.0.192.in-addr.arpa");
        assert_eq!(
            reverse_name("2001:db8::567:89ab".parse().unwrap()),
            "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"
        );
    }
}
