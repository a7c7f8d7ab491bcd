//! A login, opened for one command.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chancery_client::{AccessToken, BuildError, Client};
use clap::Args;

use super::credentials::{Credentials, Login, USUAL, profile_name};
use super::show::Show;
use super::token_cache;
use super::trouble::Trouble;
use crate::failure::Failure;

const HEADING: &str = "Which service";
/// The variables that stand in for a profile, in pipelines that keep no files.
pub const URL_VARIABLE: &str = "CHANCERY_URL";
pub const CLIENT_VARIABLE: &str = "CHANCERY_CLIENT_ID";
const SECRET_VARIABLE: &str = "CHANCERY_CLIENT_SECRET";
const LONGEST_CALL: Duration = Duration::from_secs(30);

/// The flags that all of a reseller's commands have.
#[derive(Args, Clone, Debug)]
pub struct SessionArgs {
    /// The profile that you logged in under [env: CHANCERY_PROFILE]
    #[arg(long, value_name = "NAME", global = true, value_parser = profile_name, help_heading = HEADING)]
    profile: Option<String>,
    /// Trust the service by the CA certificates in this PEM file, and by no others [env: CHANCERY_CA_FILE]
    #[arg(long, value_name = "FILE", global = true, help_heading = HEADING)]
    pub ca_file: Option<PathBuf>,
    /// Print JSON for scripts, errors too
    #[arg(long, global = true)]
    pub json: bool,
}

impl SessionArgs {
    /// The profile that was named, by flag or variable.
    pub fn named_profile(&self) -> Result<Option<String>, Failure> {
        match (&self.profile, variable("CHANCERY_PROFILE")) {
            (Some(name), _) => Ok(Some(name.clone())),
            (None, Some(name)) => {
                let checked = profile_name(&name).map_err(|reason| format!("CHANCERY_PROFILE: {reason}"));
                checked.map(Some).map_err(Failure::usage)
            }
            (None, None) => Ok(None),
        }
    }

    /// The trusted CAs that were named, by flag or variable.
    pub fn named_ca_file(&self) -> Option<PathBuf> {
        self.ca_file.clone().or_else(|| variable("CHANCERY_CA_FILE").map(PathBuf::from))
    }

    pub fn show(&self) -> Show {
        Show { json: self.json }
    }
}

/// What a command works with.
pub struct Session {
    pub client: Client,
    pub login: Login,
    /// None where the variables of the environment are the login.
    pub profile: Option<String>,
    pub trouble: Trouble,
    pub show: Show,
    kept: Option<AccessToken>,
}

impl Session {
    /// Finds the login: a profile that is named; else the environment's, where it has a secret; else the usual profile.
    pub fn open(args: &SessionArgs) -> Result<Self, Failure> {
        let named = args.named_profile()?;
        if let (None, Some(secret)) = (&named, variable(SECRET_VARIABLE)) {
            return Self::with(environment(secret)?, None, args, None);
        }
        let credentials = Credentials::read()?;
        let is_meant = named.is_some();
        let profile = named.or_else(|| credentials.default.clone()).unwrap_or_else(|| USUAL.to_owned());
        let login = credentials.find(&profile)?.clone();
        if !is_meant {
            require_same(&login, &profile)?;
        }
        let kept = token_cache::find(&profile, &login);
        Self::with(login, Some(profile), args, kept)
    }

    pub fn with(
        login: Login,
        profile: Option<String>,
        args: &SessionArgs,
        kept: Option<AccessToken>,
    ) -> Result<Self, Failure> {
        let mut builder = Client::builder(&login.url).credentials(login.for_client()).timeout(LONGEST_CALL);
        if let Some(path) = args.named_ca_file().or_else(|| login.ca_file.clone()) {
            builder = builder.ca_pem(read_ca(&path)?);
        }
        if let Some(token) = kept.clone() {
            builder = builder.kept_token(token);
        }
        let client = builder.build().map_err(unusable)?;
        let trouble = Trouble { url: login.url.clone(), profile: profile.clone().unwrap_or_else(|| USUAL.to_owned()) };
        Ok(Self { client, login, profile, trouble, show: args.show(), kept })
    }

    /// Keeps the token that was fetched, for the next command. That it cannot be kept is no reason to fail.
    pub async fn close(&self) {
        let Some((profile, token)) = self.profile.as_ref().zip(self.client.access_token().await) else { return };
        let known = self.kept.as_ref().is_some_and(|kept| kept.text == token.text);
        if !known && token_cache::keep(profile, &self.login, token).is_err() {
            self.show.note("The access token could not be kept: the next command fetches another one.");
        }
    }
}

/// The value of a variable, unless it is empty.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

pub fn read_ca(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| {
        Failure::usage(format!("cannot read {}: {error}", path.display())).advise("--ca-file names a file in PEM form")
    })
}

pub fn unusable(error: BuildError) -> Failure {
    Failure::usage(error)
}

/// That the environment, which has no secret, does not mean another service or client than the profile: a pipeline whose
/// secret is missing must not be let loose on what somebody once signed in to.
fn require_same(login: &Login, profile: &str) -> Result<(), Failure> {
    for (name, own) in [(URL_VARIABLE, &login.url), (CLIENT_VARIABLE, &login.client_id)] {
        if let Some(other) = variable(name).filter(|other| other.trim_end_matches('/') != own.trim_end_matches('/')) {
            let said =
                format!("{name} is {other}, {SECRET_VARIABLE} is not set, and the profile {profile} is of {own}");
            let advice = format!("set {SECRET_VARIABLE}, or choose the profile by --profile, or unset {name}");
            return Err(Failure::usage(said).advise(advice));
        }
    }
    Ok(())
}

/// The login of a pipeline.
fn environment(client_secret: String) -> Result<Login, Failure> {
    let needed = |name: &str| {
        variable(name).ok_or_else(|| {
            Failure::usage(format!("{SECRET_VARIABLE} is set, and {name} is not"))
                .advise(format!("set both, or unset {SECRET_VARIABLE} to use a profile"))
        })
    };
    let (url, client_id) = (needed(URL_VARIABLE)?, needed(CLIENT_VARIABLE)?);
    let auth_url = variable("CHANCERY_AUTH_URL").unwrap_or_else(|| url.clone());
    let audience = variable("CHANCERY_AUDIENCE").unwrap_or_else(|| url.clone());
    Ok(Login { url, auth_url, audience, client_id, client_secret, ca_file: None })
}
