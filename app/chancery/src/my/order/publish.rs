//! What has to be published for a name, in a form that a person can paste, and pages that are published right here.

use std::fs;
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use chancery_client::wire::{Authorization, Challenge};
use chancery_domain::ChallengeType;
use serde::Serialize;

use super::name;
use crate::failure::Failure;
use crate::files::{unwritable, write};
use crate::my::recipes::quoted;

const FOLDER: &str = ".well-known/acme-challenge";

/// One name and how its control will be shown.
#[derive(Clone, Serialize)]
pub struct Publication {
    pub name: String,
    pub challenge: Challenge,
    /// Whether it is being looked at already: nobody has to be asked for it any more.
    #[serde(skip)]
    pub looked_at: bool,
}

impl Publication {
    /// Chooses among what is offered: as asked for, else a page on the web server, else a record.
    pub fn choose(
        authorization: &Authorization,
        offered: Vec<Challenge>,
        wanted: Option<ChallengeType>,
        resume: &str,
    ) -> Result<Self, Failure> {
        let name = name(authorization);
        let kinds: Vec<_> = offered.iter().map(|challenge| challenge.kind.clone()).collect();
        let usual = [ChallengeType::Http01, ChallengeType::Dns01, ChallengeType::TlsAlpn01];
        let order = wanted.map_or_else(|| usual.to_vec(), |wanted| vec![wanted]);
        let kind =
            order.into_iter().map(ChallengeType::as_str).find(|kind| kinds.iter().any(|offered| offered == kind));
        let challenge = offered.into_iter().find(|challenge| Some(challenge.kind.as_str()) == kind);
        let challenge = challenge.ok_or_else(|| {
            let ways: Vec<_> = kinds.iter().map(|kind| format!("{resume} --challenge {kind}")).collect();
            let wanted = wanted.map_or("any challenge known here", ChallengeType::as_str);
            let failure = Failure::usage(format!("{name} cannot be shown by {wanted}"));
            if ways.is_empty() { failure } else { failure.advise(format!("go on with: {}", ways.join(", or with: "))) }
        })?;
        Ok(Self { name, challenge, looked_at: false })
    }

    /// What an earlier command has had looked at, and is looked at still.
    pub fn under_way(authorization: &Authorization) -> Option<Self> {
        let challenge = authorization.challenges.iter().find(|challenge| challenge.status != "pending")?.clone();
        Some(Self { name: name(authorization), challenge, looked_at: true })
    }

    /// The page of http-01, if it is to be shown so.
    fn page(&self) -> Option<(&str, &str)> {
        let body = self.challenge.instructions.as_ref()?.body.as_deref()?;
        (self.challenge.kind == "http-01").then_some((self.challenge.token.as_str(), body))
    }
}

/// For all names, as people read it.
pub fn instructions(publications: &[Publication]) -> String {
    let mut text = "Publish this, and leave it there until the certificate is issued:\n".to_owned();
    let (bold, cyan) = (Style::new().bold(), AnsiColor::Cyan.on_default());
    for publication in publications {
        let kind = &publication.challenge.kind;
        text.push_str(&format!("\n  {bold}{}{bold:#}  by {kind}\n", publication.name));
        let told = publication.challenge.instructions.clone().unwrap_or_default();
        let mut line = |name: &str, value: &str| text.push_str(&format!("    {name:<10} {value}\n"));
        if let (Some((token, body)), Some(url)) = (publication.page(), &told.url) {
            line("page", url);
            line("text", body);
            let page = quoted(&format!("{FOLDER}/{token}"));
            let command = format!("mkdir -p {FOLDER} && printf %s {} > {page}", quoted(body));
            text.push_str(&format!("    paste this in the folder of the web server:\n      {cyan}{command}{cyan:#}\n"));
        } else if let (Some(record), Some(value)) = (&told.record_name, &told.record_value) {
            let kind = told.record_type.as_deref().unwrap_or("TXT");
            line("record", record);
            line("type", kind);
            line("value", value);
            let record = format!("{}. 60 IN {kind} \"{value}\"", record.trim_end_matches('.'));
            text.push_str(&format!("    as a line of a zone file:\n      {cyan}{record}{cyan:#}\n"));
        } else if let (Some(san), Some(value)) = (&told.subject_alternative_name, &told.acme_identifier) {
            line("TLS", "on port 443, for the protocol acme-tls/1, a certificate with");
            line("name", san);
            line("extension", &format!("1.3.6.1.5.5.7.1.31, critical, DER {value}"));
        }
    }
    text
}

/// Pages in the folder of a web server. They stay when a command ends before its order: they may be looked at still.
#[derive(Default)]
pub struct Pages {
    written: Vec<PathBuf>,
}

impl Pages {
    /// Writes the pages that there are; tells whether that is all that has to be published.
    pub fn write(&mut self, webroot: &Path, publications: &[Publication]) -> Result<bool, Failure> {
        require_webroot(webroot)?;
        let folder = webroot.join(FOLDER);
        fs::create_dir_all(&folder).map_err(|error| unwritable("create", &folder, &error))?;
        for (token, body) in publications.iter().filter_map(Publication::page) {
            // It becomes the name of a file.
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            if token.is_empty() || !token.bytes().all(plain) {
                return Err(Failure::failed("the service gave a token that is none (RFC 8555 section 8.1)"));
            }
            let path = folder.join(token);
            write(&path, body, 0o644)?;
            self.written.push(path);
        }
        Ok(publications.iter().all(|publication| publication.page().is_some()))
    }
}

/// Only what is below it is made: of a mistyped folder no web server shows anything.
pub fn require_webroot(webroot: &Path) -> Result<(), Failure> {
    match webroot.is_dir() {
        true => Ok(()),
        false => Err(Failure::usage(format!("{} is not a folder", webroot.display()))
            .advise("name with --webroot the folder that the web server shows")),
    }
}

impl Pages {
    /// When nobody has to see them any more.
    pub fn remove(&self) {
        for path in &self.written {
            // A page that stays does no harm.
            let _ = fs::remove_file(path);
        }
    }
}
