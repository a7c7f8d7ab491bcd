//! What is missing is looked for again; what is wrong is not.

use std::time::{Duration, Instant};

use chancery_dcv::{Looks, Verified};
use chancery_domain::{ChallengeType, ProblemKind};
use chancery_testkit::der::dns_name;
use chancery_testkit::free_port;
use chancery_testkit::tls_alpn::{TestTlsAlpn, TlsAlpnAnswer};
use chancery_testkit::web::TestWeb;
use hickory_proto::op::ResponseCode;
use hickory_proto::rr::RecordType;

use crate::world::{ANY, DIGEST, KEY_AUTHORIZATION, PATH, World, check};

/// Looks, mends what is missing after the first look, and gives what came of it.
async fn mended(world: &World, name: &str, kind: ChallengeType, mend: impl AsyncFnOnce()) -> Verified {
    let mut config = world.config.clone();
    config.retry_window = Duration::from_secs(20);
    let (validator, request, looks) = (crate::world::validator(config), check(name, kind), Looks::default());
    let mending = async {
        looks.next().await;
        mend().await;
    };
    let both = async { tokio::join!(validator.verify_telling("", &request, &looks), mending) };
    let (verified, ()) = tokio::time::timeout(Duration::from_secs(60), both).await.expect("it looks twice");
    assert_eq!(verified.outcome, Ok(()), "{:#?}", verified.attempts);
    assert!(verified.attempts.len() >= 2);
    let (last, missing) = verified.attempts.split_last().unwrap();
    assert!(missing.iter().all(|attempt| attempt.problem.is_some()));
    assert_eq!(last.problem, None);
    verified
}

#[tokio::test]
async fn a_page_that_appears_is_found() {
    let mut world = World::new().await;
    let web = TestWeb::http(ANY).await;
    world.config.http01_port = web.port();
    world.dns.address_of("example.test", web.address().ip());
    let verified = mended(&world, "example.test", ChallengeType::Http01, async || {
        web.page(PATH, KEY_AUTHORIZATION);
    })
    .await;
    assert_eq!(verified.attempts[0].http_status, Some(404));
    web.answer(PATH, 503, &[], "");
    mended(&world, "example.test", ChallengeType::Http01, async || {
        web.page(PATH, KEY_AUTHORIZATION);
    })
    .await;
}

#[tokio::test]
async fn servers_that_appear_are_found() {
    let mut world = World::new().await;
    world.config.http01_port = free_port();
    world.config.tls_alpn01_port = free_port();
    world.dns.address_of("example.test", ANY.0);
    let mut web = None;
    mended(&world, "example.test", ChallengeType::Http01, async || {
        let started = TestWeb::http((ANY.0, world.config.http01_port)).await;
        started.page(PATH, KEY_AUTHORIZATION);
        web = Some(started);
    })
    .await;
    let mut tls = None;
    mended(&world, "example.test", ChallengeType::TlsAlpn01, async || {
        let answer = TlsAlpnAnswer::right(dns_name("example.test"), KEY_AUTHORIZATION);
        tls = Some(TestTlsAlpn::start((ANY.0, world.config.tls_alpn01_port), &answer).await);
    })
    .await;
}

#[tokio::test]
async fn records_that_appear_are_found() {
    let world = World::new().await;
    let place = "_acme-challenge.example.test";
    world.dns.absent(place);
    let verified = mended(&world, "example.test", ChallengeType::Dns01, async || {
        world.dns.txt(place, DIGEST);
    })
    .await;
    assert_eq!(verified.attempts[0].problem.as_ref().unwrap().kind, ProblemKind::Dns);
    world.dns.forget(place).empty(place);
    mended(&world, "example.test", ChallengeType::Dns01, async || {
        world.dns.txt(place, DIGEST);
    })
    .await;
    let failing = "_acme-challenge.failing.test";
    world.dns.fails(failing, RecordType::TXT, ResponseCode::ServFail);
    mended(&world, "failing.test", ChallengeType::Dns01, async || {
        world.dns.script(failing, RecordType::TXT, |question, _| {
            let mut answer = chancery_testkit::dns::reply(question, ResponseCode::NoError);
            let text = hickory_proto::rr::rdata::TXT::new(vec![DIGEST.to_owned()]);
            answer.add_answer(hickory_proto::rr::Record::from_rdata(
                question.queries[0].name.clone(),
                60,
                hickory_proto::rr::RData::TXT(text),
            ));
            Some(chancery_testkit::dns::encoded(&answer))
        });
    })
    .await;
}

#[tokio::test]
async fn what_stays_missing_is_given_up_at_the_end_of_the_window() {
    let mut world = World::new().await;
    world.config.retry_window = Duration::from_millis(2500);
    world.dns.empty("_acme-challenge.example.test");
    let began = Instant::now();
    let verified = world.verify("example.test", ChallengeType::Dns01).await;
    let took = began.elapsed();
    assert!((Duration::from_millis(1400)..Duration::from_secs(20)).contains(&took), "{took:?}");
    // At once, after half a second, and a second after that.
    assert_eq!(verified.attempts.len(), 3);
    assert_eq!(verified.outcome.unwrap_err().kind, ProblemKind::Unauthorized);
}

#[tokio::test]
async fn a_wrong_answer_is_not_looked_at_twice() {
    let mut world = World::new().await;
    world.config.retry_window = Duration::from_secs(20);
    let web = TestWeb::http(ANY).await;
    web.page(PATH, "wrong");
    world.config.http01_port = web.port();
    world.dns.address_of("example.test", web.address().ip()).txt("_acme-challenge.example.test", "wrong");
    for kind in [ChallengeType::Http01, ChallengeType::Dns01] {
        let verified = world.verify("example.test", kind).await;
        assert_eq!(verified.attempts.len(), 1, "{kind}");
        assert_eq!(verified.outcome.unwrap_err().kind, ProblemKind::IncorrectResponse, "{kind}");
    }
}

#[tokio::test]
async fn a_method_that_cannot_show_it_is_refused_without_a_look() {
    let world = World::new().await;
    for (identifier, kind) in [
        ("*.example.test", ChallengeType::Http01),
        ("*.example.test", ChallengeType::TlsAlpn01),
        ("127.0.0.1", ChallengeType::Dns01),
    ] {
        let verified = world.verify(identifier, kind).await;
        assert_eq!(verified.outcome.unwrap_err().kind, ProblemKind::RejectedIdentifier);
        assert!(verified.attempts.is_empty());
    }
    assert_eq!(world.dns.asked(), []);
}
