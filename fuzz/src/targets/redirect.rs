//! Where redirects lead.
//!
//! Wherever one may lead: by http or https, to port 80 or 443 of a host, for nobody in particular; and what is
//! followed means the same when it is read once more.

use std::sync::LazyLock;

use chancery_dcv::parsers::redirect;
use url::Url;

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "redirect", run, form: Form::Text, words: include_str!("../../words/redirect.dict") };

static FROM: LazyLock<Url> =
    LazyLock::new(|| Url::parse("http://example.test/.well-known/acme-challenge/token").expect("it is a URL"));

fn run(input: &[u8]) {
    let to = match redirect(&FROM, input) {
        Ok(to) => to,
        Err(why) => {
            assert!(!why.contains(['\n', '\r', '\u{1b}']), "what a stranger sent moves the cursor: {why:?}");
            return;
        }
    };
    assert!(matches!(to.scheme(), "http" | "https"));
    assert!(matches!(to.port_or_known_default(), Some(80 | 443)));
    assert!(to.username().is_empty() && to.password().is_none() && to.fragment().is_none());
    assert!(to.host_str().is_some_and(|host| !host.is_empty()));
    assert_eq!(redirect(&FROM, to.as_str().as_bytes()).as_ref(), Ok(&to), "it leads elsewhere the second time");
}
