//! From where else control of names is looked at.

use std::sync::Arc;
use std::time::Duration;

use chancery_client::BuildError;
use chancery_dcv::ValidatorConfig;
use chancery_domain::{Quorum, Region, Secret, tolerance};
use chancery_machine::SystemEntropy;
use chancery_perspective::{Asker, Place, Remote};

use super::Check;
use crate::config::types;
use crate::files::read_secret;
use crate::installation::Perspectives;
use crate::perspective::LEAST_SECRET;

/// More would take longer and see no more.
const MOST: usize = 16;
/// What is seen from here is called so.
const OURS: &str = "primary";

/// How they are asked: by whom, and how long one who is away is tried.
pub(super) struct Asking {
    pub(super) asker: Asker,
    pub(super) trying: Duration,
}

impl Asking {
    pub(super) fn by(validator: &ValidatorConfig) -> Self {
        let (ca_domains, strictness) = (validator.ca_domains.clone(), validator.strictness());
        let asker = Asker { ca_domains, strictness, entropy: Arc::new(SystemEntropy) };
        Self { asker, trying: validator.retry_window }
    }
}

pub(super) fn settle(dcv: &types::Dcv, asking: &Asking, check: &mut Check<'_>) -> Option<Perspectives> {
    let written = &dcv.perspectives;
    check.problems.require(written.len() <= MOST, "dcv.perspectives", format!("must be {MOST} at most"));
    let (mut remotes, mut places) = (Vec::new(), Vec::new());
    for (place, one) in written.iter().enumerate() {
        let setting = |field: &str| format!("dcv.perspectives.{place}.{field}");
        let before = &written[..place];
        let named = before.iter().any(|other| other.name == one.name);
        check.problems.require(!named, setting("name"), "is the same as another perspective's");
        let there = before.iter().any(|other| other.url.trim_end_matches('/') == one.url.trim_end_matches('/'));
        check.problems.require(!there, setting("url"), "is another perspective's: one sees no more than one");
        check.problems.take(setting("name"), name(&one.name));
        // Where something is wrong none of this is used.
        let region = one.region.as_deref().and_then(|text| check.problems.take(setting("region"), region(text)));
        places.push((one.name.clone(), region));
        remotes.extend(settle_remote(one, setting, asking, check));
    }
    let said = places.iter().filter(|(_, region)| region.is_some()).count();
    let message = "must be said of all perspectives, or of none: those who agree must be in two regions";
    check.problems.require(said == 0 || said == written.len(), "dcv.perspectives.region", message);
    let usual = tolerance(written.len());
    let may_fail = match dcv.perspectives_may_fail {
        Some(wanted) => check.number("dcv.perspectives_may_fail", wanted, 0, usual)?,
        None => usual,
    };
    Some(Perspectives { remotes, quorum: Quorum::new(places, may_fail) })
}

fn settle_remote(
    written: &types::Perspective,
    setting: impl Fn(&str) -> String,
    asking: &Asking,
    check: &mut Check<'_>,
) -> Option<Remote> {
    let secret = match written.secret_file.as_str() {
        "" => Err("must name the file with the secret that it has as well".to_owned()),
        file => read_secret(&check.path(file)).and_then(long_enough),
    };
    let secret = check.problems.take(setting("secret_file"), secret);
    let ca_pem = match &written.ca_file {
        Some(path) => Some(check.file(setting("ca_file"), path)?),
        None => None,
    };
    let place = Place { name: &written.name, url: &written.url, secret: &secret?, ca_pem, trying: asking.trying };
    match Remote::new(place, asking.asker.clone()) {
        Ok(remote) => Some(remote),
        Err(BuildError::Authorization) => {
            check.problems.add(setting("secret_file"), "must have one secret in it, on one line");
            None
        }
        Err(error @ (BuildError::CaPem(_) | BuildError::NoSystemRoots(_))) => {
            check.problems.add(setting("ca_file"), error);
            None
        }
        Err(error @ (BuildError::Url { .. } | BuildError::Tls(_))) => {
            check.problems.add(setting("url"), error);
            None
        }
    }
}

/// As the other end asks for it.
fn long_enough(secret: Secret) -> Result<Secret, String> {
    match secret.reveal().len() >= LEAST_SECRET {
        true => Ok(secret),
        false => Err(format!("the secret in it must have {LEAST_SECRET} characters at least")),
    }
}

/// It stands in what was seen, in metrics and in the log.
fn name(text: &str) -> Result<(), String> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    match text {
        OURS => Err(format!("must not be {OURS}: that is where this service is itself")),
        _ if (1..=32).contains(&text.len()) && text.bytes().all(plain) => Ok(()),
        _ => Err(format!("must be a short word of a-z, 0-9 and -, not {text:?}")),
    }
}

fn region(text: &str) -> Result<Region, String> {
    Region::from_name(text).ok_or_else(|| {
        let all: Vec<_> = Region::ALL.iter().map(|region| region.as_str()).collect();
        format!("must be one of {}, not {text:?}", all.join(", "))
    })
}
