//! The logs that certificates are shown to before they are issued.

use std::collections::HashSet;
use std::fs;
use std::sync::Arc;

use chancery_client::BuildError;
use chancery_domain::Timestamp;
use chancery_pki::{Log, LogKey, LogList, SctNeeds};
use chancery_publish::LogClient;

use super::Check;
use crate::config::log_list::{self, WrittenLog};
use crate::config::types;
use crate::installation::{CertificateLog, Logs};

/// More make certificates longer than anybody wants to send them.
const MOST_SCTS: usize = 8;

pub(super) fn settle(ct: &types::Ct, check: &mut Check<'_>) -> Option<Logs> {
    let before = check.problems.0.len();
    let mut logs = Vec::new();
    for (place, written) in ct.logs.iter().enumerate() {
        logs.extend(settle_written(written, &|field: &str| format!("ct.logs.{place}.{field}"), check));
    }
    if let Some(file) = &ct.log_list_file {
        logs.extend(settle_file(file, check));
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
    let list = LogList::new(logs.iter().map(|log| log.log.clone()).collect(), needs);
    let list = check.problems.take("ct.logs", list)?;
    if logs.is_empty() {
        return Some(Logs::default());
    }
    // Whether there are enough for a certificate of a given day is told when it is known.
    let of: HashSet<_> = logs.iter().map(|log| log.log.operator.as_str()).collect();
    let (least, most) = (needs.scts.unwrap_or(2), logs.len());
    check.problems.require(most >= least, "ct.logs", format!("must be {least} at least, not {most}"));
    let message = format!("must be of {} operators at least, not of {}", needs.operators, of.len());
    check.problems.require(of.len() >= needs.operators, "ct.logs", message);
    Some(Logs { list: Some(Arc::new(list)), logs })
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
    let key = check.problems.take(setting("key"), log_list::read_key(&written.key));
    let mut time = |field: &str, text: &Option<String>| match text {
        Some(text) => check.problems.take(setting(field), log_list::read_time(text)).map(Some),
        None => Some(None),
    };
    let (from, until) = (time("from", &written.from), time("until", &written.until));
    let ca_pem = match &written.ca_file {
        Some(path) => {
            let path = check.path(path);
            let read = fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()));
            Some(check.problems.take(setting("ca_file"), read)?)
        }
        None => None,
    };
    let (name, operator, url) = (written.name.clone(), written.operator.clone(), written.url.clone());
    let log = WrittenLog { name, operator, url, key: key?, from: from?, until: until? };
    settle_log(log, ca_pem, setting, check)
}

fn settle_file(file: &str, check: &mut Check<'_>) -> Vec<CertificateLog> {
    const SETTING: &str = "ct.log_list_file";
    let path = check.path(file);
    let read = fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()));
    let read = read.and_then(|text| log_list::read(&text).map_err(|why| format!("{} {why}", path.display())));
    let Some(written) = check.problems.take(SETTING, read) else { return Vec::new() };
    written.into_iter().filter_map(|log| settle_log(log, None, &|_: &str| SETTING.to_owned(), check)).collect()
}

fn settle_log(
    written: WrittenLog,
    ca_pem: Option<Vec<u8>>,
    setting: &dyn Fn(&str) -> String,
    check: &mut Check<'_>,
) -> Option<CertificateLog> {
    let WrittenLog { name, operator, url, key, from, until } = written;
    let kind = "must be a P-256 or RSA key, the base64 of its SubjectPublicKeyInfo";
    let key = check.problems.take(setting("key"), LogKey::from_spki(&key).map_err(|_| kind));
    let seconds = |time: Option<Timestamp>, or: i64| time.map_or(or, Timestamp::as_secs);
    let takes = seconds(from, i64::MIN)..seconds(until, i64::MAX);
    check.problems.require(!takes.is_empty(), setting("until"), "must be later than from");
    let client = match LogClient::new(&url, ca_pem) {
        Ok(client) => Some(client),
        Err(error @ (BuildError::CaPem(_) | BuildError::NoSystemRoots(_))) => {
            check.problems.add(setting("ca_file"), error);
            None
        }
        Err(error @ (BuildError::Url { .. } | BuildError::Tls(_) | BuildError::Authorization)) => {
            check.problems.add(setting("url"), error);
            None
        }
    };
    Some(CertificateLog { log: Log { name, operator, key: key?, takes }, client: client? })
}
