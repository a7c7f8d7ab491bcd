//! The names of certificates for renewal information (RFC 9773 section 4.1).
//!
//! A certificate has one name: what is read, written by the rules of the RFC, is the text that was sent.

use chancery_service::parsers::renewal_name;
use data_encoding::{BASE64URL_NOPAD, HEXLOWER};

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "renewal", run, form: Form::Text, words: include_str!("../../words/renewal.dict") };

fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Some((key_id, serial)) = renewal_name(text) else { return };
    let mut serial = HEXLOWER.decode(serial.as_bytes()).expect("a serial number is hexadecimal");
    assert!(serial.first().is_some_and(|first| *first != 0), "the serial number has a second spelling");
    if serial.first().is_some_and(|first| first & 0x80 != 0) {
        serial.insert(0, 0);
    }
    assert_eq!(format!("{}.{}", BASE64URL_NOPAD.encode(&key_id), BASE64URL_NOPAD.encode(&serial)), text);
}
