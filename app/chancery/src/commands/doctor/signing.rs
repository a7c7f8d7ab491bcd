//! Whether there is somebody to sign the certificates of every profile.

use std::collections::BTreeSet;

use chancery_domain::Timestamp;
use chancery_service::operator::unsigned;
use chancery_service::{IssuerRules, Issuing};
use chancery_store::IssuerRecord;

use super::finding::Report;

/// Tells the profiles whose orders are going to fail, as a starting service logs them. Where there is no CA at all, that
/// is told elsewhere.
pub(super) fn judge(issuing: &Issuing, records: &[IssuerRecord], now: Timestamp, report: &mut Report) {
    if records.is_empty() {
        return;
    }
    let profiles: BTreeSet<_> = unsigned(issuing, records, now).into_iter().map(|(profile, _)| profile).collect();
    for name in profiles {
        let what = format!("no active CA may sign certificates of the profile {name}: its orders fail");
        report.problem("authorities", what, advice(&issuing.issuer_rules(&name)));
    }
}

fn advice(rules: &IssuerRules) -> String {
    let allowed = rules.allowed.iter().map(|named| format!("{:?}", named.to_string())).collect::<Vec<_>>().join(", ");
    match allowed.as_str() {
        "" => "make one: chancery ca create --kind ec-p256".to_owned(),
        allowed => format!(
            "its `issuers` are {allowed}: mend those, or make such a CA: chancery ca create --kind KEY --name NAME"
        ),
    }
}
