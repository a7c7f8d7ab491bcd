//! Precertificates, and what logs have promised.

use super::{Case, Constant, EC, NOW, Parts};
use crate::{
    CurrentLogs, Draft, KeyAlgorithm, Log, LogEntry, LogKey, LogList, PkiError, PrivateKey, Sct, SctNeeds, Serial,
    Signer, SubscriberProfile, Validity, draft::Stage, lint::findings,
};

/// Where the mark and the timestamps are: behind all others.
const LAST: usize = 7;

/// Logs with their keys, and a case whose certificates are shown to them.
struct Shown {
    keys: Vec<PrivateKey>,
    case: Case,
}

impl Shown {
    fn to(operators: &[&str]) -> Self {
        let keys: Vec<_> = operators.iter().map(|_| PrivateKey::generate(KeyAlgorithm::EcP256).unwrap()).collect();
        let log = |(place, operator): (usize, &&str)| Log {
            name: format!("log {place}"),
            operator: (*operator).to_owned(),
            key: LogKey::from_spki(keys[place].spki()).unwrap(),
            takes: 0..i64::MAX,
        };
        let list = operators.iter().enumerate().map(log).collect();
        let logs = Some(CurrentLogs::new(LogList::new(list, SctNeeds::BROWSERS).unwrap()));
        let case = Case { profile: SubscriberProfile { logs, ..EC.profile.clone() }, ..EC.clone() };
        Self { keys, case }
    }

    fn promise(&self, place: usize, entry: &LogEntry, timestamp: i64) -> Sct {
        let log = LogKey::from_spki(self.keys[place].spki()).unwrap().id();
        let unsigned = Sct {
            log,
            timestamp: timestamp.try_into().unwrap(),
            extensions: vec![place.try_into().unwrap()],
            signature: vec![],
        };
        let signature = self.keys[place].sign(&entry.signed_with(&unsigned).unwrap()).unwrap();
        let length = u16::try_from(signature.len()).unwrap().to_be_bytes();
        Sct { signature: [[4, 3], length].concat().into_iter().chain(signature).collect(), ..unsigned }
    }

    fn entry(&self) -> LogEntry {
        self.case.draft().log_entry(&self.case.issuer).unwrap()
    }

    /// What is wrong with the certificate that has these timestamps.
    fn with(&self, scts: &[Sct]) -> Vec<&'static str> {
        self.case.lints(self.case.draft().with_scts(scts).unwrap().tbs_der())
    }
}

fn precertificate_lints(case: &Case, tbs: &[u8]) -> Vec<&'static str> {
    findings(tbs, Stage::Precertificate, &case.terms()).iter().map(|finding| finding.lint).collect()
}

#[test]
fn a_precertificate_and_its_certificate_differ_in_one_extension() {
    let shown = Shown::to(&["a", "b"]);
    let (case, entry) = (&shown.case, shown.entry());
    let precertificate = case.draft();
    assert!(precertificate.is_precertificate());
    assert_eq!(precertificate_lints(case, precertificate.tbs_der()), [""; 0]);
    let scts = [shown.promise(0, &entry, NOW * 1000), shown.promise(1, &entry, NOW * 1000 - 5)];
    let certificate = precertificate.with_scts(&scts).unwrap();
    assert!(!certificate.is_precertificate());
    assert_eq!(case.lints(certificate.tbs_der()), [""; 0]);
    assert_eq!((certificate.serial(), certificate.validity()), (precertificate.serial(), precertificate.validity()));
    let (mut before, mut after) = (Parts::of(precertificate.tbs_der()), Parts::of(certificate.tbs_der()));
    assert_eq!((before.extensions.len(), after.extensions.len()), (LAST + 1, LAST + 1));
    assert_ne!(before.extensions.pop(), after.extensions.pop());
    assert_eq!(before.join(), after.join());
    // The same without logs is what is left of both: what logs sign.
    assert_eq!(before.join(), EC.draft().tbs_der());
    assert_eq!(certificate.log_entry(&case.issuer).unwrap(), entry);
}

#[test]
fn one_is_not_taken_for_the_other() {
    let shown = Shown::to(&["a", "b"]);
    let (case, entry) = (&shown.case, shown.entry());
    let scts = [shown.promise(0, &entry, 1), shown.promise(1, &entry, 1)];
    let precertificate = case.draft();
    let certificate = precertificate.with_scts(&scts).unwrap();
    assert_eq!(case.lints(precertificate.tbs_der()), ["unknown_extension", "missing_extension"]);
    assert!(precertificate.lint(&case.terms()).is_err());
    let swapped = precertificate_lints(case, certificate.tbs_der());
    assert_eq!(swapped, ["unknown_extension", "missing_extension"]);
    assert!(certificate.lint_precertificate(&case.terms()).is_err());
    // Where nothing is shown to logs both are out of place.
    assert_eq!(EC.lints(precertificate.tbs_der()), ["unknown_extension"]);
    assert_eq!(EC.lints(certificate.tbs_der()), ["unknown_extension"]);
    // And where something is, a certificate that was not is none.
    assert_eq!(case.lints(EC.draft().tbs_der()), ["missing_extension"]);
    let mut both = Parts::of(certificate.tbs_der());
    both.extensions.push(Parts::of(precertificate.tbs_der()).extensions.remove(LAST));
    assert!(case.lints(&both.join()).contains(&"unknown_extension"));
    assert!(matches!(certificate.with_scts(&scts), Err(PkiError::Scts)), "there is no mark to replace");
}

#[test]
fn promises_must_be_about_this_certificate_by_enough_logs_and_of_a_time_that_has_come() {
    let shown = Shown::to(&["a", "a", "b"]);
    let entry = shown.entry();
    let promise = |place| shown.promise(place, &entry, NOW * 1000);
    assert_eq!(shown.with(&[promise(0), promise(2)]), [""; 0]);
    assert_eq!(shown.with(&[promise(0)]), ["log_promises"]);
    assert_eq!(shown.with(&[promise(0), promise(1)]), ["log_promises"], "of one operator");
    assert_eq!(shown.with(&[promise(0), promise(0)]), ["log_promises"], "of one log");
    let others = Shown::to(&["a", "b", "c"]);
    let unknown = others.promise(2, &entry, NOW * 1000);
    assert_eq!(shown.with(&[promise(0), promise(2), unknown]), ["log_promise"], "of a log that nobody knows");
    let validity = Validity::days(NOW - 3600, shown.case.profile.validity_days).unwrap();
    let other = Draft::subscriber(&shown.case.terms(), validity, Serial::draw(&Constant(8)), None).unwrap();
    let other = other.log_entry(&shown.case.issuer).unwrap();
    assert_eq!(shown.with(&[promise(0), shown.promise(2, &other, NOW * 1000)]), ["log_promise"]);
    let later = Sct { timestamp: promise(2).timestamp + 1, ..promise(2) };
    assert_eq!(shown.with(&[promise(0), later]), ["log_promise"], "another time than was signed");
    let altered = Sct { extensions: vec![], ..promise(2) };
    assert_eq!(shown.with(&[promise(0), altered]), ["log_promise"], "other extensions than were signed");
    let renamed = Sct { log: promise(0).log, ..promise(2) };
    assert_eq!(shown.with(&[promise(0), promise(2), renamed]), ["log_promise"]);
    assert_eq!(shown.with(&[promise(0), shown.promise(2, &entry, NOW * 1000 + 5000)]), [""; 0]);
    assert_eq!(shown.with(&[promise(0), shown.promise(2, &entry, NOW * 1000 + 5001)]), ["log_promise"]);
}

#[test]
fn broken_marks_and_lists_are_found() {
    let shown = Shown::to(&["a", "b"]);
    let (case, entry) = (&shown.case, shown.entry());
    let mut marked = Parts::of(case.draft().tbs_der());
    let mark = marked.extensions[LAST].clone();
    // NULL at the end becomes an empty text.
    *marked.extensions[LAST].iter_mut().rev().nth(1).unwrap() = 4;
    assert!(precertificate_lints(case, &marked.join()).contains(&"precertificate_mark"));
    marked.extensions[LAST] = mark;
    // TRUE, which the mark has to be, becomes FALSE.
    let critical = marked.extensions[LAST].windows(3).position(|bytes| bytes == [1, 1, 0xff]).unwrap();
    marked.extensions[LAST][critical + 2] = 0;
    assert!(!precertificate_lints(case, &marked.join()).is_empty());

    let scts = [shown.promise(0, &entry, 1), shown.promise(1, &entry, 1)];
    let mut listed = Parts::of(case.draft().with_scts(&scts).unwrap().tbs_der());
    let place = listed.extensions[LAST].len() - 1;
    listed.extensions[LAST][place] ^= 1;
    assert_eq!(case.lints(&listed.join()), ["log_promise"]);
}
