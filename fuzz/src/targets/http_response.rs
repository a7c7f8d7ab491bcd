//! What web servers answer to http-01.
//!
//! Whatever bytes come, there is an answer or a refusal at once, and no body is longer than what is allowed.

use std::sync::LazyLock;

use chancery_dcv::parsers::{WebPage, page};
use url::Url;

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "http_response", run, form: Form::Text, words: include_str!("../../words/http_response.dict") };

static FROM: LazyLock<Url> = LazyLock::new(|| Url::parse("http://example.test/token").expect("it is a URL"));

fn run(input: &[u8]) {
    match page(input, &FROM) {
        Ok(WebPage { status, location, body }) => {
            assert!((100..1000).contains(&status));
            assert!(body.len() <= 64 * 1024 && (status == 200 || body.is_empty()));
            assert!(location.is_none_or(|location| !location.contains(&b'\n')));
        }
        Err(why) => assert!(!why.is_empty()),
    }
}
