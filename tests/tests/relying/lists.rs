//! What is on the lists, and when there is a new one.

use std::time::Duration;

use chancery_tests::{Tenant, World, on_both_databases};
use x509_parser::prelude::*;

use crate::customer::{Customer, Held, path};
use crate::making::retire_issuers;

pub(crate) const DAY: Duration = Duration::from_secs(86_400);

/// A list, read by a library that had no part in writing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) number: u64,
    pub(crate) this_update: i64,
    pub(crate) next_update: i64,
    /// Serial numbers, when they were revoked, and why.
    pub(crate) revoked: Vec<(String, i64, u8)>,
}

pub(crate) async fn fetch(relying: &Tenant, path: &str) -> List {
    let reply = relying.get(path).await;
    assert_eq!(reply.status, 200, "{path}: {}", reply.text());
    let (rest, crl) = CertificateRevocationList::from_der(&reply.body).unwrap();
    assert!(rest.is_empty());
    let entry = |entry: &RevokedCertificate<'_>| {
        let serial = entry.raw_serial().iter().map(|byte| format!("{byte:02x}")).collect();
        (serial, entry.revocation_date.timestamp(), entry.reason_code().map_or(0, |(_, reason)| reason.0))
    };
    List {
        number: crl.crl_number().unwrap().to_u64_digits()[0],
        this_update: crl.last_update().timestamp(),
        next_update: crl.next_update().unwrap().timestamp(),
        revoked: crl.iter_revoked_certificates().map(entry).collect(),
    }
}

impl List {
    pub(crate) fn has(&self, held: &Held) -> bool {
        self.revoked.iter().any(|(serial, ..)| *serial == held.serial)
    }
}

async fn all(world: &World, held: &Held) -> Vec<List> {
    let mut lists = Vec::new();
    for shard in 0..world.services.settings.issuing.crl_shards {
        lists.push(fetch(&world.relying_party(), &format!("/crl/{}/{shard}.crl", held.issuer())).await);
    }
    lists
}

on_both_databases! {
    async fn a_revocation_is_on_the_list_that_the_certificate_names(world: World) {
        let customer = Customer::of(&world).await;
        let (held, other) = (customer.certificate(&world, "a.test").await, customer.certificate(&world, "b.test").await);
        world.services.publication.look().await.unwrap();
        let before = all(&world, &held).await;
        assert!(before.iter().all(|list| list.revoked.is_empty()));
        world.advance(Duration::from_secs(2));
        let now = world.services.now().as_secs();
        customer.revoke(&held, "keyCompromise").await;
        assert_eq!(all(&world, &held).await, before, "nothing is made while somebody waits for an answer");

        world.advance(Duration::from_secs(3));
        world.services.publication.look().await.unwrap();
        let after = all(&world, &held).await;
        for (shard, (before, after)) in before.iter().zip(&after).enumerate() {
            if shard as i64 == held.shard() {
                assert_eq!(after.revoked, [(held.serial.clone(), now, 1)]);
                assert!(after.number > before.number);
                assert_eq!(after.this_update, now + 3);
                assert_eq!(after.next_update - after.this_update, 7 * 86_400);
            } else {
                assert_eq!(after, before, "a list that nothing was revoked on stays");
            }
            assert!(!after.has(&other));
        }
    }

    async fn the_lists_are_made_anew_every_day(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        world.services.publication.look().await.unwrap();
        let first = all(&world, &held).await;
        world.advance(DAY - Duration::from_secs(1));
        world.services.publication.look().await.unwrap();
        assert_eq!(all(&world, &held).await, first);
        world.advance(Duration::from_secs(1));
        world.services.publication.look().await.unwrap();
        for (first, second) in first.iter().zip(all(&world, &held).await) {
            assert!(second.number > first.number);
            assert_eq!(second.this_update, first.this_update + 86_400);
        }
    }

    /// RFC 5280 section 3.3.
    async fn an_expired_entry_leaves_after_one_scheduled_list_beyond_its_end(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        customer.revoke(&held, "superseded").await;
        let (relying, publication) = (world.relying_party(), &world.services.publication);
        publication.look().await.unwrap();
        world.advance(89 * DAY);
        publication.look().await.unwrap();
        assert!(fetch(&relying, &held.crl_path()).await.has(&held));
        world.advance(2 * DAY);
        publication.look().await.unwrap();
        let last = fetch(&relying, &held.crl_path()).await;
        assert!(last.has(&held), "the first list after its end still has it");
        world.advance(DAY);
        publication.look().await.unwrap();
        let next = fetch(&relying, &held.crl_path()).await;
        assert!(!next.has(&held) && next.number > last.number);
    }

    /// A list that a revocation causes is not a scheduled one: it must neither drop entries early nor put the schedule off.
    async fn revocations_do_not_disturb_the_schedule(world: World) {
        let mut customer = Customer::of(&world).await;
        let (early, late) = on_one_list(&world, &customer).await;
        customer.revoke(&early, "superseded").await;
        let (relying, publication) = (world.relying_party(), &world.services.publication);
        publication.look().await.unwrap();
        let first = fetch(&relying, &early.crl_path()).await;
        world.advance(DAY - Duration::from_secs(10));
        customer.tenant.sign_in().await;
        customer.revoke(&late, "superseded").await;
        publication.look().await.unwrap();
        let second = fetch(&relying, &early.crl_path()).await;
        assert!(second.number > first.number && second.has(&early) && second.has(&late));
        world.advance(Duration::from_secs(10));
        publication.look().await.unwrap();
        let third = fetch(&relying, &early.crl_path()).await;
        assert!(third.number > second.number, "a day after the last scheduled list, not after the last list");
        assert_eq!(third.revoked, second.revoked);
    }

    async fn a_retired_issuer_is_still_served(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        retire_issuers(&world);
        world.services.authority.reload().await.unwrap();
        assert!(!world.services.authority.find(held.issuer()).unwrap().active);
        world.services.publication.look().await.unwrap();
        let relying = world.relying_party();
        let before = fetch(&relying, &held.crl_path()).await;
        customer.revoke(&held, "cessationOfOperation").await;
        world.services.publication.look().await.unwrap();
        let after = fetch(&relying, &held.crl_path()).await;
        assert!(after.number > before.number && after.has(&held));
        let certificate = relying.get(&path(&held.ca_issuers_url)).await;
        assert_eq!((certificate.status.as_u16(), certificate.header("content-type")), (200, Some("application/pkix-cert")));
    }

    async fn a_root_has_a_list_of_its_own(world: World) {
        world.services.publication.look().await.unwrap();
        let issuers = world.services.operator.issuers().await.unwrap();
        let (root, certificate) = (issuers[0].id, &issuers[0].certificate);
        let url = world.services.settings.issuing.root_crl_url(root);
        let reply = world.relying_party().get(&path(&url)).await;
        let (_, crl) = CertificateRevocationList::from_der(&reply.body).unwrap();
        let (_, parsed) = X509Certificate::from_der(certificate.as_der()).unwrap();
        assert_eq!(crl.issuer(), parsed.subject());
        assert!(crl.crl_number().is_some() && crl.iter_revoked_certificates().next().is_none());
        assert_eq!(world.relying_party().get(&format!("/issuer/{root}.crt")).await.body, certificate.as_der());
        world.advance(DAY);
        world.services.publication.look().await.unwrap();
        assert_ne!(world.relying_party().get(&path(&url)).await.body, reply.body);
    }
}

/// Two certificates whose revocations are published on the same list.
pub(crate) async fn on_one_list(world: &World, customer: &Customer) -> (Held, Held) {
    let mut held: Vec<Held> = Vec::new();
    loop {
        let next = customer.certificate(world, &format!("n{}.test", held.len())).await;
        if let Some(place) = held.iter().position(|held| held.shard() == next.shard()) {
            return (held.swap_remove(place), next);
        }
        held.push(next);
    }
}
