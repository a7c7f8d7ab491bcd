//! `set-renewal-info`, as Pebble has it since 2.8: a suite says what its client is to hear of when to renew (RFC 9773).

use axum::body::Bytes;
use axum::extract::State;
use chancery_pki::Certificate;
use http::StatusCode;
use serde::Deserialize;

use super::management::{Management, Refused};

/// Pebble does not care for capitals; these are the ways in which suites write it.
#[derive(Deserialize)]
struct Wish {
    /// In PEM.
    #[serde(alias = "Certificate")]
    certificate: String,
    /// Any text: a suite may want to see what its client makes of nonsense.
    #[serde(rename = "ariResponse", alias = "ARIResponse", alias = "AriResponse")]
    answer: String,
}

impl Wish {
    fn read(body: &[u8]) -> Result<(Certificate, String), Refused> {
        let bad = || Refused(StatusCode::BAD_REQUEST);
        let Self { certificate, answer } = serde_json::from_slice(body).map_err(|_| bad())?;
        Ok((Certificate::from_pem(&certificate).map_err(|_| bad())?, answer))
    }
}

/// Takes the body whatever its media type is said to be: suites leave that to their HTTP client.
pub async fn set(State(management): State<Management>, body: Bytes) -> Result<StatusCode, Refused> {
    let (certificate, answer) = Wish::read(&body)?;
    let missing = || Refused(StatusCode::NOT_FOUND);
    let serial = certificate.serial().ok_or_else(missing)?;
    let number = serial.to_string();
    let found = management.kernel.store.read(move |tx| tx.certificate_by_serial(&number));
    found.await.map_err(Refused::internal)?.ok_or_else(missing)?;
    management.renewal_answers.set(serial.as_bytes(), answer);
    Ok(StatusCode::OK)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::dev::pebble::management::tests::certificate;

    #[test]
    fn a_wish_is_read_in_any_capitals_that_suites_use() {
        let made = certificate("E1");
        for (first, second) in [("certificate", "ariResponse"), ("Certificate", "ARIResponse")] {
            let body = json!({first: made.to_pem(), second: "not even JSON"}).to_string();
            let (read, answer) = Wish::read(body.as_bytes()).ok().unwrap();
            assert_eq!((read, answer.as_str()), (made.clone(), "not even JSON"));
        }
        let no_answer = json!({"certificate": made.to_pem()});
        for bad in [json!({}), json!({"certificate": "x", "ariResponse": "{}"}), no_answer] {
            assert!(Wish::read(bad.to_string().as_bytes()).is_err(), "{bad}");
        }
    }
}
