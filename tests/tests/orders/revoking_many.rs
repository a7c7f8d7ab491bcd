//! The operator revokes many certificates at once.

use std::time::Duration;

use chancery_domain::{PageRequest, RevocationReason};
use chancery_service::operator::{CertificateRef, Fate};
use chancery_store::AuditFilter;
use chancery_tests::{Tenant, lookup, on_both_databases};

/// The serial numbers of a reseller's certificates, newest first.
async fn serials(tenant: &Tenant) -> Vec<String> {
    let listed = tenant.get("/v1/certificates").await.expect(200);
    let items = listed["items"].as_array().unwrap().iter();
    items.map(|item| item["serialNumber"].as_str().unwrap().to_owned()).collect()
}

on_both_databases! {
    async fn one_that_cannot_be_revoked_keeps_no_other_from_it(world: World) {
        let (north, south) = (world.tenant("NORTH").await, world.tenant("SOUTH").await);
        for (tenant, names) in [(&north, &["a.example.com", "b.example.com"][..]), (&south, &["c.example.com"])] {
            let account = lookup(&tenant.make_account("anna@example.com").await);
            for name in names {
                world.issue(tenant, &account, &[name]).await;
            }
        }
        let [b, a] = &serials(&north).await[..] else { panic!("two") };
        let c = &serials(&south).await[0];
        let operator = world.services.operator.clone().acting_as("alice");
        operator.revoke(CertificateRef::Serial(a.clone()), RevocationReason::Superseded, None).await.unwrap();

        let asked: Vec<_> = [a.as_str(), "00", b, b, c].map(str::to_owned).into();
        let why = Some(chancery_domain::Comment::parse("incident 7").unwrap());
        let fates = operator.revoke_many(asked.clone(), RevocationReason::CessationOfOperation, why.clone()).await.unwrap();
        assert_eq!(fates, [Fate::Already, Fate::Unknown, Fate::Revoked, Fate::Already, Fate::Revoked]);
        let again = operator.revoke_many(asked, RevocationReason::Superseded, why).await.unwrap();
        assert_eq!(again, [Fate::Already, Fate::Unknown, Fate::Already, Fate::Already, Fate::Already]);

        let listed = north.get("/v1/certificates").await.expect(200);
        let of = |place: usize| listed["items"][place]["revocationReason"].as_str().unwrap();
        assert_eq!((of(0), of(1)), ("cessationOfOperation", "superseded"));
        let page = PageRequest { limit: 1000, after: None };
        let trail = world.services.audit.list(AuditFilter::default(), page).await.unwrap();
        let revocations: Vec<_> = trail.iter().filter(|line| line.action == "certificate.revoke").collect();
        assert_eq!(revocations.len(), 3, "each has a line of its own");
        assert!(revocations.iter().all(|line| line.actor == "alice" && line.reseller.is_some()));
    }

    async fn what_has_expired_is_told_and_left_alone(world: World) {
        let tenant = world.tenant("NORTH").await;
        let account = lookup(&tenant.make_account("anna@example.com").await);
        let order = world.issue(&tenant, &account, &["a.example.com"]).await;
        let (asked, certificate) = (serials(&tenant).await, order["certificateLookup"].as_str().unwrap().to_owned());
        world.clock.advance(Duration::from_secs(91 * 86_400));
        let operator = world.services.operator.clone();
        let fates = operator.revoke_many(asked.clone(), RevocationReason::Superseded, None).await.unwrap();
        assert_eq!(fates, [Fate::NothingToRevoke]);
        // But for its key, if others have it.
        let fates = operator.revoke_many(asked, RevocationReason::KeyCompromise, None).await.unwrap();
        assert_eq!(fates, [Fate::NothingToRevoke]);
        let id = certificate.parse().unwrap();
        let key = world.store.read(move |tx| tx.key_hash(id)).await.unwrap().unwrap();
        assert!(world.store.read(move |tx| tx.blocked_key(&key)).await.unwrap().is_some());
    }
}
