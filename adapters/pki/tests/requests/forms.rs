//! Requests as real software makes them, and the forms they come in.

use std::{fs, process::Command};

use crate::build::{Key, codes, problems, read, request};
use chancery_pki::{CertificateRequest, CsrError, KeyAlgorithm, MAX_CSR_BYTES};
use data_encoding::{BASE64, BASE64URL_NOPAD};

/// A request made by the `openssl` command, as PEM.
fn openssl(key: &[&str], extra: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let output = Command::new("openssl").current_dir(dir.path()).args(arguments).output().expect("openssl");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(&[&["genpkey", "-out", "key.pem"], key].concat());
    let request = ["req", "-new", "-key", "key.pem", "-out", "request.pem", "-subj", "/CN=www.example.com"];
    let names = ["-addext", "subjectAltName=DNS:www.example.com,DNS:*.example.com,IP:1.1.1.1,IP:2606:4700::1111"];
    run(&[&request[..], &names, extra].concat());
    fs::read_to_string(dir.path().join("request.pem")).unwrap()
}

#[test]
fn requests_made_by_openssl_pass() {
    let rsa = ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"];
    let p256 = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"];
    let p384 = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"];
    for (key, extra) in [
        (&rsa[..], &["-sha256"][..]),
        (&rsa, &["-sha512", "-newhdr"]),
        (&p256, &["-addext", "keyUsage=critical,digitalSignature", "-addext", "basicConstraints=CA:FALSE"]),
        (&p256, &["-sha512"]),
        (&p384, &["-sha256", "-addext", "extendedKeyUsage=serverAuth,clientAuth"]),
        (&["-algorithm", "ED25519"], &[]),
    ] {
        let pem = openssl(key, extra);
        let request = CertificateRequest::parse(&pem).unwrap();
        assert_eq!(problems(request.as_der()), Vec::new(), "{key:?} {extra:?}");
        assert_eq!(request.common_name(), request.identifiers().first().cloned());
        assert_eq!(request.identifiers().len(), 4);
    }
}

#[test]
fn requests_of_openssl_with_a_fault_are_refused() {
    let p256 = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"];
    let found = |key: &[&str], extra: &[&str]| codes(read(openssl(key, extra).as_bytes()).as_der());
    assert_eq!(found(&["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"], &[]), ["weak_key"]);
    assert_eq!(found(&["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"], &[]), ["unsupported_key"]);
    assert_eq!(found(&["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"], &[]), ["unsupported_key"]);
    assert_eq!(found(&["-algorithm", "ED448"], &[]), ["unsupported_key"]);
    let rsa3 = ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-pkeyopt", "rsa_keygen_pubexp:3"];
    assert_eq!(found(&rsa3, &[]), ["small_exponent"]);
    let explicit = [&p256[..], &["-pkeyopt", "ec_param_enc:explicit"]].concat();
    assert_eq!(found(&explicit, &[]), ["unsupported_key"]);
    assert_eq!(found(&p256, &["-sha1"]), ["unsupported_signature"]);
    assert_eq!(found(&p256, &["-addext", "basicConstraints=CA:TRUE"]), ["ca_requested"]);
    assert_eq!(found(&p256, &["-addext", "keyUsage=critical,digitalSignature,keyCertSign"]), ["ca_requested"]);
    assert_eq!(found(&p256, &["-addext", "keyUsage=cRLSign"]), ["ca_requested"]);
    assert_eq!(found(&p256, &["-addext", "keyUsage=digitalSignature,nonRepudiation"]), [] as [&str; 0]);
    assert_eq!(found(&p256, &["-addext", "tlsfeature=status_request"]), ["must_staple"]);
    assert_eq!(found(&p256, &["-addext", "extendedKeyUsage=serverAuth,codeSigning"]), ["unsupported_usage"]);
    assert_eq!(found(&p256, &["-addext", "certificatePolicies=2.23.140.1.2.1"]), ["unsupported_extension"]);
    assert_eq!(found(&p256, &["-addext", "nameConstraints=permitted;DNS:example.com"]), ["unsupported_extension"]);
    let pss = ["-sigopt", "rsa_padding_mode:pss"];
    assert_eq!(found(&["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], &pss), ["unsupported_signature"]);
}

#[test]
fn pem_base64_and_der_are_the_same_request() {
    let der = request(&Key::new(KeyAlgorithm::EcP256));
    let pem = format!(
        "-----BEGIN CERTIFICATE REQUEST-----\n{}\n-----END CERTIFICATE REQUEST-----\n",
        BASE64
            .encode(&der)
            .as_bytes()
            .chunks(64)
            .map(|line| str::from_utf8(line).unwrap())
            .collect::<Vec<_>>()
            .join("\n")
    );
    for form in
        [der.clone(), pem.into_bytes(), BASE64.encode(&der).into_bytes(), BASE64URL_NOPAD.encode(&der).into_bytes()]
    {
        assert_eq!(CertificateRequest::parse(form).unwrap().as_der(), der);
    }
}

#[test]
fn two_requests_in_one_pem_are_refused() {
    let p256 = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"];
    let both = openssl(&p256, &[]) + &openssl(&p256, &["-newhdr"]);
    assert_eq!(CertificateRequest::parse(&both).err(), Some(CsrError::Several));
}

#[test]
fn what_is_too_long_or_has_something_after_it_is_refused() {
    let der = request(&Key::new(KeyAlgorithm::EcP256));
    let error = |bytes: Vec<u8>| CertificateRequest::parse(bytes).err().unwrap();
    assert!(matches!(error([der.clone(), vec![0]].concat()), CsrError::Der(_)));
    assert_eq!(error([der, vec![0; MAX_CSR_BYTES]].concat()), CsrError::TooLarge);
    assert_eq!(error(vec![]), CsrError::Empty);
    assert_eq!(error(b"hello".to_vec()).code(), "malformed_csr");
}
