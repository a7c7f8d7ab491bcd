//! Keys and sets of keys.
//!
//! What is parsed is the same when it is written and parsed again, has one thumbprint, and a SubjectPublicKeyInfo that
//! others can read.

use chancery_jose::{Algorithm, Jwk, JwkSet, Verifier as _, base64url};
use chancery_pki::SubscriberKey;
use x509_parser::prelude::{FromDer as _, SubjectPublicKeyInfo};

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "jwk", run, form: Form::Json, words: include_str!("../../words/jwk.dict") };

fn run(input: &[u8]) {
    if let Ok(key) = Jwk::parse(input) {
        let text = key.to_canonical_json();
        let again = Jwk::parse(text.as_bytes()).expect("what we write can be read");
        assert_eq!(again, key);
        assert_eq!(again.to_canonical_json(), text);
        assert_eq!(again.thumbprint(), key.thumbprint());
        for integer in ["n", "e"] {
            let octets = key.to_value()[integer].as_str().and_then(base64url::decode);
            assert_ne!(octets.as_deref().and_then(<[u8]>::first), Some(&0), "{integer} has a second spelling");
        }
        let spki = key.to_spki();
        let (rest, _) = SubjectPublicKeyInfo::from_der(&spki).expect("others can read its SubjectPublicKeyInfo");
        assert!(rest.is_empty());
        // A CSR has the key of an account where the one knows the other by its thumbprint.
        if let Ok(same) = SubscriberKey::from_spki(&spki) {
            assert_eq!(same.thumbprint(), key.thumbprint());
        }
        for alg in Algorithm::ALL {
            assert!(key.verify(*alg, input, input).is_err(), "a random signature verifies");
        }
    }
    if let Ok(set) = JwkSet::parse(input) {
        let again = JwkSet::parse(set.to_value().to_string().as_bytes()).expect("what we write can be read");
        assert_eq!(again, set);
        for key in &set.keys {
            for alg in Algorithm::ALL {
                let found = set.find(key.kid.as_deref(), *alg);
                assert!(!alg.is_hmac() || found.is_empty(), "a public key is offered for an HMAC");
            }
        }
    }
}
