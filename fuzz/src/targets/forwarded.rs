//! What proxies say whose request they pass on.
//!
//! Nobody but a trusted proxy is believed. What a client writes itself stands before what the proxies add, and changes
//! nothing: with an address of its own at the end, that is the client, whatever comes before.

use std::net::SocketAddr;
use std::sync::LazyLock;

use chancery_http::parsers::forwarded;
use chancery_http::{ProxyHeader, TrustedProxies};
use http::header::{FORWARDED, HeaderName};
use http::{HeaderMap, HeaderValue};

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "forwarded", run, form: Form::Text, words: include_str!("../../words/forwarded.dict") };

static PROXIES: LazyLock<[TrustedProxies; 2]> = LazyLock::new(|| {
    [ProxyHeader::XForwardedFor, ProxyHeader::Forwarded].map(|header| {
        let networks = ["10.0.0.0/8", "fd00::/8"].map(|text| text.parse().expect("it is a network"));
        TrustedProxies { networks: networks.into(), header, announce: false }
    })
});

fn run(input: &[u8]) {
    let lines = input.split(|byte| *byte == b'\n').take(10).filter_map(|line| HeaderValue::from_bytes(line).ok());
    let lines: Vec<_> = lines.collect();
    let peer = |text: &str| text.parse::<SocketAddr>().expect("it is an address");
    for proxies in &*PROXIES {
        let (name, added) = match proxies.header {
            ProxyHeader::XForwardedFor => (HeaderName::from_static("x-forwarded-for"), "192.0.2.7"),
            ProxyHeader::Forwarded => (FORWARDED, "for=192.0.2.7"),
        };
        let mut headers = HeaderMap::new();
        for line in &lines {
            headers.append(&name, line.clone());
        }
        let stranger = peer("203.0.113.1:5");
        assert_eq!(forwarded(proxies, stranger, &headers), stranger, "a stranger is believed");
        let _ = forwarded(proxies, peer("10.0.0.1:5"), &headers);
        headers.append(&name, HeaderValue::from_static(added));
        let told = forwarded(proxies, peer("10.0.0.1:5"), &headers);
        assert_eq!(told.ip().to_string(), "192.0.2.7", "what the client wrote is believed");
    }
}
