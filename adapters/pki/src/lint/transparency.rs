//! What logs have promised: it must be about this very certificate, and enough (RFC 6962 section 3).

use x509_parser::{certificate::TbsCertificate, extensions::X509Extension};

use super::{Findings, extensions::oid};
use crate::{
    subscriber::Terms,
    transparency::{CurrentLogs, LogEntry, LogList, POISON, SCT_LIST, Sct, is_poison, sct_list},
    validity::Validity,
};

/// Whether these extensions may be there at all is looked at elsewhere.
pub(super) fn lint(bytes: &[u8], tbs: &TbsCertificate<'_>, terms: &Terms<'_>, findings: &mut Findings) {
    for extension in tbs.extensions() {
        if extension.oid == oid(&POISON) {
            findings.require(is_poison(extension.value), "precertificate_mark", "it says more than it should");
        }
        if extension.oid == oid(&SCT_LIST) {
            timestamps(extension, bytes, tbs, terms, findings);
        }
    }
}

fn timestamps(
    extension: &X509Extension<'_>,
    bytes: &[u8],
    tbs: &TbsCertificate<'_>,
    terms: &Terms<'_>,
    findings: &mut Findings,
) {
    let Some(scts) = sct_list(extension.value) else {
        return findings.add("malformed", "the timestamps of logs are not a list of such");
    };
    let Some(logs) = terms.profile.logs.as_ref().map(CurrentLogs::now) else { return };
    let Ok(entry) = LogEntry::of(bytes, terms.issuer) else {
        return findings.add("malformed", "it cannot be told what logs have promised to show");
    };
    for sct in &scts {
        let holds = has_promised(&logs, sct, &entry);
        findings.require(holds, "log_promise", format_args!("the log {} has not promised to show this", sct.log));
        let come = sct.has_come(terms.now);
        findings.require(come, "log_promise", format_args!("what the log {} says is of a time to come", sct.log));
    }
    let period = tbs.validity();
    let (first, last) = (period.not_before.timestamp(), period.not_after.timestamp());
    let enough = Validity::lasting(first, last.saturating_sub(first).saturating_add(1))
        .is_ok_and(|validity| logs.is_enough(validity, scts.iter().map(|sct| sct.log)));
    findings.require(enough, "log_promises", "too few logs, or of too few operators, have promised to show it");
}

fn has_promised(logs: &LogList, sct: &Sct, entry: &LogEntry) -> bool {
    logs.find(sct.log).is_some_and(|log| log.key.has_promised(sct, entry))
}
