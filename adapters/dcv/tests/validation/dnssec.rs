//! Signatures in the DNS, checked from a key of the test's own.

use std::sync::Arc;
use std::time::Duration;

use chancery_dcv::Dnssec;
use chancery_domain::{ChallengeType, Identifier, ProblemKind};
use chancery_testkit::dns::{encoded, reply};
use data_encoding::BASE32_DNSSEC;
use hickory_proto::dnssec::Nsec3HashAlgorithm;
use hickory_proto::dnssec::rdata::{DNSSECRData, NSEC, NSEC3};
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::{CAA, CNAME, NULL};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use hickory_proto::serialize::binary::BinEncodable;

use crate::signed_zone::{Tamper, Zone, parsed, soa, text};
use crate::world::{DIGEST, World, refused, shown};

const DNS: ChallengeType = ChallengeType::Dns01;

pub(crate) async fn world_of(zone: Zone) -> World {
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
    assert_eq!(world.validator().caa("", &name, None, DNS).await.unwrap().found_at, None);

    let world = world_of(Zone::new(Tamper::Nothing).delegating("example.test")).await;
    assert_eq!(world.validator().caa("", &name, None, DNS).await.unwrap().found_at, None);

    let world = world_of(Zone::new(Tamper::Denials)).await;
    let problem = world.validator().caa("", &name, None, DNS).await.unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Caa);
    assert!(problem.detail.contains("bogus"), "{problem}");
}

#[tokio::test]
async fn whoever_only_wants_to_know_of_caa_is_told_what_dnssec_says() {
    let forbidding = || RData::CAA(CAA::new_issue(false, None, Vec::new()));
    let with = |tamper| Zone::new(tamper).with("example.test", forbidding());
    for (zone, found, dnssec) in [
        (with(Tamper::Nothing), true, "secure"),
        (with(Tamper::Nothing).delegating("example.test"), true, "insecure"),
        (with(Tamper::Signatures), false, "bogus"),
        (Zone::new(Tamper::Denials), false, "bogus"),
    ] {
        let world = world_of(zone).await;
        for name in ["example.test", "*.example.test"] {
            let report = world.validator().caa_for_any("", &Identifier::parse(name).unwrap(), None, &[DNS]).await;
            assert_eq!(report.dnssec.as_deref(), Some(dnssec), "{name}: {report:?}");
            assert_eq!(report.found_at.as_deref(), found.then_some("example.test"), "{name}: {report:?}");
            assert!(report.problem.is_some(), "{name}");
        }
    }
    let world = world_of(Zone::new(Tamper::Nothing)).await;
    let report = world.validator().caa_for_any("", &Identifier::parse("example.test").unwrap(), None, &[DNS]).await;
    assert_eq!((report.found_at, report.dnssec.as_deref(), report.problem), (None, Some("secure"), None));
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

#[tokio::test]
async fn an_alias_by_dname_is_followed_where_that_is_signed() {
    let moving = |target: &str| RData::Unknown {
        code: RecordType::DNAME,
        rdata: NULL::with(parsed(target).to_bytes().unwrap()),
    };
    for (target, dnssec) in [(Some("else.test"), "secure"), (None, "bogus")] {
        let mut zone = Zone::new(Tamper::Nothing).with("_acme-challenge.a.else.test", text(DIGEST));
        if let Some(target) = target {
            zone = zone.with("old.test", moving(target));
        }
        let world = world_of(zone).await;
        // What servers make of it: without a signature.
        world.dns.script("_acme-challenge.a.old.test", RecordType::TXT, |question, _| {
            let mut answer = reply(question, ResponseCode::NoError);
            let alias = RData::CNAME(CNAME(parsed("_acme-challenge.a.else.test")));
            answer.add_answer(Record::from_rdata(parsed("_acme-challenge.a.old.test"), 60, alias));
            Some(encoded(&answer))
        });
        let verified = world.verify("a.old.test", DNS).await;
        assert_eq!(verified.outcome.is_ok(), target.is_some(), "{:?}", verified.attempts);
        assert_eq!(verified.attempts[0].dnssec.as_deref(), Some(dnssec));
        // CAA is asked for at the name with the DNAME record, too.
        let name = Identifier::parse("a.old.test").unwrap();
        assert_eq!(world.validator().caa("", &name, None, DNS).await.unwrap().found_at, None);
    }
}

/// What a wildcard of a signed zone gives, with the denial that the name itself has anything.
fn from_a_wildcard(zone: &Zone, name: &str, data: &RData, next: &str) -> Message {
    let wildcard = parsed(&format!("*.{}", name.split_once('.').unwrap().1));
    let mut answer = Message::query();
    for mut record in zone.signed(&wildcard, data, true) {
        record.name = parsed(name);
        answer.add_answer(record);
    }
    let denial = NSEC::new(parsed(next), [data.record_type(), RecordType::RRSIG, RecordType::NSEC]);
    answer.add_authorities(zone.signed(&wildcard, &RData::DNSSEC(DNSSECRData::NSEC(denial)), true));
    answer
}

#[tokio::test]
async fn what_comes_from_a_wildcard_is_secure_if_the_name_itself_has_nothing() {
    let zone = Zone::new(Tamper::Nothing);
    let place = "_acme-challenge.example.test";
    let made = from_a_wildcard(&zone, place, &text(DIGEST), "zz.example.test");
    let world = world_of(zone).await;
    let (answers, authorities) = (made.answers, made.authorities);
    let script = |authorities: Vec<Record>| {
        let answers = answers.clone();
        world.dns.script(place, RecordType::TXT, move |question, _| {
            let mut answer = reply(question, ResponseCode::NoError);
            answer.add_answers(answers.iter().cloned());
            answer.add_authorities(authorities.iter().cloned());
            Some(encoded(&answer))
        });
    };
    script(authorities);
    let attempt = shown(world.verify("example.test", DNS).await);
    assert_eq!(attempt.dnssec.as_deref(), Some("secure"));
    script(Vec::new());
    let (attempt, _) = refused(world.verify("example.test", DNS).await, ProblemKind::Dns);
    assert_eq!(attempt.dnssec.as_deref(), Some("bogus"));
}

/// A hashed denial of the root: of the name itself, with the types that it has, or of all around it.
fn hashed_denial(zone: &Zone, name: &str, matching: bool, opt_out: bool, types: &[RecordType]) -> Vec<Record> {
    let algorithm = Nsec3HashAlgorithm::SHA1;
    let hash = algorithm.hash(&[], &parsed(name), 0).unwrap().as_ref().to_vec();
    let (mut owner, mut next) = (hash.clone(), hash);
    owner[19] = owner[19].wrapping_sub(u8::from(!matching));
    next[19] = next[19].wrapping_add(1);
    let data = NSEC3::new(algorithm, opt_out, 0, Vec::new(), next, types.iter().copied());
    let owner = parsed(&BASE32_DNSSEC.encode(&owner));
    let denial = zone.signed(&owner, &RData::DNSSEC(DNSSECRData::NSEC3(data)), true);
    [zone.signed(&Name::root(), &soa(), true), denial].concat()
}

#[tokio::test]
async fn hashed_denials_count_like_plain_ones() {
    let name = Identifier::parse("test").unwrap();
    for (types, denied) in [(&[RecordType::TXT][..], true), (&[RecordType::TXT, RecordType::CAA], false)] {
        let zone = Zone::new(Tamper::Nothing);
        let denial = hashed_denial(&zone, "test", true, false, types);
        let world = world_of(zone).await;
        world.dns.script("test", RecordType::CAA, move |question, _| {
            let mut answer = reply(question, ResponseCode::NoError);
            answer.add_authorities(denial.iter().cloned());
            Some(encoded(&answer))
        });
        assert_eq!(world.validator().caa("", &name, None, DNS).await.is_ok(), denied);
    }
}

/// As most names of the world are: without keys, below a zone that does not list those.
#[tokio::test]
async fn a_zone_that_may_have_no_keys_by_opt_out_is_insecure() {
    for (opt_out, dnssec) in [(true, "insecure"), (false, "bogus")] {
        let zone = Zone::new(Tamper::Nothing).delegating("plain.test").with("_acme-challenge.plain.test", text(DIGEST));
        let denial = hashed_denial(&zone, "plain.test", false, opt_out, &[RecordType::NS]);
        let world = world_of(zone).await;
        world.dns.script("plain.test", RecordType::DS, move |question, _| {
            let mut answer = reply(question, ResponseCode::NoError);
            // Without the top of the zone: the library does not expect the root to be one with hashes.
            answer.add_authorities(denial.iter().skip(2).cloned());
            Some(encoded(&answer))
        });
        let verified = world.verify("plain.test", DNS).await;
        assert_eq!(verified.attempts[0].dnssec.as_deref(), Some(dnssec));
        assert_eq!(verified.outcome.is_ok(), opt_out);
    }
}
