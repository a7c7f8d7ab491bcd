//! Signatures in the DNS, checked from a key of the test's own.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chancery_dcv::Dnssec;
use chancery_domain::{ChallengeType, Identifier, ProblemKind};
use chancery_testkit::dns::{encoded, reply};
use data_encoding::BASE64;
use hickory_proto::dnssec::crypto::EcdsaSigningKey;
use hickory_proto::dnssec::rdata::{DNSKEY, DNSSECRData, NSEC, RRSIG};
use hickory_proto::dnssec::{Algorithm, DnssecSigner, PublicKey, SigningKey};
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::{CNAME, NS, SOA, TXT};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordSet, RecordType};

use crate::world::{DIGEST, World, refused, shown};

const DNS: ChallengeType = ChallengeType::Dns01;

/// One signed zone, the root, that holds everything but what is below its delegations without keys.
struct Zone {
    signer: DnssecSigner,
    records: HashMap<(Name, RecordType), RData>,
    unsigned: Vec<Name>,
    tamper: Tamper,
}

/// What goes wrong on the way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tamper {
    Nothing,
    /// The record is another one than was signed.
    Data,
    /// Signatures are left out.
    Signatures,
    /// The proof that there is nothing is left out.
    Denials,
}

impl Zone {
    fn new(tamper: Tamper) -> Self {
        let algorithm = Algorithm::ECDSAP256SHA256;
        let key = EcdsaSigningKey::generate_pkcs8(algorithm).unwrap();
        let key = EcdsaSigningKey::from_pkcs8(&key, algorithm).unwrap();
        let dnskey = DNSKEY::from_key(&key.to_public_key().unwrap());
        let records =
            HashMap::from([((Name::root(), RecordType::DNSKEY), RData::DNSSEC(DNSSECRData::DNSKEY(dnskey.clone())))]);
        let signer = DnssecSigner::new(dnskey, Box::new(key), Name::root(), Duration::from_secs(86_400));
        Self { signer, records, unsigned: Vec::new(), tamper }
    }

    fn with(mut self, name: &str, data: RData) -> Self {
        self.records.insert((parsed(name), data.record_type()), data);
        self
    }

    /// A name whose zone has no keys, and says so.
    fn delegating(mut self, name: &str) -> Self {
        self.unsigned.push(parsed(name));
        self.with(name, RData::NS(NS(parsed("ns.example.test"))))
    }

    /// The key that everything hangs on, as a zone file has it.
    fn anchor(&self) -> String {
        let key = self.signer.key().to_public_key().unwrap();
        format!(". 3600 IN DNSKEY 257 3 {} {}\n", u8::from(key.algorithm()), BASE64.encode(key.public_bytes()))
    }

    fn answer(&self, question: &Message) -> Message {
        let (name, kind) = (question.queries[0].name.to_lowercase(), question.queries[0].query_type);
        let mut answer = reply(question, ResponseCode::NoError);
        let delegation = self.unsigned.iter().find(|zone| zone.zone_of(&name));
        let is_signed = delegation.is_none_or(|zone| *zone == name && kind == RecordType::DS);
        let alias = self.records.get(&(name.clone(), RecordType::CNAME));
        if let Some(data) = self.records.get(&(name.clone(), kind)).or(alias) {
            for mut record in self.signed(&name, data, is_signed && self.tamper != Tamper::Signatures) {
                if let (Tamper::Data, RData::TXT(text)) = (self.tamper, &mut record.data) {
                    *text = TXT::new(vec!["forged".to_owned(), DIGEST.to_owned()]);
                }
                answer.add_answer(record);
            }
            return answer;
        }
        let soa = RData::SOA(SOA::new(parsed("ns"), parsed("nobody"), 1, 60, 60, 60, 60));
        if !is_signed {
            answer.add_authorities(self.signed(delegation.unwrap(), &soa, false));
            return answer;
        }
        answer.add_authorities(self.signed(&Name::root(), &soa, true));
        if self.tamper != Tamper::Denials {
            // Made for the occasion: this name has these types, and nothing comes between it and its first child.
            let here = self.records.keys().filter(|(owner, _)| *owner == name).map(|(_, kind)| *kind);
            let next = name.prepend_label(&b"\0"[..]).unwrap();
            let denial = RData::DNSSEC(DNSSECRData::NSEC(NSEC::new_cover_self(next, here)));
            answer.add_authorities(self.signed(&name, &denial, true));
        }
        answer
    }

    fn signed(&self, name: &Name, data: &RData, sign: bool) -> Vec<Record> {
        let record = Record::from_rdata(name.clone(), 60, data.clone());
        let mut records = vec![record.clone()];
        if sign {
            let mut set = RecordSet::new(name.clone(), data.record_type(), 0);
            set.insert(record, 0);
            let yesterday = hickory_now() - Duration::from_secs(3600);
            let signature = RRSIG::from_rrset(&set, DNSClass::IN, yesterday, &self.signer).unwrap();
            records.push(Record::from_rdata(name.clone(), 60, RData::DNSSEC(DNSSECRData::RRSIG(signature))));
        }
        records
    }
}

/// The library checks signatures by the clock of the system; so they are made by it.
#[allow(clippy::disallowed_methods)]
fn hickory_now() -> time::OffsetDateTime {
    time::OffsetDateTime::now_utc()
}

fn parsed(name: &str) -> Name {
    let mut name = Name::from_ascii(name).unwrap();
    name.set_fqdn(true);
    name
}

fn text(text: &str) -> RData {
    RData::TXT(TXT::new(vec![text.to_owned()]))
}

async fn world_of(zone: Zone) -> World {
    let mut world = World::new().await;
    world.config.dnssec = Dnssec::Validated { anchors: Some(zone.anchor()) };
    // A second look would show that it was not refused at once.
    world.config.retry_window = Duration::from_secs(20);
    let zone = Arc::new(zone);
    world.dns.script_all(move |question, _| Some(encoded(&zone.answer(question))));
    world
}

#[tokio::test]
async fn what_is_signed_rightly_is_secure() {
    let zone = Zone::new(Tamper::Nothing).with("_acme-challenge.example.test", text(DIGEST));
    let world = world_of(zone).await;
    let attempt = shown(world.verify("example.test", DNS).await);
    assert_eq!(attempt.dnssec.as_deref(), Some("secure"));
}

#[tokio::test]
async fn what_was_changed_or_lost_its_signature_is_bogus() {
    for tamper in [Tamper::Data, Tamper::Signatures] {
        let world = world_of(Zone::new(tamper).with("_acme-challenge.example.test", text(DIGEST))).await;
        let (attempt, detail) = refused(world.verify("example.test", DNS).await, ProblemKind::Dns);
        assert_eq!(attempt.dnssec.as_deref(), Some("bogus"));
        assert!(detail.contains("bogus"), "{detail}");
    }
}

#[tokio::test]
async fn a_zone_that_provably_has_no_keys_is_insecure_and_good_enough() {
    let zone = Zone::new(Tamper::Nothing).delegating("example.test").with("_acme-challenge.example.test", text(DIGEST));
    let world = world_of(zone).await;
    let attempt = shown(world.verify("example.test", DNS).await);
    assert_eq!(attempt.dnssec.as_deref(), Some("insecure"));
}

#[tokio::test]
async fn an_alias_out_of_a_signed_zone_is_as_weak_as_its_end() {
    let zone = Zone::new(Tamper::Nothing)
        .with("_acme-challenge.example.test", RData::CNAME(CNAME(parsed("here.other.test"))))
        .delegating("other.test")
        .with("here.other.test", text(DIGEST));
    let world = world_of(zone).await;
    let attempt = shown(world.verify("example.test", DNS).await);
    assert_eq!(attempt.dnssec.as_deref(), Some("insecure"));
}

#[tokio::test]
async fn that_there_is_no_caa_record_must_be_proven_where_the_zone_is_signed() {
    let name = Identifier::parse("example.test").unwrap();
    let world = world_of(Zone::new(Tamper::Nothing)).await;
    assert_eq!(world.validator().caa(&name, None, DNS).await.unwrap().found_at, None);

    let world = world_of(Zone::new(Tamper::Nothing).delegating("example.test")).await;
    assert_eq!(world.validator().caa(&name, None, DNS).await.unwrap().found_at, None);

    let world = world_of(Zone::new(Tamper::Denials)).await;
    let problem = world.validator().caa(&name, None, DNS).await.unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Caa);
    assert!(problem.detail.contains("bogus"), "{problem}");
}

#[tokio::test]
async fn keys_that_cannot_be_had_are_a_refusal() {
    let zone = Arc::new(Zone::new(Tamper::Nothing).with("_acme-challenge.example.test", text(DIGEST)));
    let mut world = World::new().await;
    world.config.dnssec = Dnssec::Validated { anchors: Some(zone.anchor()) };
    world.dns.script_all(move |question, _| Some(encoded(&zone.answer(question))));
    world.dns.fails(".", RecordType::DNSKEY, ResponseCode::ServFail);
    let verified = world.verify("example.test", DNS).await;
    assert_eq!(verified.outcome.unwrap_err().kind, ProblemKind::Dns);
}

#[test]
fn anchors_that_cannot_be_read_are_an_error_at_the_start() {
    use chancery_dcv::{ConfigError, Validator, ValidatorConfig};
    use chancery_testkit::{FrozenClock, SeededEntropy};
    let start = |anchors: Option<&str>| {
        let dnssec = Dnssec::Validated { anchors: anchors.map(str::to_owned) };
        let config = ValidatorConfig { dnssec, ..ValidatorConfig::default() };
        Validator::new(config, Arc::new(FrozenClock::default()), Arc::new(SeededEntropy::new(1))).map(|_| ())
    };
    assert!(start(None).is_ok(), "the keys of the root are known");
    assert!(matches!(start(Some("no zone file")), Err(ConfigError::TrustAnchors(_))));
}
