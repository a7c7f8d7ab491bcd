//! From where else control of names is looked at.

use std::fs;

use chancery_domain::{Region, tolerance};
use chancery_perspective::{Place, Remote};

use super::Check;
use crate::config::types;
use crate::files::read_secret;
use crate::installation::{Perspective, Perspectives};

/// More would take longer and see no more.
const MOST: usize = 16;
/// What is seen from here is called so.
const OURS: &str = "primary";

/// `ca_domains` are the names by which records know us.
pub(super) fn settle(dcv: &types::Dcv, ca_domains: &[String], check: &mut Check<'_>) -> Option<Perspectives> {
    let written = &dcv.perspectives;
    check.problems.require(written.len() <= MOST, "dcv.perspectives", format!("must be {MOST} at most"));
    let mut list: Vec<Perspective> = Vec::new();
    for (place, written) in written.iter().enumerate() {
        let setting = |field: &str| format!("dcv.perspectives.{place}.{field}");
        let taken = list.iter().any(|other| other.remote.name() == written.name);
        check.problems.require(!taken, setting("name"), "is the same as another perspective's");
        check.problems.take(setting("name"), name(&written.name));
        // Where something is wrong none of this is used.
        let region = written.region.as_deref().and_then(|text| check.problems.take(setting("region"), region(text)));
        let remote = settle_remote(written, setting, ca_domains, check);
        list.extend(remote.map(|remote| Perspective { remote, region }));
    }
    let usual = tolerance(written.len());
    let may_fail = match dcv.perspectives_may_fail {
        Some(wanted) => check.number("dcv.perspectives_may_fail", wanted, 0, usual)?,
        None => usual,
    };
    Some(Perspectives { list, may_fail })
}

fn settle_remote(
    written: &types::Perspective,
    setting: impl Fn(&str) -> String,
    ca_domains: &[String],
    check: &mut Check<'_>,
) -> Option<Remote> {
    let secret = check.problems.take(setting("secret_file"), read_secret(&check.path(&written.secret_file)));
    let ca_pem = match &written.ca_file {
        Some(path) => {
            let path = check.path(path);
            let read = fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()));
            Some(check.problems.take(setting("ca_file"), read)?)
        }
        None => None,
    };
    let place = Place { name: &written.name, url: &written.url, secret: &secret?, ca_pem };
    check.problems.take(setting("url"), Remote::new(place, ca_domains))
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
