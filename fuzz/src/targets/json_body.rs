//! The JSON bodies of the reseller API.
//!
//! What is taken is what serde_json would read too, and is the same when it is written and read again; what is refused
//! is the client's fault, with a few problems, each with its place.

use chancery_http::{ApiError, parsers::json_body};
use chancery_wire as wire;
use serde_json::{Value, from_slice, to_vec};

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "json_body", run, form: Form::Json, words: include_str!("../../words/json_body.dict") };

macro_rules! each {
    ($input:expr, $($kind:ident)*) => {$(
        match json_body::<wire::$kind, _>($input, Ok) {
            Ok(read) => {
                assert_eq!(from_slice::<wire::$kind>($input).expect("serde_json reads it too"), read);
                assert!($input.trim_ascii_start().starts_with(b"{"), "a list is taken for an object");
                let text = to_vec(&read).expect("wire types are JSON");
                let again = json_body::<wire::$kind, _>(&text, Ok).expect("what we write can be read");
                assert_eq!(again, read);
                // Without what stands for a backslash, behind which the same letters mean themselves.
                let escapes = String::from_utf8_lossy(&text).replace(r"\\", "");
                assert!(!escapes.contains(r"\u0000"), "U+0000 gets through");
            }
            Err(error) => refused(&error),
        }
    )*};
}

fn run(input: &[u8]) {
    each!(input,
        ResellerAccountRequest ResellerUpdateAccountRequest ResellerValidateCsrRequest
        ResellerRevokeCertificateRequest EabCredentialRequest ResellerAccountGroupRequest
        ResellerAccountGroupMembersRequest ResellerOrderRequest IssuancePolicy PolicyEvaluationRequest);
    if json_body::<Value, _>(input, Ok).is_ok() {
        assert!(from_slice::<Value>(input).is_ok(), "what we take is JSON");
    }
}

pub(super) fn refused(error: &ApiError) {
    assert_eq!(error.status().as_u16(), 400);
    assert!(!error.message().is_empty());
}
