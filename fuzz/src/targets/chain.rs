//! Chains that an operator adds for a CA (`chancery ca add-chain`).
//!
//! The input is what is signed in certificates, one after the other: the target signs each with the one key that all CAs
//! here have. A chain that is taken begins with the CA, leads from each to the next up to a root, is of CAs alone that are
//! valid, and is the same when it is written and read again. With a changed bit in any signature it is not taken.

use std::sync::{Arc, LazyLock};

use chancery_domain::Entropy;
use chancery_pki::{CaName, CaPolicy, Certificate, Issuer, IssuerChain, IssuingCa, PrivateKey, Serial, Validity};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::fixed::{X509, pkcs8, signed};
use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "chain", run, form: Form::Der, words: include_str!("../../words/chain.dict") };

const NOW: i64 = 1_800_000_000;
/// More are refused anyway.
const MOST: usize = 12;

/// The CA that chains are for, and the root that is known.
pub struct Known {
    pub ca: Certificate,
    pub root: Certificate,
}

/// The same serial number for all: they are never compared.
struct Sevens;

impl Entropy for Sevens {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

pub static KNOWN: LazyLock<Known> = LazyLock::new(|| known().expect("they can be made"));

fn known() -> Option<Known> {
    let root = named_root("Root")?;
    Some(Known { ca: below(&root, "CA")?, root: root.certificate().clone() })
}

/// A root with the fixed key.
pub fn named_root(name: &str) -> Option<Issuer> {
    let validity = Validity::days(NOW - 86_400, 3650).ok()?;
    let root = chancery_pki::root(&*X509, &ca_name(name)?, validity, Serial::draw(&Sevens)).ok()?;
    Issuer::new(root, Arc::new(PrivateKey::from_pkcs8(&pkcs8()).ok()?)).ok()
}

/// A CA with the fixed key below another.
pub fn below(issuer: &Issuer, name: &str) -> Option<Certificate> {
    let ca = IssuingCa {
        subject: &ca_name(name)?,
        spki: &issuer.certificate().spki().ok()?,
        validity: Validity::days(NOW - 86_400, 365).ok()?,
        serial: Serial::draw(&Sevens),
        policy: CaPolicy::Any,
        purposes: &[],
        ca_issuers_url: None,
        crl_url: None,
    };
    chancery_pki::issuing(issuer, &ca).ok()
}

fn ca_name(name: &str) -> Option<CaName> {
    CaName::new("DE", "Fuzz", name).ok()
}

fn run(input: &[u8]) {
    let Known { ca, root } = &*KNOWN;
    if let Some(text) = std::str::from_utf8(input).ok().filter(|text| text.contains("-----BEGIN")) {
        let chain = Certificate::chain_from_pem(text).ok();
        let checked = chain.and_then(|chain| IssuerChain::check(chain, ca, std::slice::from_ref(root), NOW).ok());
        checked.iter().for_each(|chain| look(chain, ca));
        return;
    }
    let Some(certificates) = signed_each(input) else { return };
    let check = |certificates: Vec<Certificate>| IssuerChain::check(certificates, ca, std::slice::from_ref(root), NOW);
    let Ok(chain) = check(certificates.clone()) else { return };
    look(&chain, ca);
    for place in 0..certificates.len() {
        let mut der = certificates[place].as_der().to_vec();
        if let Some(last) = der.last_mut() {
            *last ^= 1;
        }
        let Ok(changed) = Certificate::from_der(&der) else { continue };
        let mut others = certificates.clone();
        others[place] = changed;
        assert!(check(others).is_err(), "a signature was changed");
    }
    assert!(check(certificates.iter().rev().cloned().collect()).is_err() || certificates.len() == 1, "upside down");
}

fn look(chain: &IssuerChain, ca: &Certificate) {
    let (served, top) = (chain.served(), chain.root().expect("there is a root"));
    let first = served.first().expect("something is sent");
    assert_eq!(names(first).0, names(ca).0);
    assert_eq!(first.spki().ok(), ca.spki().ok());
    assert!(served != std::slice::from_ref(ca), "it is the CA's own chain");
    let above = served.iter().skip(1).chain(Some(top));
    for (certificate, issuer) in served.iter().zip(above) {
        assert_eq!(names(certificate).1, names(issuer).0);
    }
    assert_eq!(names(top).0, names(top).1, "the last is no root");
    for certificate in served.iter().chain(Some(top)) {
        assert!(certificate.info().is_ok_and(|info| info.is_ca), "one is no CA");
        assert!((certificate.not_before()..=certificate.not_after()).contains(&NOW), "one is not valid");
        assert_eq!(served.iter().filter(|each| *each == certificate).count(), usize::from(certificate != top));
    }
    assert!(chain.not_after() >= NOW);
    let again = IssuerChain::from_pem(&chain.to_pem()).expect("what we write can be read");
    assert_eq!((again.fingerprint(), again.to_pem()), (chain.fingerprint(), chain.to_pem()));
}

/// The subject and the issuer, as another parser reads them.
fn names(certificate: &Certificate) -> (Vec<u8>, Vec<u8>) {
    let (_, read) = X509Certificate::from_der(certificate.as_der()).expect("another parser reads it as well");
    (read.subject().as_raw().to_vec(), read.issuer().as_raw().to_vec())
}

/// Each element of the input, signed.
pub fn signed_each(mut input: &[u8]) -> Option<Vec<Certificate>> {
    let mut certificates = Vec::new();
    while !input.is_empty() && certificates.len() < MOST {
        let (element, rest) = input.split_at_checked(length(input)?)?;
        certificates.push(Certificate::from_der(&signed(element)).ok()?);
        input = rest;
    }
    Some(certificates)
}

/// How long the element is that an input begins with.
fn length(input: &[u8]) -> Option<usize> {
    match *input {
        [_, short @ ..=0x7f, ..] => Some(2 + usize::from(short)),
        [_, 0x81, length, ..] => Some(3 + usize::from(length)),
        [_, 0x82, high, low, ..] => Some(4 + usize::from(u16::from_be_bytes([high, low]))),
        _ => None,
    }
}

/// What is signed in a certificate: how seeds are made.
pub fn contents(certificate: &Certificate) -> Option<&[u8]> {
    let der = certificate.as_der();
    // The header of the whole is four bytes long for any certificate here.
    let inner = der.get(4..)?;
    inner.get(..length(inner)?)
}
