//! I2 and I4: one certificate for an order, one serial number for a certificate.

use std::collections::HashSet;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use chancery_domain::{Entropy, PageRequest, ProblemKind, ValidationProblem};
use chancery_service::{Job, JobKind, Prepared};
use chancery_store::AuditFilter;
use chancery_testkit::SeededEntropy;
use chancery_tests::{World, at_once, count, csr, lookup, on_both_databases, settings};
use chancery_workers::Workers;
use serde_json::{Value, json};

use crate::common::{certificate_path, finalize_path, finalized, order_path, stage, text};

/// How often a certificate was issued for an order, as it was written down.
async fn issued(world: &World, order: &Value) -> usize {
    let (subject, action) = (Some(lookup(order)), Some("certificate.issue".to_owned()));
    let filter = AuditFilter { subject, action, ..AuditFilter::default() };
    world.services.audit.list(filter, PageRequest { limit: 100, after: None }).await.unwrap().len()
}

/// Good numbers for everything but serial numbers, which are always the same.
struct Stuck(SeededEntropy);

impl Entropy for Stuck {
    fn fill(&self, bytes: &mut [u8]) {
        if bytes.len() == 20 { bytes.fill(7) } else { self.0.fill(bytes) }
    }
}

on_both_databases! {
    async fn i2_finalizing_many_times_at_once_gives_one_certificate(world: World) {
        let (tenant, account) = stage(&world).await;
        let second = world.another_node(settings(), Vec::new()).await;
        let order = world.make_ready(&tenant, &account, &["a.test"]).await;
        let (here, there, path) = (tenant.clone(), second.hears(&tenant), finalize_path(&order));
        let replies = at_once(20, |number| {
            let (who, path) = (if number % 2 == 0 { here.clone() } else { there.clone() }, path.clone());
            async move { who.post_empty(&path).await }
        })
        .await;
        assert_eq!((count(&replies, 202), count(&replies, 208)), (1, 19));
        // Both nodes go to work on it at once, one of them again and again.
        let job = Job { kind: JobKind::Issue, subject: lookup(&order), attempts: 1, reseller: None };
        let at_work: Vec<_> = (0..8)
            .map(|number| {
                let services = if number % 2 == 0 { world.services.clone() } else { second.services.clone() };
                let (workers, job) = (Workers::new(services, None, world.clock.clone()), job.clone());
                tokio::spawn(async move { workers.work(job).await })
            })
            .collect();
        for each in at_work {
            each.await.unwrap();
        }
        world.work(None).await;
        second.work(None).await;
        assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "valid");
        assert_eq!(issued(&world, &order).await, 1);
    }

    async fn i2_a_node_that_lost_its_lease_keeps_nothing(world: World) {
        let (tenant, account) = stage(&world).await;
        let second = world.another_node(settings(), Vec::new()).await;
        for late_first in [false, true] {
            let order = finalized(&world, &tenant, &account, &["a.test"]).await;
            let id = lookup(&order).parse().unwrap();
            let (slow, fast) = (&world.services.issuance, &second.services.issuance);
            assert_eq!(slow.prepare(id).await.unwrap(), Prepared::Drafted);
            world.advance(settings().issuing.job_lease);
            assert_eq!(second.services.jobs.lease().await.unwrap().len(), 1);
            assert_eq!(slow.prepare(id).await.unwrap(), Prepared::Done);
            assert_eq!(fast.prepare(id).await.unwrap(), Prepared::Drafted);
            if late_first {
                slow.sign(id).await.unwrap();
                assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "processing");
            }
            fast.sign(id).await.unwrap();
            let kept = tenant.get(&certificate_path(&order)).await;
            assert_eq!(kept.status, 200);
            slow.sign(id).await.unwrap();
            assert_eq!(tenant.get(&certificate_path(&order)).await.body, kept.body);
            assert_eq!(issued(&world, &order).await, 1);
        }
    }

    async fn a_node_that_lost_its_lease_ends_no_order(world: World) {
        let (tenant, account) = stage(&world).await;
        let second = world.another_node(settings(), Vec::new()).await;
        let order = finalized(&world, &tenant, &account, &["a.test"]).await;
        let id = lookup(&order).parse().unwrap();
        world.advance(Duration::from_secs(9 * 3600));
        let Prepared::AskCaa(names) = world.services.issuance.prepare(id).await.unwrap() else {
            panic!("a fresh look")
        };
        // Its resolver is slow, and meanwhile the other node takes over.
        let jobs = second.services.jobs.lease().await.unwrap();
        assert_eq!(jobs.len(), 1);
        let problem = ValidationProblem { kind: ProblemKind::Caa, detail: "no answer".to_owned() };
        world.services.issuance.note_caa(id, names[0].authorization, Err(problem)).await.unwrap();
        assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "processing");
        for job in jobs {
            Workers::new(second.services.clone(), None, world.clock.clone()).work(job).await;
        }
        assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "valid");
    }

    async fn i2_both_signatures_at_the_same_instant_keep_one_certificate(world: World) {
        let (tenant, account) = stage(&world).await;
        for _ in 0..5 {
            let order = finalized(&world, &tenant, &account, &["a.test"]).await;
            let id = lookup(&order).parse().unwrap();
            world.services.issuance.prepare(id).await.unwrap();
            let at_work: Vec<_> = (0..4)
                .map(|_| {
                    let issuance = world.services.issuance.clone();
                    tokio::spawn(async move { issuance.sign(id).await })
                })
                .collect();
            for each in at_work {
                each.await.unwrap().unwrap();
            }
            assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "valid");
            assert_eq!(issued(&world, &order).await, 1);
        }
    }

    async fn i4_serial_numbers_are_positive_and_long_and_never_repeat(world: World) {
        let (tenant, account) = stage(&world).await;
        world.make_ready(&tenant, &account, &["a.test"]).await;
        let csr = csr(&["a.test"]);
        for _ in 0..48 {
            let order = tenant.post("/v1/order", json!({"account_lookup": account, "csr": csr})).await.expect(201);
            tenant.post_empty(&finalize_path(&order)).await.expect(202);
        }
        world.work(None).await;
        let listed = tenant.get("/v1/certificates?certificate_status=issued").await.expect(200);
        let serials: Vec<_> =
            listed["items"].as_array().unwrap().iter().map(|item| text(item, "serialNumber")).collect();
        assert_eq!(serials.len(), 48);
        assert_eq!(serials.iter().collect::<HashSet<_>>().len(), 48);
        let numbers: Vec<_> =
            serials.iter().map(|serial| data_encoding::HEXLOWER.decode(serial.as_bytes()).unwrap()).collect();
        assert!(numbers.iter().all(|number| number.len() <= 20 && number[0] < 0x80 && number[0] > 0));
        // A bit that was seen both ways is drawn, not fixed.
        let drawn = (0..160).filter(|bit| {
            let ones = numbers.iter().filter(|number| number[bit / 8] >> (bit % 8) & 1 == 1).count();
            (1..48).contains(&ones)
        });
        assert!(drawn.count() >= 128);
        // What is listed is what the certificate says.
        let pem = tenant.get(&format!("/v1/certificate/{}", text(&listed["items"][0], "lookup"))).await;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &pem.body).unwrap();
        let shown =
            Command::new("openssl").args(["x509", "-noout", "-serial", "-in"]).arg(file.path()).output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap().trim().to_lowercase();
        assert_eq!(shown, format!("serial={}", serials[0]));
    }

    async fn i4_a_source_of_randomness_that_is_stuck_repeats_no_serial_number(world: World) {
        let (tenant, account) = stage(&world).await;
        let stuck = world.node_drawing_from(Arc::new(Stuck(SeededEntropy::new(99)))).await;
        let tenant = stuck.hears(&tenant);
        let order = tenant.make_order(&account, &["a.test"]).await;
        tenant.choose_all(&order).await;
        stuck.work(None).await;
        let csr = csr(&["a.test"]);
        let mut ends = Vec::new();
        for _ in 0..3 {
            let order = tenant.post("/v1/order", json!({"account_lookup": account, "csr": csr})).await.expect(201);
            tenant.post_empty(&finalize_path(&order)).await.expect(202);
            stuck.work(None).await;
            let ended = tenant.get(&order_path(&order)).await.expect(200);
            ends.push(text(&ended, "status"));
        }
        // They are tried again, for the source may not be stuck for ever.
        assert_eq!(ends, ["valid", "processing", "processing"]);
    }
}
