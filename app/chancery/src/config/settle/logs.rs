//! The logs that certificates are shown to before they are issued.

use std::collections::HashSet;
use std::ops::Range;

use chancery_client::BuildError;
use chancery_domain::Timestamp;
use chancery_pki::{CurrentLogs, Log, LogKey, LogList, SctNeeds};
use chancery_publish::LogClient;

use super::Check;
use crate::config::Problems;
use crate::config::log_list::{self, WrittenLog};
use crate::config::types;
use crate::installation::{CertificateLog, LogSource, Logs};

/// More make certificates longer than anybody wants to send them.
const MOST_SCTS: usize = 8;
const FILE: &str = "ct.log_list_file";

pub(super) fn settle(ct: &types::Ct, check: &mut Check<'_>) -> Option<Logs> {
    let before = check.problems.0.len();
    let mut settled = Logs::default();
    for (place, written) in ct.logs.iter().enumerate() {
        settled.logs.extend(settle_written(written, &|field: &str| format!("ct.logs.{place}.{field}"), check));
    }
    if let Some(file) = &ct.log_list_file {
        settle_file(file, &mut settled, check);
    }
    let scts = ct.scts.and_then(|scts| check.number("ct.scts", scts, 1, MOST_SCTS));
    let operators = match ct.operators {
        Some(operators) => check.number("ct.operators", operators, 1, MOST_SCTS),
        None => Some(SctNeeds::BROWSERS.operators.min(scts.unwrap_or(usize::MAX))),
    };
    let needs = SctNeeds { scts, operators: operators? };
    if let Some(scts) = needs.scts {
        let fits = needs.operators <= scts;
        check.problems.require(fits, "ct.operators", format!("must not be more than ct.scts, which is {scts}"));
    }
    if check.problems.0.len() > before {
        return None;
    }
    if settled.logs.is_empty() && ct.log_list_file.is_none() {
        return Some(settled);
    }
    let list = LogList::new(settled.logs.iter().map(|log| log.log.clone()).collect(), needs);
    let list = check.problems.take("ct.logs", list)?;
    // Whether there are enough for a certificate of a given day is told when it is known.
    let setting = if ct.logs.is_empty() { FILE } else { "ct.logs" };
    let of: HashSet<_> = list.logs().iter().map(|log| log.operator.as_str()).collect();
    let (least, most) = (needs.scts.unwrap_or(2), list.logs().len());
    let message =
        format!("must have {least} usable logs at least, not {most}; of the list {} are not", settled.unusable);
    check.problems.require(most >= least, setting, message);
    let message = format!("must have logs of {} operators at least, not of {}", needs.operators, of.len());
    check.problems.require(of.len() >= needs.operators, setting, message);
    settled.list = Some(CurrentLogs::new(list));
    settled.source = ct.log_list_file.as_ref().map(|file| LogSource {
        written: ct.clone(),
        base: check.base.to_owned(),
        file: check.path(file),
    });
    Some(settled)
}

/// Settles the logs once more while the service runs: the file that lists them may have changed.
pub fn settle_again(source: &LogSource) -> Result<Logs, Problems> {
    let mut check = Check { base: &source.base, problems: Problems::default() };
    let settled = settle(&source.written, &mut check);
    settled.filter(|_| check.problems.is_empty()).ok_or(check.problems)
}

fn settle_written(
    written: &types::CtLog,
    setting: &dyn Fn(&str) -> String,
    check: &mut Check<'_>,
) -> Option<CertificateLog> {
    for (field, text) in [("name", &written.name), ("operator", &written.operator)] {
        let fits = !text.trim().is_empty() && text.len() <= 100 && !text.chars().any(char::is_control);
        check.problems.require(fits, setting(field), "must be a short text");
    }
    let key = match written.key.as_str() {
        "" => Err("must be the public key of the log".to_owned()),
        text => log_list::read_key(text),
    };
    let key = check.problems.take(setting("key"), key);
    let mut time = |field: &str, text: &Option<String>| match text {
        Some(text) => check.problems.take(setting(field), log_list::read_time(text)).map(Some),
        None => Some(None),
    };
    let (from, until) = (time("from", &written.from), time("until", &written.until));
    let takes_some = !interval(from.flatten(), until.flatten()).is_empty();
    check.problems.require(takes_some, setting("until"), "must be later than from");
    let ca_pem = match &written.ca_file {
        Some(path) => Some(check.file(setting("ca_file"), path)?),
        None => None,
    };
    let client = match LogClient::new(&written.url, ca_pem) {
        Ok(client) => client,
        Err(error @ (BuildError::CaPem(_) | BuildError::NoSystemRoots(_))) => {
            check.problems.add(setting("ca_file"), error);
            return None;
        }
        Err(error @ (BuildError::Url { .. } | BuildError::Tls(_) | BuildError::Authorization)) => {
            check.problems.add(setting("url"), error);
            return None;
        }
    };
    let (name, operator, url) = (written.name.clone(), written.operator.clone(), written.url.clone());
    let written = WrittenLog { name, operator, url, key: key?, from: from?, until: until? };
    check.problems.take(setting("key"), log(written, client))
}

/// What cannot be used of a list is left out, and told: it was made by others, and is fetched anew without anybody looking.
fn settle_file(file: &str, settled: &mut Logs, check: &mut Check<'_>) {
    let Some(text) = check.file(FILE, file) else { return };
    let read = log_list::read(&text).map_err(|why| format!("{file} {why}"));
    let Some(listed) = check.problems.take(FILE, read) else { return };
    settled.made_at = listed.made_at;
    settled.odd = listed.odd;
    settled.unusable = listed.unusable;
    for mut written in listed.usable {
        if settled.logs.iter().any(|log| log.log.name == written.name) {
            written.name = written.url.clone();
        }
        let name = written.name.clone();
        if interval(written.from, written.until).is_empty() {
            continue;
        }
        match LogClient::new(&written.url, None)
            .map_err(|error| error.to_string())
            .and_then(|client| log(written, client))
        {
            // One that is named in the configuration as well is as it says there.
            Ok(log) if settled.logs.iter().any(|other| other.log.key.id() == log.log.key.id()) => {}
            Ok(log) => settled.logs.push(log),
            Err(why) => settled.odd.push(format!("{name}: {why}")),
        }
    }
}

fn log(written: WrittenLog, client: LogClient) -> Result<CertificateLog, String> {
    let WrittenLog { name, operator, key, from, until, .. } = written;
    let key =
        LogKey::from_spki(&key).map_err(|_| "its key must be P-256 or RSA, the base64 of a SubjectPublicKeyInfo")?;
    // However it is written, it is the same operator.
    let operator = operator.trim().to_lowercase();
    Ok(CertificateLog { log: Log { name, operator, key, takes: interval(from, until) }, client })
}

fn interval(from: Option<Timestamp>, until: Option<Timestamp>) -> Range<i64> {
    let seconds = |time: Option<Timestamp>, or: i64| time.map_or(or, Timestamp::as_secs);
    seconds(from, i64::MIN)..seconds(until, i64::MAX)
}
