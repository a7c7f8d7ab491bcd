//! I1: no certificate whose names are not each backed by their own fresh evidence, of control and of CAA.

use std::sync::Arc;
use std::time::Duration;

use chancery_dcv::{Dnssec, Validator, ValidatorConfig};
use chancery_domain::{Authorization, AuthorizationId, Timestamp};
use chancery_service::{Job, JobKind, Prepared, ServiceError};
use chancery_testkit::SeededEntropy;
use chancery_testkit::dns::TestDns;
use chancery_tests::{World, lookup, on_both_databases};
use chancery_workers::Workers;
use serde_json::Value;

use crate::common::{certificate_path, finalized, order_path, stage, text};

const HOUR: Duration = Duration::from_secs(3600);

/// Eyes that see these records.
fn eyes(world: &World, dns: &TestDns) -> Arc<Validator> {
    let config = ValidatorConfig {
        resolvers: vec![dns.address()],
        dnssec: Dnssec::Unchecked,
        allow_special_addresses: true,
        ca_domains: vec!["ca.test".to_owned()],
        ..ValidatorConfig::default()
    };
    Arc::new(Validator::new(config, world.clock.clone(), Arc::new(SeededEntropy::new(1))).unwrap())
}

/// Changes an authorization behind the back of the use cases.
async fn tamper(world: &World, authorization: &Value, change: impl Fn(&mut Authorization) + Send + 'static) {
    let id: AuthorizationId = lookup(authorization).parse().unwrap();
    let unit = move |tx: &mut chancery_store::Tx<'_>| {
        let mut authorization = tx.any_authorization(id)?.expect("it is there");
        change(&mut authorization);
        tx.save_authorization(&authorization)?;
        Ok::<_, ServiceError>(())
    };
    world.store.write(unit).await.unwrap();
}

on_both_databases! {
    async fn i1_a_name_whose_permission_ended_after_the_order_was_ready_is_not_certified(world: World) {
        let (tenant, account) = stage(&world).await;
        for drafted in [false, true] {
            for expired in [false, true] {
                let names = [format!("a{drafted}{expired}.test"), format!("b{drafted}{expired}.test")];
                let order = finalized(&world, &tenant, &account, &[&names[0], &names[1]]).await;
                let id = lookup(&order).parse().unwrap();
                if drafted {
                    assert_eq!(world.services.issuance.prepare(id).await.unwrap(), Prepared::Drafted);
                }
                let now = world.services.now();
                tamper(&world, &order["authorizations"][1], move |authorization| match expired {
                    true => authorization.expires_at = now,
                    false => *authorization = authorization.clone().deactivate(now).unwrap(),
                })
                .await;
                if drafted {
                    world.services.issuance.sign(id).await.unwrap();
                }
                world.work(None).await;
                let ended = tenant.get(&order_path(&order)).await.expect(200);
                assert_eq!(ended["status"], "invalid", "{drafted} {expired}");
                let reason = text(&ended["error"], "detail");
                assert!(reason.contains(&names[1]) && !reason.contains(&names[0]), "{reason}");
                assert_eq!(tenant.get(&certificate_path(&order)).await.refusal(410), "certificate_gone");
            }
        }
    }

    async fn i1_a_look_at_caa_holds_eight_hours_and_is_then_taken_again(world: World) {
        let mut tenant = world.tenant("DEMO").await;
        let dns = TestDns::start().await;
        dns.caa("forbidden.test", 0, "issue", "another-ca.example").caa("allowed.test", 0, "issue", "ca.test");
        let eyes = eyes(&world, &dns);
        for (name, after, drafted, status) in [
            // Nobody is asked within eight hours.
            ("forbidden.test", 7 * HOUR, false, "valid"),
            ("forbidden.test", 9 * HOUR, false, "invalid"),
            ("forbidden.test", 9 * HOUR, true, "invalid"),
            ("allowed.test", 9 * HOUR, false, "valid"),
            ("allowed.test", 9 * HOUR, true, "valid"),
        ] {
            tenant.sign_in().await;
            // Of an account of its own, so that no earlier permission is used again.
            let email = format!("{name}-{}-{drafted}@example.com", after.as_secs());
            let account = lookup(&tenant.make_account(&email).await);
            let order = finalized(&world, &tenant, &account, &[name]).await;
            if drafted {
                world.services.issuance.prepare(lookup(&order).parse().unwrap()).await.unwrap();
            }
            world.advance(after);
            let asked = dns.asked().len();
            world.work(Some(eyes.clone())).await;
            let ended = tenant.get(&order_path(&order)).await.expect(200);
            assert_eq!(ended["status"], status, "{name} {after:?} {drafted}: {}", ended["error"]);
            assert_eq!(dns.asked().len() > asked, after > 8 * HOUR);
            if status == "invalid" {
                assert_eq!(ended["error"]["type"], "caa");
                assert!(text(&ended["error"], "detail").contains("another-ca.example"), "{}", ended["error"]);
            }
        }
    }

    async fn i1_evidence_for_one_name_never_stands_for_another(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = tenant.make_order(&account, &["a.test", "b.test"]).await;
        let codes = tenant.codes(&lookup(&order["authorizations"][0])).await;
        tenant.post_empty(&format!("/v1/challenge/{}", lookup(&codes[0]))).await.expect(200);
        world.work(None).await;
        // Even if the order were taken for ready, and finalized, behind everybody's back.
        let id: chancery_domain::OrderId = lookup(&order).parse().unwrap();
        let now: Timestamp = world.services.now();
        let unit = move |tx: &mut chancery_store::Tx<'_>| {
            let order = tx.lock_order(id)?.expect("it is there").make_ready(now);
            tx.save_order(&order)?;
            Ok::<_, ServiceError>(())
        };
        world.store.write(unit).await.unwrap();
        tenant.post_empty(&format!("{}/finalize", order_path(&order))).await.expect(202);
        let workers = Workers::new(world.services.clone(), None, world.clock.clone());
        workers.work(Job { kind: JobKind::Issue, subject: lookup(&order), attempts: 1, reseller: None }).await;
        let ended = tenant.get(&order_path(&order)).await.expect(200);
        assert_eq!(ended["status"], "invalid");
        assert!(text(&ended["error"], "detail").contains("b.test"));
    }
}
