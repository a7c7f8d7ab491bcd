//! Whatever comes in, nothing panics.

use crate::common::{Ca, NAMES, NOW, identifiers, serial, subscriber_key};
use chancery_domain::Identifier;
use chancery_pki::{
    Certificate, Draft, KeyAlgorithm, KeyBlocklist, SubscriberKey, SubscriberProfile, Terms, Validity,
    check_acme_identifier,
};
use proptest::prelude::*;

thread_local! {
    static CA: (Ca, SubscriberKey, Vec<Identifier>) =
        (Ca::new(KeyAlgorithm::EcP256), subscriber_key(KeyAlgorithm::EcP256), identifiers(&NAMES));
}

/// A good draft, altered by the function; linted if it can still be read.
fn lint(alter: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    CA.with(|(ca, key, names)| {
        let profile = SubscriberProfile::tls(90);
        let terms = Terms { issuer: &ca.issuer, profile: &profile, urls: &ca.urls, names, key, now: NOW };
        let draft = Draft::subscriber(&terms, Validity::days(NOW, 90).unwrap(), serial(), None).unwrap();
        if let Ok(draft) = Draft::from_stored(&alter(draft.tbs_der().to_vec())) {
            let _ = draft.lint(&terms);
        }
    });
}

fn look(bytes: &[u8]) {
    let _ = Draft::from_stored(bytes);
    let _ = SubscriberKey::from_spki(bytes);
    let _ = Certificate::from_der(bytes);
    let _ = KeyBlocklist::read(bytes);
    let _ = check_acme_identifier(bytes, &Identifier::parse("example.com").unwrap(), &[0; 32]);
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        look(&bytes);
        let header = [0x30, 0x82, 0, 0];
        let mut wrapped = [&header[..], &bytes].concat();
        wrapped[2..4].copy_from_slice(&u16::try_from(bytes.len()).unwrap().to_be_bytes());
        look(&wrapped);
    }

    #[test]
    fn no_altered_draft_panics(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        lint(|mut tbs| {
            let at = at.index(tbs.len());
            tbs[at] = byte;
            tbs
        });
        lint(|mut tbs| {
            tbs.remove(cut.index(tbs.len()));
            tbs
        });
    }

    #[test]
    fn no_altered_certificate_panics(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let der = CA.with(|(ca, ..)| ca.issuer.certificate().as_der().to_vec());
        let mut altered = der.clone();
        altered[at.index(der.len())] = byte;
        look(&altered);
        look(&der[..at.index(der.len())]);
    }
}
