//! The answers of resolvers.
//!
//! Of whatever message, what is taken are records of the type that was asked for, of the name or of the end of its
//! aliases; aliases follow each other, are few, and never lead in a circle. What is handed to the DNSSEC library is a
//! part of the message, and handed in once more stays what it is.

use std::sync::LazyLock;

use chancery_dcv::parsers::{DnsAnswer, caa_permits, dns_answer};
use chancery_domain::ChallengeType;
use hickory_proto::rr::{DNSClass, Name, RData, RecordType};

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "dns", run, form: Form::Bytes, words: include_str!("../../words/dns.dict") };

static NAME: LazyLock<Name> =
    LazyLock::new(|| Name::from_ascii("_acme-challenge.example.test.").expect("it is a name"));

fn run(input: &[u8]) {
    for kind in [RecordType::TXT, RecordType::CAA, RecordType::A, RecordType::AAAA] {
        // The question is sent with an answer; most inputs answer one of these.
        for name in [NAME.clone(), NAME.base_name()] {
            if let Some(answer) = dns_answer(input, &name, kind) {
                look(&answer, &name, kind);
            }
        }
    }
}

fn look(answer: &DnsAnswer, name: &Name, kind: RecordType) {
    let part = &answer.pertinent;
    assert!(part.answers.iter().all(|record| answer.message.answers.contains(record) && record.name == *name));
    assert!(part.authorities.iter().all(|record| answer.message.authorities.contains(record)));
    assert!(part.additionals.is_empty());
    assert_eq!(&answer.pertinent_again, part);
    let Some(found) = &answer.found else { return };
    assert!(found.aliases.len() <= 10);
    let mut at = name;
    for (place, (from, to)) in found.aliases.iter().enumerate() {
        assert_eq!(from, at, "aliases follow each other");
        assert!(found.aliases[..place].iter().all(|(before, _)| before != to), "aliases lead in a circle");
        at = to;
    }
    assert_eq!(&found.owner, at);
    for data in &found.data {
        assert_eq!(data.record_type(), kind);
        let is_it = |record: &&hickory_proto::rr::Record| {
            record.name == found.owner && record.dns_class == DNSClass::IN && record.data == *data
        };
        assert!(answer.message.answers.iter().any(|record| is_it(&record)), "it is not in the message");
    }
    assert!(found.complete || found.data.is_empty());
    assert_eq!(found.texts.len(), if kind == RecordType::TXT { found.data.len() } else { 0 });
    let records: Vec<_> = found.data.iter().filter_map(caa).collect();
    let ours = ["ca.test".to_owned()];
    let _ = caa_permits(&records, &ours, Some("https://ca.test/account/1"), ChallengeType::Dns01, false);
}

fn caa(data: &RData) -> Option<(u8, String, Vec<u8>)> {
    if let RData::CAA(record) = data { Some((record.flags(), record.tag.clone(), record.value.clone())) } else { None }
}
