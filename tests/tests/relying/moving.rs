//! The address of relying parties changes, and certificates from before and after find themselves on the lists.

use chancery_domain::IssuerId;
use chancery_service::Settings;
use chancery_tests::{Node, World, on_both_databases, settings};
use x509_parser::prelude::*;

use crate::customer::{Customer, Held};
use crate::openssl::RelyingParty;

/// A node that is configured with another `server.http_url`.
fn moved_to(url: &str) -> Settings {
    let mut settings = settings();
    settings.issuing.relying_url = url.to_owned();
    settings
}

/// The addresses in a list's distribution point.
fn addresses(list: &[u8]) -> Vec<String> {
    let (_, crl) = CertificateRevocationList::from_der(list).unwrap();
    let points = crl.extensions().iter().filter_map(|extension| match extension.parsed_extension() {
        ParsedExtension::IssuingDistributionPoint(point) => point.distribution_point.as_ref(),
        _ => None,
    });
    let names = points.flat_map(|point| match point {
        DistributionPointName::FullName(names) => names.iter(),
        other => panic!("not a full name: {other:?}"),
    });
    let url = |name: &GeneralName<'_>| match name {
        GeneralName::URI(url) => (*url).to_owned(),
        other => panic!("not a URL: {other:?}"),
    };
    names.map(url).collect()
}

/// What OpenSSL says of a certificate by a list, when it looks at the list's scope.
fn verify(world: &World, party: &RelyingParty, held: &Held, list: &[u8]) -> String {
    party.write("list.der", list);
    party.run(&["crl", "-inform", "DER", "-in", "list.der", "-out", "list.pem"]);
    party.write("leaf.pem", held.pem.as_bytes());
    let now = world.services.now().as_secs().to_string();
    let trust = ["verify", "-CAfile", "root.pem", "-untrusted", "issuer.pem", "-attime", &now];
    party.run(&[&trust[..], &["-crl_check", "-extended_crl", "-CRLfile", "list.pem", "leaf.pem"]].concat())
}

fn at(base: &str, issuer: IssuerId, shard: i64) -> String {
    format!("{base}/crl/{issuer}/{shard}.crl")
}

/// The first look makes what is due and learns of the other lists, the second sees to their address.
async fn look_twice(node: &Node) {
    for _ in 0..2 {
        node.services.publication.look().await.unwrap();
    }
}

on_both_databases! {
    /// RFC 5280 sections 5.2.5 and 6.3.3: a certificate that names the old address is in the scope of a list that has it.
    async fn certificates_from_before_a_move_are_in_the_scope_of_the_lists_after_it(world: World) {
        let customer = Customer::of(&world).await;
        let (good, bad) = (customer.certificate(&world, "a.test").await, customer.certificate(&world, "b.test").await);
        world.services.publication.look().await.unwrap();
        let party = RelyingParty::of(&world, &good).await;

        let moved = world.another_node(moved_to("http://new.test"), Vec::new()).await;
        customer.revoke(&bad, "keyCompromise").await;
        look_twice(&moved).await;
        let list = moved.relying_party().get(&bad.crl_path()).await.body;
        let said = verify(&world, &party, &bad, &list);
        assert!(said.contains("certificate revoked"), "{said}");
        let both = ["http://new.test", "http://ca.test"].map(|base| at(base, bad.issuer(), bad.shard()));
        assert_eq!(addresses(&list), both, "today's first");

        // Whoever makes the next one, and once more after a day.
        for _ in 0..2 {
            world.advance(crate::lists::DAY);
            world.services.publication.look().await.unwrap();
            moved.services.publication.look().await.unwrap();
            for held in [&good, &bad] {
                let list = moved.relying_party().get(&held.crl_path()).await.body;
                assert_eq!(addresses(&list).len(), 2, "both stay");
                let said = verify(&world, &party, held, &list);
                let expected = if held.serial == good.serial { "leaf.pem: OK\n" } else { "certificate revoked" };
                assert!(said.contains(expected), "{said}");
            }
        }
    }

    /// A copy that was made after a move is put back: what certificates from before look for is not forgotten.
    async fn the_addresses_from_before_a_move_outlast_a_restore(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        world.services.publication.look().await.unwrap();
        let moved = world.another_node(moved_to("http://new.test"), Vec::new()).await;
        look_twice(&moved).await;
        world.services.operator.settle_restored().await.unwrap();
        let restored = world.another_node(moved_to("http://new.test"), Vec::new()).await;
        assert_eq!(restored.relying_party().get(&held.crl_path()).await.status, 503, "an old list is served");
        look_twice(&restored).await;
        let list = restored.relying_party().get(&held.crl_path()).await.body;
        let both = ["http://new.test", "http://ca.test"].map(|base| at(base, held.issuer(), held.shard()));
        assert_eq!(addresses(&list), both);
        let party = RelyingParty::of(&world, &held).await;
        let said = verify(&world, &party, &held, &list);
        assert!(said.contains("leaf.pem: OK\n"), "{said}");
    }

    /// Nothing is revoked, and the lists are not due: certificates with the new address need them all the same.
    async fn lists_get_a_new_address_at_once(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        world.services.publication.look().await.unwrap();
        let moved = world.another_node(moved_to("http://new.test"), Vec::new()).await;
        look_twice(&moved).await;
        let issuer = held.issuer();
        for shard in 0..i64::from(world.services.settings.issuing.crl_shards) {
            let list = moved.relying_party().get(&format!("/crl/{issuer}/{shard}.crl")).await.body;
            assert_eq!(addresses(&list), ["http://new.test", "http://ca.test"].map(|base| at(base, issuer, shard)));
        }
        let before = moved.relying_party().get(&held.crl_path()).await.body;
        // And that is all: neither node makes them again.
        for services in [&world.services, &moved.services, &world.services, &moved.services] {
            services.publication.look().await.unwrap();
        }
        assert_eq!(moved.relying_party().get(&held.crl_path()).await.body, before);
        assert_eq!(world.relying_party().get(&held.crl_path()).await.body, before);
    }
}
