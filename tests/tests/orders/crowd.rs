//! Many who do everything at once, on two nodes at work: nothing breaks, and all of it adds up in the end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use chancery_domain::PageRequest;
use chancery_store::AuditFilter;
use chancery_testkit::SeededEntropy;
use chancery_tests::{Tenant, csr, lookup, on_both_databases, settings};
use chancery_workers::Workers;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::common::{finalize_path, order_path, revocation_path, text};

const NAMES: [&str; 5] = ["a.test", "b.test", "c.test", "*.d.test", "192.0.2.7"];

/// What the crowd knows in common.
struct Square {
    accounts: Vec<String>,
    csrs: Vec<String>,
    orders: Mutex<Vec<Value>>,
}

impl Square {
    fn any_order(&self, dice: &SeededEntropy) -> Option<Value> {
        let orders = self.orders.lock().unwrap();
        (!orders.is_empty()).then(|| orders[pick(dice, orders.len())].clone())
    }
}

fn pick(dice: &SeededEntropy, of: usize) -> usize {
    usize::try_from(dice.number() % u64::try_from(of).unwrap()).unwrap()
}

/// One of the crowd does one thing; whatever the answer is, it must not be a fault of ours.
async fn act(square: &Square, who: &Tenant, dice: &SeededEntropy) {
    let order = square.any_order(dice);
    let account = square.accounts[pick(dice, square.accounts.len())].clone();
    let reply = match (dice.number() % 16, order) {
        (0..=3, _) | (_, None) => {
            let csr = &square.csrs[pick(dice, square.csrs.len())];
            let reply = who.post("/v1/order", json!({"account_lookup": account, "csr": csr})).await;
            if reply.status == 201 {
                square.orders.lock().unwrap().push(reply.json());
            }
            reply
        }
        (4..=8, Some(order)) => {
            let authorizations = order["authorizations"].as_array().unwrap();
            let authorization = &authorizations[pick(dice, authorizations.len())];
            let codes = who.post_empty(&format!("/v1/authz/{}/challenges", lookup(authorization))).await;
            if codes.status != 200 {
                codes
            } else {
                let codes = codes.json()["challenges"].as_array().unwrap().clone();
                let path = format!("/v1/challenge/{}", lookup(&codes[pick(dice, codes.len())]));
                if pick(dice, 8) == 0 { who.delete(&path).await } else { who.post_empty(&path).await }
            }
        }
        (9..=11, Some(order)) => who.post_empty(&finalize_path(&order)).await,
        (12, Some(order)) => who.delete(&order_path(&order)).await,
        (13, Some(order)) => who.post(&revocation_path(&order), json!({"reason": 4})).await,
        (14, Some(_)) => {
            let suspended = pick(dice, 3) == 0;
            who.patch(&format!("/v1/account/{account}"), json!({"suspended": suspended})).await
        }
        (_, Some(_)) if pick(dice, 40) == 0 => {
            who.delete(&format!("/v1/account/{account}?revoke_certificates=true")).await
        }
        (_, Some(_)) => who.get("/v1/certificates?certificate_status=issued,pending").await,
    };
    assert!(reply.status.as_u16() < 500, "{}: {}", reply.status, reply.text());
}

on_both_databases! {
    async fn whatever_many_do_at_once_adds_up(world: World) {
        let tenant = world.tenant("DEMO").await;
        let second = world.another_node(settings(), Vec::new()).await;
        let accounts = tenant.make_accounts(4).await;
        let policy = tenant.make_policy("quota", json!({"max_certificates_per_day": 6})).await;
        let group = tenant.make_group("counted").await;
        tenant.add_members(&group, &accounts[..2]).await.expect(200);
        tenant.assign(&group, &policy).await.expect(200);
        let csrs = NAMES.iter().map(|name| csr(&[name])).chain([csr(&NAMES[..2]), csr(&NAMES[1..4])]).collect();
        let square = Arc::new(Square { accounts, csrs, orders: Mutex::default() });

        let mut stops = Vec::new();
        for services in [&world.services, &second.services] {
            let (stop, stopped) = oneshot::channel::<()>();
            let workers = Workers::new(services.clone(), None, world.clock.clone());
            stops.push((stop, tokio::spawn(workers.run(async move { drop(stopped.await) }))));
        }
        let crowd: Vec<_> = (0..8)
            .map(|number| {
                let who = if number % 2 == 0 { tenant.clone() } else { second.hears(&tenant) };
                let square = square.clone();
                tokio::spawn(async move {
                    let dice = SeededEntropy::new(number);
                    for _ in 0..40 {
                        act(&square, &who, &dice).await;
                    }
                })
            })
            .collect();
        for one in crowd {
            one.await.unwrap();
        }
        for (stop, worker) in stops {
            stop.send(()).unwrap();
            worker.await.unwrap();
        }
        // What was under way is left to its lease, as after a crash.
        for _ in 0..10 {
            world.work(None).await;
            second.work(None).await;
        }

        let listed = tenant.get("/v1/certificates?limit=1000").await.expect(200);
        let certificates: HashMap<_, _> =
            listed["items"].as_array().unwrap().iter().map(|each| (text(each, "orderLookup"), each)).collect();
        let orders = tenant.get("/v1/order?limit=1000").await.expect(200)["items"].as_array().unwrap().clone();
        assert_eq!(orders.len(), square.orders.lock().unwrap().len());
        let mut valid = HashMap::<_, usize>::new();
        for order in &orders {
            let certificate = text(certificates[&lookup(order)], "status");
            let fits: &[&str] = match text(order, "status").as_str() {
                "pending" | "ready" => &["pending"],
                "valid" => &["issued", "revoked"],
                "invalid" | "cancelled" => &["cancelled"],
                other => panic!("an order stayed {other}: {order}"),
            };
            assert!(fits.contains(&certificate.as_str()), "{certificate}: {order}");
            let shown =
                order["authorizations"].as_array().unwrap().iter().filter(|each| each["status"] == "valid").count();
            assert!(
                order["status"] != "ready" || shown == order["authorizations"].as_array().unwrap().len(),
                "{order}"
            );
            if order["status"] == "valid" {
                *valid.entry(text(order, "accountLookup")).or_default() += 1;
            }
        }
        for account in &square.accounts[..2] {
            assert!(valid.get(account).is_none_or(|count| *count <= 6), "{valid:?}");
        }
        // Nothing of a terminated account is still good: each termination asked for that.
        for account in &square.accounts {
            let gone = tenant.get(&format!("/v1/account/{account}")).await.expect(200)["deleted"] == true;
            let of_account = certificates.values().filter(|each| text(each, "accountLookup") == *account);
            let good = of_account.filter(|each| ["issued", "pending"].contains(&text(each, "status").as_str())).count();
            assert!(!gone || good == 0, "{account}: {good}");
        }
        let issued = AuditFilter { action: Some("certificate.issue".to_owned()), ..AuditFilter::default() };
        let issued = world.services.audit.list(issued, PageRequest { limit: 10_000, after: None }).await.unwrap();
        assert_eq!(issued.len(), valid.values().sum::<usize>());
        assert!(!issued.is_empty());
    }
}
