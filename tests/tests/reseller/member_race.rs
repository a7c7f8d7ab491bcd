//! Many changes to the same members at the same time.

use std::time::{Duration, Instant};

use chancery_tests::{Tenant, World, lookup, on_both_databases};
use futures_util::future::join_all;
use serde_json::json;

use crate::member::{count, members, relocate, remove};

const TASKS: usize = 16;
const ROUNDS: usize = 8;

/// One of 16 that add, remove and move overlapping members of three groups, each in its own order.
async fn stir(tenant: Tenant, task: usize, groups: Vec<String>, accounts: Vec<String>) -> Vec<u16> {
    let mut statuses = Vec::new();
    for round in 0..ROUNDS {
        let (from, to) = (&groups[(task + round) % 3], &groups[(task * 2 + round + 1) % 3]);
        let mut some: Vec<_> = accounts.iter().skip((task * 3 + round) % 7).step_by(1 + task % 3).cloned().collect();
        if task.is_multiple_of(2) {
            some.reverse();
        }
        let reply = match (task + round) % 4 {
            0 | 1 => tenant.add_members(from, &some).await,
            2 => relocate(&tenant, from, to, &some).await,
            _ => remove(&tenant, from, &some[..1]).await,
        };
        statuses.push(reply.status.as_u16());
    }
    statuses
}

async fn counts_are_true(tenant: &Tenant, groups: &[String]) {
    for group in groups {
        assert_eq!(count(tenant, group).await, members(tenant, group).await.len() as i64);
    }
}

async fn three_groups(tenant: &Tenant) -> Vec<String> {
    vec![tenant.make_group("A").await, tenant.make_group("B").await, tenant.make_group("C").await]
}

/// Those who wait for each other in a ring are told so by PostgreSQL only after a second, each time.
fn nobody_waited_in_a_ring(started: Instant, world: &World) {
    let took = started.elapsed();
    assert!(took < Duration::from_secs(60), "{took:?} on {:?}", world.store.address());
}

on_both_databases! {
    async fn sixteen_who_stir_the_same_members_leave_true_counts(world: World) {
        let tenant = world.tenant("DEMO").await;
        let groups = three_groups(&tenant).await;
        let accounts = tenant.make_accounts(24).await;
        let started = Instant::now();
        let tasks = (0..TASKS).map(|task| tokio::spawn(stir(tenant.clone(), task, groups.clone(), accounts.clone())));
        for statuses in join_all(tasks).await {
            // 404 is the honest answer to one who comes too late to remove or move.
            assert!(statuses.unwrap().iter().all(|status| [200, 404].contains(status)));
        }
        nobody_waited_in_a_ring(started, &world);
        counts_are_true(&tenant, &groups).await;
    }

    async fn accounts_that_come_and_go_meanwhile_are_counted_too(world: World) {
        let tenant = world.tenant("DEMO").await;
        let groups = three_groups(&tenant).await;
        let accounts = tenant.make_accounts(TASKS).await;
        tenant.add_members(&groups[0], &accounts).await.expect(200);
        tenant.add_members(&groups[2], &accounts).await.expect(200);
        let started = Instant::now();
        let task = |task: usize| {
            let (tenant, groups, accounts) = (tenant.clone(), groups.clone(), accounts.clone());
            async move {
                // Each names the groups in another order.
                let mut named = groups.clone();
                named.rotate_left(task % 3);
                let body = json!({"customer_email": format!("new-{task}@example.com"), "account_groups": named});
                let made = tenant.post("/v1/account", body).await.expect(201);
                let moved = relocate(&tenant, &groups[task % 3], &groups[(task + 1) % 3], &[lookup(&made)]).await;
                let gone = tenant.delete(&format!("/v1/account/{}", accounts[task])).await;
                let added = tenant.add_members(&groups[1], &accounts[task..]).await;
                let left = tenant.delete(&format!("/v1/account/{}", lookup(&made))).await;
                [moved, gone, added, left].map(|reply| reply.status.as_u16())
            }
        };
        for statuses in join_all((0..TASKS).map(|number| tokio::spawn(task(number)))).await {
            assert_eq!(statuses.unwrap(), [200, 200, 404, 200]);
        }
        nobody_waited_in_a_ring(started, &world);
        counts_are_true(&tenant, &groups).await;
        for group in &groups {
            assert_eq!(count(&tenant, group).await, 0);
        }
    }

    async fn a_group_that_goes_while_members_come_goes_whole(world: World) {
        let tenant = world.tenant("DEMO").await;
        let accounts = tenant.make_accounts(8).await;
        let started = Instant::now();
        for round in 0..4 {
            let group = tenant.make_group(&format!("Group {round}")).await;
            let policy = tenant.make_policy(&format!("Policy {round}"), json!({})).await;
            let (path, rules) = (format!("/v1/account-group/{group}"), format!("/v1/policy/{policy}"));
            let adding = join_all((0..8).map(|_| tenant.add_members(&group, &accounts)));
            let assigning = join_all((0..4).map(|_| tenant.assign(&group, &policy)));
            let going = join_all([tenant.delete(&path), tenant.delete(&path), tenant.delete(&rules)]);
            let (added, assigned, gone) = tokio::join!(adding, assigning, going);
            assert!(added.iter().chain(&assigned).all(|reply| [200, 404].contains(&reply.status.as_u16())));
            let mut gone: Vec<_> = gone.iter().map(|reply| reply.status.as_u16()).collect();
            gone.sort();
            assert_eq!(gone, [200, 200, 404]);
            assert_eq!(tenant.get(&path).await.refusal(404), "group_not_found");
        }
        nobody_waited_in_a_ring(started, &world);
        let account = tenant.get(&format!("/v1/account/{}", accounts[0])).await.expect(200);
        assert_eq!(account["groups"], json!([]));
    }
}
