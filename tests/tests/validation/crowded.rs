//! Many names that nobody answers for: whom they delay, and who does their work.

use std::sync::Arc;
use std::time::Duration;

use chancery_domain::ScopeSet;
use chancery_service::{AccountLookup, Actor, Caller, Origin};
use chancery_tests::{Tenant, csr, lookup, on_both_databases, settings};
use chancery_workers::{Eyes, Workers};
use hickory_proto::rr::RecordType;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::site::{Site, account, choose, code, order, seen};

async fn comes_to(tenant: &Tenant, order: &Value, status: &str) -> Value {
    let looking = async {
        loop {
            let seen = seen(tenant, order).await;
            if seen["status"] == status {
                return seen;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(20), looking).await.unwrap_or_else(|_| panic!("it is not {status} in time"))
}

on_both_databases! {
    async fn one_resellers_black_holes_delay_no_other_and_stay_with_the_node_that_has_them(world: World) {
        let mut site = Site::open().await;
        let mut quick = settings();
        quick.issuing.job_lease = Duration::from_secs(3);
        let lease = quick.issuing.job_lease;
        let node = world.another_node(quick, Vec::new()).await;
        let workers = Workers::new(node.services.clone(), Some(site.eyes(&world)), world.clock.clone()).with_places(2, 1);
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(workers.run(async move { drop(stopped.await) }));

        let greedy = node.hears(&world.tenant("GREEDY").await);
        let account_of_greedy = account(&greedy, "a@example.com").await;
        for number in 0..12 {
            let name = format!("hole{number}.example.test");
            for kind in [RecordType::A, RecordType::AAAA] {
                site.dns.silent(&name, kind);
            }
            let order = order(&greedy, &account_of_greedy, &[&name]).await;
            choose(&greedy, &code(&greedy, &order, &name, "http-01").await).await;
        }

        let modest = node.hears(&world.tenant("MODEST").await);
        let account = account(&modest, "b@example.com").await;
        let good = order(&modest, &account, &["good.example.test"]).await;
        site.dns.empty("good.example.test");
        let challenge = code(&modest, &good, "good.example.test", "dns-01").await;
        site.publish(&challenge).await;
        choose(&modest, &challenge).await;
        comes_to(&modest, &good, "ready").await;
        modest.post_empty(&format!("/v1/order/{}/finalize", lookup(&good))).await.expect(202);
        comes_to(&modest, &good, "valid").await;

        // Those that wait for a place are nobody else's meanwhile.
        for _ in 0..4 {
            sleep(lease / 2).await;
            world.advance(lease / 2);
            assert_eq!(world.services.jobs.lease().await.unwrap(), []);
        }
        stop.send(()).unwrap();
        running.await.unwrap();
    }

    async fn at_the_first_caa_record_that_forbids_it_issuance_stops_asking(world: World) {
        let mut site = Site::open().await;
        let mut tenant = world.tenant("DEMO").await;
        let account = account(&tenant, "a@example.com").await;
        let names: Vec<_> = (0..40).map(|number| format!("n{number:02}.example.test")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let order = order(&tenant, &account, &names).await;
        for name in &names {
            site.dns.empty(name);
            let challenge = code(&tenant, &order, name, "dns-01").await;
            site.publish(&challenge).await;
            choose(&tenant, &challenge).await;
        }
        site.work(&world).await;
        assert_eq!(seen(&tenant, &order).await["status"], "ready");
        world.advance(Duration::from_secs(9 * 3600));
        tenant.sign_in().await;
        for name in &names {
            site.dns.forget(name).caa(name, 0, "issue", ";");
        }
        let before = site.dns.asked().len();
        tenant.post_empty(&format!("/v1/order/{}/finalize", lookup(&order))).await.expect(202);
        site.work(&world).await;
        assert_eq!(seen(&tenant, &order).await["error"]["type"], "caa");
        let asked = site.dns.asked().len() - before;
        assert!(asked <= 10, "{asked} questions");
    }

    async fn of_a_csr_that_is_refused_nothing_is_asked(world: World) {
        let site = Site::open().await;
        let services = world.services.clone().asking(Arc::new(Eyes::new(site.eyes(&world))));
        let tenant = world.tenant("DEMO").await;
        let account = account(&tenant, "a@example.com").await;
        let reseller = world.store.read(|tx| tx.reseller_by_code("DEMO")).await.unwrap().unwrap();
        let (code, scopes) = (reseller.code.clone(), ScopeSet::all());
        let caller = Caller { reseller: reseller.id, code, actor: Actor::Anonymous, scopes, acme_account: None, acme_key: None, origin: Origin::default() };
        let names: Vec<_> = (0..150).map(|number| format!("n{number}.example.test")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let lookup = |text: &str| AccountLookup::parse(text);
        let problems = services.certificates.judge_csr(&caller, csr(&names), None, Some(lookup(&account))).await.unwrap();
        assert!(!problems.is_empty() && problems.described().iter().all(|problem| problem.code != "caa"), "{problems:?}");
        assert_eq!(site.dns.asked().len(), 0);
        site.dns.empty("n1.example.test");
        let problems = services.certificates.judge_csr(&caller, csr(&names[1..2]), None, Some(lookup(&account)));
        assert!(problems.await.unwrap().is_empty());
        assert_eq!(site.dns.asked().len(), 3);
    }
}
