//! From what was written to what it means, refusing what is unsafe.

mod acme;
mod database;
mod dcv;
mod identity;
mod issuance;
mod keys;
mod limits;
mod logs;
mod perspectives;
mod profiles;
mod provider;
mod public;
mod retention;
mod server;
mod url;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chancery_dcv::ValidatorConfig;
use chancery_domain::{ChallengeType, Profile, WebhookUrlRules};
use chancery_http::Network;
use chancery_machine::{LogChoice, LogFormat, Telemetry, check_level, collector};
use chancery_pki::KeyBlocklist;
use chancery_service::{Issuing, Settings, WebhookSettings};

pub use self::logs::settle_again as read_logs_again;
use self::perspectives::Asking;
use self::profiles::Around;
use super::problems::Problems;
use super::span;
use super::types::{Ca, Config, Log, Telemetry as Traces};
use crate::installation::{Installation, Place, Validation};

/// How long an answer can be replayed by its idempotency key.
pub const IDEMPOTENCY_WINDOW: Duration = Duration::from_secs(24 * 3600);

/// Checks everything and tells everything that is wrong; `path` is the configuration's own, absolute.
pub fn settle(config: &Config, path: &Path) -> Result<Installation, Problems> {
    let mut check = Check { base: path.parent().unwrap_or(Path::new("/")), problems: Problems::default() };
    let server = server::settle(&config.server, &mut check);
    let database = database::settle(&config.database, &mut check);
    let kek = keys::settle(&config.keys, &mut check);
    let token = keys::settle_token(&config.keys.pkcs11, &mut check);
    let urls = server.as_ref().map(|server| &server.urls);
    let public = server.as_ref().is_some_and(server::Server::is_public);
    let identity = identity::settle(&config.identity, urls, public, &mut check);
    let limits = limits::settle(&config.limits, &mut check);
    let validation = dcv::settle(&config.dcv, urls, &mut check);
    // If validation could not be settled, the perspectives are only checked, and never asked.
    let asking = match &validation {
        Some(validation) => Asking::by(&validation.validator),
        None => Asking::by(&ValidatorConfig::default()),
    };
    let perspectives = perspectives::settle(&config.dcv, &asking, &mut check);
    public::require(config, validation.as_ref(), perspectives.as_ref(), &mut check);
    let acme = acme::settle(&config.acme, &config.eab, &mut check);
    let logs = logs::settle(&config.ct, &mut check);
    let around = Around { internal: config.dcv.allow_special_addresses, logs: logs.as_ref() };
    let issuance = issuance::settle(&config.policy, &config.profiles, &around, &mut check);
    require_names_in_records(issuance.as_ref(), validation.as_ref(), &mut check);
    let retention = retention::settle(&config.retention, &mut check);
    let ca = settle_ca(&config.ca, &mut check);
    let log = settle_log(&config.log, &mut check);
    let telemetry = settle_telemetry(&config.telemetry, &mut check);

    if !check.problems.is_empty() {
        return Err(check.problems);
    }
    let missing = || {
        let mut problems = Problems::default();
        problems.add("configuration", "could not be understood");
        problems
    };
    let (server, (database, store)) = (server.ok_or_else(missing)?, database.ok_or_else(missing)?);
    let (identity, issuance) = (identity.ok_or_else(missing)?, issuance.ok_or_else(missing)?);
    let ca = ca.ok_or_else(missing)?;
    let (mut limits, granted) = limits.ok_or_else(missing)?;
    limits.http.drain = server.drain;
    let (validation, perspectives) = (validation.ok_or_else(missing)?, perspectives.ok_or_else(missing)?);
    Ok(Installation {
        place: Place::Configuration(path.to_owned()),
        listen: server.listen,
        urls: server.urls.clone(),
        tls: server.tls,
        database,
        store,
        kek: kek.ok_or_else(missing)?,
        token,
        settings: Settings {
            issuer: identity.issuer,
            audience: identity.audience,
            token_lifetime: identity.token_lifetime,
            token_key_rotation: identity.token_key_rotation,
            token_key_notice: identity.token_key_notice,
            api_keys: config.identity.api_keys,
            external: identity.external.iter().map(|external| external.provider.clone()).collect(),
            issuing: validation.said_of(Issuing {
                certificates: issuance.profiles.certificates,
                issuers: issuance.profiles.issuers,
                crl_shards: ca.crl_shards,
                quorum: perspectives.quorum.clone(),
                ..Issuing::of(&[], &server.urls.base_url, &server.urls.http_url)
            }),
            acme: acme::said_of(acme.ok_or_else(missing)?, &server.urls, &validation.validator.ca_domains),
            profiles: issuance.profiles.list,
            default_profile: issuance.default_profile,
            default_policy: issuance.default_policy,
            default_policy_name: issuance.default_policy_name,
            idempotency_window: IDEMPOTENCY_WINDOW,
            retention: retention.ok_or_else(missing)?,
            webhooks: WebhookSettings::of(WebhookUrlRules {
                plain_http: false,
                special_addresses: config.dcv.allow_special_addresses,
            }),
            limits: granted,
        },
        validation: Validation::Checked(Box::new(validation.validator)),
        perspectives,
        logs: logs.ok_or_else(missing)?,
        blocklist: ca.blocklist,
        external_keys: identity.external,
        limits,
        proxies: server.proxies,
        shutdown_delay: server.shutdown_delay,
        log: log.ok_or_else(missing)?,
        telemetry,
    })
}

/// dns-persist-01 is a record that names the CA, which must have a name then.
fn require_names_in_records(
    issuance: Option<&issuance::Issuance>,
    validation: Option<&dcv::Validation>,
    check: &mut Check<'_>,
) {
    let (Some(issuance), Some(validation)) = (issuance, validation) else { return };
    let persistent = |profile: &Profile| profile.challenge_types.contains(&ChallengeType::DnsPersist01);
    if validation.validator.ca_domains.is_empty() && issuance.profiles.list.iter().any(persistent) {
        let message = "must have the name by which records for dns-persist-01 call this CA; a profile offers it";
        check.problems.add("dcv.caa_identities", message);
    }
}

/// What the checks share: where relative paths start, and what was found wrong so far.
struct Check<'a> {
    base: &'a Path,
    problems: Problems,
}

impl Check<'_> {
    fn path(&self, text: &str) -> PathBuf {
        self.base.join(text)
    }

    /// What is in a file.
    fn file(&mut self, setting: impl fmt::Display, text: &str) -> Option<Vec<u8>> {
        let path = self.path(text);
        let read = fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()));
        self.problems.take(setting, read)
    }

    /// A whole number between two others, both allowed.
    fn number<T: TryFrom<i64> + Copy + PartialOrd + fmt::Display>(
        &mut self,
        setting: impl fmt::Display,
        value: i64,
        least: T,
        most: T,
    ) -> Option<T> {
        let fits = T::try_from(value).ok().filter(|value| (least..=most).contains(value));
        if fits.is_none() {
            self.problems.add(setting, format!("must be {least} to {most}, not {value}"));
        }
        fits
    }

    /// A length of time between two others, both allowed.
    fn span(&mut self, setting: &str, text: &str, least: Duration, most: Duration) -> Option<Duration> {
        let span = self.problems.take(setting, span::parse(text))?;
        let fits = (least..=most).contains(&span);
        let bounds = || format!("must be {} to {}, not {text}", span::show(least), span::show(most));
        if !fits {
            self.problems.add(setting, bounds());
        }
        fits.then_some(span)
    }
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(minutes * 60)
}

const fn days(days: u64) -> Duration {
    Duration::from_secs(days * 86_400)
}

struct CaChoice {
    crl_shards: u32,
    blocklist: Option<Arc<KeyBlocklist>>,
}

fn settle_ca(ca: &Ca, check: &mut Check<'_>) -> Option<CaChoice> {
    let crl_shards = check.number("ca.crl_shards", ca.crl_shards, 1, 256);
    let blocklist = ca.key_blocklist.as_deref().map(|path| check.path(path));
    let blocklist = blocklist.and_then(|path| check.problems.take("ca.key_blocklist", KeyBlocklist::load(&path)));
    Some(CaChoice { crl_shards: crl_shards?, blocklist: blocklist.map(Arc::new) })
}

fn settle_telemetry(traces: &Traces, check: &mut Check<'_>) -> Option<Telemetry> {
    let sample = traces.sample;
    let message = format!("must be from 0 to 1, such as 0.1 for a tenth, not {sample}");
    check.problems.require((0.0..=1.0).contains(&sample), "telemetry.sample", message);
    let read = |text: &String| check.problems.take("telemetry.continue_from", text.parse::<Network>());
    let continued: Vec<_> = traces.continue_from.iter().map(read).collect();
    let endpoint = traces.otlp_endpoint.clone()?;
    check.problems.take("telemetry.otlp_endpoint", collector(&endpoint))?;
    Some(Telemetry { endpoint, sample, continued: continued.into_iter().collect::<Option<_>>()? })
}

fn settle_log(log: &Log, check: &mut Check<'_>) -> Option<LogChoice> {
    let format = match log.format.as_str() {
        "auto" => Ok(LogFormat::Auto),
        "human" => Ok(LogFormat::Human),
        "json" => Ok(LogFormat::Json),
        other => Err(format!("must be \"auto\", \"human\" or \"json\", not {other:?}")),
    };
    let format = check.problems.take("log.format", format);
    check.problems.take("log.level", check_level(&log.level))?;
    Some(LogChoice { format: format?, level: log.level.clone() })
}
