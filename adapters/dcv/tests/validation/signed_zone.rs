//! A signed root zone that the tests make up, and what goes wrong with it on the way.

use std::collections::HashMap;
use std::time::Duration;

use chancery_testkit::dns::reply;
use data_encoding::BASE64;
use hickory_proto::dnssec::crypto::EcdsaSigningKey;
use hickory_proto::dnssec::rdata::{DNSKEY, DNSSECRData, NSEC, RRSIG};
use hickory_proto::dnssec::{Algorithm, DnssecSigner, PublicKey, SigningKey};
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::{NS, SOA, TXT};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordSet, RecordType};

use crate::world::DIGEST;

/// One signed zone, the root, that holds everything but what is below its delegations without keys.
pub(crate) struct Zone {
    signer: DnssecSigner,
    records: HashMap<(Name, RecordType), RData>,
    unsigned: Vec<Name>,
    tamper: Tamper,
}

/// What goes wrong on the way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tamper {
    Nothing,
    /// The record is another one than was signed.
    Data,
    /// Signatures are left out.
    Signatures,
    /// The proof that there is nothing is left out.
    Denials,
}

impl Zone {
    pub(crate) fn new(tamper: Tamper) -> Self {
        let signer = signer(Name::root());
        let dnskey = RData::DNSSEC(DNSSECRData::DNSKEY(signer.to_dnskey()));
        let records = HashMap::from([((Name::root(), RecordType::DNSKEY), dnskey)]);
        Self { signer, records, unsigned: Vec::new(), tamper }
    }

    pub(crate) fn with(mut self, name: &str, data: RData) -> Self {
        self.records.insert((parsed(name), data.record_type()), data);
        self
    }

    /// A name whose zone has no keys, and says so.
    pub(crate) fn delegating(mut self, name: &str) -> Self {
        self.unsigned.push(parsed(name));
        self.with(name, RData::NS(NS(parsed("ns.example.test"))))
    }

    /// The key that everything hangs on, as a zone file has it.
    pub(crate) fn anchor(&self) -> String {
        anchor(&self.signer)
    }

    pub(crate) fn answer(&self, question: &Message) -> Message {
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
        if !is_signed {
            answer.add_authorities(self.signed(delegation.unwrap(), &soa(), false));
            return answer;
        }
        answer.add_authorities(self.signed(&Name::root(), &soa(), true));
        if self.tamper != Tamper::Denials {
            // Made for the occasion: this name has these types, and nothing comes between it and its first child.
            let here = self.records.keys().filter(|(owner, _)| *owner == name).map(|(_, kind)| *kind);
            let next = name.prepend_label(&b"\0"[..]).unwrap();
            let denial = RData::DNSSEC(DNSSECRData::NSEC(NSEC::new_cover_self(next, here)));
            answer.add_authorities(self.signed(&name, &denial, true));
        }
        answer
    }

    pub(crate) fn signed(&self, name: &Name, data: &RData, sign: bool) -> Vec<Record> {
        let mut records = signed(name, data, &self.signer);
        records.truncate(if sign { 2 } else { 1 });
        records
    }
}

/// Signs for a zone with a key of its own.
pub(crate) fn signer(zone: Name) -> DnssecSigner {
    let algorithm = Algorithm::ECDSAP256SHA256;
    let key = EcdsaSigningKey::generate_pkcs8(algorithm).unwrap();
    let key = EcdsaSigningKey::from_pkcs8(&key, algorithm).unwrap();
    let dnskey = DNSKEY::from_key(&key.to_public_key().unwrap());
    DnssecSigner::new(dnskey, Box::new(key), zone, Duration::from_secs(86_400))
}

/// The key of the root, as a zone file has it.
pub(crate) fn anchor(signer: &DnssecSigner) -> String {
    let key = signer.key().to_public_key().unwrap();
    format!(". 3600 IN DNSKEY 257 3 {} {}\n", u8::from(key.algorithm()), BASE64.encode(key.public_bytes()))
}

/// A record and its signature.
pub(crate) fn signed(name: &Name, data: &RData, signer: &DnssecSigner) -> Vec<Record> {
    let record = Record::from_rdata(name.clone(), 60, data.clone());
    let mut set = RecordSet::new(name.clone(), data.record_type(), 0);
    set.insert(record.clone(), 0);
    let an_hour_ago = hickory_now() - Duration::from_secs(3600);
    let signature = RRSIG::from_rrset(&set, DNSClass::IN, an_hour_ago, signer).unwrap();
    vec![record, Record::from_rdata(name.clone(), 60, RData::DNSSEC(DNSSECRData::RRSIG(signature)))]
}

/// What stands at the top of a zone.
pub(crate) fn soa() -> RData {
    RData::SOA(SOA::new(parsed("ns"), parsed("nobody"), 1, 60, 60, 60, 60))
}

/// The library checks signatures by the clock of the system; so they are made by it.
#[allow(clippy::disallowed_methods)]
fn hickory_now() -> time::OffsetDateTime {
    time::OffsetDateTime::now_utc()
}

pub(crate) fn parsed(name: &str) -> Name {
    let mut name = Name::from_ascii(name).unwrap();
    name.set_fqdn(true);
    name
}

pub(crate) fn text(text: &str) -> RData {
    RData::TXT(TXT::new(vec![text.to_owned()]))
}
