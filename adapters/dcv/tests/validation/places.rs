//! Which address is spoken to.

use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use chancery_domain::{ChallengeType, ProblemKind};
use chancery_testkit::free_port;
use chancery_testkit::web::TestWeb;

use crate::world::{ANY, KEY_AUTHORIZATION, PATH, World, refused, shown, validator};

const HTTP: ChallengeType = ChallengeType::Http01;

/// A name with both kinds of addresses, and what serves them; or only IPv4 does.
async fn both(with_v6: bool) -> (World, TestWeb, Option<TestWeb>) {
    let mut world = World::new().await;
    let v4 = TestWeb::http(ANY).await;
    let v6 = if with_v6 { Some(TestWeb::http((Ipv6Addr::LOCALHOST, v4.port())).await) } else { None };
    world.config.http01_port = v4.port();
    world.dns.address_of("example.test", v4.address().ip()).address_of("example.test", Ipv6Addr::LOCALHOST);
    (world, v4, v6)
}

#[tokio::test]
async fn ipv6_comes_first() {
    let (world, v4, v6) = both(true).await;
    let v6 = v6.unwrap();
    v4.page(PATH, "not this one");
    v6.page(PATH, KEY_AUTHORIZATION);
    let attempt = shown(world.verify("example.test", HTTP).await);
    assert_eq!(attempt.addresses_resolved, ["::1", "127.0.0.1"]);
    assert_eq!(attempt.address_used, Some(format!("[::1]:{}", v6.port())));
    assert_eq!(v4.connections(), 0);
}

#[tokio::test]
async fn ipv4_is_tried_where_ipv6_cannot_be_connected_to() {
    let (world, v4, _) = both(false).await;
    v4.page(PATH, KEY_AUTHORIZATION);
    let attempt = shown(world.verify("example.test", HTTP).await);
    assert_eq!(attempt.address_used, Some(format!("127.0.0.1:{}", v4.port())));
}

#[tokio::test]
async fn ipv4_is_not_tried_where_ipv6_gives_another_answer() {
    let (world, v4, v6) = both(true).await;
    v4.page(PATH, KEY_AUTHORIZATION);
    refused(world.verify("example.test", HTTP).await, ProblemKind::Unauthorized);
    v6.as_ref().unwrap().page(PATH, "wrong");
    refused(world.verify("example.test", HTTP).await, ProblemKind::IncorrectResponse);
    assert_eq!(v4.connections(), 0);
}

#[tokio::test]
async fn ipv4_gets_its_turn_however_many_ipv6_addresses_lead_nowhere() {
    let (world, v4, _) = both(false).await;
    for last in 2..200 {
        world.dns.address_of("example.test", Ipv6Addr::new(0, 0, 0, 0, 0, 0, 0, last));
    }
    v4.page(PATH, KEY_AUTHORIZATION);
    let attempt = shown(world.verify("example.test", HTTP).await);
    assert_eq!(attempt.addresses_resolved.len(), 64, "so many are kept of the 200");
}

#[tokio::test]
async fn one_kind_of_address_is_enough_when_the_other_cannot_be_looked_up() {
    use hickory_proto::op::ResponseCode;
    use hickory_proto::rr::RecordType;
    let (world, v4, _) = both(false).await;
    v4.page(PATH, KEY_AUTHORIZATION);
    world.dns.fails("example.test", RecordType::AAAA, ResponseCode::ServFail);
    shown(world.verify("example.test", HTTP).await);
    world.dns.fails("example.test", RecordType::A, ResponseCode::ServFail);
    let (_, detail) = refused(world.verify("example.test", HTTP).await, ProblemKind::Dns);
    assert!(detail.contains("SERVFAIL"), "{detail}");
}

#[tokio::test]
async fn i10_special_addresses_are_refused_at_once_and_never_spoken_to() {
    for kind in [ChallengeType::Http01, ChallengeType::TlsAlpn01] {
        let mut world = World::new().await;
        let web = TestWeb::http(ANY).await;
        let web6 = TestWeb::http((Ipv6Addr::LOCALHOST, web.port())).await;
        web.page(PATH, KEY_AUTHORIZATION);
        web6.page(PATH, KEY_AUTHORIZATION);
        world.config.allow_special_addresses = false;
        world.config.retry_window = Duration::from_secs(20);
        world.config.http01_port = web.port();
        world.config.tls_alpn01_port = web.port();
        for (index, address) in [
            "0.0.0.0",
            "127.0.0.1",
            "127.9.9.9",
            "10.0.0.1",
            "100.64.0.1",
            "168.63.129.16",
            "169.254.169.254",
            "192.168.1.1",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:0:0:0:0:0:80ff:fffe",
            "fe80::1",
            "fd00::1",
        ]
        .into_iter()
        .enumerate()
        {
            let name = format!("n{index}.example.test");
            world.dns.address_of(&name, address.parse::<IpAddr>().unwrap());
            for identifier in [name.as_str(), address] {
                let (attempt, detail) = refused(world.verify(identifier, kind).await, ProblemKind::Connection);
                assert_eq!(attempt.address_used, None);
                assert!(detail.contains("may be spoken to") || detail.contains("may not be spoken to"), "{detail}");
                // Which special addresses a name has inside of our network is not disclosed to the applicant.
                assert!(!detail.contains(&address.parse::<IpAddr>().unwrap().to_string()), "{detail}");
                assert_eq!(attempt.addresses_resolved, [""; 0]);
            }
        }
        assert_eq!((web.connections(), web6.connections()), (0, 0));
    }
}

#[tokio::test]
async fn a_refusal_names_each_special_use_once_and_no_address() {
    let mut world = World::new().await;
    world.config.allow_special_addresses = false;
    for address in ["10.0.0.1", "10.0.0.2", "192.168.1.1", "127.0.0.1", "fd00::1"] {
        world.dns.address_of("inside.test", address.parse::<IpAddr>().unwrap());
    }
    let (attempt, detail) = refused(world.verify("inside.test", HTTP).await, ProblemKind::Connection);
    assert_eq!(
        detail,
        "inside.test leads to no address that may be spoken to: an address is for loopback; an address is for private \
         use (RFC 1918); an address is for private use (RFC 4193)"
    );
    assert_eq!((attempt.addresses_resolved.len(), attempt.address_used), (0, None));
}

#[tokio::test]
async fn names_with_built_in_addresses_need_no_dns() {
    let world = World::new().await;
    let web = TestWeb::http(ANY).await;
    web.page(PATH, KEY_AUTHORIZATION);
    let mut config = world.config.clone();
    config.resolvers.clear();
    config.http01_port = web.port();
    config.builtin_loopback_suffixes = vec!["test".to_owned(), ".localhost".to_owned()];
    let alone = validator(config.clone());
    let began = Instant::now();
    for name in ["hello.test", "test", "a.b.hello.test", "shop.localhost", "localhost"] {
        let attempt = shown(alone.verify("", &crate::world::check(name, HTTP)).await);
        assert_eq!(attempt.addresses_resolved, ["::1", "127.0.0.1"], "{name}");
        assert_eq!(attempt.address_used, Some(web.address().to_string()), "nobody listens on IPv6");
    }
    assert!(began.elapsed() < Duration::from_secs(1), "five of them took {:?}", began.elapsed());
    let unknown = alone.verify("", &crate::world::check("hello.example", HTTP)).await;
    let (_, detail) = refused(unknown, ProblemKind::Dns);
    assert!(detail.contains("no resolver is configured"), "{detail}");
    let look_alike = alone.verify("", &crate::world::check("mytest", HTTP)).await;
    refused(look_alike, ProblemKind::Dns);

    // Outside of `dev` they are as forbidden as others that lead here.
    config.allow_special_addresses = false;
    refused(validator(config).verify("", &crate::world::check("hello.test", HTTP)).await, ProblemKind::Connection);
}

#[tokio::test]
async fn other_records_of_built_in_names_are_empty_or_those_of_the_resolver() {
    let mut world = World::new().await;
    world.config.builtin_loopback_suffixes = vec!["test".to_owned()];
    world.dns.txt("_acme-challenge.hello.test", crate::world::DIGEST).empty("hello.test").caa("test", 0, "issue", ";");
    shown(world.verify("hello.test", ChallengeType::Dns01).await);
    let name = chancery_domain::Identifier::parse("hello.test").unwrap();
    assert!(world.validator().caa("", &name, None, HTTP).await.is_err());

    let mut config = world.config.clone();
    config.resolvers.clear();
    let alone = validator(config);
    let missing = alone.verify("", &crate::world::check("hello.test", ChallengeType::Dns01)).await;
    refused(missing, ProblemKind::Unauthorized);
    assert_eq!(alone.caa("", &name, None, HTTP).await.unwrap().found_at, None);
}

#[tokio::test]
async fn a_name_without_addresses_says_so() {
    let mut world = World::new().await;
    world.config.http01_port = free_port();
    world.dns.empty("empty.test").absent("gone.test").address_of("closed.test", ANY.0);
    for (name, kind, said) in [
        ("empty.test", ProblemKind::Dns, "has no A and no AAAA record"),
        ("gone.test", ProblemKind::Dns, "does not exist"),
        ("closed.test", ProblemKind::Connection, "refused"),
    ] {
        let (_, detail) = refused(world.verify(name, HTTP).await, kind);
        assert!(detail.contains(said), "{detail}");
    }
}
