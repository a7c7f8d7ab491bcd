//! The readers of signed requests and of their payloads, without the use cases behind them: for the fuzz targets.

use axum::response::IntoResponse;
use chancery_jose::{Jwk, Jws};
use chancery_wire::acme as wire;
use serde::de::DeserializeOwned;

use crate::account;
use crate::jws::{KeyName, key_name, nonce, require_algorithm, require_url, unreadable};
use crate::key_change::Inner;
use crate::payload;
use crate::problem::Problem;
use crate::verify::{require_size, unverified_by_its_key, verify};

/// The longest body that is read.
const MAX: usize = 64 * 1024;

/// What a signed request says of itself.
pub struct Request {
    pub jws: Jws,
    pub nonce: String,
    /// The key, or the URL of the account that has it.
    pub key: Result<Jwk, String>,
}

/// Reads a request to this URL up to where its account and its nonce would be looked up; else the status of the answer.
pub fn request(body: &[u8], url: &str) -> Result<Request, u16> {
    let read = || {
        let jws = Jws::flattened(body, MAX).map_err(unreadable)?;
        require_algorithm(&jws)?;
        require_url(&jws, url)?;
        let nonce = nonce(&jws)?.to_owned();
        let key = match key_name(&jws)? {
            KeyName::Key(key) => Ok(key.clone()),
            KeyName::Account(url) => Err(url.to_owned()),
        };
        if let Ok(key) = &key {
            require_size(key)?;
            verify(&jws, key).map_err(unverified_by_its_key)?;
        }
        Ok(Request { jws, nonce, key })
    };
    read().map_err(status)
}

/// Reads a payload.
pub fn payload<T: DeserializeOwned>(text: &[u8]) -> Result<T, u16> {
    payload::read(text).map_err(status)
}

/// Reads what stands in the payload of newAccount: the contacts, and the external account binding.
pub fn new_account(asked: wire::NewAccount) -> Result<(Vec<String>, Option<Jws>), u16> {
    let contacts = account::contacts(asked.contact.unwrap_or_default()).map_err(status)?;
    let binding = asked.external_account_binding.map(|value| account::binding(&value)).transpose().map_err(status)?;
    Ok((contacts.iter().map(ToString::to_string).collect(), binding))
}

/// The new key, the account and the old key in the payload of keyChange.
pub fn key_change(payload: &[u8], url: &str) -> Result<(Jwk, wire::KeyChange), u16> {
    let Inner { key, asked } = Inner::read(payload, url).map_err(status)?;
    Ok((key, asked))
}

fn status(problem: Problem) -> u16 {
    problem.into_response().status().as_u16()
}
