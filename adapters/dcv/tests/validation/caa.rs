//! Which records decide, and what happens where they cannot be seen.

use std::time::Duration;

use chancery_domain::{CaaEvidence, CaaReport, ChallengeType, Identifier, ProblemKind};
use chancery_testkit::FrozenClock;
use chancery_testkit::dns::{encoded, reply};
use hickory_proto::op::ResponseCode;
use hickory_proto::rr::RecordType;

use crate::world::World;

const ACCOUNT: &str = "https://ca.test/acme/acct/1";

async fn ask(world: &World, name: &str) -> Result<CaaEvidence, String> {
    let name = Identifier::parse(name).unwrap();
    let answer = world.validator().caa("", &name, Some(ACCOUNT), ChallengeType::Http01).await;
    answer.map_err(|problem| {
        assert_eq!(problem.kind, ProblemKind::Caa);
        problem.detail
    })
}

/// The names that were asked for, in order.
fn asked(world: &World) -> Vec<String> {
    let all = world.dns.asked();
    assert!(all.iter().all(|asked| asked.kind == RecordType::CAA), "{all:?}");
    all.into_iter().map(|asked| asked.name.to_lowercase()).collect()
}

#[tokio::test]
async fn without_records_up_to_the_top_anyone_may_issue() {
    let world = World::new().await;
    world.dns.absent("a.b.example.test").empty("b.example.test").empty("example.test").empty("test");
    let evidence = ask(&world, "a.b.example.test").await.unwrap();
    let none = CaaEvidence::no_records(FrozenClock::START);
    assert_eq!(evidence, none);
    assert_eq!(asked(&world), ["a.b.example.test.", "b.example.test.", "example.test.", "test."]);
}

#[tokio::test]
async fn the_first_records_on_the_way_up_decide_alone() {
    let world = World::new().await;
    world.dns.empty("a.b.example.test").caa("b.example.test", 0, "issue", "ca.test").caa(
        "example.test",
        0,
        "issue",
        ";",
    );
    let evidence = ask(&world, "a.b.example.test").await.unwrap();
    assert_eq!(evidence.found_at.as_deref(), Some("b.example.test"));
    assert_eq!(evidence.records, ["b.example.test. CAA 0 issue \"ca.test\""]);
    assert_eq!(asked(&world), ["a.b.example.test.", "b.example.test."]);
    assert!(ask(&world, "example.test").await.is_err());
}

#[tokio::test]
async fn the_top_level_is_asked_too() {
    let world = World::new().await;
    world.dns.empty("example.test").caa("test", 0, "issue", "other.test");
    assert!(ask(&world, "example.test").await.unwrap_err().contains("found at test:"));
}

#[tokio::test]
async fn a_refusal_names_the_record_and_where_it_was_found_and_what_it_says() {
    let world = World::new().await;
    world.dns.empty("www.example.test").caa("example.test", 0, "issue", "other.test; x=y").caa(
        "example.test",
        128,
        "issue",
        ";",
    );
    assert_eq!(
        ask(&world, "www.example.test").await.unwrap_err(),
        "CAA forbids a certificate for www.example.test; found at example.test: \
         `example.test. CAA 0 issue \"other.test; x=y\"`: it lets other.test issue, and we are ca.test; \
         `example.test. CAA 128 issue \";\"`: it lets nobody issue"
    );
}

#[tokio::test]
async fn a_wildcard_is_asked_about_at_its_base_and_goes_by_issuewild() {
    let world = World::new().await;
    world.dns.caa("example.test", 0, "issue", "ca.test").caa("example.test", 0, "issuewild", "other.test");
    ask(&world, "example.test").await.unwrap();
    let detail = ask(&world, "*.example.test").await.unwrap_err();
    assert!(detail.starts_with("CAA forbids a certificate for *.example.test; found at example.test:"), "{detail}");
    assert_eq!(asked(&world), ["example.test.", "example.test."]);
}

#[tokio::test]
async fn aliases_are_followed_and_then_the_climb_goes_on_from_the_name_itself() {
    let world = World::new().await;
    world.dns.alias("www.example.test", "cdn.other.test").caa("cdn.other.test", 0, "issue", "other.test");
    let detail = ask(&world, "www.example.test").await.unwrap_err();
    assert!(detail.contains("found at www.example.test, an alias of cdn.other.test.:"), "{detail}");
    assert!(detail.contains("`cdn.other.test. CAA 0 issue \"other.test\"`"), "{detail}");

    // RFC 8659 section 3: not the parents of the target.
    let world = World::new().await;
    world.dns.alias("www.example.test", "cdn.other.test").empty("cdn.other.test").caa("other.test", 0, "issue", ";");
    world.dns.caa("example.test", 0, "issue", "ca.test");
    let evidence = ask(&world, "www.example.test").await.unwrap();
    assert_eq!(evidence.found_at.as_deref(), Some("example.test"));
}

#[tokio::test]
async fn the_account_and_the_method_count() {
    let world = World::new().await;
    world.dns.caa("a.test", 0, "issue", &format!("ca.test; accounturi={ACCOUNT}; validationmethods=dns-01,http-01"));
    world.dns.caa("b.test", 0, "issue", "ca.test; accounturi=https://ca.test/acme/acct/2");
    world.dns.caa("c.test", 0, "issue", "ca.test; validationmethods=dns-01");
    ask(&world, "a.test").await.unwrap();
    assert!(ask(&world, "b.test").await.unwrap_err().contains("it is for the account https://ca.test/acme/acct/2"));
    assert!(
        ask(&world, "c.test").await.unwrap_err().contains("it allows validation by \"dns-01\", and this was http-01")
    );
}

#[tokio::test]
async fn what_is_critical_and_unknown_stops_us() {
    let world = World::new().await;
    world.dns.caa("example.test", 0, "issue", "ca.test").caa("example.test", 128, "future", "x");
    assert!(
        ask(&world, "example.test").await.unwrap_err().contains("`example.test. CAA 128 future \"x\"`: it is critical")
    );
}

#[tokio::test]
async fn a_failed_lookup_is_a_refusal_at_every_step_of_the_climb() {
    for code in [ResponseCode::ServFail, ResponseCode::Refused, ResponseCode::NotImp, ResponseCode::FormErr] {
        for failing in ["a.example.test", "example.test", "test"] {
            let world = World::new().await;
            world.dns.empty("a.example.test").empty("example.test").empty("test");
            world.dns.fails(failing, RecordType::CAA, code);
            let detail = ask(&world, "a.example.test").await.unwrap_err();
            assert!(
                detail.contains(&format!("CAA could not be checked for a.example.test: looking up CAA of {failing}:")),
                "{detail}"
            );
        }
    }
}

#[tokio::test]
async fn silence_is_a_refusal() {
    let mut world = World::new().await;
    world.config.timeouts.dns = Duration::from_millis(100);
    world.dns.silent("example.test", RecordType::CAA);
    assert!(ask(&world, "example.test").await.unwrap_err().contains("no answer from"));
    world.config.timeouts.dns = Duration::from_secs(60);
    world.config.timeouts.caa = Duration::from_millis(100);
    assert!(ask(&world, "example.test").await.unwrap_err().contains("no answer within 100ms"));
    world.config.resolvers.clear();
    assert!(ask(&world, "example.test").await.unwrap_err().contains("no resolver"));
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_a_refusal() {
    let world = World::new().await;
    world.dns.script("example.test", RecordType::CAA, |question, _| {
        let mut bytes = encoded(&reply(question, ResponseCode::NoError));
        // One answer: the name of the question, CAA, IN, a minute, flags 0 and a tag of no length.
        bytes[7] = 1;
        let end = bytes.len();
        bytes.splice(end..end, [0xc0, 12, 1, 1, 0, 1, 0, 0, 0, 60, 0, 2, 0, 0]);
        Some(bytes)
    });
    assert!(ask(&world, "example.test").await.unwrap_err().contains("cannot be read"));
}

#[tokio::test]
async fn a_referral_is_no_empty_answer() {
    use hickory_proto::rr::rdata::NS;
    use hickory_proto::rr::{Name, RData, Record};
    let world = World::new().await;
    world.dns.script("example.test", RecordType::CAA, |question, _| {
        let mut answer = reply(question, ResponseCode::NoError);
        let server = RData::NS(NS(Name::from_ascii("ns.example.test.").unwrap()));
        answer.add_authority(Record::from_rdata(Name::from_ascii("example.test.").unwrap(), 60, server));
        Some(encoded(&answer))
    });
    assert!(ask(&world, "example.test").await.unwrap_err().contains("does not look names up"));
}

#[tokio::test]
async fn an_answer_that_is_cut_even_over_tcp_is_a_refusal() {
    let world = World::new().await;
    world.dns.script("example.test", RecordType::CAA, |question, _| {
        let mut answer = reply(question, ResponseCode::NoError);
        answer.metadata.truncation = true;
        Some(encoded(&answer))
    });
    assert!(ask(&world, "example.test").await.unwrap_err().contains("it is cut, even over TCP"));
}

#[tokio::test]
async fn an_address_has_no_caa_records() {
    let world = World::new().await;
    for address in ["127.0.0.1", "::1"] {
        assert_eq!(ask(&world, address).await.unwrap().found_at, None);
    }
    assert_eq!(world.dns.asked(), []);
}

#[tokio::test]
async fn a_question_that_was_not_answered_is_asked_again_and_a_refusal_is_not() {
    let mut world = World::new().await;
    world.config.retry_window = Duration::from_secs(20);
    world.dns.empty("test").caa("no.test", 0, "issue", ";");
    let times = std::sync::atomic::AtomicUsize::new(0);
    world.dns.script("example.test", RecordType::CAA, move |question, _| {
        // Each round asks the one resolver twice.
        let fails = times.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 3;
        Some(encoded(&reply(question, if fails { ResponseCode::ServFail } else { ResponseCode::NoError })))
    });
    assert_eq!(ask(&world, "example.test").await.unwrap().found_at, None);
    let before = world.dns.asked().len();
    assert!(ask(&world, "no.test").await.unwrap_err().contains("lets nobody issue"));
    assert_eq!(world.dns.asked().len(), before + 1);
}

#[tokio::test]
async fn the_records_are_looked_up_once_however_many_methods_there_are() {
    let world = World::new().await;
    world.dns.caa("a.test", 0, "issue", "ca.test; validationmethods=dns-01").caa("b.test", 0, "issue", ";");
    let methods = [ChallengeType::Http01, ChallengeType::TlsAlpn01, ChallengeType::Dns01];
    let validator = world.validator();
    let a = Identifier::parse("a.test").unwrap();
    assert_eq!(validator.caa_for_any("", &a, Some(ACCOUNT), &methods).await.problem, None);
    assert!(validator.caa_for_any("", &a, Some(ACCOUNT), &methods[..2]).await.problem.is_some());
    let b = Identifier::parse("b.test").unwrap();
    assert!(validator.caa_for_any("", &b, None, &methods).await.problem.is_some());
    assert_eq!(asked(&world), ["a.test.", "a.test.", "b.test."]);
}

#[tokio::test]
async fn whoever_only_wants_to_know_is_told_what_was_found_whatever_it_says() {
    let world = World::new().await;
    world.dns.empty("www.no.test").empty("www.yes.test").fails("lost.test", RecordType::CAA, ResponseCode::ServFail);
    world.dns.caa("no.test", 0, "issue", ";").caa("yes.test", 0, "issue", "ca.test");
    let ask = async |name: &str| {
        let name = Identifier::parse(name).unwrap();
        world.validator().caa_for_any("", &name, Some(ACCOUNT), &[ChallengeType::Http01, ChallengeType::Dns01]).await
    };
    for (name, at, record, allowed) in [
        ("www.no.test", "no.test", "no.test. CAA 0 issue \";\"", false),
        ("*.no.test", "no.test", "no.test. CAA 0 issue \";\"", false),
        ("www.yes.test", "yes.test", "yes.test. CAA 0 issue \"ca.test\"", true),
    ] {
        let report = ask(name).await;
        assert_eq!(report.found_at.as_deref(), Some(at), "{name}");
        assert_eq!(report.records, [record], "{name}");
        assert_eq!((report.problem.is_none(), report.dnssec.as_deref()), (allowed, Some("unchecked")), "{name}");
    }
    let lost = ask("lost.test").await;
    assert!(lost.problem.unwrap().detail.contains("SERVFAIL"));
    assert_eq!((lost.found_at, lost.records, lost.dnssec), (None, Vec::new(), None));
    assert_eq!(ask("192.0.2.1").await, CaaReport::default());
}
