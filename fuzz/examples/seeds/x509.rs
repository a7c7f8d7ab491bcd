//! Requests, certificates and keys of every kind.

use chancery_domain::Identifier;
use chancery_fuzz::chain;
use chancery_fuzz::fixed::{DIGEST, NAME, X509, pkcs8, signed, tlv};
use chancery_pki::{Certificate, KeyAlgorithm, PrivateKey, Signer as _, make_request};
use chancery_testkit::der::{HandMade, alt_names, dns_name, extension, ip_address};
use data_encoding::{BASE64, BASE64_MIME, HEXLOWER};

use crate::keep;

const ECDSA_SHA256: &[u8] = b"\x30\x0a\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02";
const ACME_IDENTIFIER: [u32; 9] = [1, 3, 6, 1, 5, 5, 7, 1, 31];

pub(crate) fn write() {
    let names = ["example.test", "*.example.test", "xn--bcher-kva.example", "192.0.2.1", "2001:db8::1"];
    let names = names.map(|name| Identifier::parse(name).expect("it is a name"));
    for algorithm in KeyAlgorithm::ALL {
        let key = PrivateKey::generate(algorithm).expect("there is randomness");
        let name = format!("{algorithm:?}").to_lowercase();
        let request = make_request(&key, &names).expect("it can be made");
        keep("csr", &format!("{name}.der"), &request);
        keep("public_key", &name, key.public_key_info());
        keep("private_key", &name, &*key.to_pkcs8().expect("it can be written"));
    }
    keep("private_key", "p256-without-public-key", pkcs8());
    let request = make_request(&*X509, &names).expect("it can be made");
    let lines = BASE64_MIME.encode(&request);
    keep(
        "csr",
        "request.pem",
        format!("-----BEGIN CERTIFICATE REQUEST-----\n{lines}\n-----END CERTIFICATE REQUEST-----\n"),
    );
    keep("csr", "request.base64", BASE64.encode(&request));
    infos();
    certificates();
    chains();
    ocsp();
    keep("public_key", "blocklist", format!("# ours\n{}\n\n0123456789abcdef0123\n", HEXLOWER.encode(&[9; 32])));
}

/// What is signed in a request: the target signs it.
fn infos() {
    let common_name = |tag: u8, text: &[u8]| {
        let attribute = tlv(0x30, &[&tlv(0x06, &[&[0x55, 4, 3]]), &tlv(tag, &[text])]);
        tlv(0x30, &[&tlv(0x31, &[&attribute])])
    };
    let info = |subject: &[u8], extensions: &[Vec<u8>]| {
        let list = tlv(0x30, &[&extensions.concat()]);
        let id = tlv(0x06, &[b"\x2a\x86\x48\x86\xf7\x0d\x01\x09\x0e"]);
        let attributes = tlv(0xa0, &[&tlv(0x30, &[&id, &tlv(0x31, &[&list])])]);
        tlv(0x30, &[&[2, 1, 0], subject, X509.spki(), &attributes])
    };
    let none = tlv(0x30, &[]);
    let both = alt_names(&[dns_name("example.test"), ip_address(&[192, 0, 2, 1])]);
    keep("csr", "info-names", info(&none, std::slice::from_ref(&both)));
    keep("csr", "info-common-name", info(&common_name(0x0c, b"example.test"), std::slice::from_ref(&both)));
    keep("csr", "info-bmp-name", info(&common_name(0x1e, b"\0e\0x"), std::slice::from_ref(&both)));
    let ca = extension(&[2, 5, 29, 19], true, &tlv(0x30, &[&[1, 1, 0xff]]));
    let not_ca = extension(&[2, 5, 29, 19], true, &tlv(0x30, &[]));
    let usage = extension(&[2, 5, 29, 15], true, &tlv(0x03, &[&[5, 0xa0]]));
    keep("csr", "info-ca", info(&none, &[both.clone(), ca]));
    keep("csr", "info-usage", info(&none, &[usage, both.clone(), not_ca]));
    keep(
        "csr",
        "info-must-staple",
        info(&none, &[both, extension(&[1, 3, 6, 1, 5, 5, 7, 1, 24], true, b"\x30\x03\x02\x01\x05")]),
    );
    let others = [tlv(0x81, &[b"a@example.test"]), tlv(0x86, &[b"https://example.test/"]), dns_name("a.test")];
    keep("csr", "info-other-names", info(&none, &[alt_names(&others)]));
    keep("csr", "info-no-attributes", tlv(0x30, &[&[2, 1, 0], &none, X509.spki()]));
}

fn certificates() {
    let name = tlv(0x30, &[&tlv(0x31, &[&tlv(0x30, &[&tlv(0x06, &[&[0x55, 4, 3]]), &tlv(0x0c, &[b"fuzz"])])])]);
    let validity = tlv(0x30, &[&tlv(0x17, &[b"200101000000Z"]), &tlv(0x18, &[b"20501231235959Z"])]);
    let tbs = |extensions: &[Vec<u8>]| {
        let version = tlv(0xa0, &[&[2, 1, 2]]);
        let extensions = tlv(0xa3, &[&tlv(0x30, &[&extensions.concat()])]);
        tlv(0x30, &[&version, &[2, 1, 0x2a], ECDSA_SHA256, &name, &validity, &name, X509.spki(), &extensions])
    };
    let acme = |critical| extension(&ACME_IDENTIFIER, critical, &tlv(0x04, &[&DIGEST]));
    let dns = tbs(&[alt_names(&[dns_name(NAME)]), acme(true)]);
    keep("tls_alpn", "certificate-dns", signed(&dns));
    keep("tls_alpn", "tbs-dns", dns);
    keep("tls_alpn", "tbs-ip", tbs(&[acme(true), alt_names(&[ip_address(&[192, 0, 2, 1])])]));
    keep("tls_alpn", "tbs-not-critical", tbs(&[alt_names(&[dns_name("EXAMPLE.test")]), acme(false)]));
    keep("tls_alpn", "tbs-two-names", tbs(&[alt_names(&[dns_name(NAME), dns_name("other.test")]), acme(true)]));
    let (by_another_key, _) = HandMade::new(vec![alt_names(&[dns_name(NAME)]), acme(true)]).make();
    keep("tls_alpn", "certificate-another-key", &by_another_key);
    let constraints = extension(&[2, 5, 29, 19], true, &tlv(0x30, &[&[1, 1, 0xff], &[2, 1, 0]]));
    let ca = signed(&tbs(&[constraints, extension(&[2, 5, 29, 14], false, &tlv(0x04, &[&[5; 20]]))]));
    keep("certificate", "ca", &ca);
    keep("certificate", "server", &by_another_key);
    let pem = Certificate::from_der(&ca).expect("it is a certificate").to_pem();
    keep("certificate", "chain.pem", format!("text before\n{pem}{pem}"));
}

/// What is signed in the certificates of chains: the target signs it.
fn chains() {
    let joined = |all: &[&Certificate]| {
        let each = all.iter().map(|each| chain::contents(each).expect("it is a certificate").to_vec());
        each.collect::<Vec<_>>().concat()
    };
    let other = chain::named_root("Other Root").expect("it can be made");
    let cross = chain::below(&other, "CA").expect("it can be made");
    let known = &chain::KNOWN;
    keep("chain", "cross", joined(&[&cross, other.certificate()]));
    keep("chain", "own", joined(&[&known.ca, &known.root]));
    keep("chain", "without-root", joined(&[&known.ca]));
    let between = chain::below(&other, "Root").expect("it can be made");
    keep("chain", "longer", joined(&[&known.ca, &between, other.certificate()]));
    keep("chain", "upside-down", joined(&[other.certificate(), &cross]));
    keep("chain", "cross.pem", cross.to_pem() + &other.certificate().to_pem());
}

fn ocsp() {
    const SHA1: &[u8] = b"\x30\x09\x06\x05\x2b\x0e\x03\x02\x1a\x05\x00";
    const SHA256: &[u8] = b"\x30\x0b\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01";
    let id = |hash: &[u8], length: usize| {
        let digest = tlv(0x04, &[&vec![3; length]]);
        tlv(0x30, &[&tlv(0x30, &[hash, &digest, &digest, &tlv(0x02, &[&[0x11; 16]])])])
    };
    let request =
        |ids: &[Vec<u8>], extensions: &[u8]| tlv(0x30, &[&tlv(0x30, &[&tlv(0x30, &[&ids.concat()]), extensions])]);
    let nonce = extension(&[1, 3, 6, 1, 5, 5, 7, 48, 1, 2], false, &tlv(0x04, &[&[7; 32]]));
    let nonce = tlv(0xa2, &[&tlv(0x30, &[&nonce])]);
    keep("ocsp", "one", request(&[id(SHA1, 20)], b""));
    keep("ocsp", "two-with-nonce", request(&[id(SHA1, 20), id(SHA256, 32)], &nonce));
    keep("ocsp", "path", BASE64.encode(&request(&[id(SHA1, 20)], b"")));
    keep(
        "ocsp",
        "path-escaped",
        BASE64.encode(&request(&[id(SHA1, 20)], &nonce)).replace('+', "%2B").replace('/', "%2F"),
    );
}
