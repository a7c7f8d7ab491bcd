//! What proxies say before a connection (PROXY protocol).
//!
//! However the bytes come, they mean the same, and what follows means nothing; no more is ever asked for than the longest
//! header has; and a client that was named is the same one when version 1 names it again.

use chancery_http::parsers::{Announced, announced};

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "proxied", run, form: Form::Bytes, words: include_str!("../../words/proxied.dict") };

/// The fixed part of version 2, and what may follow it.
const LONGEST: usize = 16 + 4096;

fn run(input: &[u8]) {
    let mut have = 0;
    let said = loop {
        match announced(&input[..have]) {
            Announced::More(more) => {
                assert!(more > 0 && have + more <= LONGEST, "it asks for {more} after {have}");
                if have + more > input.len() {
                    return;
                }
                have += more;
            }
            said @ (Announced::Client(_) | Announced::Itself | Announced::Wrong(_)) => break said,
        }
    };
    if matches!(said, Announced::Wrong(_)) {
        return;
    }
    assert_eq!(announced(input), said, "what follows changes what was said");
    let Announced::Client(client) = said else { return };
    let (kind, to) = if client.is_ipv4() { ("TCP4", "127.0.0.1") } else { ("TCP6", "::1") };
    let line = format!("PROXY {kind} {} {to} {} 443\r\n", client.ip(), client.port());
    assert_eq!(announced(line.as_bytes()), said, "{line}");
}
