//! OCSP requests, as the body of a POST and in the path of a GET.
//!
//! A request says the same both ways; nonces and serial numbers that come out are of the lengths that are allowed.

use chancery_pki::{MAX_OCSP_REQUEST_BYTES, OcspFailure, OcspRequest};
use data_encoding::{BASE64, BASE64URL_NOPAD};

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "ocsp", run, form: Form::Der, words: include_str!("../../words/ocsp.dict") };

fn run(input: &[u8]) {
    if let Ok(path) = std::str::from_utf8(input)
        && let Ok(request) = OcspRequest::from_path(path)
    {
        look(&request);
    }
    match OcspRequest::parse(input) {
        Ok(request) => {
            look(&request);
            assert!(input.len() <= MAX_OCSP_REQUEST_BYTES);
            let plain = BASE64.encode(input);
            let escaped = plain.replace('+', "%2B").replace('/', "%2f").replace('=', "%3D");
            for path in [plain, escaped, BASE64URL_NOPAD.encode(input)] {
                assert_eq!(OcspRequest::from_path(&path).as_ref(), Ok(&request), "{path}");
            }
        }
        Err(failure) => assert_eq!(failure, OcspFailure::MalformedRequest),
    }
}

fn look(request: &OcspRequest) {
    assert!((1..=16).contains(&request.certificates.len()));
    assert!(request.nonce.as_ref().is_none_or(|nonce| (1..=128).contains(&nonce.len())));
    for id in &request.certificates {
        assert!(id.serial().is_none_or(|serial| (1..=20).contains(&serial.as_bytes().len())));
    }
}
