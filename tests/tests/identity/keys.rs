//! The keys that sign our tokens change, and nobody who verifies notices.

use std::time::Duration;

use chancery_service::LONGEST_TOKEN_LIFETIME;
use chancery_tests::{Node, Tenant, on_both_databases, settings};
use futures_util::future::join_all;
use serde_json::json;

use crate::disabled::{Watching, until};
use crate::forge::parts;

const ROTATION: Duration = Duration::from_secs(30 * 86_400);
const NOTICE: Duration = Duration::from_secs(3600);
const LIFETIME: Duration = Duration::from_secs(86_400);
const SECOND: Duration = Duration::from_secs(1);

on_both_databases! {
    async fn a_new_key_is_published_before_it_is_used_and_the_old_one_while_its_tokens_live(world: World) {
        let mut tenant = world.tenant("DEMO").await;
        let first = published(&world.stranger()).await;
        assert_eq!(first.len(), 1);
        let first = first[0].clone();

        world.advance(ROTATION - SECOND);
        world.services.identity.refresh_keys().await.unwrap();
        assert_eq!(published(&world.stranger()).await, std::slice::from_ref(&first), "too early");

        world.advance(SECOND);
        world.services.identity.refresh_keys().await.unwrap();
        let keys = published(&world.stranger()).await;
        let [second, kept] = &keys[..] else { panic!("not two keys: {keys:?}") };
        assert_eq!(kept, &first);
        assert_ne!(second, &first);

        world.advance(NOTICE - SECOND);
        world.services.identity.refresh_keys().await.unwrap();
        tenant.sign_in().await;
        assert_eq!(signed_by(&tenant), first, "the new key is not in use before its time");
        let old = tenant.clone();

        world.advance(SECOND);
        tenant.sign_in().await;
        assert_eq!(&signed_by(&tenant), second, "the new key is in use from its time on");
        tenant.get("/v1/account").await.expect(200);
        old.get("/v1/account").await.expect(200);

        // To the end of its life the old token verifies, also where it was never seen, and then no longer.
        world.advance(LIFETIME - SECOND);
        world.services.identity.refresh_keys().await.unwrap();
        let unseen = world.another_node(settings(), Vec::new()).await;
        unseen.hears(&old).get("/v1/account").await.expect(200);
        world.advance(Duration::from_secs(60));
        for old in [&old, &unseen.hears(&old)] {
            assert_eq!(old.get("/v1/account").await.status, 401);
        }

        // Tokens may have been given a longer life when the old key signed, a week at most, and the clocks of nodes may
        // differ: it goes later.
        world.advance(LONGEST_TOKEN_LIFETIME - Duration::from_secs(86_400));
        world.services.identity.refresh_keys().await.unwrap();
        assert_eq!(published(&world.stranger()).await.len(), 2);
        world.advance(Duration::from_secs(300));
        world.services.identity.refresh_keys().await.unwrap();
        assert_eq!(published(&world.stranger()).await, std::slice::from_ref(second));
        tenant.sign_in().await;
        tenant.get("/v1/account").await.expect(200);
    }

    async fn nodes_that_notice_at_once_make_one_key(world: World) {
        let another = async || world.another_node(settings(), Vec::new()).await;
        let nodes = [another().await, another().await, another().await, another().await];
        world.advance(ROTATION);
        let refresh = async |node: &Node| node.services.identity.refresh_keys().await.unwrap();
        join_all(nodes.iter().map(refresh)).await;
        let keys = published(&world.another_node(settings(), Vec::new()).await.stranger()).await;
        assert_eq!(keys.len(), 2, "{keys:?}");
        for node in nodes {
            assert_eq!(published(&node.stranger()).await, keys);
        }
    }

    async fn a_node_that_has_not_heard_of_a_key_asks_for_it(world: World) {
        let mut tenant = world.tenant("DEMO").await;
        let second = world.another_node(settings(), Vec::new()).await;
        assert_eq!(published(&second.stranger()).await.len(), 1);
        world.advance(ROTATION);
        world.services.identity.refresh_keys().await.unwrap();
        world.advance(NOTICE);
        tenant.sign_in().await;

        assert_eq!(published(&second.stranger()).await.len(), 1, "it has not looked yet");
        second.hears(&tenant).get("/v1/account").await.expect(200);
        assert_eq!(published(&second.stranger()).await.len(), 2);
    }

    async fn a_node_that_watches_needs_nobody_to_tell_it(world: World) {
        world.advance(ROTATION);
        let _watching = Watching::begin(&world.services);
        until(async || published(&world.stranger()).await.len() == 2).await;
    }

    async fn keys_survive_a_restart(world: World) {
        let tenant = world.tenant("DEMO").await;
        let restarted = world.another_node(settings(), Vec::new()).await;
        assert_eq!(published(&restarted.stranger()).await, published(&world.stranger()).await);
        restarted.hears(&tenant).get("/v1/account").await.expect(200);
    }

    async fn many_missed_rotations_are_made_good_with_one(world: World) {
        let mut tenant = world.tenant("DEMO").await;
        world.advance(ROTATION * 12);
        let woken = world.another_node(settings(), Vec::new()).await;
        assert_eq!(published(&woken.stranger()).await.len(), 2);
        // The old key signs until the new one has been published for long enough.
        tenant.sign_in().await;
        woken.hears(&tenant).get("/v1/account").await.expect(200);
        assert_eq!(signed_by(&tenant), published(&woken.stranger()).await[1]);
    }
}

/// The names of the keys, newest first.
async fn published(stranger: &Tenant) -> Vec<String> {
    let set = stranger.get("/.well-known/jwks.json").await.expect(200);
    let keys = set["keys"].as_array().unwrap();
    assert!(keys.iter().all(|key| key["alg"] == json!("ES256")));
    keys.iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect()
}

fn signed_by(tenant: &Tenant) -> String {
    let token = tenant.authorization.as_ref().unwrap().strip_prefix("Bearer ").unwrap();
    parts(token).0["kid"].as_str().unwrap().to_owned()
}
