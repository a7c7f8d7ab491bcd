//! Certificates that operators and clients hand in.
//!
//! What is read keeps its bytes, through PEM as well; what another parser reads differently is not told.

use chancery_pki::{Certificate, chain_to_pem, inspect};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "certificate", run, form: Form::Der, words: include_str!("../../words/certificate.dict") };

fn run(input: &[u8]) {
    if let Ok(text) = std::str::from_utf8(input)
        && let Ok(chain) = Certificate::chain_from_pem(text)
    {
        let again = Certificate::chain_from_pem(&chain_to_pem(&chain)).expect("what we write can be read");
        let der = |chain: &[Certificate]| chain.iter().map(|each| each.as_der().to_vec()).collect::<Vec<_>>();
        assert_eq!(der(&again), der(&chain));
        chain.iter().for_each(look);
    }
    if let Ok(certificate) = Certificate::from_der(input) {
        assert_eq!(certificate.as_der(), input);
        assert_eq!(Certificate::from_pem(&certificate.to_pem()).expect("what we write can be read").as_der(), input);
        look(&certificate);
        let _ = inspect(input);
    }
}

fn look(certificate: &Certificate) {
    let Ok(info) = certificate.info() else { return };
    assert_eq!((info.not_before, info.not_after), (certificate.not_before(), certificate.not_after()));
    assert!(info.serial.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert!(certificate.spki().is_ok());
    let _ = format!("{certificate:?}");
    let Ok((_, other)) = X509Certificate::from_der(certificate.as_der()) else { return };
    assert_eq!(other.validity().not_before.timestamp(), info.not_before);
    assert_eq!(other.validity().not_after.timestamp(), info.not_after);
}
