//! Several nodes make and serve the same lists.

use std::time::Duration;

use chancery_domain::{IssuerId, Timestamp};
use chancery_pki::KeyAlgorithm;
use chancery_store::{CrlFacts, CrlRow, Tx};
use chancery_testkit::SeededEntropy;
use chancery_tests::{World, on_both_databases, settings};

use crate::customer::{Customer, revoke};
use crate::lists::{DAY, fetch, on_one_list};

/// The steps of making a list, one at a time.
struct Steps<'a> {
    world: &'a World,
    issuer: IssuerId,
    shard: i64,
}

impl Steps<'_> {
    async fn claim(&self) -> Option<i64> {
        let (issuer, shard, now) = (self.issuer, self.shard, self.world.services.now());
        let until = now.plus(Duration::from_secs(10));
        self.world.store.write(move |tx| tx.claim_crl(issuer, shard, now.minus(DAY), now, until)).await.unwrap()
    }

    async fn facts(&self) -> CrlFacts {
        let (issuer, shard, now) = (self.issuer, self.shard, self.world.services.now());
        self.world.store.read(move |tx| tx.crl_facts(issuer, shard, now)).await.unwrap().unwrap()
    }

    async fn keep(&self, number: i64, facts: &CrlFacts) -> bool {
        let (issuer, shard, now) = (self.issuer, self.shard, self.world.services.now());
        let der = format!("list {number} with {}", facts.entries.len()).into_bytes();
        let row = CrlRow { issuer, shard, number, der, this_update: now, next_update: now.plus(DAY) };
        let changes = facts.changes;
        self.world.store.write(move |tx| tx.store_crl(&row, changes, now)).await.unwrap()
    }

    async fn published(&self) -> String {
        let (issuer, shard) = (self.issuer, self.shard);
        let row = self.world.store.read(move |tx| tx.crl(issuer, shard)).await.unwrap().unwrap();
        String::from_utf8(row.der).unwrap()
    }
}

on_both_databases! {
    async fn a_node_serves_what_another_has_made(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        let other = world.another_node(settings(), Vec::new()).await;
        world.services.publication.look().await.unwrap();
        let too_soon = other.relying_party().get(&held.crl_path()).await;
        assert_eq!((too_soon.status.as_u16(), too_soon.header("retry-after")), (503, Some("2")));
        assert_eq!(too_soon.header("cache-control"), Some("no-store"));
        let here = world.relying_party().get(&held.crl_path()).await.body;
        let relying = other.relying_party();
        let path = held.crl_path();
        let (waited, looked) = tokio::join!(relying.get(&path), other.services.publication.look());
        looked.unwrap();
        assert_eq!((waited.status.as_u16(), &waited.body), (200, &here), "who asked before it was there");
        assert_eq!(relying.get(&path).await.body, here);

        revoke(&other.hears(&customer.tenant), &held, "keyCompromise").await.expect(202);
        other.services.publication.look().await.unwrap();
        assert!(fetch(&other.relying_party(), &held.crl_path()).await.has(&held));
        assert_eq!(world.relying_party().get(&held.crl_path()).await.body, here);
        world.services.publication.look().await.unwrap();
        assert!(fetch(&world.relying_party(), &held.crl_path()).await.has(&held));
    }

    async fn a_list_of_a_ca_that_another_node_has_made_is_waited_for(world: World) {
        let other = world.another_node(settings(), Vec::new()).await;
        other.services.publication.look().await.unwrap();
        let made = world.services.operator.create_issuer(KeyAlgorithm::EcP256).await.unwrap().id;
        world.services.publication.look().await.unwrap();
        let (relying, path) = (other.relying_party(), format!("/crl/{made}/0.crl"));
        let (waited, looked) = tokio::join!(relying.get(&path), other.services.publication.look());
        looked.unwrap();
        assert_eq!(waited.status, 200);
        // One that nobody has heard of is none, once it is older than any way between nodes.
        let unknown = IssuerId::new(other.services.now(), &SeededEntropy::new(7));
        assert_eq!(relying.get(&format!("/crl/{unknown}/0.crl")).await.status, 503);
        world.advance(DAY);
        assert_eq!(relying.get(&format!("/crl/{unknown}/0.crl")).await.status, 404);
    }

    async fn a_list_of_a_root_that_cannot_be_made_yet_is_to_come(world: World) {
        let root = world.services.operator.issuers().await.unwrap()[0].id;
        let (now, until) = (world.services.now(), world.services.now().plus(Duration::from_secs(10)));
        // Somebody is at it, and does not come to an end.
        let claim = move |tx: &mut Tx<'_>| {
            tx.want_crl(root, -1)?;
            tx.claim_crl(root, -1, now.minus(DAY), now, until)
        };
        assert!(world.store.write(claim).await.unwrap().is_some());
        world.services.publication.look().await.unwrap();
        let relying = world.relying_party();
        let waited = relying.get(&format!("/crl/{root}/root.crl")).await;
        assert_eq!((waited.status.as_u16(), waited.header("retry-after")), (503, Some("2")));
        assert_eq!(relying.get(&format!("/crl/{root}/0.crl")).await.status, 404, "a root has no such list");
    }

    async fn a_revocation_is_published_though_its_node_died(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        let other = world.another_node(settings(), Vec::new()).await;
        revoke(&other.hears(&customer.tenant), &held, "keyCompromise").await.expect(202);
        drop(other);
        world.services.publication.look().await.unwrap();
        assert!(fetch(&world.relying_party(), &held.crl_path()).await.has(&held));
    }

    async fn many_nodes_that_look_at_once_make_one_list(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        let nodes = [world.another_node(settings(), Vec::new()).await, world.another_node(settings(), Vec::new()).await];
        world.services.publication.look().await.unwrap();
        let first = fetch(&world.relying_party(), &held.crl_path()).await.number;
        customer.revoke(&held, "keyCompromise").await;
        let publications = [&world.services, &nodes[0].services, &nodes[1].services].map(|node| node.publication.clone());
        let looks = publications.map(|publication| tokio::spawn(async move { publication.look().await }));
        for look in looks {
            look.await.unwrap().unwrap();
        }
        let second = fetch_after_a_look(&world, &held.crl_path()).await;
        // Numbers are drawn one by one; at one frozen instant each further list would have a greater one.
        let next = first.max(u64::try_from(world.services.now().as_millis()).unwrap() - 1) + 1;
        assert_eq!(second, next);
        for node in &nodes {
            node.services.publication.look().await.unwrap();
            assert_eq!(fetch(&node.relying_party(), &held.crl_path()).await.number, second);
        }
    }

    async fn a_list_that_is_being_made_is_left_to_its_maker_for_a_while(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        world.services.publication.look().await.unwrap();
        let steps = Steps { world: &world, issuer: held.issuer(), shard: held.shard() };
        assert_eq!(steps.claim().await, None, "it is not due");
        customer.revoke(&held, "keyCompromise").await;
        let first = steps.claim().await.unwrap();
        assert_eq!(steps.claim().await, None);
        world.advance(Duration::from_secs(10));
        assert!(steps.claim().await.unwrap() > first, "its maker is gone");
    }

    async fn neither_an_older_list_nor_one_with_less_on_it_replaces_another(world: World) {
        let customer = Customer::of(&world).await;
        let (one, two) = on_one_list(&world, &customer).await;
        world.services.publication.look().await.unwrap();
        let steps = Steps { world: &world, issuer: one.issuer(), shard: one.shard() };
        customer.revoke(&one, "keyCompromise").await;
        // Two nodes at once, because the first was slow: it reads later and knows more, but has the smaller number.
        let first = steps.claim().await.unwrap();
        world.advance(Duration::from_secs(10));
        let second = steps.claim().await.unwrap();
        let less = steps.facts().await;
        customer.revoke(&two, "keyCompromise").await;
        let more = steps.facts().await;
        assert_eq!((less.entries.len(), more.entries.len()), (1, 2));
        assert!(steps.keep(first, &more).await);
        assert!(!steps.keep(second, &less).await, "it has the greater number but less on it");
        assert_eq!(steps.published().await, format!("list {first} with 2"));

        // And the other way round: the same on both, the smaller number comes last.
        world.advance(DAY);
        let third = steps.claim().await.unwrap();
        world.advance(Duration::from_secs(10));
        let fourth = steps.claim().await.unwrap();
        assert!(first < second && second < third && third < fourth);
        assert!(steps.keep(fourth, &more).await);
        assert!(!steps.keep(third, &more).await);
        assert_eq!(steps.published().await, format!("list {fourth} with 2"));
    }

    async fn a_revocation_while_a_list_is_made_is_not_forgotten(world: World) {
        let customer = Customer::of(&world).await;
        let (one, two) = on_one_list(&world, &customer).await;
        world.services.publication.look().await.unwrap();
        let steps = Steps { world: &world, issuer: one.issuer(), shard: one.shard() };
        customer.revoke(&one, "keyCompromise").await;
        let number = steps.claim().await.unwrap();
        let facts = steps.facts().await;
        customer.revoke(&two, "keyCompromise").await;
        assert!(steps.keep(number, &facts).await);
        world.services.publication.look().await.unwrap();
        let list = fetch(&world.relying_party(), &one.crl_path()).await;
        assert!(list.has(&one) && list.has(&two));
    }

    /// Its dates must not keep the lists from being made until that day, nor be carried on.
    async fn a_node_whose_clock_was_wrong_does_no_lasting_harm(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        customer.revoke(&held, "superseded").await;
        let (relying, now) = (world.relying_party(), world.services.now());
        world.advance(400 * DAY);
        world.services.publication.look().await.unwrap();
        let wrong = fetch(&relying, &held.crl_path()).await;
        let steps = Steps { world: &world, issuer: held.issuer(), shard: held.shard() };
        world.advance(DAY);
        assert!(steps.claim().await.is_some(), "and it dies over another list");

        world.clock.set(now.plus(Duration::from_secs(60)));
        world.services.publication.look().await.unwrap();
        let right = fetch(&relying, &held.crl_path()).await;
        assert!(right.number > wrong.number && right.has(&held));
        assert_eq!(right.this_update, world.services.now().as_secs());
        world.services.publication.look().await.unwrap();
        assert_eq!(fetch(&relying, &held.crl_path()).await, right, "and then all is well");
    }

    /// After a restore of an old copy the counter is back where it was; the clock is not.
    async fn numbers_are_not_smaller_than_the_time(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        world.services.publication.look().await.unwrap();
        let number = fetch(&world.relying_party(), &held.crl_path()).await.number;
        assert!(Timestamp::from_millis(i64::try_from(number).unwrap()) >= world.services.now());
    }
}

async fn fetch_after_a_look(world: &World, path: &str) -> u64 {
    world.services.publication.look().await.unwrap();
    fetch(&world.relying_party(), path).await.number
}
