//! The certificate, and the handshake that shows it.

use std::net::Ipv6Addr;
use std::time::Duration;

use chancery_domain::{ChallengeType, ProblemKind};
use chancery_testkit::der::{HandMade, alt_names, dns_name, extension, ip_address, tlv};
use chancery_testkit::tls_alpn::{ACME_IDENTIFIER, Greeting, TestTlsAlpn, TlsAlpnAnswer, acme_identifier};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::world::{ANY, KEY_AUTHORIZATION, World, refused, shown};

const TLS: ChallengeType = ChallengeType::TlsAlpn01;
const HEX: &str = "2cfb08c13a3ba3c0681b4faf8c2c864060564952";

fn right() -> TlsAlpnAnswer {
    TlsAlpnAnswer::right(dns_name("example.test"), KEY_AUTHORIZATION)
}

/// A right answer but for its extensions.
fn with(extensions: Vec<Vec<u8>>) -> TlsAlpnAnswer {
    TlsAlpnAnswer { certificate: HandMade::new(extensions), ..right() }
}

async fn world_of(answer: &TlsAlpnAnswer) -> (World, TestTlsAlpn) {
    let mut world = World::new().await;
    let server = TestTlsAlpn::start(ANY, answer).await;
    world.config.tls_alpn01_port = server.port();
    // A second look would show that it was not refused at once.
    world.config.retry_window = Duration::from_secs(20);
    world.dns.address_of("example.test", ANY.0);
    (world, server)
}

/// Refused at once as the wrong certificate; gives the reason.
async fn wrong(answer: &TlsAlpnAnswer) -> String {
    let (world, _server) = world_of(answer).await;
    refused(world.verify("example.test", TLS).await, ProblemKind::IncorrectResponse).1
}

#[tokio::test]
async fn the_certificate_shows_control_and_the_greeting_is_as_the_rfc_has_it() {
    for versions in [vec![&rustls::version::TLS12], vec![&rustls::version::TLS13]] {
        let (world, server) = world_of(&TlsAlpnAnswer { versions, ..right() }).await;
        let attempt = shown(world.verify("example.test", TLS).await);
        assert_eq!(attempt.address_used, Some(format!("127.0.0.1:{}", server.port())));
        assert!(attempt.expected.unwrap().starts_with(HEX));
        assert!(attempt.actual.unwrap().starts_with(HEX));
        let greeting =
            Greeting { server_name: Some("example.test".to_owned()), protocols: vec!["acme-tls/1".to_owned()] };
        assert_eq!(server.greetings(), [greeting]);
    }
}

#[tokio::test]
async fn the_case_of_the_name_does_not_matter_and_other_extensions_neither() {
    let key_usage = extension(&[2, 5, 29, 15], true, &[0x03, 0x02, 0x07, 0x80]);
    let answer =
        with(vec![key_usage, alt_names(&[dns_name("Example.TEST")]), acme_identifier(true, KEY_AUTHORIZATION)]);
    let (world, _server) = world_of(&answer).await;
    shown(world.verify("example.test", TLS).await);
}

#[tokio::test]
async fn an_address_is_asked_for_by_its_reverse_name() {
    let v6 = Ipv6Addr::LOCALHOST;
    let reverse6 = "1.".to_owned() + &"0.".repeat(31) + "ip6.arpa";
    for (identifier, place, octets, reverse) in [
        ("127.0.0.1", ANY.0.into(), ANY.0.octets().to_vec(), "1.0.0.127.in-addr.arpa"),
        ("::1", std::net::IpAddr::from(v6), v6.octets().to_vec(), reverse6.as_str()),
    ] {
        let mut world = World::new().await;
        let answer = TlsAlpnAnswer::right(ip_address(&octets), KEY_AUTHORIZATION);
        let server = TestTlsAlpn::start((place, 0), &answer).await;
        world.config.tls_alpn01_port = server.port();
        shown(world.verify(identifier, TLS).await);
        assert_eq!(server.greetings()[0].server_name.as_deref(), Some(reverse));
        assert_eq!(world.dns.asked(), []);
    }
}

#[tokio::test]
async fn the_certificate_must_be_for_the_name_and_no_other() {
    let acme = || acme_identifier(true, KEY_AUTHORIZATION);
    let name = || dns_name("example.test");
    for (extensions, said) in [
        (vec![alt_names(&[name(), dns_name("www.example.test")]), acme()], "2 names"),
        (vec![alt_names(&[name(), name()]), acme()], "2 names"),
        (vec![alt_names(&[name(), ip_address(&[127, 0, 0, 1])]), acme()], "2 names"),
        (vec![alt_names(&[]), acme()], "0 names"),
        (vec![acme()], "0 extensions subjectAltName"),
        (vec![alt_names(&[name()]), alt_names(&[name()]), acme()], "2 extensions subjectAltName"),
        (vec![alt_names(&[dns_name("other.test")]), acme()], "other.test"),
        (vec![alt_names(&[dns_name("*.test")]), acme()], "*.test"),
        (vec![alt_names(&[dns_name("example.test.")]), acme()], "example.test."),
        (vec![alt_names(&[ip_address(&[127, 0, 0, 1])]), acme()], "the address 7f000001"),
        // The same text as an e-mail address and as a URI.
        (vec![alt_names(&[tlv(0x81, &[b"example.test"])]), acme()], "another kind"),
        (vec![alt_names(&[tlv(0x86, &[b"example.test"])]), acme()], "another kind"),
        (vec![extension(&[2, 5, 29, 17], false, b"\x30\x05\x82"), acme()], "subjectAltName cannot be read"),
    ] {
        let detail = wrong(&with(extensions)).await;
        assert!(detail.contains(said), "{said}: {detail}");
    }
}

#[tokio::test]
async fn the_extension_must_be_there_once_critical_and_right() {
    let names = || alt_names(&[dns_name("example.test")]);
    let acme = |value: &[u8]| extension(&ACME_IDENTIFIER, true, value);
    let right = || acme_identifier(true, KEY_AUTHORIZATION);
    let digest = &right()[right().len() - 32..].to_vec();
    for (extensions, said) in [
        (vec![names()], "0 extensions acmeIdentifier"),
        (vec![names(), right(), right()], "2 extensions acmeIdentifier"),
        (vec![names(), acme_identifier(false, KEY_AUTHORIZATION)], "not critical"),
        (vec![names(), acme_identifier(true, "another.key")], "not the SHA-256 digest"),
        (vec![names(), acme(digest)], "no OCTET STRING"),
        (vec![names(), acme(&tlv(0x03, &[digest]))], "no OCTET STRING"),
        (vec![names(), acme(&[tlv(0x04, &[digest]), vec![0]].concat())], "no OCTET STRING"),
        (vec![names(), acme(&tlv(0x04, &[&digest[..31]]))], "not the SHA-256 digest"),
        (vec![names(), acme(&tlv(0x04, &[digest, &[0]]))], "not the SHA-256 digest"),
        (vec![names(), acme(&tlv(0x04, &[]))], "not the SHA-256 digest"),
        // The identifier of an earlier draft.
        (vec![names(), extension(&[1, 3, 6, 1, 5, 5, 7, 1, 30, 1], true, &tlv(0x04, &[digest]))], "0 extensions"),
    ] {
        let detail = wrong(&with(extensions)).await;
        assert!(detail.contains(said), "{said}: {detail}");
    }
}

#[tokio::test]
async fn the_certificate_must_be_signed_by_its_own_key() {
    let mut by_another_key = right();
    by_another_key.certificate.self_signed = false;
    let mut of_another_issuer = right();
    of_another_issuer.certificate.issuer = "Another".to_owned();
    for answer in [by_another_key, of_another_issuer] {
        let detail = wrong(&answer).await;
        assert!(detail.contains("not signed by its own key"), "{detail}");
    }
}

#[tokio::test]
async fn a_server_without_the_key_of_its_certificate_is_refused() {
    for versions in [vec![&rustls::version::TLS12], vec![&rustls::version::TLS13]] {
        let (world, _server) = world_of(&TlsAlpnAnswer { has_key: false, versions, ..right() }).await;
        let (_, detail) = refused(world.verify("example.test", TLS).await, ProblemKind::Tls);
        assert!(detail.contains("BadSignature"), "{detail}");
    }
}

#[tokio::test]
async fn the_protocol_must_be_agreed_on() {
    let (world, _server) = world_of(&TlsAlpnAnswer { protocols: Vec::new(), ..right() }).await;
    let (_, detail) = refused(world.verify("example.test", TLS).await, ProblemKind::Tls);
    assert!(detail.contains("acme-tls/1"), "{detail}");
}

#[tokio::test]
async fn a_server_that_does_not_know_the_protocol_yet_is_asked_again() {
    let (mut world, server) = world_of(&TlsAlpnAnswer { protocols: vec![b"h2".to_vec()], ..right() }).await;
    world.config.retry_window = Duration::from_millis(700);
    let verified = world.verify("example.test", TLS).await;
    assert_eq!(verified.outcome.unwrap_err().kind, ProblemKind::Tls);
    assert_eq!((verified.attempts.len(), server.greetings().len()), (2, 2));
}

#[tokio::test]
async fn older_tls_than_1_2_is_refused() {
    for version in [1, 2] {
        let listener = TcpListener::bind(ANY).await.unwrap();
        let mut world = World::new().await;
        world.config.tls_alpn01_port = listener.local_addr().unwrap().port();
        world.config.retry_window = Duration::from_secs(20);
        world.dns.address_of("example.test", ANY.0);
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut hello = [0; 4096];
            let _ = stream.read(&mut hello).await.unwrap();
            // ServerHello: the version, 32 random octets, no session, a cipher of that time, no compression.
            let body = [&[3, version][..], &[7; 32], &[0, 0xc0, 0x09, 0]].concat();
            let length = u8::try_from(body.len()).unwrap();
            let message = [&[2, 0, 0, length][..], &body].concat();
            stream.write_all(&[&[22, 3, version, 0, length + 4][..], &message].concat()).await.unwrap();
            std::future::pending::<()>().await;
        });
        let (_, detail) = refused(world.verify("example.test", TLS).await, ProblemKind::Tls);
        assert!(detail.contains("acme-tls/1"), "{detail}");
    }
}
