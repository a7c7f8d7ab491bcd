//! The page itself: what it must be, and what must not be taken for it.

use std::net::Ipv6Addr;
use std::time::{Duration, Instant};

use chancery_domain::{ChallengeType, ProblemKind};
use chancery_testkit::FrozenClock;
use chancery_testkit::web::TestWeb;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::world::{ANY, KEY_AUTHORIZATION, PATH, World, refused, shown};

const HTTP: ChallengeType = ChallengeType::Http01;

/// A name on a web server on loopback.
async fn site() -> (World, TestWeb) {
    let mut world = World::new().await;
    let web = TestWeb::http(ANY).await;
    world.dns.address_of("example.test", web.address().ip());
    world.config.http01_port = web.port();
    (world, web)
}

#[tokio::test]
async fn the_page_shows_control_and_the_attempt_says_all_that_was_seen() {
    let (world, web) = site().await;
    web.page(PATH, KEY_AUTHORIZATION);
    let attempt = shown(world.verify("example.test", HTTP).await);
    assert_eq!(attempt.at, FrozenClock::START.as_millis());
    assert_eq!(attempt.perspective, "primary");
    assert_eq!(attempt.addresses_resolved, ["127.0.0.1"]);
    assert_eq!(attempt.address_used, Some(web.address().to_string()));
    assert_eq!(attempt.url, Some(format!("http://example.test:{}{PATH}", web.port())));
    assert_eq!(attempt.redirects, Vec::<String>::new());
    assert_eq!(attempt.http_status, Some(200));
    assert_eq!(attempt.dnssec.as_deref(), Some("unchecked"));
    assert_eq!(attempt.expected.as_deref(), Some(KEY_AUTHORIZATION));
    assert_eq!(attempt.actual.as_deref(), Some(KEY_AUTHORIZATION));
    assert_eq!(attempt.problem, None);

    let requests = web.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!((requests[0].method.as_str(), requests[0].target.as_str()), ("GET", PATH));
    assert_eq!(requests[0].host, Some(format!("example.test:{}", web.port())));
    assert!(requests[0].user_agent.as_ref().unwrap().starts_with("Chancery/"));
}

#[tokio::test]
async fn white_space_at_the_end_is_ignored_and_nowhere_else() {
    let (world, web) = site().await;
    for body in [format!("{KEY_AUTHORIZATION}\n"), format!("{KEY_AUTHORIZATION} \t\r\n\n")] {
        web.page(PATH, &body);
        shown(world.verify("example.test", HTTP).await);
    }
    let upper = KEY_AUTHORIZATION.to_uppercase();
    let html = format!("<html>{KEY_AUTHORIZATION}</html>");
    for body in [
        "",
        " ",
        &format!(" {KEY_AUTHORIZATION}"),
        &format!("{KEY_AUTHORIZATION}x"),
        &format!("{KEY_AUTHORIZATION}\0"),
        &KEY_AUTHORIZATION[1..],
        &KEY_AUTHORIZATION[..KEY_AUTHORIZATION.len() - 1],
        upper.as_str(),
        html.as_str(),
    ] {
        web.page(PATH, body);
        let (attempt, detail) = refused(world.verify("example.test", HTTP).await, ProblemKind::IncorrectResponse);
        assert_eq!(attempt.http_status, Some(200), "{body:?}");
        assert!(attempt.actual.is_some());
        assert!(detail.contains("not the key authorization"), "{detail}");
    }
}

#[tokio::test]
async fn only_status_200_will_do_whatever_the_body_says() {
    let (mut world, web) = site().await;
    world.config.retry_window = Duration::from_secs(20);
    for status in [201, 202, 203, 206, 303, 304, 400, 401, 403] {
        web.answer(PATH, status, &[], if status == 304 { "" } else { KEY_AUTHORIZATION });
        let (attempt, detail) = refused(world.verify("example.test", HTTP).await, ProblemKind::Unauthorized);
        assert_eq!(attempt.http_status, Some(status), "it was not looked at again");
        assert!(detail.contains(&status.to_string()), "{detail}");
    }
}

#[tokio::test]
async fn what_is_longer_than_64_kib_is_not_read() {
    let (world, web) = site().await;
    let mut body = KEY_AUTHORIZATION.as_bytes().to_vec();
    body.resize(64 * 1024, b' ');
    web.page(PATH, &body);
    shown(world.verify("example.test", HTTP).await);
    body.push(b' ');
    web.page(PATH, &body);
    let (_, detail) = refused(world.verify("example.test", HTTP).await, ProblemKind::IncorrectResponse);
    assert!(detail.contains("longer than 64 KiB"), "{detail}");
}

#[tokio::test]
async fn an_endless_body_and_an_endless_head_are_not_read_to_their_end() {
    for (head, kind) in [
        ("HTTP/1.1 200 OK\r\n\r\n", ProblemKind::IncorrectResponse),
        ("HTTP/1.1 200 OK\r\nendless: ", ProblemKind::Connection),
    ] {
        let mut world = World::new().await;
        let listener = TcpListener::bind(ANY).await.unwrap();
        world.config.http01_port = listener.local_addr().unwrap().port();
        world.dns.address_of("example.test", listener.local_addr().unwrap().ip());
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 4096]).await.unwrap();
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut sent = 0;
            while stream.write_all(&[b'a'; 1024]).await.is_ok() {
                sent += 1024;
            }
            sent
        });
        refused(world.verify("example.test", HTTP).await, kind);
        // The buffers of the system take some, too.
        let sent = server.await.unwrap();
        assert!(sent < 16 * 1024 * 1024, "{sent} bytes went out");
    }
}

#[tokio::test]
async fn what_is_not_http_is_refused_at_once() {
    let (mut world, web) = site().await;
    world.config.retry_window = Duration::from_secs(20);
    for bytes in [&b"SSH-2.0-OpenSSH_9.9\r\n\r\n"[..], b"\x15\x03\x01\x00\x02\x02\x50", b"HTTP/9.9 x\r\n\r\n"] {
        web.raw(PATH, bytes);
        refused(world.verify("example.test", HTTP).await, ProblemKind::Connection);
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up_in_time() {
    let (mut world, web) = site().await;
    world.config.timeouts.look = Duration::from_millis(300);
    web.silent(PATH);
    let began = Instant::now();
    let (attempt, detail) = refused(world.verify("example.test", HTTP).await, ProblemKind::Connection);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(attempt.address_used, Some(web.address().to_string()), "what was seen until then is kept");
    assert!(detail.contains("did not answer"), "{detail}");
}

#[tokio::test]
async fn an_address_is_asked_by_its_address_and_the_dns_is_not_asked() {
    let mut world = World::new().await;
    let web = TestWeb::http(ANY).await;
    let port = web.port();
    let web6 = TestWeb::http((Ipv6Addr::LOCALHOST, port)).await;
    world.config.http01_port = port;
    for (server, identifier, host) in [(&web, "127.0.0.1", "127.0.0.1"), (&web6, "::1", "[::1]")] {
        server.page(PATH, KEY_AUTHORIZATION);
        let attempt = shown(world.verify(identifier, HTTP).await);
        assert_eq!(attempt.url, Some(format!("http://{host}:{port}{PATH}")));
        assert_eq!(attempt.address_used, Some(format!("{host}:{port}")));
        assert_eq!(server.requests()[0].host, Some(format!("{host}:{port}")));
    }
    assert_eq!(world.dns.asked(), []);
}
