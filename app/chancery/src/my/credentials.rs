//! The credentials of a reseller: one profile for each environment, in a file for its owner alone.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use chancery_client::ClientCredentials;
use serde::{Deserialize, Serialize};

use super::places;
use crate::failure::Failure;
use crate::files::{private_folder, write};

/// What the profile is called where nobody says.
pub const USUAL: &str = "default";

/// The profiles that are logged in. It holds secrets, so it has no `Debug`.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credentials {
    /// Which profile counts where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    #[serde(default, rename = "profile")]
    pub profiles: BTreeMap<String, Login>,
}

/// How to get in somewhere. It holds a secret, so it has no `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    pub url: String,
    /// Where tokens are had: `/oauth/token` below this URL.
    pub auth_url: String,
    pub audience: String,
    pub client_id: String,
    pub client_secret: String,
    /// Whom to trust as the service, instead of those the system trusts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
}

impl Login {
    pub fn for_client(&self) -> ClientCredentials {
        ClientCredentials {
            client_id: self.client_id.clone(),
            client_secret: self.client_secret.clone(),
            audience: self.audience.clone(),
            auth_url: self.auth_url.clone(),
        }
    }
}

impl Credentials {
    pub fn path() -> Result<PathBuf, Failure> {
        Ok(places::config()?.join("credentials.toml"))
    }

    /// What is in the file; nothing where there is none.
    pub fn read() -> Result<Self, Failure> {
        let path = Self::path()?;
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Failure::usage(format!("cannot read {}: {error}", path.display()))),
        };
        check_mode(&path)?;
        toml::from_str(&text).map_err(|error: toml::de::Error| {
            // The whole error would quote the line, and with it perhaps a secret.
            let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].lines().count().max(1));
            Failure::usage(format!("line {line} of {} cannot be understood: {}", path.display(), error.message()))
                .advise("mend it, or remove the file and log in again")
        })
    }

    pub fn save(&self) -> Result<(), Failure> {
        private_folder(&places::config()?)?;
        let text = toml::to_string_pretty(self).map_err(Failure::failed)?;
        write(&Self::path()?, &format!("# Written by `chancery my login`. It holds secrets.\n\n{text}"), 0o600)
    }

    /// The profile of this name, or else how to get one.
    pub fn find(&self, name: &str) -> Result<&Login, Failure> {
        self.profiles.get(name).ok_or_else(|| {
            let known = self.profiles.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let failure = match known.as_str() {
                "" => Failure::usage("you are not logged in anywhere"),
                known => Failure::usage(format!("there is no profile {name}; there are: {known}")),
            };
            failure.advise(format!("log in: chancery my login{}", flag(name)))
        })
    }
}

/// What to add to a command for this profile.
pub fn flag(profile: &str) -> String {
    if profile == USUAL { String::new() } else { format!(" --profile {profile}") }
}

/// Profiles are names of files, too.
pub fn profile_name(text: &str) -> Result<String, String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    match text.chars().all(plain) && !text.is_empty() && !text.starts_with('.') && text.len() <= 64 {
        true => Ok(text.to_owned()),
        false => Err("a profile is a name of letters, digits, `-`, `_` and `.`, such as prod".to_owned()),
    }
}

/// As ssh does it: a secret that others can read is not used, so that it is noticed.
fn check_mode(path: &Path) -> Result<(), Failure> {
    let mode = fs::metadata(path).map_err(Failure::usage)?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let path = path.display();
    Err(Failure::usage(format!("{path} holds secrets, and others can read it (mode {:o})", mode & 0o777))
        .advise(format!("chmod 600 '{path}'")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_profile_is_safe_in_a_path() {
        for good in ["prod", "eu-1", "a.b_c"] {
            assert_eq!(profile_name(good).as_deref(), Ok(good));
        }
        for bad in ["", ".", "..", "../x", "a/b", "a b", "ü", &"x".repeat(65)] {
            assert!(profile_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_unknown_profile_is_told_with_those_there_are() {
        let mut credentials = Credentials::default();
        let said = |credentials: &Credentials| credentials.find("prod").err().unwrap().to_string();
        assert_eq!(said(&credentials), "you are not logged in anywhere; log in: chancery my login --profile prod");
        let text = "url = 'u'\nauth_url = 'a'\naudience = 'x'\nclient_id = 'i'\nclient_secret = 's'";
        credentials.profiles.insert("test".to_owned(), toml::from_str(text).unwrap());
        assert!(said(&credentials).starts_with("there is no profile prod; there are: test"));
    }
}
