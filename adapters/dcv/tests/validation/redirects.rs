//! Where a page may lead before it shows control.

use chancery_domain::{ChallengeType, ProblemKind};
use chancery_testkit::web::TestWeb;

use crate::world::{ANY, KEY_AUTHORIZATION, PATH, World, refused, shown};

const HTTP: ChallengeType = ChallengeType::Http01;

async fn site() -> (World, TestWeb) {
    let mut world = World::new().await;
    let web = TestWeb::http(ANY).await;
    world.dns.address_of("example.test", web.address().ip());
    world.dns.address_of("other.test", web.address().ip());
    world.config.http01_port = web.port();
    (world, web)
}

#[tokio::test]
async fn redirects_are_followed_and_every_one_is_kept() {
    let (world, web) = site().await;
    let port = web.port();
    web.redirect(PATH, 301, "/b?x=1#gone")
        .redirect("/b?x=1", 302, &format!("http://other.test:{port}/c"))
        .redirect("/c", 307, &format!("//example.test:{port}/d"))
        .redirect("/d", 308, "e")
        .page("/e", KEY_AUTHORIZATION);
    let attempt = shown(world.verify("example.test", HTTP).await);
    assert_eq!(
        attempt.redirects,
        [
            format!("http://example.test:{port}/b?x=1"),
            format!("http://other.test:{port}/c"),
            format!("http://example.test:{port}/d"),
            format!("http://example.test:{port}/e"),
        ]
    );
    assert_eq!(attempt.http_status, Some(200));
    assert_eq!(web.requests()[2].host, Some(format!("other.test:{port}")));
}

#[tokio::test]
async fn a_redirect_to_https_needs_no_certificate_that_verifies() {
    let (mut world, web) = site().await;
    let secure = TestWeb::https(ANY).await;
    world.config.https_port = secure.port();
    web.redirect(PATH, 301, &format!("https://example.test:{}/x", secure.port()));
    secure.page("/x", KEY_AUTHORIZATION);
    let attempt = shown(world.verify("example.test", HTTP).await);
    assert_eq!(attempt.redirects, [format!("https://example.test:{}/x", secure.port())]);
    assert_eq!(secure.requests()[0].host, Some(format!("example.test:{}", secure.port())));
}

#[tokio::test]
async fn ten_redirects_are_followed_and_an_eleventh_is_not() {
    for (redirects, goes) in [(10, true), (11, false)] {
        let (world, web) = site().await;
        web.redirect(PATH, 302, "/1");
        for step in 1..redirects {
            web.redirect(&format!("/{step}"), 302, &format!("/{}", step + 1));
        }
        web.page(&format!("/{redirects}"), KEY_AUTHORIZATION);
        let verified = world.verify("example.test", HTTP).await;
        if goes {
            assert_eq!(shown(verified).redirects.len(), 10);
        } else {
            let (attempt, detail) = refused(verified, ProblemKind::IncorrectResponse);
            assert_eq!(attempt.redirects.len(), 10);
            assert!(detail.contains("10 redirects"), "{detail}");
        }
    }
}

#[tokio::test]
async fn a_loop_is_seen_when_it_closes() {
    let (world, web) = site().await;
    web.redirect(PATH, 302, "/a").redirect("/a", 302, "/b").redirect("/b", 302, "/a#again");
    let (_, detail) = refused(world.verify("example.test", HTTP).await, ProblemKind::IncorrectResponse);
    assert!(detail.contains("a loop"), "{detail}");
    assert_eq!(web.requests().len(), 3);
}

#[tokio::test]
async fn a_redirect_that_must_not_be_followed_is_refused_at_once() {
    let (mut world, web) = site().await;
    world.config.retry_window = std::time::Duration::from_secs(20);
    for location in
        ["http://example.test:22/", "http://example.test:8080/", "ftp://example.test/", "http://u:p@example.test/", ""]
    {
        web.redirect(PATH, 302, location);
        let before = web.connections();
        refused(world.verify("example.test", HTTP).await, ProblemKind::IncorrectResponse);
        assert_eq!(web.connections(), before + 1, "{location}");
    }
    web.answer(PATH, 302, &[], KEY_AUTHORIZATION);
    refused(world.verify("example.test", HTTP).await, ProblemKind::IncorrectResponse);
}

#[tokio::test]
async fn the_target_of_a_redirect_is_looked_up_like_the_name_itself() {
    let (world, web) = site().await;
    web.redirect(PATH, 302, &format!("http://nowhere.test:{}/", web.port()));
    world.dns.absent("nowhere.test");
    let (attempt, detail) = refused(world.verify("example.test", HTTP).await, ProblemKind::Dns);
    assert!(detail.contains("nowhere.test does not exist"), "{detail}");
    assert_eq!(attempt.addresses_resolved, ["127.0.0.1"]);
}
