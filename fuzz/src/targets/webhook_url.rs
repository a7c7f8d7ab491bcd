//! The addresses of webhooks.
//!
//! What strict rules take, lenient ones take. The sender's parser reads it, and finds the same host and port. It is shown
//! without its query, names no credentials, and where another parser reads it, that finds the same scheme, no credentials
//! and no fragment, and no address that is set aside.

use std::net::Ipv4Addr;

use chancery_domain::{WebhookUrl, WebhookUrlRules};
use http::Uri;
use url::{Host, Url};

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "webhook_url", run, form: Form::Text, words: include_str!("../../words/webhook_url.dict") };

const STRICT: WebhookUrlRules = WebhookUrlRules { plain_http: false, special_addresses: false };
const LENIENT: WebhookUrlRules = WebhookUrlRules { plain_http: true, special_addresses: true };

fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Ok(taken) = WebhookUrl::parse(text, LENIENT) {
        assert_eq!(taken.as_str(), text);
        assert!(!taken.shown().contains('?') && text.starts_with(taken.shown()));
        let sent: Uri = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let authority = text.split("://").nth(1).and_then(|rest| rest.split(['/', '?']).next());
        assert_eq!(sent.authority().map(|authority| authority.as_str()), authority);
        assert!(sent.host().is_some_and(|host| !host.is_empty()), "{text}");
    }
    if WebhookUrl::parse(text, STRICT).is_err() {
        return;
    }
    assert!(WebhookUrl::parse(text, LENIENT).is_ok(), "strict rules take more than lenient ones");
    let Ok(url) = Url::parse(text) else { return };
    assert_eq!((url.scheme(), url.username(), url.password(), url.fragment()), ("https", "", None, None));
    // Other spellings of an address are names here: where those lead is looked at when a message is sent.
    let authority = text.split("://").nth(1).and_then(|rest| rest.split(['/', '?', ':']).next());
    let is_written = |address: Ipv4Addr| authority == Some(address.to_string().as_str());
    match url.host() {
        Some(Host::Ipv4(address)) => assert!(!(address.is_loopback() && is_written(address)), "{text}"),
        Some(Host::Ipv6(address)) => assert!(!address.is_loopback() && !address.is_unspecified(), "{text}"),
        Some(Host::Domain(_)) | None => {}
    }
}
