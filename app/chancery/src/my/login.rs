//! Getting in: `login`, `logout`, `whoami`, `profiles`.

use std::path::{Path, PathBuf};

use chancery_client::{Client, Error, StatusCode};
use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::ask;
use super::credentials::{Credentials, Login, USUAL, flag};
use super::session::{CLIENT_VARIABLE, Session, SessionArgs, URL_VARIABLE, read_ca, unusable, variable};
use super::show::{Listed, OrTrouble};
use super::table::Column;
use super::token_cache;
use super::trouble::Trouble;
use super::whoami;
use crate::dev::DevJson;
use crate::failure::Failure;

#[derive(Args, Debug)]
pub struct LoginArgs {
    /// The URL of the service, such as `https://ca.example.com:8443` [env: CHANCERY_URL]
    #[arg(long)]
    url: Option<String>,
    /// Your client id; the secret is asked for, or read from standard input, or from CHANCERY_CLIENT_SECRET
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// Where tokens are had [default: the service tells]
    #[arg(long, value_name = "URL")]
    auth_url: Option<String>,
    /// Whom tokens are for [default: the service tells]
    #[arg(long)]
    audience: Option<String>,
    /// Take everything from a running `chancery dev`, by its folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["url", "client_id", "auth_url", "audience"])]
    dev: Option<PathBuf>,
    /// Use this profile from now on where none is named
    #[arg(long)]
    make_default: bool,
}

#[derive(Args, Debug)]
pub struct LogoutArgs {
    /// Of all profiles
    #[arg(long)]
    all: bool,
}

#[derive(Args, Debug)]
pub struct ProfilesArgs {
    /// Use this profile from now on where none is named
    #[arg(long, value_name = "NAME")]
    set_default: Option<String>,
}

/// Asks for a token before anything is kept: what does not work is not kept.
pub async fn login(args: &SessionArgs, login: LoginArgs) -> Result<(), Failure> {
    let profile = args.named_profile()?.unwrap_or_else(|| USUAL.to_owned());
    let mut credentials = Credentials::read()?;
    let found = match &login.dev {
        Some(folder) => of_dev(folder)?,
        None => asked(args, &login, &profile).await?,
    };
    let session = Session::with(found.clone(), Some(profile.clone()), args, None)?;
    session.client.authorization().await.or_trouble(&session.trouble)?;
    credentials.profiles.insert(profile.clone(), found);
    if login.make_default || credentials.default.is_none() {
        credentials.default = Some(profile.clone());
    }
    credentials.save()?;
    session.close().await;
    let shown = whoami::describe(&session).await;
    session.show.thing(&shown, || format!("You are logged in.\n\n{}", shown.told()))?;
    if credentials.default.as_deref() != Some(&profile) {
        session
            .show
            .note(&format!("\nName it with each command ({}), or set CHANCERY_PROFILE.", flag(&profile).trim()));
    }
    Ok(())
}

pub fn logout(args: &SessionArgs, logout: &LogoutArgs) -> Result<(), Failure> {
    let mut credentials = Credentials::read()?;
    let names: Vec<String> = match logout.all {
        true => credentials.profiles.keys().cloned().collect(),
        false => {
            vec![args.named_profile()?.or_else(|| credentials.default.clone()).unwrap_or_else(|| USUAL.to_owned())]
        }
    };
    for name in &names {
        credentials.find(name)?;
    }
    for name in &names {
        credentials.profiles.remove(name);
        token_cache::forget(name)?;
    }
    if credentials.default.as_ref().is_some_and(|name| !credentials.profiles.contains_key(name)) {
        credentials.default = None;
    }
    credentials.save()?;
    let shown = names.join(", ");
    args.show().thing(&json!({"loggedOut": names}), || format!("Logged out: {shown}\n"))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Profile {
    name: String,
    default: bool,
    url: String,
    client_id: String,
}

pub fn profiles(args: &SessionArgs, wanted: ProfilesArgs) -> Result<(), Failure> {
    let mut credentials = Credentials::read()?;
    if let Some(name) = wanted.set_default {
        credentials.find(&name)?;
        credentials.default = Some(name);
        credentials.save()?;
    }
    let default = credentials.default;
    let shown = |(name, login): (String, Login)| Profile {
        default: default.as_ref() == Some(&name),
        name,
        url: login.url,
        client_id: login.client_id,
    };
    let items = credentials.profiles.into_iter().map(shown).collect();
    let columns = [Column::Whole("profile"), Column::Text("url"), Column::Whole("client id"), Column::Whole("default")];
    args.show().list(&Listed { items, next_cursor: None }, &columns, |profile: &Profile| {
        let default = if profile.default { "yes" } else { "" };
        vec![
            profile.name.as_str().into(),
            profile.url.as_str().into(),
            profile.client_id.as_str().into(),
            default.into(),
        ]
    })
}

/// What a `chancery dev` wrote for scripts.
fn of_dev(folder: &Path) -> Result<Login, Failure> {
    let dev = DevJson::read(folder)?;
    let ca_file = std::path::absolute(&dev.ca_bundle).map_err(Failure::failed)?;
    Ok(Login {
        url: dev.base_url,
        auth_url: dev.auth_url,
        audience: dev.audience,
        client_id: dev.client_id,
        client_secret: dev.client_secret,
        ca_file: Some(ca_file),
    })
}

/// From flags, variables, the service itself, and whoever is there.
async fn asked(args: &SessionArgs, login: &LoginArgs, profile: &str) -> Result<Login, Failure> {
    let url = match login.url.clone().or_else(|| variable(URL_VARIABLE)) {
        Some(url) => url,
        None => ask_for("--url", "URL of the service")?,
    };
    let ca_file = match args.named_ca_file() {
        Some(path) => Some(std::path::absolute(path).map_err(Failure::failed)?),
        None => None,
    };
    let (auth_url, audience) = find_out(&url, ca_file.as_deref(), login, profile).await?;
    let client_id = match login.client_id.clone().or_else(|| variable(CLIENT_VARIABLE)) {
        Some(id) => id,
        None => ask_for("--client-id", "Client id")?,
    };
    let client_secret = match variable("CHANCERY_CLIENT_SECRET") {
        Some(secret) => secret,
        None if ask::somebody_is_there() => ask::secret("Client secret")?,
        None => ask::secret_from_a_pipe()?,
    };
    Ok(Login { url, auth_url, audience, client_id, client_secret, ca_file })
}

fn ask_for(flag: &str, question: &str) -> Result<String, Failure> {
    if !ask::somebody_is_there() {
        return Err(Failure::usage(format!("{flag} is missing")).advise("nobody is there to be asked"));
    }
    ask::line(question)
}

/// Where tokens are had and whom they are for: as told, or else as the service says (RFC 8414).
async fn find_out(
    url: &str,
    ca_file: Option<&Path>,
    login: &LoginArgs,
    profile: &str,
) -> Result<(String, String), Failure> {
    if let (Some(auth_url), Some(audience)) = (&login.auth_url, &login.audience) {
        return Ok((auth_url.clone(), audience.clone()));
    }
    let mut builder = Client::builder(url);
    if let Some(path) = ca_file {
        builder = builder.ca_pem(read_ca(path)?);
    }
    let trouble = Trouble { url: url.to_owned(), profile: profile.to_owned() };
    let told = match builder.build().map_err(unusable)?.metadata().await {
        Ok(told) => Some(told),
        // It may leave its tokens to somebody else.
        Err(Error::Api { status: StatusCode::NOT_FOUND, .. }) => None,
        Err(error) => return Err(trouble.explain(error)),
    };
    let endpoint = told.as_ref().and_then(|told| told.token_endpoint.strip_suffix("/oauth/token"));
    let auth_url = login.auth_url.clone().unwrap_or_else(|| endpoint.unwrap_or(url).to_owned());
    let audience = login.audience.clone().or(told.and_then(|told| told.chancery_audience));
    Ok((auth_url, audience.unwrap_or_else(|| url.to_owned())))
}
