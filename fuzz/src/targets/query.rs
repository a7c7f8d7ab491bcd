//! Query strings.
//!
//! What is taken is what another parser reads, and the same when it is written as a query again; what is refused is the
//! client's fault.

use chancery_http::parsers::query;
use serde_json::{Map, Value};
use url::form_urlencoded;

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "query", run, form: Form::Text, words: include_str!("../../words/query.dict") };

fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    match query::<Map<String, Value>>(text) {
        Ok(read) => {
            let others: Map<_, _> = form_urlencoded::parse(input)
                .map(|(name, value)| (name.into_owned(), Value::from(value.into_owned())))
                .collect();
            assert_eq!(read, others, "somebody else reads it differently");
            let pairs = read.iter().map(|(name, value)| {
                let value = value.as_str().expect("parameters are text");
                assert!(!name.contains('\0') && !value.contains('\0'));
                format!("{}={}", escaped(name), escaped(value))
            });
            let written = pairs.collect::<Vec<_>>().join("&");
            assert_eq!(query::<Map<String, Value>>(&written).expect("what we write can be read"), read);
        }
        Err(error) => super::json_body::refused(&error),
    }
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
