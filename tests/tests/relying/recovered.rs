//! Certificates that a CA has signed and the database knows nothing of, as after a copy of it was put back.

use std::time::Duration;

use chancery_domain::{Comment, Identifier, IssuerId, PageRequest, RevocationReason};
use chancery_pki::{
    Certificate, Crl, CrlContents, CrlScope, Issuer, KeptCrl, KeyAlgorithm, PrivateKey, RevokedCertificate, Serial,
    ServerCertificate, SubscriberKey, Validity, server_certificate,
};
use chancery_seal::Keyring;
use chancery_service::operator::{Brought, BroughtList, CertificateRef, Fate, RevokedWhat};
use chancery_service::{CaKeys, NotTaken};
use chancery_store::{AuditFilter, IssuerKind, Standing};
use chancery_testkit::SeededEntropy;
use chancery_tests::{World, on_both_databases};

use crate::customer::{Customer, path};
use crate::lists::fetch;

const DAY: i64 = 86_400;

/// A CA of the world's, with its key.
fn issuing(world: &World) -> (IssuerId, Issuer) {
    let signing = world.services.authority.all()[0].clone();
    (signing.id, signing.issuer.clone())
}

/// One that the CA has signed, and the database has not seen.
fn lost(world: &World, number: u64, days: i64) -> Certificate {
    signed_by(&issuing(world).1, world, number, days)
}

fn signed_by(issuer: &Issuer, world: &World, number: u64, days: i64) -> Certificate {
    with_serial(issuer, world, Serial::draw(&SeededEntropy::new(7_000 + number)), number, days)
}

fn with_serial(issuer: &Issuer, world: &World, serial: Serial, number: u64, days: i64) -> Certificate {
    let key = PrivateKey::generate(KeyAlgorithm::EcP256).unwrap();
    let now = world.services.now().as_secs();
    let server = ServerCertificate {
        names: &[Identifier::parse(&format!("lost-{number}.test")).unwrap()],
        serial,
        validity: Validity::lasting(now - 60, 61 + days * DAY).unwrap(),
        spki: key.public_key_info(),
    };
    server_certificate(issuer, &server).unwrap()
}

fn serial(certificate: &Certificate) -> String {
    certificate.serial().unwrap().to_string()
}

fn key_hash(certificate: &Certificate) -> Vec<u8> {
    SubscriberKey::from_spki(&certificate.spki().unwrap()).unwrap().sha256().to_vec()
}

async fn standing(world: &World, serial: &str) -> Standing {
    standing_of(world, issuing(world).0, serial).await
}

async fn standing_of(world: &World, issuer: IssuerId, serial: &str) -> Standing {
    let serial = serial.to_owned();
    world.store.read(move |tx| tx.standing(issuer, &serial)).await.unwrap()
}

/// All that is on the lists of the CA, as they are published now.
async fn listed(world: &World) -> Vec<(String, i64, u8)> {
    listed_of(world, issuing(world).0).await
}

async fn listed_of(world: &World, issuer: IssuerId) -> Vec<(String, i64, u8)> {
    world.services.publication.look().await.unwrap();
    let lists = world.services.settings.issuing.crls(issuer);
    let mut all = Vec::new();
    for shard in 0..lists.count() {
        all.extend(fetch(&world.relying_party(), &path(&lists.url(shard))).await.revoked);
    }
    all
}

/// A list as somebody has kept it.
fn kept(issuer: &Issuer, scope: CrlScope<'_>, world: &World, number: u64, revoked: &[RevokedCertificate]) -> KeptCrl {
    let now = world.services.now().as_secs();
    let contents = CrlContents { scope, number, this_update: now, next_update: now + DAY, revoked };
    KeptCrl::from_der(Crl::sign(issuer, &contents).unwrap().as_der()).unwrap()
}

async fn trail(world: &World, action: &str) -> usize {
    let filter = AuditFilter { action: Some(action.to_owned()), ..AuditFilter::default() };
    world.services.audit.list(filter, PageRequest { limit: 1000, after: None }).await.unwrap().len()
}

on_both_databases! {
    async fn what_is_brought_back_is_answered_for_and_can_be_revoked(world: World) {
        let operator = world.services.operator.clone().acting_as("alice");
        let held = Customer::of(&world).await.certificate(&world, "known.test").await;
        let known = Certificate::from_pem(&held.pem).unwrap();
        let (first, expired) = (lost(&world, 1, 30), lost(&world, 2, 0));
        let ca = issuing(&world).1.certificate().clone();
        let stranger = chancery_pki::root(
            &PrivateKey::generate(KeyAlgorithm::EcP256).unwrap(),
            &chancery_pki::CaName::new("DE", "Else", "Test Issuing E1").unwrap(),
            Validity::days(world.services.now().as_secs(), 10).unwrap(),
            Serial::draw(&SeededEntropy::new(9)),
        ).unwrap();
        world.advance(Duration::from_secs(60));
        let brought = vec![first.clone(), known, expired.clone(), ca.clone(), stranger.clone(), first.clone()];
        assert_eq!(standing(&world, &serial(&first)).await, Standing::NotIssued);
        let fates = operator.recover(brought.clone()).await.unwrap();
        let not_ours = Brought::NotTaken(NotTaken::NotOurs);
        assert_eq!(fates, [Brought::Recovered, Brought::Known, Brought::Expired, Brought::Known, not_ours, Brought::Known]);
        assert_eq!(standing(&world, &serial(&first)).await, Standing::Issued);
        assert_eq!(operator.recover(vec![first.clone()]).await.unwrap(), [Brought::Known]);
        assert_eq!((trail(&world, "certificate.recover").await, listed(&world).await), (1, Vec::new()));

        let which = || CertificateRef::Serial(serial(&first));
        let done = operator.revoke(which(), RevocationReason::Superseded, Some(Comment::parse("why").unwrap())).await.unwrap();
        assert!(!done.already);
        assert!(matches!(done.what, RevokedWhat::Recovered { names, .. } if names == ["lost-1.test"]));
        let since = world.services.now();
        let said = Standing::Revoked { at: since, reason: RevocationReason::Superseded };
        assert_eq!(standing(&world, &serial(&first)).await, said);
        assert_eq!(listed(&world).await, [(serial(&first), since.as_secs(), 4)]);

        world.advance(Duration::from_secs(60));
        assert!(operator.revoke(which(), RevocationReason::AffiliationChanged, None).await.unwrap().already);
        // That its key is compromised is news, and the time stays.
        let fates = operator.revoke_many(vec![serial(&first)], RevocationReason::KeyCompromise, None).await.unwrap();
        assert_eq!(fates, [Fate::Revoked]);
        assert_eq!(listed(&world).await, [(serial(&first), since.as_secs(), 1)]);
        assert_eq!(trail(&world, "recovered.revoke").await, 2);
        let hash = key_hash(&first);
        assert!(world.store.read(move |tx| tx.blocked_key(&hash)).await.unwrap().is_some());
    }

    async fn a_file_of_certificates_is_revoked_whether_they_are_known_or_not(world: World) {
        let operator = &world.services.operator;
        let held = Customer::of(&world).await.certificate(&world, "known.test").await;
        let (first, expired) = (lost(&world, 1, 30), lost(&world, 2, 0));
        let ca = issuing(&world).1.certificate().clone();
        world.advance(Duration::from_secs(60));
        let all = || vec![first.clone(), Certificate::from_pem(&held.pem).unwrap(), expired.clone(), ca.clone()];
        let fates = operator.revoke_brought(all(), RevocationReason::KeyCompromise, None).await.unwrap();
        assert_eq!(fates, [Fate::Revoked, Fate::Revoked, Fate::NothingToRevoke, Fate::Ca]);
        let fates = operator.revoke_brought(all(), RevocationReason::KeyCompromise, None).await.unwrap();
        assert_eq!(fates, [Fate::Already, Fate::Already, Fate::NothingToRevoke, Fate::Ca]);
        let mut on_lists: Vec<_> = listed(&world).await.into_iter().map(|(serial, ..)| serial).collect();
        on_lists.sort();
        let mut expected = vec![serial(&first), held.serial.clone()];
        expected.sort();
        assert_eq!(on_lists, expected);
        assert_eq!(standing(&world, &serial(&expired)).await, Standing::NotIssued, "what has expired is not kept");
        // A key that others have is blocked, even where nothing is left to revoke.
        for certificate in [&first, &expired] {
            let hash = key_hash(certificate);
            assert!(world.store.read(move |tx| tx.blocked_key(&hash)).await.unwrap().is_some());
        }
    }

    async fn a_list_that_somebody_kept_is_repeated_with_its_times(world: World) {
        let operator = &world.services.operator;
        let customer = Customer::of(&world).await;
        let (forgotten, remembered) =
            (customer.certificate(&world, "a.test").await, customer.certificate(&world, "b.test").await);
        customer.revoke(&remembered, "superseded").await;
        let brought = lost(&world, 1, 30);
        operator.recover(vec![brought.clone()]).await.unwrap();
        let (id, issuer) = issuing(&world);
        let past = world.services.now().as_secs() - 3600;
        let entry = |certificate: &Certificate, reason| {
            RevokedCertificate { serial: certificate.serial().unwrap(), revoked_at: past, reason, ca: false }
        };
        let read = |pem: &str| Certificate::from_pem(pem).unwrap();
        let unknown = lost(&world, 2, 30);
        let entries = [
            entry(&read(&forgotten.pem), RevocationReason::CessationOfOperation),
            entry(&read(&remembered.pem), RevocationReason::Superseded),
            entry(&brought, RevocationReason::Unspecified),
            entry(&unknown, RevocationReason::KeyCompromise),
        ];
        let before = world.store.read(move |tx| tx.crl_heads()).await.unwrap();
        let url = world.services.settings.issuing.crls(id).url(3);
        let number = u64::try_from(world.services.now().as_millis()).unwrap() + 5_000_000;
        let list = || kept(&issuer, CrlScope::Shard(&url), &world, number, &entries);
        let done = operator.recover_list(list()).await.unwrap().unwrap();
        let name = "Test Issuing E1".to_owned();
        let expected =
            BroughtList { issuer: name.clone(), revoked: 2, recovered: 1, already: 1, expired: 0, strange: 0, is_newer: true, failed: Vec::new() };
        assert_eq!(done, expected);
        let again = operator.recover_list(list()).await.unwrap().unwrap();
        assert_eq!(again, BroughtList { revoked: 0, recovered: 0, already: 4, is_newer: false, ..expected });

        let mut on_lists = listed(&world).await;
        on_lists.sort();
        let mut wanted = vec![
            (forgotten.serial.clone(), past, 5),
            (remembered.serial.clone(), world.services.now().as_secs(), 4),
            (serial(&brought), past, 0),
            (serial(&unknown), past, 1),
        ];
        wanted.sort();
        assert_eq!(on_lists, wanted);
        let on_it = fetch(&world.relying_party(), &path(&url)).await;
        assert!(on_it.number > number, "numbers never go back: {} of {before:?}", on_it.number);
        assert!(on_it.revoked.iter().any(|(listed, ..)| *listed == serial(&unknown)), "on the list that told of it");
        let listed = customer.tenant.get("/v1/certificates?certificate_status=revoked").await.expect(200);
        assert_eq!(listed["items"].as_array().unwrap().len(), 2, "{listed}");

        // Which key is compromised comes with the certificate.
        let hash = key_hash(&unknown);
        let blocked = async || {
            let hash = hash.clone();
            world.store.read(move |tx| tx.blocked_key(&hash)).await.unwrap().is_some()
        };
        assert!(!blocked().await);
        assert_eq!(operator.recover(vec![unknown.clone()]).await.unwrap(), [Brought::Recovered]);
        assert!(blocked().await && matches!(standing(&world, &serial(&unknown)).await, Standing::Revoked { .. }));
        // And when it ends, so that it does not stay on the list for as long as its CA lasts.
        world.advance(Duration::from_secs(32 * 86_400));
        world.services.publication.look().await.unwrap();
        world.advance(Duration::from_secs(86_400));
        let left = self::listed(&world).await;
        assert!(!left.iter().any(|(listed, ..)| *listed == serial(&unknown)), "{left:?}");
    }

    /// Whoever has the key of a CA can sign what has the serial number of somebody else's certificate.
    async fn a_forged_certificate_does_no_harm_to_whose_serial_number_it_has(world: World) {
        let operator = &world.services.operator;
        let held = Customer::of(&world).await.certificate(&world, "known.test").await;
        let known = Certificate::from_pem(&held.pem).unwrap();
        let brought = lost(&world, 1, 30);
        operator.recover(vec![brought.clone()]).await.unwrap();
        let (id, first) = issuing(&world);
        let made = operator.create_issuer(KeyAlgorithm::EcP256).await.unwrap();
        world.services.authority.reload().await.unwrap();
        let other = world.services.authority.find(made.id).unwrap();
        let same = [known.serial().unwrap(), brought.serial().unwrap(), first.certificate().serial().unwrap()];
        for serial in same {
            // For another key by the same CA, and by another CA.
            for issuer in [&first, &other.issuer] {
                let forged = with_serial(issuer, &world, serial, 5, 30);
                let strange = NotTaken::StrangeSerial;
                assert_eq!(operator.recover(vec![forged.clone()]).await.unwrap(), [Brought::NotTaken(strange)]);
                let fates = operator.revoke_brought(vec![forged], RevocationReason::KeyCompromise, None).await.unwrap();
                assert_eq!(fates, [Fate::NotTaken(strange)]);
            }
        }
        // Nor does a list of another CA revoke what it has not signed.
        let revoked_at = world.services.now().as_secs();
        let entry = |serial| RevokedCertificate { serial, revoked_at, reason: RevocationReason::Superseded, ca: false };
        let url = world.services.settings.issuing.crls(other.id).url(0);
        let list = kept(&other.issuer, CrlScope::Shard(&url), &world, u64::MAX >> 1, &same.map(entry));
        let done = operator.recover_list(list).await.unwrap().unwrap();
        assert_eq!((done.revoked, done.recovered, done.strange, done.is_newer), (0, 0, 3, false), "{done:?}");
        for ca in [id, other.id] {
            assert_eq!(listed_of(&world, ca).await, []);
        }
        for certificate in [&known, &brought] {
            assert_eq!(standing_of(&world, id, &serial(certificate)).await, Standing::Issued);
            let hash = key_hash(certificate);
            assert!(world.store.read(move |tx| tx.blocked_key(&hash)).await.unwrap().is_none());
        }
    }

    /// A chain has its CA in it: that is not revoked along with the certificate, also where it is lost.
    async fn a_lost_ca_is_revoked_by_its_serial_number_alone(world: World) {
        let operator = &world.services.operator;
        let records = world.store.read(|tx| tx.issuers()).await.unwrap();
        let root = records.iter().find(|record| record.kind == IssuerKind::Root).unwrap().clone();
        let key = CaKeys::new(Keyring::load(world.kek()).unwrap(), None).open(&root).unwrap();
        let gone = signed_by(&key, &world, 7, 30);
        let fates = operator.revoke_brought(vec![gone.clone()], RevocationReason::KeyCompromise, None).await.unwrap();
        assert_eq!(fates, [Fate::Ca]);
        assert_eq!(operator.recover(vec![gone.clone()]).await.unwrap(), [Brought::Recovered]);
        let which = || CertificateRef::Serial(serial(&gone));
        let refused = operator.revoke(which(), RevocationReason::Unspecified, None).await.unwrap_err();
        assert!(refused.to_string().contains("a CA is not revoked for no reason"), "{refused}");
        let many = operator.revoke_many(vec![serial(&gone)], RevocationReason::Unspecified, None).await.unwrap();
        assert_eq!(many, [Fate::Ca]);
        operator.revoke(which(), RevocationReason::Superseded, None).await.unwrap();
        world.services.publication.look().await.unwrap();
        let url = world.services.settings.issuing.root_crl_url(root.id);
        let now = world.services.now().as_secs();
        assert_eq!(fetch(&world.relying_party(), &path(&url)).await.revoked, [(serial(&gone), now, 4)]);
    }

    async fn a_list_of_the_root_tells_of_cas(world: World) {
        world.services.publication.look().await.unwrap();
        let operator = &world.services.operator;
        let record = world.store.read(|tx| tx.issuers()).await.unwrap();
        let root = record.iter().find(|record| record.kind == IssuerKind::Root).unwrap().clone();
        let key = CaKeys::new(Keyring::load(world.kek()).unwrap(), None).open(&root).unwrap();
        let gone = signed_by(&key, &world, 7, 30);
        let past = world.services.now().as_secs() - 7200;
        let entry = |serial, reason| RevokedCertificate { serial, revoked_at: past, reason, ca: true };
        let ca = issuing(&world).1.certificate().serial().unwrap();
        let entries =
            [entry(ca, RevocationReason::Superseded), entry(gone.serial().unwrap(), RevocationReason::KeyCompromise)];
        let list = || kept(&key, CrlScope::Full, &world, 1, &entries);
        let done = operator.recover_list(list()).await.unwrap().unwrap();
        assert_eq!((done.revoked, done.recovered, done.already, done.is_newer), (1, 1, 0, false));
        let again = operator.recover_list(list()).await.unwrap().unwrap();
        assert_eq!((again.revoked, again.recovered, again.already), (0, 0, 2));
        world.services.publication.look().await.unwrap();
        let url = world.services.settings.issuing.root_crl_url(root.id);
        let mut revoked = fetch(&world.relying_party(), &path(&url)).await.revoked;
        revoked.sort_by_key(|(_, _, reason)| *reason);
        let ca_compromise = 2;
        assert_eq!(revoked, [(serial(&gone), past, ca_compromise), (ca.to_string(), past, 4)]);
    }

    async fn what_has_ended_is_forgotten_in_its_time(world: World) {
        let operator = &world.services.operator;
        let (good, revoked) = (lost(&world, 1, 5), lost(&world, 2, 5));
        operator.recover(vec![good.clone()]).await.unwrap();
        operator.revoke_brought(vec![revoked.clone()], RevocationReason::Superseded, None).await.unwrap();
        world.services.publication.look().await.unwrap();
        let delete = async || {
            let now = world.services.now();
            world.store.write(move |tx| tx.delete_recovered(now, 100)).await.unwrap()
        };
        assert_eq!(delete().await, 0);
        world.advance(Duration::from_secs(5 * 86_400 + 1));
        assert_eq!(delete().await, 0, "a list after its end is still to come");
        world.services.publication.look().await.unwrap();
        assert_eq!(delete().await, 2);
        assert_eq!(standing(&world, &serial(&revoked)).await, Standing::NotIssued);
    }
}
