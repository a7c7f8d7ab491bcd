//! One installation of the service: everything it was told, checked. `serve` makes it from a configuration, `dev` from
//! a folder; the operator's commands work on either.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chancery_dcv::ValidatorConfig;
use chancery_domain::{ProfileName, Quorum, Secret, Timestamp, needed_for_public};
use chancery_http::{BodyLimits, Limits, PublicUrls, TrustedProxies};
use chancery_machine::{LogChoice, Telemetry};
use chancery_perspective::Remote;
use chancery_pki::{CurrentLogs, KeyBlocklist, Log, SctNeeds, SubscriberProfile, Token, Validity, ceiling_days};
use chancery_publish::LogClient;
use chancery_service::{ExternalProvider, Settings};
use chancery_store::{DatabaseUrl, Options};
use chancery_workers::LogKeeper;

use crate::config::Ct;

/// Browsers do not go by lists of logs that are older.
const OLDEST_LOG_LIST: Duration = Duration::from_secs(70 * 86_400);

/// What the service is to be.
pub struct Installation {
    pub place: Place,
    pub listen: Addresses,
    pub urls: PublicUrls,
    /// None: plain HTTP, on loopback only.
    pub tls: Option<TlsFiles>,
    pub database: DatabaseUrl,
    pub store: Options,
    pub kek: Kek,
    /// Where the keys of CAs are that are not in the database.
    pub token: Option<Arc<Token>>,
    pub settings: Settings,
    pub validation: Validation,
    /// From where else is looked.
    pub perspectives: Perspectives,
    /// Who is shown certificates before they are issued.
    pub logs: Logs,
    /// Keys that are never certified, one hash a line.
    pub blocklist: Option<Arc<KeyBlocklist>>,
    pub external_keys: Vec<ExternalKeys>,
    pub limits: ServerLimits,
    /// Who is believed about where requests come from.
    pub proxies: TrustedProxies,
    /// How long after a signal to stop new connections are still taken.
    pub shutdown_delay: Duration,
    pub log: LogChoice,
    /// Where traces go; nowhere without.
    pub telemetry: Option<Telemetry>,
}

impl Installation {
    /// What is allowed and yet unlikely to be meant, at this time in Unix seconds.
    pub fn warnings(&self, now: i64) -> Vec<String> {
        let ceiling = ceiling_days(now);
        let profiles = self.settings.issuing.certificates.iter();
        let longer = profiles.filter(|(_, profile)| profile.public && profile.validity_days > ceiling);
        let said = longer.map(|(name, profile)| {
            format!(
                "public certificates may last {ceiling} days at this date: those of the profile {name} will, not {}",
                profile.validity_days
            )
        });
        let said = said.chain(self.too_few_perspectives(now));
        let said = said.chain(too_few_logs(&self.settings.issuing.certificates, now));
        said.chain(self.not_logged()).chain(self.logs.warnings(now)).collect()
    }

    /// Where there are public profiles that no logs see, or too few for browsers.
    fn not_logged(&self) -> Option<String> {
        let browsers = SctNeeds::BROWSERS;
        let enough = |logs: &CurrentLogs| {
            let needs = logs.now().needs();
            needs.scts.is_none() && needs.operators >= browsers.operators
        };
        let lacks = |look: &SubscriberProfile| look.public && !look.logs.as_ref().is_some_and(enough);
        let (name, look) = self.settings.issuing.certificates.iter().find(|(_, look)| lacks(look))?;
        Some(match &look.logs {
            None => format!(
                "browsers take no public certificates that are in no logs, as those of the profile {name} (its ct)"
            ),
            Some(_) => {
                "for public certificates leave ct.scts and ct.operators out: browsers want what they are without"
                    .to_owned()
            }
        })
    }

    /// Where there are public profiles, and fewer look than the Baseline Requirements want.
    fn too_few_perspectives(&self, now: i64) -> Option<String> {
        let public = self.settings.issuing.certificates.iter().find(|(_, profile)| profile.public)?.0;
        let needed = needed_for_public(Timestamp::from_secs(now));
        let (here, regions) = (self.perspectives.quorum.perspectives(), self.perspectives.quorum.regions());
        (here < needed).then(|| {
            format!(
                "for public certificates, as those of the profile {public}, control of names must be seen from {needed} \
                 other perspectives in two regions at this date (dcv.perspectives): there are {here}, in {regions}"
            )
        })
    }
}

/// Those who look from elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Perspectives {
    pub remotes: Vec<Remote>,
    /// Who of them must see what we see, in this order.
    pub quorum: Quorum,
}

/// Who is shown certificates before they are issued.
#[derive(Clone, Debug, Default)]
pub struct Logs {
    /// None where there are none.
    pub list: Option<CurrentLogs>,
    /// Where they come from, if that may change.
    pub source: Option<LogSource>,
    /// Those of the list.
    pub logs: Vec<CertificateLog>,
    /// When the file was made that tells of logs, where there is one.
    pub made_at: Option<Timestamp>,
    /// How many of it browsers do not count.
    pub unusable: usize,
    /// What could not be used of it.
    pub odd: Vec<String>,
}

/// What is needed to read the logs again.
#[derive(Clone)]
pub struct LogSource {
    pub written: Ct,
    /// The folder that paths begin from.
    pub base: PathBuf,
    pub file: PathBuf,
}

impl fmt::Debug for LogSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.file.fmt(f)
    }
}

impl Logs {
    /// Each with who asks it.
    pub fn keepers(&self) -> Vec<(Log, Arc<dyn LogKeeper>)> {
        let keeper = |log: &CertificateLog| (log.log.clone(), Arc::new(log.client.clone()) as Arc<dyn LogKeeper>);
        self.logs.iter().map(keeper).collect()
    }

    /// What the file that tells of logs is not good for, at this time in Unix seconds.
    pub fn warnings(&self, now: i64) -> impl Iterator<Item = String> {
        let odd = self.odd.iter().map(|why| format!("a log of ct.log_list_file is left out: {why}"));
        let old = self.made_at.filter(|at| at.plus(OLDEST_LOG_LIST).as_secs() < now);
        odd.chain(old.map(|at| format!("ct.log_list_file is of {at}: fetch it anew, browsers go by a newer one")))
    }
}

/// The profiles whose certificates no logs are going to take, at this time in Unix seconds.
pub fn too_few_logs(certificates: &BTreeMap<ProfileName, SubscriberProfile>, now: i64) -> impl Iterator<Item = String> {
    certificates.iter().filter_map(move |(name, profile)| {
        let logs = profile.logs.as_ref()?.now();
        let validity = Validity::days(now, profile.validity_days).ok()?;
        (!logs.could_be_enough(validity)).then(|| {
            let ends = Timestamp::from_secs(validity.not_after());
            format!(
                "nothing can be issued with the profile {name}: its certificates need {} timestamps, and too few of \
                 the logs ([ct]) take those that end at {ends}",
                logs.scts_needed(validity)
            )
        })
    })
}

/// A log, and how it is asked.
#[derive(Clone, Debug)]
pub struct CertificateLog {
    pub log: Log,
    pub client: LogClient,
}

/// Whether control of names is checked.
#[derive(Clone, Debug)]
pub enum Validation {
    Checked(Box<ValidatorConfig>),
    /// Every name is taken for shown. Only `dev` can be told so.
    Skipped,
}

impl Validation {
    /// Where http-01 and tls-alpn-01 answers are looked for; 0 where nobody looks.
    pub fn ports(&self) -> (u16, u16) {
        match self {
            Self::Checked(config) => (config.http01_port, config.tls_alpn01_port),
            Self::Skipped => (0, 0),
        }
    }
}

/// Where an installation was found; shown as the flag that finds it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Configuration(PathBuf),
    Folder(PathBuf),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration(path) => write!(f, "--config {}", path.display()),
            Self::Folder(path) => write!(f, "--data-dir {}", path.display()),
        }
    }
}

/// The three listeners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The API, the token endpoint and ACME.
    pub api: SocketAddr,
    /// Plain HTTP for relying parties.
    pub http: SocketAddr,
    /// Health and metrics.
    pub admin: SocketAddr,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// The key-encryption key: a keyring file that can be rotated, or one key from the environment.
#[derive(Clone)]
pub enum Kek {
    File(PathBuf),
    Text(Secret),
}

/// Where the keys of an external provider come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalKeys {
    pub provider: ExternalProvider,
    /// Vouches for the provider's server; the system's certificates where there is none.
    pub ca_file: Option<PathBuf>,
    /// By which we show the provider who we are; where it is read anew, another may have taken its place.
    pub client_secret_file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    pub http: Limits,
    pub body: BodyLimits,
    /// Requests under way at a time, on each listener.
    pub requests_at_once: Option<usize>,
}
