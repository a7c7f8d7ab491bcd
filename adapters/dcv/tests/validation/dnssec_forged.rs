//! What somebody between us and a signed zone may try: records of other zones, in the place of those that it lacks.
//!
//! Each of these would pass if every record were judged by itself and not by what it has to do with the question.

use chancery_domain::{ChallengeType, Identifier, ProblemKind};
use chancery_testkit::dns::{encoded, reply};
use hickory_proto::dnssec::rdata::{DNSSECRData, DS, NSEC, NSEC3};
use hickory_proto::dnssec::{DigestType, DnssecSigner, Nsec3HashAlgorithm};
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::{Name, RData, Record, RecordType};

use crate::dnssec::world_of;
use crate::signed_zone::{Tamper, Zone, anchor, parsed, signed, signer, soa, text};
use crate::world::{DIGEST, World, refused};

const DNS: ChallengeType = ChallengeType::Dns01;
const PLACE: &str = "_acme-challenge.example.test";

/// Answers one question with these records, in the answer and in the authority section.
fn forge(world: &World, name: &str, kind: RecordType, answers: Vec<Record>, authorities: Vec<Record>) {
    forge_code(world, name, kind, ResponseCode::NoError, answers, authorities);
}

fn forge_code(
    world: &World,
    name: &str,
    kind: RecordType,
    code: ResponseCode,
    answers: Vec<Record>,
    authorities: Vec<Record>,
) {
    world.dns.script(name, kind, move |question: &Message, _| {
        let mut answer = reply(question, code);
        answer.add_answers(answers.iter().cloned());
        answer.add_authorities(authorities.iter().cloned());
        Some(encoded(&answer))
    });
}

fn plain(name: &str, data: RData) -> Record {
    Record::from_rdata(parsed(name), 60, data)
}

fn key_of(signer: &DnssecSigner) -> RData {
    RData::DNSSEC(DNSSECRData::DNSKEY(signer.to_dnskey()))
}

async fn caa_is_refused(world: &World) {
    let name = Identifier::parse("example.test").unwrap();
    let problem = world.validator().caa("", &name, None, DNS).await.unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Caa);
    assert!(problem.detail.contains("bogus"), "{problem}");
}

/// A signed zone that holds `example.test`, and an attacker's zone that provably has no keys.
async fn beside_an_unsigned_zone() -> World {
    world_of(Zone::new(Tamper::Nothing).delegating("attacker.test")).await
}

#[tokio::test]
async fn the_top_of_an_unsigned_zone_does_not_deny_a_record_of_a_signed_one() {
    let world = beside_an_unsigned_zone().await;
    forge(&world, "example.test", RecordType::CAA, vec![], vec![plain("attacker.test", soa())]);
    caa_is_refused(&world).await;
    // Nor does it with some record in the answer that nobody asked for.
    let answers = vec![plain("attacker.test", text("x"))];
    forge(&world, "example.test", RecordType::CAA, answers, vec![plain("attacker.test", soa())]);
    caa_is_refused(&world).await;
    // Nor do its denials, signed or not.
    let denial = RData::DNSSEC(DNSSECRData::NSEC(NSEC::new(parsed("zzz"), [RecordType::SOA])));
    let denial = signed(&parsed("attacker.test"), &denial, &signer(parsed("attacker.test")));
    for denial in [denial.clone(), vec![denial[0].clone()]] {
        forge(&world, "example.test", RecordType::CAA, vec![], denial);
        caa_is_refused(&world).await;
    }
}

#[tokio::test]
async fn the_keys_of_an_unsigned_zone_do_not_make_a_signed_one_unsigned() {
    let world = beside_an_unsigned_zone().await;
    let forger = signer(parsed("example.test"));
    forge(&world, PLACE, RecordType::TXT, signed(&parsed(PLACE), &text(DIGEST), &forger), vec![]);
    let keys = vec![plain("attacker.test", key_of(&forger))];
    forge(&world, "example.test", RecordType::DNSKEY, keys, vec![plain("attacker.test", soa())]);
    let (attempt, _) = refused(world.verify("example.test", DNS).await, ProblemKind::Dns);
    assert_eq!(attempt.dnssec.as_deref(), Some("bogus"));
}

#[tokio::test]
async fn a_signed_zone_does_not_deny_the_names_of_another() {
    let forger = signer(parsed("attacker.aaa"));
    let digest = forger.to_dnskey().to_digest(&parsed("attacker.aaa"), DigestType::SHA256).unwrap();
    let key_tag = forger.calculate_key_tag().unwrap();
    let ds = DS::new(key_tag, forger.key().algorithm(), DigestType::SHA256, digest.as_ref().to_vec());
    let zone = Zone::new(Tamper::Nothing).with("attacker.aaa", RData::DNSSEC(DNSSECRData::DS(ds)));
    let world = world_of(zone).await;
    let top = parsed("attacker.aaa");
    forge(&world, "attacker.aaa", RecordType::DNSKEY, signed(&top, &key_of(&forger), &forger), vec![]);
    // Rightly signed by the attacker's own key: between these two names there is nothing.
    let denial = RData::DNSSEC(DNSSECRData::NSEC(NSEC::new(parsed("zzz"), [RecordType::SOA])));
    let denial = signed(&top, &denial, &forger);
    forge_code(&world, "example.test", RecordType::CAA, ResponseCode::NXDomain, vec![], denial.clone());
    caa_is_refused(&world).await;
    let with_top = [denial, signed(&top, &soa(), &forger)].concat();
    forge_code(&world, "example.test", RecordType::CAA, ResponseCode::NXDomain, vec![], with_top);
    caa_is_refused(&world).await;
}

#[tokio::test]
async fn a_denial_that_costs_too_much_to_check_does_not_vouch_for_what_is_beside_it() {
    let root = signer(Name::root());
    let hash = vec![0; 20];
    let denial = NSEC3::new(Nsec3HashAlgorithm::SHA1, false, 150, Vec::new(), hash, [RecordType::NS]);
    let denial = signed(&parsed("0123456789abcdefghijklmnopqrstuv"), &RData::DNSSEC(DNSSECRData::NSEC3(denial)), &root);
    let mut world = World::new().await;
    world.config.dnssec = chancery_dcv::Dnssec::Validated { anchors: Some(anchor(&root)) };
    world.dns.script_all(|question, _| Some(encoded(&reply(question, ResponseCode::ServFail))));
    forge(&world, ".", RecordType::DNSKEY, signed(&Name::root(), &key_of(&root), &root), vec![]);
    // As if it came from a wildcard: then a denial must be beside it.
    let mut forged = signed(&parsed(PLACE), &text(DIGEST), &signer(Name::root()));
    if let RData::DNSSEC(DNSSECRData::RRSIG(signature)) = &forged[1].data {
        let mut input = signature.input().clone();
        input.num_labels = 1;
        let signature = hickory_proto::dnssec::rdata::RRSIG::from_sig(input, signature.sig().to_vec());
        forged[1].data = RData::DNSSEC(DNSSECRData::RRSIG(signature));
    }
    forge(&world, PLACE, RecordType::TXT, forged, denial);
    let (attempt, _) = refused(world.verify("example.test", DNS).await, ProblemKind::Dns);
    assert_eq!(attempt.dnssec.as_deref(), Some("bogus"));
}

#[tokio::test]
async fn an_alias_and_what_it_leads_to_are_proven_one_by_one() {
    use hickory_proto::rr::rdata::CNAME;
    // The alias is rightly signed; what it leads to is in the same message, and is not.
    let zone = Zone::new(Tamper::Nothing)
        .with(PLACE, RData::CNAME(CNAME(parsed("here.example.test"))))
        .with("here.example.test", text("the real one"));
    let alias = zone.answer(&question(PLACE, RecordType::TXT)).answers;
    let world = world_of(zone).await;
    let both = [alias, vec![plain("here.example.test", text(DIGEST))]].concat();
    forge(&world, PLACE, RecordType::TXT, both, vec![]);
    let (attempt, detail) = refused(world.verify("example.test", DNS).await, ProblemKind::IncorrectResponse);
    assert_eq!(attempt.dnssec.as_deref(), Some("secure"));
    assert!(detail.contains("the real one"), "{detail}");
}

fn question(name: &str, kind: RecordType) -> Message {
    let mut question = Message::query();
    question.add_query(hickory_proto::op::Query::query(parsed(name), kind));
    question
}
