//! Access tokens, kept from one command to the next in files for their owner alone.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use chancery_client::AccessToken;
use chancery_domain::Clock;
use chancery_machine::SystemClock;
use serde::{Deserialize, Serialize};

use super::credentials::Login;
use super::places;
use crate::failure::Failure;
use crate::files::{private_folder, remove, write};

/// A token, and whom it was for: another login under the same profile must not use it.
#[derive(Serialize, Deserialize)]
struct Kept {
    auth_url: String,
    audience: String,
    client_id: String,
    token: String,
    /// Unix seconds; none where the provider says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
}

/// The token of this login, if it is still good. What cannot be read is as good as not there.
pub fn find(profile: &str, login: &Login) -> Option<AccessToken> {
    let kept: Kept = serde_json::from_str(&fs::read_to_string(path(profile).ok()?).ok()?).ok()?;
    let same = kept.auth_url == login.auth_url && kept.audience == login.audience && kept.client_id == login.client_id;
    let left = |end: i64| Duration::from_secs(u64::try_from(end - now()).unwrap_or(0));
    same.then(|| AccessToken { text: kept.token, remaining: kept.expires_at.map(left) })
}

pub fn keep(profile: &str, login: &Login, token: AccessToken) -> Result<(), Failure> {
    let seconds = |left: Duration| i64::try_from(left.as_secs()).unwrap_or(i64::MAX);
    let kept = Kept {
        auth_url: login.auth_url.clone(),
        audience: login.audience.clone(),
        client_id: login.client_id.clone(),
        token: token.text,
        expires_at: token.remaining.map(|left| now().saturating_add(seconds(left))),
    };
    private_folder(&places::cache()?)?;
    write(&path(profile)?, &serde_json::to_string(&kept).map_err(Failure::failed)?, 0o600)
}

pub fn forget(profile: &str) -> Result<(), Failure> {
    remove(&path(profile)?)
}

fn path(profile: &str) -> Result<PathBuf, Failure> {
    Ok(places::cache()?.join(format!("token-{profile}.json")))
}

fn now() -> i64 {
    SystemClock.now().as_secs()
}
