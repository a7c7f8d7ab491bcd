//! A target that stops at the first byte finds nothing and says so to nobody: that the seeds get through.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use chancery_acme::parsers::request;
use chancery_dcv::parsers::{acme_certificate, dns_answer, page, persistent_record};
use chancery_domain::{Identifier, Timestamp};
use chancery_fuzz::chain;
use chancery_fuzz::fixed::{DIGEST, JOSE, NAME, SECRET, URL, signed};
use chancery_identity::parsers::token_request;
use chancery_jose::Jws;
use chancery_pki::{
    Certificate, CertificateRequest, ChainProblem, CsrRules, IssuerChain, NameRules, NoKnownBadKeys, OcspRequest,
    PrivateKey,
};
use chancery_service::parsers::{binding_binds, binding_names};
use hickory_proto::rr::{Name, RecordType};
use url::Url;

fn seed(path: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(path)).unwrap()
}

#[test]
fn web_servers_answer() {
    let url = Url::parse("http://example.test/token").unwrap();
    for (file, status, body) in
        [("ok", 200, "hello"), ("close", 200, "hello \r\n"), ("chunked", 200, "hello"), ("continue", 404, "")]
    {
        let page = page(&seed(&format!("http_response/{file}")), &url).unwrap();
        assert_eq!((page.status, String::from_utf8(page.body).unwrap().as_str()), (status, body), "{file}");
    }
    assert!(page(&seed("http_response/redirect"), &url).unwrap().location.is_some());
    assert!(page(b"", &url).is_err());
}

#[test]
fn resolvers_answer() {
    let found = |file: &str, name: &str, kind| {
        let answer = dns_answer(&seed(&format!("dns/{file}")), &Name::from_ascii(name).unwrap(), kind).unwrap();
        answer.found.map(|found| (found.data.len(), found.aliases.len()))
    };
    let challenge = "_acme-challenge.example.test.";
    assert_eq!(found("txt", challenge, RecordType::TXT), Some((1, 0)));
    assert_eq!(found("alias", challenge, RecordType::TXT), Some((1, 2)));
    assert_eq!(found("circle", challenge, RecordType::TXT), None);
    assert_eq!(found("caa", "example.test.", RecordType::CAA), Some((2, 0)));
    assert_eq!(found("nsec3", "example.test.", RecordType::CAA), Some((0, 0)));
}

#[test]
fn requests_are_granted_and_certificates_answer() {
    let rules = NameRules { internal_names: true, special_addresses: true, ..NameRules::default() };
    let rules = CsrRules { names: rules, ..CsrRules::default() };
    for file in ["info-names", "info-common-name", "info-usage"] {
        let request = CertificateRequest::parse(signed(&seed(&format!("csr/{file}")))).unwrap();
        assert_eq!(request.check(&rules, &NoKnownBadKeys), [], "{file}");
    }
    let (name, address) = (Identifier::parse(NAME).unwrap(), Identifier::parse("192.0.2.1").unwrap());
    assert_eq!(acme_certificate(&seed("tls_alpn/certificate-dns"), &name, &DIGEST), Ok(()));
    assert_eq!(acme_certificate(&signed(&seed("tls_alpn/tbs-dns")), &name, &DIGEST), Ok(()));
    assert_eq!(acme_certificate(&signed(&seed("tls_alpn/tbs-ip")), &address, &DIGEST), Ok(()));
    assert!(Certificate::from_der(&seed("certificate/ca")).unwrap().info().unwrap().is_ca);
    assert_eq!(OcspRequest::parse(&seed("ocsp/two-with-nonce")).unwrap().certificates.len(), 2);
    assert!(PrivateKey::from_pkcs8(&seed("private_key/p256-without-public-key")).is_ok());
}

#[test]
fn chains_and_records_are_taken() {
    let known = &chain::KNOWN;
    let check = |file: &str| {
        let certificates = chain::signed_each(&seed(&format!("chain/{file}"))).unwrap();
        let checked = IssuerChain::check(certificates, &known.ca, std::slice::from_ref(&known.root), 1_800_000_000);
        checked.map(|chain| chain.served().len()).map_err(|problem| std::mem::discriminant(&problem))
    };
    assert_eq!(check("cross"), Ok(1));
    assert_eq!(check("longer"), Err(std::mem::discriminant(&ChainProblem::PathLength(String::new()))));
    assert!(check("upside-down").is_err());
    let ours = ["ca.test".to_owned(), "pki.test".to_owned()];
    let judge = |file: &str, wildcard| {
        let (record, now) = (seed(&format!("persist/{file}")), Timestamp::from_secs(1_800_000_000));
        persistent_record(&record, &ours, "https://ca.test/acme/account/1", wildcard, now).is_ok()
    };
    let judged = ["plain", "wildcard", "far", "over", "twice"].map(|file| (judge(file, false), judge(file, true)));
    assert_eq!(judged, [(true, false), (true, true), (true, false), (false, false), (false, false)]);
}

#[test]
fn signatures_verify() {
    for file in ["ES256", "ES384", "ES512", "EdDSA", "RS256", "RS512", "PS384"] {
        let jws = Jws::flattened(&seed(&format!("jws/{file}")), 1 << 16).unwrap();
        assert_eq!(jws.verify(jws.header().jwk.as_ref().unwrap()), Ok(&b"{}"[..]), "{file}");
    }
    for file in ["ES256", "ES384", "ES512", "EdDSA", "RS256"] {
        assert!(request(&seed(&format!("acme_request/{file}")), URL).is_ok(), "{file}");
    }
    for file in ["HS256", "HS384", "HS512"] {
        let binding = Jws::flattened(&seed(&format!("eab/{file}")), 1 << 16).unwrap();
        assert!(binding_names(&binding, URL).is_ok(), "{file}");
        assert!(binding_binds(&binding, &SECRET, JOSE.public()).is_ok(), "{file}");
    }
}

#[test]
fn clients_are_told_apart() {
    let text = String::from_utf8(seed("token_request/basic")).unwrap();
    let mut lines = text.splitn(3, '\n');
    let (media_type, header, body) = (lines.next().unwrap(), lines.next().unwrap(), lines.next().unwrap());
    let asked = token_request(media_type, Some(header.as_bytes()), body.as_bytes()).unwrap();
    assert_eq!((asked.client_id.as_deref(), asked.client_secret.as_deref()), (Some("cli_x"), Some("chs+y")));
}
