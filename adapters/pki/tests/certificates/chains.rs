//! Chains that others made, with OpenSSL, for a CA of ours.

use std::{fs, path::Path, process::Command};

use chancery_pki::{
    CaName, CaPolicy, Certificate, ChainProblem, Issuer, IssuerChain, IssuingCa, KeyAlgorithm, Signer, issuing, root,
};
use tempfile::TempDir;

use crate::common::{days, key, serial};

const OURS: &str = "/C=XX/O=Ours/CN=Test Issuing CA 1";
const CA: &str = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign";
/// Later than anything that OpenSSL makes today begins, and earlier than it ends.
const NOW: i64 = 1_767_225_600 + 4 * 365 * 86_400;
const DAY: i64 = 86_400;

/// Somebody else's CAs, in a folder.
struct Elsewhere(TempDir);

impl Elsewhere {
    /// With a root whose key is of this kind and which signs with this hash.
    fn new(key: &[&str], hash: &str) -> Self {
        let elsewhere = Self(tempfile::tempdir().unwrap());
        elsewhere.key("root", key);
        elsewhere.openssl(&["x509", "-new", "-key", "root.key", "-subj", "/CN=Other Root", hash], "root", CA);
        elsewhere
    }

    fn key(&self, name: &str, arguments: &[&str]) {
        self.run(&[&["genpkey"], arguments, &["-out", &format!("{name}.key")]].concat());
        self.run(&["pkey", "-in", &format!("{name}.key"), "-pubout", "-out", &format!("{name}.pub")]);
    }

    /// A certificate for a public key in the folder, by a CA in the folder, with the key identifier that is in the folder
    /// unless another one is asked for.
    fn sign(&self, by: &str, subject: &str, of: &str, extensions: &str) -> Certificate {
        let known = fs::read_to_string(self.path().join(format!("{of}.id"))).unwrap_or_else(|_| "hash".to_owned());
        let key_id = match extensions.contains("subjectKeyIdentifier") {
            true => String::new(),
            false => format!("\nsubjectKeyIdentifier={known}"),
        };
        let extensions = &format!("{extensions}{key_id}");
        let (ca, ca_key, public) = (format!("{by}.pem"), format!("{by}.key"), format!("{of}.pub"));
        let arguments = ["x509", "-new", "-CA", &ca, "-CAkey", &ca_key, "-subj", subject, "-force_pubkey", &public];
        self.openssl(&arguments, of, extensions)
    }

    fn openssl(&self, arguments: &[&str], name: &str, extensions: &str) -> Certificate {
        // As old roots are.
        let key_id = if extensions.contains("subjectKeyIdentifier") { "" } else { "\nsubjectKeyIdentifier=none" };
        fs::write(self.path().join("extensions"), format!("{extensions}{key_id}")).unwrap();
        let out = format!("{name}.pem");
        self.run(&[arguments, &["-days", "3000", "-extfile", "extensions", "-out", &out]].concat());
        self.read(name)
    }

    fn read(&self, name: &str) -> Certificate {
        Certificate::from_pem(&fs::read_to_string(self.path().join(format!("{name}.pem"))).unwrap()).unwrap()
    }

    fn run(&self, arguments: &[&str]) {
        let output = Command::new("openssl").current_dir(self.path()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

const P256: [&str; 4] = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"];

struct Ours {
    root: Issuer,
    ca: Certificate,
}

fn ours() -> Ours {
    // OpenSSL takes its arguments for Latin-1, so the names are plain.
    let name = |common_name: &str| CaName::new("XX", "Ours", common_name).unwrap();
    let (root_key, ca_key) = (key(KeyAlgorithm::EcP384), key(KeyAlgorithm::EcP256));
    let root = root(&*root_key, &name("Test Root"), days(3650), serial()).unwrap();
    let root = Issuer::new(root, root_key).unwrap();
    let ca = IssuingCa {
        subject: &name("Test Issuing CA 1"),
        spki: ca_key.spki(),
        validity: days(1825),
        serial: serial(),
        policy: CaPolicy::DomainValidated,
        purposes: &[],
        ca_issuers_url: None,
        crl_url: None,
    };
    let ca = issuing(&root, &ca).unwrap();
    Ours { root, ca }
}

/// Our CA's public key, as a file of theirs.
fn carry(ca: &Certificate, to: &Elsewhere) {
    fs::write(to.path().join("ca.pem"), ca.to_pem()).unwrap();
    to.run(&["x509", "-in", "ca.pem", "-noout", "-pubkey", "-out", "ours.pub"]);
    // OpenSSL would name the key by another hash than we do.
    to.run(&["x509", "-in", "ca.pem", "-noout", "-ext", "subjectKeyIdentifier", "-out", "ours.ext"]);
    let shown = fs::read_to_string(to.path().join("ours.ext")).unwrap();
    fs::write(to.path().join("ours.id"), shown.lines().last().unwrap().trim().replace(':', "")).unwrap();
}

fn check(chain: &[&Certificate], ca: &Certificate) -> Result<IssuerChain, ChainProblem> {
    IssuerChain::check(chain.iter().copied().cloned().collect(), ca, &[], NOW)
}

#[test]
fn a_ca_that_anybody_with_a_usual_key_vouches_for_has_a_further_chain() {
    let keys: [(&[&str], &str); 5] = [
        (&["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], "-sha256"),
        (&["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], "-sha512"),
        (&["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"], "-sha384"),
        (&P256, "-sha512"),
        (&["-algorithm", "ED25519"], "-sha256"),
    ];
    for (kind, hash) in keys {
        let (elsewhere, Ours { ca, .. }) = (Elsewhere::new(kind, hash), ours());
        carry(&ca, &elsewhere);
        let cross = elsewhere.sign("root", OURS, "ours", CA);
        let root = elsewhere.read("root");
        let chain = check(&[&cross, &root], &ca).unwrap_or_else(|problem| panic!("{kind:?} {hash}: {problem}"));
        assert_eq!((chain.served(), chain.root()), ([cross.clone()].as_slice(), Some(&root)));
        assert_eq!(IssuerChain::from_pem(&chain.to_pem()).unwrap(), chain);
        assert_eq!(chain.not_after(), cross.not_after().min(root.not_after()));
        // The root may be known already.
        let known = IssuerChain::check(vec![cross], &ca, &[root], NOW).unwrap();
        assert_eq!(known, chain);
        assert_eq!(known.fingerprint(), chain.fingerprint());
    }
}

#[test]
fn a_chain_may_go_up_through_our_root_as_another_signed_it() {
    let (elsewhere, Ours { root, ca }) = (Elsewhere::new(&P256, "-sha256"), ours());
    carry(root.certificate(), &elsewhere);
    let cross = elsewhere.sign("root", "/C=XX/O=Ours/CN=Test Root", "ours", CA);
    let chain = check(&[&ca, &cross, &elsewhere.read("root")], &ca).unwrap();
    assert_eq!(chain.served(), [ca.clone(), cross.clone()]);
    // Only our own certificate below our own root is what there is anyway.
    let problem = check(&[&ca, root.certificate()], &ca).unwrap_err();
    assert!(matches!(problem, ChainProblem::Default), "{problem}");
}

#[test]
fn a_chain_that_a_relying_party_would_refuse_is_refused() {
    let (elsewhere, Ours { root: own_root, ca }) = (Elsewhere::new(&P256, "-sha256"), ours());
    carry(&ca, &elsewhere);
    let root = elsewhere.read("root");
    let cross = elsewhere.sign("root", OURS, "ours", CA);
    let refused = |chain: &[&Certificate]| check(chain, &ca).unwrap_err().to_string();
    let with = |extensions: &str| elsewhere.sign("root", OURS, "ours", extensions);

    // Another name, another key, the wrong way round, one of ours for another CA.
    let stranger = elsewhere.sign("root", "/CN=Somebody", "ours", CA);
    assert!(
        refused(&[&stranger, &root]).contains("the first certificate, CN=Somebody, is not one for CN=Test Issuing")
    );
    elsewhere.key("thief", &P256);
    let thief = elsewhere.sign("root", OURS, "thief", CA);
    assert!(refused(&[&thief, &root]).contains("is not one for"));
    assert!(refused(&[&root, &cross]).contains("is not one for"));
    assert!(refused(&[]).contains("there is none"));

    assert!(
        refused(&[&with("basicConstraints=CA:FALSE\nkeyUsage=keyCertSign"), &root])
            .contains("not the certificate of a CA")
    );
    assert!(refused(&[&with("basicConstraints=critical,CA:TRUE\nkeyUsage=cRLSign"), &root]).contains("keyCertSign"));
    assert!(refused(&[&with("basicConstraints=critical,CA:TRUE"), &root]).contains("keyCertSign"));
    let no_lists = with("basicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign");
    assert!(refused(&[&no_lists, &root]).contains("may not sign revocation lists (key usage cRLSign)"));
    // OpenSSL would not find the issuer of what our CA signed.
    let key_id = format!(
        "{CA}
subjectKeyIdentifier=hash"
    );
    assert!(refused(&[&with(&key_id), &root]).contains("subject key identifier"));
    assert!(
        refused(&[&with(&format!("{CA}\nextendedKeyUsage=clientAuth")), &root]).contains("does not cover ServerAuth")
    );

    // A root that is left out, that comes twice, that is another one of the same name.
    let said = refused(&[&cross]);
    assert!(said.contains("whose issuer, CN=Other Root, is not in it"), "{said}");
    assert!(refused(&[&cross, own_root.certificate()]).contains("was not signed by CN=Test Root"));
    let impostor = Elsewhere::new(&P256, "-sha256").read("root");
    assert!(refused(&[&cross, &impostor]).contains("was not signed by CN=Other Root"));
    assert!(refused(&[&cross, &cross, &root]).contains("CN=Test Issuing CA 1,O=Ours,C=XX is in the chain twice"));
    assert!(refused(&[&cross, &root, &root]).contains("CN=Other Root is in the chain twice"));
    assert!(refused(&[&cross, &root, &root, &root, &root, &root, &root, &root, &root]).contains("at most 8"));

    // What a CA between forbids, or what nobody here knows.
    let through = |extensions: &str| {
        elsewhere.key("middle", &P256);
        let middle = elsewhere.sign("root", "/CN=Middle", "middle", &format!("{CA}\n{extensions}"));
        let below = elsewhere.sign("middle", OURS, "ours", CA);
        check(&[&below, &middle, &root], &ca)
    };
    for (extensions, why) in [
        ("extendedKeyUsage=clientAuth", "CN=Middle does not cover ServerAuth"),
        ("nameConstraints=critical,permitted;DNS:example.com", "CN=Middle has name constraints"),
        ("nameConstraints=permitted;DNS:example.com", "CN=Middle has name constraints"),
        ("1.2.3.4=critical,ASN1:NULL", "CN=Middle has the critical extension 1.2.3.4"),
    ] {
        let problem = through(extensions).unwrap_err().to_string();
        assert!(problem.contains(why), "{problem}");
    }
    for fine in
        ["extendedKeyUsage=clientAuth,serverAuth", "1.2.3.4=ASN1:NULL", "certificatePolicies=critical,2.23.140.1.2.1"]
    {
        assert!(through(fine).is_ok(), "{fine}");
    }

    // What every CA below a root must have.
    let not_critical = with("basicConstraints=CA:TRUE\nkeyUsage=keyCertSign");
    assert!(refused(&[&not_critical, &root]).contains("CN=Test Issuing CA 1,O=Ours,C=XX are not critical"));
    let nameless = with(&format!("{CA}\nsubjectKeyIdentifier=none"));
    assert!(refused(&[&nameless, &root]).contains("CN=Test Issuing CA 1,O=Ours,C=XX has no subject key identifier"));
    let said = through("subjectKeyIdentifier=none").unwrap_err().to_string();
    assert!(said.contains("CN=Middle has no subject key identifier"), "{said}");

    // Too deep.
    elsewhere.key("flat", &P256);
    let flat =
        elsewhere.sign("root", "/CN=Flat", "flat", "basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=keyCertSign");
    let below = elsewhere.sign("flat", OURS, "ours", CA);
    assert!(refused(&[&below, &flat, &root]).contains("CN=Flat allows fewer CAs below it"));

    // At another time.
    let at = |now: i64| IssuerChain::check(vec![cross.clone(), root.clone()], &ca, &[], now).unwrap_err().to_string();
    assert!(at(cross.not_before() - DAY).contains("not valid yet"));
    assert!(at(cross.not_after() + 1).contains("has expired"));
}

#[test]
fn a_chain_whose_certificates_name_a_key_differently_is_refused() {
    let (elsewhere, Ours { ca, .. }) = (Elsewhere::new(&P256, "-sha256"), ours());
    carry(&ca, &elsewhere);
    let root = elsewhere.read("root");
    elsewhere.key("middle", &P256);
    let middle = |key_id: &str| {
        let extensions = format!("{CA}\nsubjectKeyIdentifier={key_id}");
        elsewhere.sign("root", "/CN=Middle", "middle", &extensions)
    };
    // The same CA twice, and below it a certificate that names its key as the first one does.
    let first = middle("0102030405");
    let below = elsewhere.sign("middle", OURS, "ours", &format!("{CA}\nauthorityKeyIdentifier=keyid:always"));
    let second = middle("0102030406");
    assert!(check(&[&below, &first, &root], &ca).is_ok());
    let said = check(&[&below, &second, &root], &ca).unwrap_err().to_string();
    assert!(said.contains("names the key of its issuer (authority key identifier) otherwise than CN=Middle"), "{said}");
    // So says OpenSSL.
    for (name, certificate) in [("below", &below), ("first", &first), ("second", &second)] {
        fs::write(elsewhere.path().join(format!("{name}.pem")), certificate.to_pem()).unwrap();
    }
    for (between, found) in [("first.pem", true), ("second.pem", false)] {
        let verify = ["verify", "-CAfile", "root.pem", "-untrusted", between, "below.pem"];
        let output = Command::new("openssl").current_dir(elsewhere.path()).args(verify).output().unwrap();
        assert_eq!(output.status.success(), found, "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_forged_signature_is_seen() {
    let (elsewhere, Ours { ca, .. }) = (Elsewhere::new(&P256, "-sha256"), ours());
    carry(&ca, &elsewhere);
    let (cross, root) = (elsewhere.sign("root", OURS, "ours", CA), elsewhere.read("root"));
    let mut der = cross.as_der().to_vec();
    // One bit of the serial number.
    der[20] ^= 1;
    let forged = Certificate::from_der(&der).unwrap();
    let problem = check(&[&forged, &root], &ca).unwrap_err();
    assert!(matches!(problem, ChainProblem::NotSigned { .. }), "{problem}");
}
