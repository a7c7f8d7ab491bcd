//! `POST /v1/certificates/{order_lookup}/revocation`: every status.

use std::time::Duration;

use chancery_domain::{PageRequest, RevocationReason};
use chancery_service::operator::CertificateRef;
use chancery_store::AuditFilter;
use chancery_tests::{at_once, count, csr, lookup, on_both_databases};
use serde_json::json;

use crate::common::{
    certificate_path, days, fail_validation, finalize_path, finalized, later, order_path, problems, revocation_path,
    stage, text,
};

on_both_databases! {
    async fn a_revocation_is_accepted_once_with_the_metadata_and_then_reported_with_the_order(world: World) {
        let (tenant, account) = stage(&world).await;
        for (reason, name) in [
            (json!({}), "unspecified"),
            (json!({"reason": "affiliationChanged", "comment": "moved"}), "affiliationChanged"),
            (json!({"reason": 4}), "superseded"),
            (json!({"reason": "9"}), "privilegeWithdrawn"),
        ] {
            let order = world.issue(&tenant, &account, &["a.test"]).await;
            let revoked = tenant.post(&revocation_path(&order), reason).await.expect(202);
            assert_eq!((text(&revoked, "status"), text(&revoked, "revocationReason")), ("revoked".into(), name.into()));
            assert_eq!(text(&revoked, "lookup"), text(&order, "certificateLookup"));
            assert_eq!(text(&revoked, "orderLookup"), lookup(&order));
            world.advance(Duration::from_secs(60));
            let again = tenant.post(&revocation_path(&order), json!({"reason": 5})).await.expect(208);
            assert_eq!(lookup(&again), lookup(&order));
            let query = format!("/v1/certificates?serial={}", text(&revoked, "serialNumber"));
            let kept = tenant.get(&query).await.expect(200)["items"][0].clone();
            assert_eq!(
                (&kept["revokedAt"], &kept["revocationReason"]),
                (&revoked["revokedAt"], &revoked["revocationReason"])
            );
            assert_eq!(tenant.get(&certificate_path(&order)).await.status, 200);
        }
    }

    async fn that_there_is_nothing_to_revoke_is_told_before_what_is_wrong_with_the_request(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = tenant.make_order(&account, &["a.test"]).await;
        for body in [json!({}), json!({"reason": "no such reason"}), json!({"unknown": 1})] {
            let reply = tenant.post(&revocation_path(&order), body.clone()).await;
            assert_eq!(reply.refusal(404), "certificate_not_found", "{body}");
        }
        let issued = world.issue(&tenant, &account, &["b.test"]).await;
        let reply = tenant.post(&revocation_path(&issued), json!({"reason": "no such reason"})).await;
        assert_eq!(reply.refusal(400), "invalid_request");
    }

    async fn that_a_key_is_compromised_is_believed_of_what_was_revoked_for_less(world: World) {
        let (mut tenant, account) = stage(&world).await;
        world.make_ready(&tenant, &account, &["a.test"]).await;
        let body = json!({"account_lookup": account, "csr": csr(&["a.test"])});
        let order = tenant.post("/v1/order", body.clone()).await.expect(201);
        tenant.post_empty(&finalize_path(&order)).await.expect(202);
        world.work(None).await;
        let revoked = tenant.post(&revocation_path(&order), json!({"reason": 4})).await.expect(202);
        world.advance(Duration::from_secs(60));
        for _ in 0..2 {
            let again = json!({"reason": "keyCompromise", "comment": "found in a repository"});
            tenant.post(&revocation_path(&order), again).await.expect(208);
        }
        // Nothing makes it less.
        tenant.post(&revocation_path(&order), json!({"reason": 4})).await.expect(208);
        let query = format!("/v1/certificates?serial={}", text(&revoked, "serialNumber"));
        let kept = tenant.get(&query).await.expect(200)["items"][0].clone();
        assert_eq!((text(&kept, "revocationReason"), &kept["revokedAt"]), ("keyCompromise".into(), &revoked["revokedAt"]));
        assert_eq!(tenant.post("/v1/order", body).await.refusal(400), "invalid_request");
        let audited = tenant.get("/v1/event?type=certificate.revoked").await.expect(200);
        assert_eq!(audited["items"].as_array().map(Vec::len), Some(2));
        later(&world, &mut tenant, days(91)).await;
        tenant.post(&revocation_path(&order), json!({"reason": 1})).await.expect(208);
    }

    async fn that_a_key_is_compromised_is_believed_of_what_has_expired(world: World) {
        let (mut tenant, account) = stage(&world).await;
        for (was_revoked, reseller, status) in [(true, true, 208), (false, true, 404), (true, false, 0), (false, false, 0)] {
            world.make_ready(&tenant, &account, &["a.test"]).await;
            let body = json!({"account_lookup": account, "csr": csr(&["a.test"])});
            let order = tenant.post("/v1/order", body.clone()).await.expect(201);
            tenant.post_empty(&finalize_path(&order)).await.expect(202);
            world.work(None).await;
            if was_revoked {
                tenant.post(&revocation_path(&order), json!({"reason": 4})).await.expect(202);
            }
            later(&world, &mut tenant, days(91)).await;
            // Any other report of it changes nothing.
            tenant.post(&revocation_path(&order), json!({"reason": 5})).await.expect(if was_revoked { 208 } else { 404 });
            let again = tenant.post("/v1/order", body.clone()).await.expect(201);
            tenant.delete(&order_path(&again)).await.expect(200);
            for _ in 0..2 {
                match reseller {
                    true => drop(tenant.post(&revocation_path(&order), json!({"reason": 1})).await.expect(status)),
                    false => {
                        let which = CertificateRef::Order(lookup(&order).parse().unwrap());
                        let operator = &world.services.operator;
                        let done = operator.revoke(which, RevocationReason::KeyCompromise, None).await;
                        assert_eq!(done.is_ok_and(|done| done.already), was_revoked);
                    }
                }
            }
            assert_eq!(problems(&tenant.post("/v1/order", body).await), ["csr compromised_key"]);
            let subject = Some(text(&order, "certificateLookup"));
            let filter = AuditFilter { subject, ..AuditFilter::default() };
            let trail = world.services.audit.list(filter, PageRequest { limit: 100, after: None }).await.unwrap();
            let blocked: Vec<_> = trail.iter().filter(|line| line.action == "certificate.block_key").collect();
            assert_eq!(blocked.len(), 1, "it is news once");
            assert_eq!(blocked[0].actor_kind, if reseller { "client" } else { "operator" });
            assert!(blocked[0].detail.contains("keyCompromise"), "{}", blocked[0].detail);
        }
        let revoked = tenant.get("/v1/event?type=certificate.revoked").await.expect(200);
        assert_eq!(revoked["items"].as_array().map(Vec::len), Some(2), "what has expired is not revoked");
    }

    async fn what_cannot_be_revoked_is_not_found(world: World) {
        let (mut tenant, account) = stage(&world).await;
        let pending = tenant.make_order(&account, &["a.test"]).await;
        let cancelled = tenant.make_order(&account, &["b.test"]).await;
        tenant.delete(&order_path(&cancelled)).await.expect(200);
        let failed = tenant.make_order(&account, &["c.test"]).await;
        fail_validation(&world, &tenant, &failed).await;
        let issued = world.issue(&tenant, &account, &["d.test"]).await;
        let processing = finalized(&world, &tenant, &account, &["e.test"]).await;
        for order in [&pending, &cancelled, &failed, &processing] {
            let refused = tenant.post(&revocation_path(order), json!({})).await;
            assert_eq!(refused.refusal(404), "certificate_not_found");
        }
        let other = world.tenant("OTHER").await;
        assert_eq!(other.post(&revocation_path(&issued), json!({})).await.refusal(404), "certificate_not_found");
        later(&world, &mut tenant, days(90)).await;
        assert_eq!(tenant.post(&revocation_path(&issued), json!({})).await.refusal(404), "certificate_not_found");
    }

    async fn a_revocation_with_a_bad_request_changes_nothing(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = world.issue(&tenant, &account, &["a.test"]).await;
        for bad in [
            json!({"reason": "cACompromise"}),
            json!({"reason": 2}),
            json!({"reason": 6}),
            json!({"reason": -1}),
            json!({"reason": "KEYCOMPROMISE"}),
            json!({"reason": 1.5}),
            json!({"reason": null, "comments": "x"}),
            json!({"comment": "x".repeat(1001)}),
            json!({"comment": "a\u{0}b"}),
            json!({"comment": "\u{1b}[2J"}),
            json!({"comment": "a\u{202e}b"}),
            json!([]),
        ] {
            let refused = tenant.post(&revocation_path(&order), bad.clone()).await;
            assert_eq!(refused.status, 400, "{bad}: {}", refused.text());
        }
        let listed = tenant.get("/v1/certificates?certificate_status=issued").await.expect(200);
        assert_eq!(listed["items"].as_array().unwrap().len(), 1);
        assert_eq!(tenant.post_empty(&revocation_path(&order)).await.status.as_u16() / 100, 4);
    }

    async fn many_revocations_at_once_are_accepted_once(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = world.issue(&tenant, &account, &["a.test"]).await;
        let path = revocation_path(&order);
        let replies = at_once(12, |_| {
            let (tenant, path) = (tenant.clone(), path.clone());
            async move { tenant.post(&path, json!({"reason": 1})).await }
        })
        .await;
        assert_eq!((count(&replies, 202), count(&replies, 208)), (1, 11));
    }
}
