//! How the DNS is asked, and whose answer is believed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use chancery_dcv::Dnssec;
use chancery_domain::{ChallengeType, ProblemKind};
use chancery_testkit::dns::{TestDns, encoded, reply};
use chancery_testkit::free_port;
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::TXT;
use hickory_proto::rr::{Name, RData, Record, RecordType};
use tokio::net::UdpSocket;

use crate::world::{ANY, DIGEST, World, refused, shown};

const DNS: ChallengeType = ChallengeType::Dns01;
const PLACE: &str = "_acme-challenge.example.test";

/// An answer with the right record at a name.
fn right(question: &Message, name: &Name) -> Message {
    let mut answer = reply(question, ResponseCode::NoError);
    let text = RData::TXT(TXT::new(vec![DIGEST.to_owned()]));
    answer.add_answer(Record::from_rdata(name.clone(), 60, text));
    answer
}

#[tokio::test]
async fn names_are_asked_for_in_a_case_that_nobody_can_guess() {
    let world = World::new().await;
    world.dns.txt(PLACE, DIGEST);
    let mut spellings = std::collections::HashSet::new();
    let validator = world.validator();
    for _ in 0..10 {
        shown(validator.verify("", &crate::world::check("example.test", DNS)).await);
    }
    for asked in world.dns.asked() {
        assert!(asked.name.eq_ignore_ascii_case("_acme-challenge.example.test."));
        assert!(!asked.tcp);
        spellings.insert(asked.name);
    }
    assert!(spellings.len() >= 9, "{spellings:?}");
}

#[tokio::test]
async fn a_server_for_tests_is_asked_in_lower_case() {
    let mut world = World::new().await;
    world.config.plain_case = true;
    world.dns.txt(PLACE, DIGEST);
    shown(world.verify("example.test", DNS).await);
    let asked: Vec<_> = world.dns.asked().into_iter().map(|asked| asked.name).collect();
    assert_eq!(asked, ["_acme-challenge.example.test."]);
}

#[tokio::test]
async fn an_answer_in_another_case_is_asked_for_again_over_tcp() {
    let world = World::new().await;
    world.dns.script(PLACE, RecordType::TXT, |question, tcp| {
        let mut question = question.clone();
        question.queries[0].name = question.queries[0].name.to_lowercase();
        // What a forger would say goes over UDP, and must not be believed.
        let answer =
            if tcp { right(&question, &question.queries[0].name) } else { reply(&question, ResponseCode::NoError) };
        Some(encoded(&answer))
    });
    shown(world.verify("example.test", DNS).await);
    assert_eq!(world.dns.asked().iter().map(|asked| asked.tcp).collect::<Vec<_>>(), [false, true]);
}

#[tokio::test]
async fn an_answer_that_is_cut_is_asked_for_again_over_tcp() {
    let world = World::new().await;
    for number in 0..40 {
        world.dns.txt(PLACE, &format!("{number:0>60}"));
    }
    world.dns.txt(PLACE, DIGEST);
    shown(world.verify("example.test", DNS).await);
    assert_eq!(world.dns.asked().iter().map(|asked| asked.tcp).collect::<Vec<_>>(), [false, true]);
}

#[tokio::test]
async fn forged_answers_are_passed_over() {
    let socket = UdpSocket::bind(SocketAddr::from(ANY)).await.unwrap();
    let mut world = World::new().await;
    world.config.resolvers = vec![socket.local_addr().unwrap()];
    let server = tokio::spawn(async move {
        let mut buffer = [0; 1500];
        let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
        let question = Message::from_vec(&buffer[..length]).unwrap();
        let name = question.queries[0].name.clone();
        let mut other_id = reply(&question, ResponseCode::NXDomain);
        other_id.metadata.id = !question.metadata.id;
        let mut other_name = reply(&question, ResponseCode::NXDomain);
        other_name.queries[0].name =
            Name::from_ascii("_acme-challenge.example.tesT.").unwrap().prepend_label("x").unwrap();
        let mut other_type = reply(&question, ResponseCode::NXDomain);
        other_type.queries[0].query_type = RecordType::A;
        let mut no_question = reply(&question, ResponseCode::NXDomain);
        no_question.queries.clear();
        for forged in [other_id, other_name, other_type, no_question, question.clone()] {
            socket.send_to(&encoded(&forged), from).await.unwrap();
        }
        socket.send_to(b"", from).await.unwrap();
        socket.send_to(b"\0", from).await.unwrap();
        let stranger = UdpSocket::bind(SocketAddr::from(ANY)).await.unwrap();
        stranger.send_to(&encoded(&reply(&question, ResponseCode::NXDomain)), from).await.unwrap();
        socket.send_to(&encoded(&right(&question, &name)), from).await.unwrap();
    });
    shown(world.verify("example.test", DNS).await);
    server.await.unwrap();
}

#[tokio::test]
async fn records_of_other_names_in_an_answer_do_not_count() {
    let world = World::new().await;
    world.dns.script(PLACE, RecordType::TXT, |question, _| {
        let mut answer = right(question, &Name::from_ascii("attacker.test.").unwrap());
        let text = RData::TXT(TXT::new(vec![DIGEST.to_owned()]));
        answer.add_additional(Record::from_rdata(question.queries[0].name.clone(), 60, text.clone()));
        answer.add_authority(Record::from_rdata(question.queries[0].name.clone(), 60, text));
        Some(encoded(&answer))
    });
    refused(world.verify("example.test", DNS).await, ProblemKind::Unauthorized);
}

#[tokio::test]
async fn the_next_resolver_is_asked_when_one_fails() {
    let mut world = World::new().await;
    let failing = TestDns::start().await;
    failing.fails(PLACE, RecordType::TXT, ResponseCode::ServFail);
    let silent = TestDns::start().await;
    silent.silent(PLACE, RecordType::TXT);
    world.config.timeouts.dns = Duration::from_millis(500);
    let closed = SocketAddr::from((ANY.0, free_port()));
    world.dns.txt(PLACE, DIGEST);
    world.config.resolvers = vec![failing.address(), closed, silent.address(), world.dns.address()];
    shown(world.verify("example.test", DNS).await);
    assert_eq!(failing.asked().len(), 1);
    assert!(!silent.asked().is_empty());
}

#[tokio::test]
async fn a_lost_question_is_sent_again_before_the_resolver_is_given_up() {
    let mut world = World::new().await;
    let asked = Arc::new(AtomicUsize::new(0));
    world.dns.script(PLACE, RecordType::TXT, move |question, _| {
        let first = asked.fetch_add(1, Ordering::SeqCst) == 0;
        (!first).then(|| encoded(&right(question, &question.queries[0].name)))
    });
    let patience = Duration::from_secs(4);
    world.config.timeouts.dns = patience;
    let began = Instant::now();
    shown(world.verify("example.test", DNS).await);
    assert!(began.elapsed() < patience, "{:?}", began.elapsed());
    let asked = world.dns.asked();
    assert_eq!(asked[0], asked[1], "in the same spelling");
}

#[tokio::test]
async fn a_resolver_that_fails_is_not_disclosed_to_the_applicant() {
    let silent = TestDns::start().await;
    silent.silent(PLACE, RecordType::TXT).silent("example.test", RecordType::CAA);
    let garbled = TestDns::start().await;
    let cut = |question: &Message, _| {
        let mut bytes = encoded(&reply(question, ResponseCode::NoError));
        bytes.truncate(bytes.len() - 5);
        Some(bytes)
    };
    garbled.script(PLACE, RecordType::TXT, cut).script("example.test", RecordType::CAA, cut);
    let closed = SocketAddr::from((ANY.0, free_port()));
    for dnssec in [Dnssec::Unchecked, Dnssec::Validated { anchors: None }] {
        for (server, said) in [
            (silent.address(), "no answer from the resolver within 100ms"),
            (garbled.address(), "the resolver's answer cannot be read"),
            (closed, "the resolver cannot be reached"),
        ] {
            let mut world = World::new().await;
            world.config.timeouts.dns = Duration::from_millis(100);
            world.config.resolvers = vec![server];
            world.config.dnssec = dnssec.clone();
            let (_, detail) = refused(world.verify("example.test", DNS).await, ProblemKind::Dns);
            let name = chancery_domain::Identifier::parse("example.test").unwrap();
            let caa = world.validator().caa("", &name, None, DNS).await.unwrap_err().detail;
            for told in [detail, caa] {
                assert!(!told.contains("127.0.0.1") && !told.contains(&server.port().to_string()), "{told}");
                assert!(told.contains(said) || dnssec != Dnssec::Unchecked, "{told}");
            }
        }
    }
}

#[tokio::test]
async fn a_code_that_is_no_answer_is_named() {
    for (code, said) in [
        (ResponseCode::ServFail, "SERVFAIL"),
        (ResponseCode::Refused, "REFUSED"),
        (ResponseCode::NotImp, "NOTIMP"),
        (ResponseCode::NotAuth, "code 9"),
    ] {
        let world = World::new().await;
        world.dns.fails(PLACE, RecordType::TXT, code);
        let (_, detail) = refused(world.verify("example.test", DNS).await, ProblemKind::Dns);
        assert!(detail.contains(said), "{detail}");
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_refused() {
    let world = World::new().await;
    world.dns.script(PLACE, RecordType::TXT, |question, _| {
        let mut bytes = encoded(&right(question, &question.queries[0].name));
        bytes.truncate(bytes.len() - 5);
        Some(bytes)
    });
    let (_, detail) = refused(world.verify("example.test", DNS).await, ProblemKind::Dns);
    assert!(detail.contains("cannot be read"), "{detail}");
}
