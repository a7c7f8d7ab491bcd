//! Every lint is seen to fire: good drafts, altered in one place.

mod extensions;
mod fields;
mod transparency;

use std::sync::{Arc, LazyLock};

use chancery_domain::{Entropy, Identifier, KeyType};

use crate::{
    CaName, CaPolicy, CrlShards, Draft, Issuer, IssuerError, IssuerUrls, IssuingCa, KeyAlgorithm, NameRules, PkiError,
    PolicyId, PrivateKey, Purpose, Serial, Signer, SubscriberKey, SubscriberProfile, Terms, Validity, draft::Stage,
    issuing, root,
};

/// 2026-06-01T00:00:00Z.
const NOW: i64 = 1_780_272_000;
const DAY: i64 = 86_400;

const KEY_USAGE: usize = 0;
const PURPOSES: usize = 1;
const AUTHORITY_KEY_ID: usize = 2;
const AUTHORITY_INFO: usize = 3;
const NAMES: usize = 4;
const POLICIES: usize = 5;
const CRL: usize = 6;

struct Constant(u8);

impl Entropy for Constant {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(self.0);
    }
}

/// What drafts are made of and held against.
#[derive(Clone)]
struct Case {
    issuer: Issuer,
    profile: SubscriberProfile,
    urls: IssuerUrls,
    names: Vec<Identifier>,
    key: SubscriberKey,
    now: i64,
}

static EC: LazyLock<Case> = LazyLock::new(|| case(KeyAlgorithm::EcP256, KeyAlgorithm::EcP256));

fn case(issuer: KeyAlgorithm, subscriber: KeyAlgorithm) -> Case {
    let name = |text: &str| CaName::new("XX", "Tests", text).unwrap();
    let key = |algorithm| Arc::new(PrivateKey::generate(algorithm).unwrap());
    let validity = |days| Validity::days(NOW - 100 * DAY, days).unwrap();
    let root_key = key(KeyAlgorithm::EcP384);
    let root = root(&*root_key, &name("Root"), validity(4000), Serial::draw(&Constant(1))).unwrap();
    let root = Issuer::new(root, root_key).unwrap();
    let issuer_key = key(issuer);
    let ca = IssuingCa {
        subject: &name("Issuing"),
        spki: issuer_key.spki(),
        validity: validity(2000),
        serial: Serial::draw(&Constant(2)),
        policy: CaPolicy::DomainValidated,
        purposes: &[],
        ca_issuers_url: None,
        crl_url: None,
    };
    Case {
        issuer: Issuer::new(issuing(&root, &ca).unwrap(), issuer_key).unwrap(),
        profile: SubscriberProfile::tls(90),
        urls: IssuerUrls {
            ca_issuers: Some("http://ca.example/1.cer".to_owned()),
            ocsp: Some("http://ocsp.example/1".to_owned()),
            crl: Some(CrlShards::new("http://crl.example/1", 8)),
        },
        names: ["example.com", "*.example.com", "1.1.1.1"].map(|name| Identifier::parse(name).unwrap()).to_vec(),
        key: SubscriberKey::from_spki(key(subscriber).spki()).unwrap(),
        now: NOW,
    }
}

impl Case {
    fn terms(&self) -> Terms<'_> {
        let Self { issuer, profile, urls, names, key, now } = self;
        Terms { issuer, profile, urls, names, key, now: *now }
    }

    fn draft(&self) -> Draft {
        let validity = Validity::days(NOW - 3600, self.profile.validity_days).unwrap();
        Draft::subscriber(&self.terms(), validity, Serial::draw(&Constant(7)), None).unwrap()
    }

    /// The lints that fire on these bytes, each once.
    fn lints(&self, tbs: &[u8]) -> Vec<&'static str> {
        let mut lints: Vec<_> =
            crate::lint::findings(tbs, Stage::Certificate, &self.terms()).iter().map(|finding| finding.lint).collect();
        lints.dedup();
        lints
    }

    /// The lints that fire on a good draft after this change.
    fn after(&self, change: impl FnOnce(&mut Parts)) -> Vec<&'static str> {
        let mut parts = Parts::of(self.draft().tbs_der());
        change(&mut parts);
        self.lints(&parts.join())
    }
}

/// A TBSCertificate taken apart.
struct Parts {
    version: Vec<u8>,
    serial: Vec<u8>,
    signature: Vec<u8>,
    issuer: Vec<u8>,
    validity: Vec<u8>,
    subject: Vec<u8>,
    spki: Vec<u8>,
    /// Between the key and the extensions.
    unique_ids: Vec<u8>,
    extensions: Vec<Vec<u8>>,
}

impl Parts {
    fn of(tbs: &[u8]) -> Self {
        let fields = elements(value(tbs));
        let [version, serial, signature, issuer, validity, subject, spki, extensions] = fields.try_into().unwrap();
        let extensions = elements(value(value(&extensions)));
        Self { version, serial, signature, issuer, validity, subject, spki, unique_ids: Vec::new(), extensions }
    }

    fn join(&self) -> Vec<u8> {
        let extensions = tlv(0xa3, &[&tlv(0x30, &[&self.extensions.concat()])]);
        let Self { version, serial, signature, issuer, validity, subject, spki, unique_ids, .. } = self;
        tlv(0x30, &[version, serial, signature, issuer, validity, subject, spki, unique_ids, &extensions])
    }

    /// Replaces the value of an extension.
    fn set(&mut self, extension: usize, new: &[u8]) {
        let mut fields = elements(value(&self.extensions[extension]));
        *fields.last_mut().unwrap() = tlv(0x04, &[new]);
        self.extensions[extension] = tlv(0x30, &[&fields.concat()]);
    }

    fn get(&self, extension: usize) -> Vec<u8> {
        value(elements(value(&self.extensions[extension])).last().unwrap()).to_vec()
    }
}

fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let value = parts.concat();
    let length = match value.len() {
        short @ 0..128 => vec![u8::try_from(short).unwrap()],
        128..256 => vec![0x81, u8::try_from(value.len()).unwrap()],
        long => [&[0x82], &u16::try_from(long).unwrap().to_be_bytes()[..]].concat(),
    };
    [&[tag], length.as_slice(), &value].concat()
}

/// The length of the header and of the value.
fn lengths(der: &[u8]) -> (usize, usize) {
    match der[1] {
        0x82 => (4, usize::from(u16::from_be_bytes([der[2], der[3]]))),
        0x81 => (3, usize::from(der[2])),
        short => (2, usize::from(short)),
    }
}

fn value(der: &[u8]) -> &[u8] {
    &der[lengths(der).0..]
}

fn elements(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut elements = Vec::new();
    while !bytes.is_empty() {
        let (header, value) = lengths(bytes);
        let (element, rest) = bytes.split_at(header + value);
        elements.push(element.to_vec());
        bytes = rest;
    }
    elements
}

fn validity(first: i64, last: i64) -> Vec<u8> {
    let validity = Validity::lasting(first, last - first + 1).unwrap();
    der::Encode::to_der(&validity.encode().unwrap()).unwrap()
}

fn uri(text: &str) -> Vec<u8> {
    tlv(0x86, &[text.as_bytes()])
}

#[test]
fn good_drafts_of_every_kind_have_no_findings() {
    use KeyAlgorithm::{EcP256, EcP384, Rsa2048};
    for (issuer, subscriber) in [(EcP256, Rsa2048), (EcP384, EcP256), (Rsa2048, EcP384)] {
        let case = case(issuer, subscriber);
        for profile in [
            case.profile.clone(),
            SubscriberProfile { common_name: true, subject_key_id: true, ..case.profile.clone() },
            SubscriberProfile { key_encipherment: true, validity_days: 199, ..case.profile.clone() },
            SubscriberProfile {
                public: false,
                policies: vec![],
                purposes: vec![Purpose::ServerAuth, Purpose::ClientAuth],
                validity_days: 800,
                ..case.profile.clone()
            },
        ] {
            let case = Case { profile, ..case.clone() };
            assert_eq!(crate::lint::findings(case.draft().tbs_der(), Stage::Certificate, &case.terms()), []);
            // Taking apart and putting together changes nothing.
            assert_eq!(case.after(|_| {}), [""; 0]);
        }
    }
    let bare = SubscriberProfile { public: false, policies: vec![], ..EC.profile.clone() };
    let bare = Case { profile: bare, urls: IssuerUrls::default(), ..EC.clone() };
    assert_eq!(bare.after(|_| {}), [""; 0]);
}

#[test]
fn i3_a_stored_draft_is_linted_again_and_signed_as_it_is() {
    let stored = EC.draft().tbs_der().to_vec();
    let draft = Draft::from_stored(&stored).unwrap();
    assert_eq!((draft.serial(), draft.validity()), (EC.draft().serial(), EC.draft().validity()));
    let linted = draft.lint(&EC.terms()).unwrap();
    assert_eq!(linted.tbs_der(), stored);
    let signed = EC.issuer.sign(linted).unwrap();
    let der = signed.certificate().as_der();
    assert!(der.windows(stored.len()).any(|window| window == stored));

    let mut altered = stored.clone();
    let at = stored.windows(11).position(|window| window == b"example.com").unwrap();
    altered[at..at + 11].copy_from_slice(b"example.org");
    let findings = Draft::from_stored(&altered).unwrap().lint(&EC.terms()).unwrap_err();
    assert!(findings.iter().all(|finding| finding.lint == "names"), "{findings:?}");
    assert!(Draft::from_stored(&stored[1..]).is_err());
    // Another day: it begins too long ago for a public certificate.
    let late = Case { now: NOW + 3 * DAY, ..EC.clone() };
    assert_eq!(late.lints(&stored), ["not_before"]);
}

#[test]
fn an_issuer_signs_only_what_was_linted_for_it() {
    let other = case(KeyAlgorithm::EcP256, KeyAlgorithm::EcP256);
    let linted = EC.draft().lint(&EC.terms()).unwrap();
    assert!(matches!(other.issuer.sign(linted), Err(PkiError::Issuer(IssuerError::OtherIssuer))));
    let moved = Case { issuer: other.issuer, ..EC.clone() };
    assert_eq!(moved.lints(EC.draft().tbs_der()), ["authority_key_id"]);
}

#[test]
fn what_is_no_certificate_is_malformed() {
    let good = EC.draft().tbs_der().to_vec();
    assert_eq!(EC.lints(b""), ["malformed"]);
    assert_eq!(EC.lints(&good[..good.len() - 1]), ["malformed"]);
    assert_eq!(EC.lints(&[good.as_slice(), &[0]].concat()), ["malformed"]);
}

#[test]
fn encodings_other_than_der_are_found() {
    // A length in two octets where one would do; BOOLEAN TRUE as 1; a BIT STRING of flags with a trailing zero.
    let long_form = |parts: &mut Parts| parts.serial = [&[0x02, 0x81], &parts.serial[1..]].concat();
    assert!(EC.after(long_form).contains(&"not_der"));
    let sloppy_true = |parts: &mut Parts| {
        let at = parts.extensions[KEY_USAGE].windows(3).position(|window| window == [1, 1, 0xff]).unwrap();
        parts.extensions[KEY_USAGE][at + 2] = 1;
    };
    let found = EC.after(sloppy_true);
    assert!(found.contains(&"not_der") || found.contains(&"malformed"), "{found:?}");
    assert_eq!(EC.after(|parts| parts.set(KEY_USAGE, b"\x03\x02\x00\x80")), ["not_der"]);
    let explicit_false = |parts: &mut Parts| {
        let mut fields = elements(value(&parts.extensions[PURPOSES]));
        fields.insert(1, vec![1, 1, 0]);
        parts.extensions[PURPOSES] = tlv(0x30, &[&fields.concat()]);
    };
    assert_eq!(EC.after(explicit_false), ["not_der"]);
}

#[test]
fn i3_no_altered_byte_goes_unnoticed_and_none_panics() {
    let good = EC.draft().tbs_der().to_vec();
    for at in 0..good.len() {
        let mut altered = good.clone();
        altered[at] ^= 1;
        let found = EC.lints(&altered);
        // What a lint cannot know: a serial number is as good as another, and so is a second.
        let serial = good.windows(20).position(|window| window == EC.draft().serial().as_bytes()).unwrap();
        let in_serial = (serial..serial + 20).contains(&at);
        let in_time = good.windows(13).enumerate().any(|(start, window)| {
            window.last() == Some(&b'Z')
                && window[..12].iter().all(u8::is_ascii_digit)
                && (start..start + 12).contains(&at)
        });
        assert!(!found.is_empty() || in_serial || in_time, "byte {at}");
    }
}
