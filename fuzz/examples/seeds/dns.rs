//! Answers of resolvers, and the values that we seal.

use chancery_seal::Keyring;
use hickory_proto::dnssec::Nsec3HashAlgorithm;
use hickory_proto::dnssec::rdata::{DNSSECRData, NSEC, NSEC3};
use hickory_proto::op::{Message, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, CAA, CNAME, SOA, TXT};
use hickory_proto::rr::{Name, RData, Record, RecordType};

use crate::keep;

const NAME: &str = "_acme-challenge.example.test.";

pub(crate) fn write() {
    let text = |text: &str| RData::TXT(TXT::new(vec![text.to_owned(), "more".to_owned()]));
    let issue = |tag: &str, value: &str| {
        let mut record = CAA::new_issue(false, None, Vec::new());
        record.tag = tag.to_owned();
        record.value = value.as_bytes().to_vec();
        RData::CAA(record)
    };
    let alias = |to: &str| RData::CNAME(CNAME(name(to)));
    let parent = "example.test.";
    for (file, asked, kind, answers) in [
        ("txt", NAME, RecordType::TXT, vec![(NAME, text("gfj9Xq...Rg85nM"))]),
        (
            "alias",
            NAME,
            RecordType::TXT,
            vec![(NAME, alias("a.test.")), ("a.test.", alias("b.test.")), ("b.test.", text("x"))],
        ),
        ("circle", NAME, RecordType::TXT, vec![(NAME, alias("a.test.")), ("a.test.", alias(NAME))]),
        (
            "caa",
            parent,
            RecordType::CAA,
            vec![
                (parent, issue("issue", "ca.test; accounturi=https://ca.test/account/1")),
                (parent, issue("issuewild", ";")),
            ],
        ),
        ("a", parent, RecordType::A, vec![(parent, RData::A(A::new(192, 0, 2, 1)))]),
        ("aaaa", parent, RecordType::AAAA, vec![(parent, RData::AAAA(AAAA::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)))]),
    ] {
        let mut message = asking(asked, kind);
        for (owner, data) in answers {
            message.add_answer(Record::from_rdata(name(owner), 60, data));
        }
        message.add_additional(Record::from_rdata(name("ns.test."), 60, RData::A(A::new(192, 0, 2, 53))));
        keep("dns", file, message.to_vec().expect("it can be written"));
    }
    denials();
    let keyring = Keyring::from_base64("QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkI=").expect("it is a key");
    keep("sealed", "ours", keyring.seal("fuzz", b"hello"));
    keep("sealed", "base64", "QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkI=");
}

fn denials() {
    let soa = RData::SOA(SOA::new(name("ns.test."), name("a.test."), 1, 2, 3, 4, 5));
    let nsec = NSEC::new(name("z.test."), [RecordType::A, RecordType::RRSIG]);
    let nsec3 = NSEC3::new(Nsec3HashAlgorithm::SHA1, false, 1, vec![1, 2], vec![7; 20], [RecordType::DNAME]);
    let denials = [
        ("nothing", soa.clone()),
        ("nsec", RData::DNSSEC(DNSSECRData::NSEC(nsec))),
        ("nsec3", RData::DNSSEC(DNSSECRData::NSEC3(nsec3))),
    ];
    for (file, data) in denials {
        let mut message = asking("example.test.", RecordType::CAA);
        message.metadata.response_code = ResponseCode::NXDomain;
        message.add_authority(Record::from_rdata(name("test."), 60, soa.clone()));
        message.add_authority(Record::from_rdata(name("example.test."), 60, data));
        keep("dns", file, message.to_vec().expect("it can be written"));
    }
}

fn asking(asked: &str, kind: RecordType) -> Message {
    let mut message = Message::response(7, OpCode::Query);
    message.add_query(Query::query(name(asked), kind));
    message
}

fn name(text: &str) -> Name {
    Name::from_ascii(text).expect("it is a name")
}
