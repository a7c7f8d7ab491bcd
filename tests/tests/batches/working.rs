//! How workers apply what is left of a cascade.

use std::time::Duration;

use chancery_domain::{GroupId, PageRequest};
use chancery_service::{Fresh, JobKind};
use chancery_store::{CascadeRow, Tx};
use chancery_tests::{World, on_both_databases};
use chancery_workers::Workers;
use tokio::time::{sleep, timeout};

use crate::common::{add_trigger, cascades, drop_trigger, refuse};

const LONG: Duration = Duration::from_secs(60);

on_both_databases! {
    async fn a_worker_goes_on_at_once_with_a_member_change_that_has_failed(world: World) {
        let mut fresh = world.services.jobs.take_fresh().unwrap();
        let tenant = world.tenant("DEMO").await;
        let group = tenant.make_group("group").await;
        let accounts = tenant.make_accounts(150).await;
        refuse(&world, "BEFORE INSERT ON group_members").await;
        let failed = tenant.add_members(&group, &accounts).await;
        assert!(failed.status.is_server_error(), "{}", failed.text());
        drop_trigger(&world, "refuse", "group_members").await;
        let Fresh { job, .. } = fresh.try_recv().unwrap();
        assert_eq!(job.kind, JobKind::Cascade);
        Workers::new(world.services.clone(), None, world.clock.clone()).work(job).await;
        assert_eq!(tenant.get(&format!("/v1/account-group/{group}")).await.expect(200)["memberCount"], 150);
        assert_eq!(cascades(&world).await, 0);
    }

    async fn a_cascade_that_cannot_be_read_is_tried_less_and_less_often(world: World) {
        let (lease, since) = (world.services.jobs.lease_time(), world.services.now());
        assert_eq!(lease, Duration::from_secs(15));
        let row = CascadeRow { detail: "{}".to_owned(), since };
        let enqueue = move |tx: &mut Tx<'_>| tx.enqueue_cascade("unreadable", &row, "a node that is gone", since, lease);
        world.store.write(enqueue).await.unwrap();
        let workers = Workers::new(world.services.clone(), None, world.clock.clone());
        let mut pauses = Vec::new();
        for _ in 0..8 {
            let mut pause = 0;
            let jobs = loop {
                world.advance(lease);
                pause += 1;
                let jobs = world.services.jobs.lease().await.unwrap();
                if !jobs.is_empty() {
                    break jobs;
                }
            };
            pauses.push(pause);
            for job in jobs {
                workers.work(job).await;
            }
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 40, 40]);
    }

    /// A long cascade cannot end here while the short one has not ended.
    async fn resellers_with_long_cascades_do_not_occupy_every_place(world: World) {
        let mut groups = Vec::new();
        for code in ["ONE", "TWO"] {
            let tenant = world.tenant(code).await;
            for name in ["a", "b"] {
                let group = tenant.make_group(name).await;
                groups.push((tenant.clone(), group));
            }
        }
        let tenant = world.tenant("THREE").await;
        let short = tenant.make_group("short").await;
        let first: GroupId = groups[0].1.parse().unwrap();
        world.fill_group(world.reseller_id("ONE").await, first, 1000).await;
        let others: Vec<GroupId> = groups[1..].iter().map(|(_, group)| group.parse().unwrap()).collect();
        let one_member: GroupId = short.parse().unwrap();
        let fill = move |tx: &mut Tx<'_>| {
            let reseller = tx.reseller_by_code("ONE")?.unwrap().id;
            let page = PageRequest { after: None, limit: 1000 };
            let accounts = tx.members(reseller, first, &page)?.items;
            assert!(tx.add_member(one_member, accounts[0].id, accounts[0].created_at)?);
            for account in accounts {
                for group in &others {
                    assert!(tx.add_member(*group, account.id, account.created_at)?);
                }
            }
            Ok::<_, chancery_store::StoreError>(())
        };
        world.store.write(fill).await.unwrap();
        // All batches are left to workers.
        refuse(&world, "BEFORE DELETE ON group_members").await;
        refuse_early_ends(&world, &short).await;
        groups.push((tenant, short));
        for (tenant, group) in groups {
            tenant.delete(&format!("/v1/account-group/{group}")).await.expect(200);
        }
        assert_eq!(cascades(&world).await, 5);
        drop_trigger(&world, "refuse", "group_members").await;
        world.start_workers();
        let ended = async {
            while cascades(&world).await > 0 {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(LONG, ended).await.expect("the short cascade has its turn before a long one ends");
    }
}

/// Refuses the end of every other cascade until this one has ended.
async fn refuse_early_ends(world: &World, short: &str) {
    let early = format!("OLD.subject <> '{short}' AND EXISTS (SELECT 1 FROM jobs WHERE subject = '{short}')");
    let sqlite = format!("WHEN {early} BEGIN SELECT RAISE(ABORT, 'too early'); END");
    let postgres = format!("IF {early} THEN RAISE EXCEPTION 'too early'; END IF; RETURN OLD;");
    add_trigger(world, "early", "BEFORE DELETE ON jobs", &sqlite, &postgres).await;
}
