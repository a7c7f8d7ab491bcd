//! The TXT record.

use chancery_domain::{ChallengeType, ProblemKind};

use crate::world::{DIGEST, KEY_AUTHORIZATION, World, refused, shown};

const DNS: ChallengeType = ChallengeType::Dns01;
const PLACE: &str = "_acme-challenge.example.test";

#[tokio::test]
async fn the_digest_among_all_records_shows_control() {
    let world = World::new().await;
    world.dns.txt(PLACE, "of another order").txt(PLACE, DIGEST).txt(PLACE, "v=spf1 -all");
    let attempt = shown(world.verify("example.test", DNS).await);
    assert_eq!(
        attempt.dns_answers,
        [
            "_acme-challenge.example.test. TXT \"of another order\"".to_owned(),
            format!("_acme-challenge.example.test. TXT \"{DIGEST}\""),
            "_acme-challenge.example.test. TXT \"v=spf1 -all\"".to_owned(),
        ]
    );
    assert_eq!(attempt.expected.as_deref(), Some(DIGEST));
    assert_eq!(attempt.actual.as_deref(), Some(DIGEST));
    assert_eq!(attempt.dnssec.as_deref(), Some("unchecked"));
}

#[tokio::test]
async fn the_strings_of_one_record_are_read_as_one() {
    let world = World::new().await;
    world.dns.txt_of(PLACE, &[&DIGEST[..10], "", &DIGEST[10..]]);
    shown(world.verify("example.test", DNS).await);
}

#[tokio::test]
async fn the_strings_of_two_records_are_not() {
    let world = World::new().await;
    world.dns.txt(PLACE, &DIGEST[..10]).txt(PLACE, &DIGEST[10..]);
    refused(world.verify("example.test", DNS).await, ProblemKind::IncorrectResponse);
}

#[tokio::test]
async fn a_wildcard_is_shown_beside_its_base() {
    let world = World::new().await;
    world.dns.txt(PLACE, DIGEST);
    shown(world.verify("*.example.test", DNS).await);
}

#[tokio::test]
async fn nothing_but_the_digest_will_do() {
    for text in [KEY_AUTHORIZATION, "", &format!("{DIGEST}="), &format!(" {DIGEST}"), &DIGEST.to_lowercase()] {
        let world = World::new().await;
        world.dns.txt(PLACE, text);
        let (attempt, detail) = refused(world.verify("example.test", DNS).await, ProblemKind::IncorrectResponse);
        assert_eq!(attempt.actual.as_deref(), Some(text));
        assert!(detail.contains(PLACE) && detail.contains(DIGEST), "{detail}");
    }
}

#[tokio::test]
async fn aliases_are_followed_and_kept() {
    let world = World::new().await;
    world.dns.alias(PLACE, "one.elsewhere.test").alias("one.elsewhere.test", "two.elsewhere.test");
    world.dns.txt("two.elsewhere.test", DIGEST);
    let attempt = shown(world.verify("example.test", DNS).await);
    assert_eq!(
        attempt.dns_answers,
        [
            "_acme-challenge.example.test. CNAME one.elsewhere.test.".to_owned(),
            "one.elsewhere.test. CNAME two.elsewhere.test.".to_owned(),
            format!("two.elsewhere.test. TXT \"{DIGEST}\""),
        ]
    );
    assert_eq!(world.dns.asked().len(), 1);

    // Where the resolver does not follow them, we do.
    world.dns.stop_at_aliases();
    assert_eq!(shown(world.verify("example.test", DNS).await).dns_answers, attempt.dns_answers);
    assert_eq!(world.dns.asked().len(), 4);
}

#[tokio::test]
async fn an_alias_to_nothing_says_where_it_ends() {
    let world = World::new().await;
    world.dns.alias(PLACE, "end.elsewhere.test").absent("elsewhere.test");
    let (_, detail) = refused(world.verify("example.test", DNS).await, ProblemKind::Dns);
    assert!(detail.contains("an alias of end.elsewhere.test.") && detail.contains("does not exist"), "{detail}");
    world.dns.empty("end.elsewhere.test");
    let (_, detail) = refused(world.verify("example.test", DNS).await, ProblemKind::Unauthorized);
    assert!(detail.contains("an alias of end.elsewhere.test.") && detail.contains("no TXT record"), "{detail}");
}

#[tokio::test]
async fn aliases_in_a_circle_end() {
    let world = World::new().await;
    world.dns.alias(PLACE, "a.test").alias("a.test", "b.test").alias("b.test", "a.test");
    let (_, detail) = refused(world.verify("example.test", DNS).await, ProblemKind::Dns);
    assert!(detail.contains("circle"), "{detail}");
    world.dns.stop_at_aliases();
    refused(world.verify("example.test", DNS).await, ProblemKind::Dns);

    let world = World::new().await;
    world.dns.alias("_acme-challenge.long.test", "n0.test").stop_at_aliases();
    for step in 0..30 {
        world.dns.alias(&format!("n{step}.test"), &format!("n{}.test", step + 1));
    }
    refused(world.verify("long.test", DNS).await, ProblemKind::Dns);
    assert!(world.dns.asked().len() <= 11, "{}", world.dns.asked().len());
}

#[tokio::test]
async fn a_name_that_leaves_no_room_for_the_label_is_refused() {
    let world = World::new().await;
    let long = [vec!["a".repeat(60); 3].join("."), "b".repeat(55), "test".to_owned()].join(".");
    let (_, detail) = refused(world.verify(&long, DNS).await, ProblemKind::Dns);
    assert!(detail.contains("cannot be asked for"), "{detail}");
    assert_eq!(world.dns.asked(), []);
}
