//! An issuing CA that its root has revoked.

use std::time::Duration;

use chancery_domain::{PageRequest, RevocationReason};
use chancery_service::operator::KeyAlgorithm;
use chancery_store::AuditFilter;
use chancery_tests::{World, on_both_databases};

use crate::customer::{Customer, Held, path};
use crate::lists::fetch;
use crate::openssl::RelyingParty;

/// What OpenSSL says of a chain when it looks at the lists of all CAs.
async fn verify(world: &World, party: &RelyingParty, held: &Held) -> String {
    let issuers = world.services.operator.issuers().await.unwrap();
    let root = issuers.iter().find(|issuer| issuer.id == held.issuer()).unwrap().parent.unwrap();
    let relying = world.relying_party();
    for (name, at) in [("leaf", held.crl_path()), ("root", path(&world.services.settings.issuing.root_crl_url(root)))] {
        party.write("list.der", &relying.get(&at).await.body);
        party.run(&["crl", "-inform", "DER", "-in", "list.der", "-out", &format!("{name}-list.pem")]);
    }
    party.write("lists.pem", &[party.read("leaf-list.pem"), party.read("root-list.pem")].concat());
    party.write("leaf.pem", held.pem.as_bytes());
    let now = world.services.now().as_secs().to_string();
    let trust = ["verify", "-CAfile", "root.pem", "-untrusted", "issuer.pem", "-attime", &now];
    party.run(&[&trust[..], &["-crl_check_all", "-CRLfile", "lists.pem", "leaf.pem"]].concat())
}

on_both_databases! {
    async fn a_revoked_ca_is_on_the_list_of_its_root_and_signs_no_more(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        world.services.publication.look().await.unwrap();
        let party = RelyingParty::of(&world, &held).await;
        assert_eq!(verify(&world, &party, &held).await, "leaf.pem: OK\n");

        let operator = &world.services.operator;
        let issuers = operator.issuers().await.unwrap();
        let issuer = issuers.iter().find(|issuer| issuer.id == held.issuer()).unwrap();
        let root = world.services.settings.issuing.root_crl_url(issuer.parent.unwrap());
        let other = operator.create_issuer(KeyAlgorithm::EcP256).await.unwrap();
        // One is drafted with the CA before it is revoked.
        let drafted = customer.ready(&world, "b.test").await;
        customer.tenant.post_empty(&format!("/v1/order/{drafted}/finalize")).await.expect(202);
        world.services.issuance.prepare(drafted.parse().unwrap()).await.unwrap();

        let revoked = operator.revoke_issuer(&issuer.name, RevocationReason::KeyCompromise).await.unwrap();
        assert!(!revoked.already && revoked.issuer.standing() == "revoked");
        assert!(operator.revoke_issuer(&issuer.name, RevocationReason::Superseded).await.unwrap().already);
        world.services.publication.look().await.unwrap();
        let list = fetch(&world.relying_party(), &path(&root)).await;
        let since = revoked.issuer.revocation.unwrap().at.as_secs();
        let ca_compromise = 2;
        assert_eq!(list.revoked, [(issuer.info.serial.clone(), since, ca_compromise)]);
        let said = verify(&world, &party, &held).await;
        assert!(said.contains("certificate revoked") && said.contains("at 1 depth"), "{said}");

        world.services.authority.reload().await.unwrap();
        world.services.issuance.sign(drafted.parse().unwrap()).await.unwrap();
        let order = customer.tenant.get(&format!("/v1/order/{drafted}")).await.expect(200);
        assert_eq!(order["status"], "invalid", "what was drafted is not signed: {order}");
        let next = customer.certificate(&world, "c.test").await;
        assert_eq!(next.issuer(), other.id);
        // For good.
        assert!(operator.activate_issuer(&issuer.name).await.is_err());
        assert!(operator.rotate_issuer(&issuer.name, None).await.is_err());
        let root = issuers.iter().find(|issuer| issuer.parent.is_none()).unwrap();
        assert!(operator.revoke_issuer(&root.name, RevocationReason::Superseded).await.is_err());

        let filter = AuditFilter { action: Some("issuer.revoke".to_owned()), ..AuditFilter::default() };
        let records = world.services.audit.list(filter, PageRequest { after: None, limit: 10 }).await.unwrap();
        assert_eq!(records.len(), 1);
        assert!(records[0].detail.contains("keyCompromise"), "{}", records[0].detail);
    }

    /// Baseline Requirements section 7.2.2: the entry of a CA has a reason.
    async fn a_ca_is_not_revoked_without_a_reason(world: World) {
        let operator = &world.services.operator;
        let refused = operator.revoke_issuer("Test Issuing E1", RevocationReason::Unspecified).await.err().unwrap();
        assert!(refused.to_string().contains("choose one of keyCompromise, affiliationChanged, superseded"), "{refused}");
        let issuers = operator.issuers().await.unwrap();
        assert!(issuers.iter().all(|issuer| issuer.revocation.is_none()));
    }

    async fn a_compromised_key_replaces_another_reason_on_the_list(world: World) {
        let (operator, publication) = (&world.services.operator, &world.services.publication);
        let name = "Test Issuing E1";
        let first = operator.revoke_issuer(name, RevocationReason::Superseded).await.unwrap();
        assert_eq!((first.already, first.replaced), (false, None));
        publication.look().await.unwrap();
        let root = path(&world.services.settings.issuing.root_crl_url(first.issuer.parent.unwrap()));
        let (serial, since) = (first.issuer.info.serial.clone(), first.issuer.revocation.unwrap().at.as_secs());
        let superseded = fetch(&world.relying_party(), &root).await;
        assert_eq!(superseded.revoked, [(serial.clone(), since, 4)]);

        world.advance(Duration::from_secs(60));
        let second = operator.revoke_issuer(name, RevocationReason::KeyCompromise).await.unwrap();
        assert_eq!((second.already, second.replaced), (false, Some(RevocationReason::Superseded)));
        publication.look().await.unwrap();
        let compromised = fetch(&world.relying_party(), &root).await;
        assert_eq!(compromised.revoked, [(serial, since, 2)], "the time stays");
        assert!(compromised.number > superseded.number);

        for reason in [RevocationReason::KeyCompromise, RevocationReason::Superseded] {
            let again = operator.revoke_issuer(name, reason).await.unwrap();
            assert_eq!((again.already, again.replaced), (true, None));
            assert_eq!(again.issuer.revocation.unwrap().reason, RevocationReason::KeyCompromise);
        }
        publication.look().await.unwrap();
        assert_eq!(fetch(&world.relying_party(), &root).await, compromised, "nothing has changed");
        let filter = AuditFilter { action: Some("issuer.revoke".to_owned()), ..AuditFilter::default() };
        let records = world.services.audit.list(filter, PageRequest { after: None, limit: 10 }).await.unwrap();
        assert_eq!(records.len(), 2);
        let noted = records.iter().filter(|record| record.detail.contains(r#""replaced":"superseded""#));
        assert_eq!(noted.count(), 1);
    }
}
