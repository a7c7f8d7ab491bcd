//! Token requests: the first line is the media type, the second the Authorization header or empty, the rest the body.
//!
//! A form that is taken, written again, is taken as the same. A client in the header is the one that comes out.

use chancery_identity::parsers::{TokenRequest, token_request};
use data_encoding::BASE64;

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "token_request", run, form: Form::Text, words: include_str!("../../words/token_request.dict") };

fn run(input: &[u8]) {
    let mut lines = input.splitn(3, |byte| *byte == b'\n');
    let (Some(media_type), Some(authorization), Some(body)) = (lines.next(), lines.next(), lines.next()) else {
        return;
    };
    let Ok(media_type) = std::str::from_utf8(media_type) else { return };
    let authorization = Some(authorization).filter(|header| !header.is_empty());
    match token_request(media_type, authorization, body) {
        Ok(read) => {
            if authorization.is_some() {
                assert!(read.client_id.is_some() && read.client_secret.is_some());
            }
            again(read);
        }
        Err(status) => assert!(matches!(status, 400 | 401), "{status}"),
    }
}

fn again(mut read: TokenRequest) {
    let form = |read: &TokenRequest| {
        let members = [
            ("grant_type", &read.grant_type),
            ("client_id", &read.client_id),
            ("client_secret", &read.client_secret),
            ("audience", &read.audience),
            ("scope", &read.scope),
        ];
        let given =
            members.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", escaped(value.as_ref()?))));
        given.collect::<Vec<_>>().join("&")
    };
    // RFC 6749 section 3.2: in a form, what is empty is left out.
    for value in
        [&mut read.grant_type, &mut read.client_id, &mut read.client_secret, &mut read.audience, &mut read.scope]
    {
        *value = value.take().filter(|text| !text.is_empty());
    }
    let media_type = "application/x-www-form-urlencoded";
    assert_eq!(token_request(media_type, None, form(&read).as_bytes()).as_ref(), Ok(&read));
    if let TokenRequest { client_id: Some(id), client_secret: Some(secret), .. } = &read {
        let basic = format!("Basic {}", BASE64.encode(format!("{}:{}", escaped(id), escaped(secret)).as_bytes()));
        let rest = TokenRequest {
            client_id: None,
            client_secret: None,
            grant_type: read.grant_type.clone(),
            audience: read.audience.clone(),
            scope: read.scope.clone(),
        };
        let same = token_request(media_type, Some(basic.as_bytes()), form(&rest).as_bytes());
        assert_eq!(same.as_ref(), Ok(&read));
    }
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
