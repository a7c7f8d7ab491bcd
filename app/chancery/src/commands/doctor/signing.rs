//! Whether there is somebody to sign the certificates of every profile.

use chancery_domain::{KeyType, Timestamp};
use chancery_pki::{Certificate, Purpose};
use chancery_service::operator::KeyAlgorithm;
use chancery_service::{IssuerRef, IssuerRules, Issuing};
use chancery_store::{IssuerKind, IssuerRecord, IssuerState};

use super::finding::Report;

/// Tells the profiles whose orders are going to fail, as a starting service logs them. Where there is no CA at all, that
/// is told elsewhere.
pub(super) fn judge(issuing: &Issuing, records: &[IssuerRecord], now: Timestamp, report: &mut Report) {
    if records.is_empty() {
        return;
    }
    let signing: Vec<_> = records.iter().filter_map(|record| Signing::of(record, now)).collect();
    for (name, profile) in &issuing.certificates {
        let rules = issuing.issuer_rules(name);
        // The kind of the subscriber's key says who of them signs, and never that nobody does.
        if !signing.iter().any(|ca| ca.may_sign(&rules, &profile.purposes)) {
            let what = format!("no active CA may sign certificates of the profile {name}: its orders fail");
            report.problem("authorities", what, advice(&rules));
        }
    }
}

/// An issuing CA that signs: active, neither revoked nor at its end.
struct Signing<'a> {
    name: &'a str,
    key: KeyAlgorithm,
    certificate: Certificate,
}

impl<'a> Signing<'a> {
    fn of(record: &'a IssuerRecord, now: Timestamp) -> Option<Self> {
        let stands =
            record.kind == IssuerKind::Issuing && record.state == IssuerState::Active && record.revocation.is_none();
        let certificate = Certificate::from_der(&record.certificate).ok()?;
        let key = certificate.info().ok()?.key_type.parse::<KeyType>().ok()?;
        let key = KeyAlgorithm::try_from(key).ok()?;
        (stands && now.as_secs() <= certificate.not_after()).then_some(Self { name: &record.name, key, certificate })
    }

    fn may_sign(&self, rules: &IssuerRules, purposes: &[Purpose]) -> bool {
        let named = |named: &IssuerRef| match named {
            IssuerRef::Key(key) => self.key == *key,
            IssuerRef::Rsa => match self.key {
                KeyAlgorithm::Rsa2048 | KeyAlgorithm::Rsa3072 | KeyAlgorithm::Rsa4096 => true,
                KeyAlgorithm::EcP256 | KeyAlgorithm::EcP384 => false,
            },
            IssuerRef::Name(name) => self.name == name,
        };
        let allowed = rules.allowed.is_empty() || rules.allowed.iter().any(named);
        allowed && self.certificate.covers(purposes).unwrap_or(false)
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
