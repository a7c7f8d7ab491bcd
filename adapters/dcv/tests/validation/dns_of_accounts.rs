//! The TXT records that are about an ACME account: dns-account-01 and dns-persist-01.

use chancery_domain::{ChallengeType, ProblemKind};

use crate::world::{ACCOUNT_URI, DIGEST, World, refused, shown};

const ACCOUNT: ChallengeType = ChallengeType::DnsAccount01;
const PERSIST: ChallengeType = ChallengeType::DnsPersist01;
/// The label of [`ACCOUNT_URI`], as draft-ietf-acme-dns-account-label has it for an example.
const LABELLED: &str = "_ujmmovf2vn55tgye._acme-challenge.example.test";
const PERSISTENT: &str = "_validation-persist.example.test";

#[tokio::test]
async fn an_account_shows_control_at_a_place_of_its_own() {
    let world = World::new().await;
    world.dns.txt(LABELLED, "of another order").txt(LABELLED, DIGEST);
    shown(world.verify("example.test", ACCOUNT).await);
    shown(world.verify("*.example.test", ACCOUNT).await);
}

#[tokio::test]
async fn the_place_of_all_accounts_is_not_the_one_of_an_account() {
    let world = World::new().await;
    world.dns.txt("_acme-challenge.example.test", DIGEST).txt(LABELLED, "something else");
    let (_, detail) = refused(world.verify("example.test", ACCOUNT).await, ProblemKind::IncorrectResponse);
    assert!(detail.contains(LABELLED), "{detail}");
}

#[tokio::test]
async fn a_record_that_stays_shows_control_without_any_code() {
    let world = World::new().await;
    let record = format!("ca.test; accounturi={ACCOUNT_URI}");
    world.dns.txt(PERSISTENT, "other.test; accounturi=https://other.test/1").txt(PERSISTENT, &record);
    let attempt = shown(world.verify("example.test", PERSIST).await);
    assert_eq!((attempt.expected.as_deref(), attempt.actual.as_deref()), (Some(&*record), Some(&*record)));
    let (_, detail) = refused(world.verify("*.example.test", PERSIST).await, ProblemKind::Unauthorized);
    assert!(detail.contains("does not say policy=wildcard"), "{detail}");
}

#[tokio::test]
async fn a_long_record_is_read_as_one_and_found_behind_an_alias() {
    let world = World::new().await;
    world.dns.alias(PERSISTENT, "kept.elsewhere.test");
    let parts = ["ca.test;", " accounturi=", ACCOUNT_URI, "; policy=wildcard"];
    world.dns.txt_of("kept.elsewhere.test", &parts);
    shown(world.verify("*.example.test", PERSIST).await);
}

#[tokio::test]
async fn what_comes_closest_is_told() {
    let world = World::new().await;
    world.dns.txt(PERSISTENT, "other.test; accounturi=x").txt(PERSISTENT, "v=spf1 -all");
    world.dns.txt(PERSISTENT, "ca.test; accounturi=https://ca.test/acme/account/2");
    let (attempt, detail) = refused(world.verify("example.test", PERSIST).await, ProblemKind::Unauthorized);
    assert!(detail.contains("is for another account") && !detail.contains("other.test"), "{detail}");
    assert!(attempt.actual.unwrap().contains("account/2"));

    // The clock stands at the beginning of 2027, or so.
    world.dns.txt(PERSISTENT, &format!("ca.test; accounturi={ACCOUNT_URI}; persistUntil=1"));
    let (_, detail) = refused(world.verify("example.test", PERSIST).await, ProblemKind::Unauthorized);
    assert!(detail.contains("was good until 1970-01-01T00:00:01Z"), "{detail}");
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_malformed() {
    let world = World::new().await;
    world.dns.txt(PERSISTENT, "ca.test; policy=wildcard");
    let (_, detail) = refused(world.verify("example.test", PERSIST).await, ProblemKind::Malformed);
    assert!(detail.contains("has no accounturi"), "{detail}");
}

#[tokio::test]
async fn what_is_missing_is_told_as_for_any_other_record() {
    let world = World::new().await;
    world.dns.absent(LABELLED).absent(PERSISTENT);
    for kind in [ACCOUNT, PERSIST] {
        refused(world.verify("example.test", kind).await, ProblemKind::Dns);
        assert!(world.verify("192.0.2.1", kind).await.attempts.is_empty());
    }
}
