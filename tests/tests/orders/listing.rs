//! `GET /v1/certificates`: filters, statuses by the clock, pages, and the whole list as CSV.

use std::collections::BTreeSet;
use std::time::Duration;

use chancery_domain::{CertificateId, Entropy, OrderId, Timestamp};
use chancery_service::ServiceError;
use chancery_testkit::SeededEntropy;
use chancery_tests::{Tenant, World, csr, lookup, on_both_databases};
use serde_json::{Value, json};

use crate::common::{days, each, finalize_path, later, order_path, revocation_path, stage, text};

/// The first names of the certificates that a query finds, in the order of the alphabet.
async fn found(tenant: &Tenant, query: &str) -> Vec<String> {
    let listed = tenant.get(&format!("/v1/certificates?{query}")).await.expect(200);
    let mut names: Vec<_> =
        listed["items"].as_array().unwrap().iter().map(|item| item["names"][0].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

async fn order(tenant: &Tenant, account: &str, name: &str, more: Value) -> Value {
    let mut body = json!({"account_lookup": account, "csr": csr(&[name])});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    tenant.post("/v1/order", body).await.expect(201)
}

on_both_databases! {
    async fn each_filter_narrows_and_all_of_them_together(world: World) {
        let (mut tenant, one) = stage(&world).await;
        let two = lookup(&tenant.make_account("b@example.com").await);
        let kid = text(&tenant.post_empty(&format!("/v1/account/{two}/eab-credential")).await.expect(201), "kid");
        let soon = Timestamp::from_secs(world.services.now().as_secs() + 7200).to_string();
        let mut orders = Vec::new();
        for (account, name, more) in [
            (&one, "issued.test", json!({})),
            (&one, "revoked.test", json!({"profile": "TLS-199d"})),
            (&two, "xn--bcher-kva.test", json!({"not_after": soon})),
        ] {
            let made = order(&tenant, account, name, more).await;
            tenant.choose_all(&made).await;
            world.work(None).await;
            tenant.post_empty(&finalize_path(&made)).await.expect(202);
            world.work(None).await;
            orders.push(made);
        }
        tenant.post(&revocation_path(&orders[1]), json!({})).await.expect(202);
        let body = json!({"eab_kid": kid, "csr": csr(&["pending.test"]), "external_id": "PO-9"});
        tenant.post("/v1/order", body).await.expect(201);
        let cancelled = order(&tenant, &two, "cancelled.test", json!({})).await;
        tenant.delete(&order_path(&cancelled)).await.expect(200);
        later(&world, &mut tenant, Duration::from_secs(3 * 3600)).await;

        let all = ["cancelled.test", "issued.test", "pending.test", "revoked.test", "xn--bcher-kva.test"];
        assert_eq!(found(&tenant, "").await, all);
        for (status, name) in [
            ("pending", "pending.test"),
            ("issued", "issued.test"),
            ("cancelled", "cancelled.test"),
            ("revoked", "revoked.test"),
            ("expired", "xn--bcher-kva.test"),
        ] {
            assert_eq!(found(&tenant, &format!("certificate_status={status}")).await, [name]);
        }
        let serial = tenant.get("/v1/certificates?certificate_status=issued").await.expect(200);
        let serial = text(&serial["items"][0], "serialNumber").to_uppercase();
        let in_a_month = Timestamp::from_secs(world.services.now().as_secs() + 100 * 86_400);
        for (query, names) in [
            ("certificate_status=pending,cancelled", vec!["cancelled.test", "pending.test"]),
            ("certificate_status=issued,%20revoked,expired", vec!["issued.test", "revoked.test", "xn--bcher-kva.test"]),
            ("certificate_status=pending,issued,cancelled,revoked,expired", all.to_vec()),
            (&format!("account_lookup={one}"), vec!["issued.test", "revoked.test"]),
            ("customer_email=B%40Example.com", vec!["cancelled.test", "pending.test", "xn--bcher-kva.test"]),
            (&format!("eab_kid={kid}"), vec!["pending.test"]),
            ("name=ISSUED.test", vec!["issued.test"]),
            ("name=B%C3%BCcher.test.", vec!["xn--bcher-kva.test"]),
            ("name=sued.test", vec![]),
            ("profile=TLS-199d", vec!["revoked.test"]),
            (&format!("serial={serial}"), vec!["issued.test"]),
            ("external_id=PO-9", vec!["pending.test"]),
            (&format!("expires_before={in_a_month}"), vec!["issued.test", "xn--bcher-kva.test"]),
            (&format!("expires_after={in_a_month}"), vec!["revoked.test"]),
            // Together: all of them must fit.
            (&format!("account_lookup={one}&certificate_status=issued,pending&profile=TLS-90d"), vec!["issued.test"]),
            (&format!("account_lookup={one}&customer_email=a%40example.com"), vec!["issued.test", "revoked.test"]),
            (&format!("account_lookup={one}&customer_email=b%40example.com"), vec![]),
            (&format!("account_lookup={one}&eab_kid={kid}"), vec![]),
            // What does not exist has no certificates.
            ("account_lookup=nobody", vec![]),
            ("customer_email=nobody%40example.com", vec![]),
            ("customer_email=nonsense", vec![]),
            ("eab_kid=nonsense", vec![]),
        ] {
            assert_eq!(found(&tenant, query).await, names, "{query}");
        }
        // A certificate ends on one side of every time.
        let end = tenant.get("/v1/certificates?certificate_status=issued").await.expect(200);
        let end = text(&end["items"][0], "notAfter");
        assert_eq!(found(&tenant, &format!("expires_before={end}")).await, ["xn--bcher-kva.test"]);
        assert_eq!(found(&tenant, &format!("expires_after={end}")).await, ["issued.test", "revoked.test"]);
        for bad in [
            "certificate_status=valid",
            "certificate_status=issued,",
            "certificate_status=",
            "certificate_status=ISSUED",
            "expires_before=soon",
            "limit=0",
            "limit=1001",
            "status=issued",
            "cursor=x",
        ] {
            assert_eq!(tenant.get(&format!("/v1/certificates?{bad}")).await.status, 400, "{bad}");
        }
        let other = world.tenant("OTHER").await;
        for query in [
            "".to_owned(),
            format!("account_lookup={one}"),
            "customer_email=a%40example.com".to_owned(),
            "name=issued.test".to_owned(),
            format!("serial={serial}"),
        ] {
            assert_eq!(found(&other, &query).await, [""; 0], "{query}");
        }
    }

    async fn a_customer_is_found_by_e_mail_address_through_all_accounts_it_had(world: World) {
        let (tenant, first) = stage(&world).await;
        world.issue(&tenant, &first, &["old.test"]).await;
        tenant.delete(&format!("/v1/account/{first}")).await.expect(200);
        let second = lookup(&tenant.make_account("a@example.com").await);
        world.issue(&tenant, &second, &["new.test"]).await;
        assert_eq!(found(&tenant, "customer_email=a%40example.com").await, ["new.test", "old.test"]);
        assert_eq!(found(&tenant, &format!("account_lookup={first}")).await, ["old.test"]);
    }

    async fn statuses_change_by_the_clock_alone(world: World) {
        let (mut tenant, account) = stage(&world).await;
        world.issue(&tenant, &account, &["a.test"]).await;
        tenant.make_order(&account, &["b.test"]).await;
        world.advance(Duration::from_secs(1));
        let revoked = world.issue(&tenant, &account, &["c.test"]).await;
        tenant.post(&revocation_path(&revoked), json!({})).await.expect(202);
        let statuses = async |tenant: &Tenant| each(&tenant.get("/v1/certificates").await.expect(200), "status");
        assert_eq!(statuses(&tenant).await, ["revoked", "pending", "issued"]);
        later(&world, &mut tenant, days(7)).await;
        assert_eq!(statuses(&tenant).await, ["revoked", "cancelled", "issued"]);
        assert_eq!(found(&tenant, "certificate_status=cancelled").await, ["b.test"]);
        assert_eq!(found(&tenant, "certificate_status=pending").await, [""; 0]);
        let shown = tenant.get("/v1/certificates?name=a.test").await.expect(200);
        let end = Timestamp::parse(&text(&shown["items"][0], "notAfter")).unwrap();
        world.clock.set(end);
        tenant.sign_in().await;
        assert_eq!(found(&tenant, "certificate_status=issued").await, ["a.test"]);
        world.advance(Duration::from_secs(1));
        assert_eq!(statuses(&tenant).await, ["revoked", "cancelled", "expired"]);
        assert_eq!(found(&tenant, "certificate_status=expired").await, ["a.test"]);
        assert_eq!(found(&tenant, "certificate_status=issued").await, [""; 0]);
        assert_eq!(found(&tenant, "certificate_status=revoked").await, ["c.test"]);
    }

    async fn pages_hold_still_while_new_certificates_come(world: World) {
        let (tenant, account) = stage(&world).await;
        let csr = csr(&["a.test"]);
        let body = json!({"account_lookup": account, "csr": csr});
        let mut made = Vec::new();
        for _ in 0..7 {
            // Ids of one millisecond sort by chance.
            world.advance(Duration::from_secs(1));
            made.push(text(&tenant.post("/v1/order", body.clone()).await.expect(201), "certificateLookup"));
        }
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page =
                tenant.get(&format!("/v1/certificates?certificate_status=pending&limit=2{cursor}")).await.expect(200);
            seen.extend(each(&page, "lookup"));
            world.advance(Duration::from_secs(1));
            tenant.post("/v1/order", body.clone()).await.expect(201);
            let Some(next) = page.get("nextCursor").and_then(Value::as_str) else { break };
            cursor = format!("&cursor={next}");
            let elsewhere = tenant.get(&format!("/v1/certificates?certificate_status=issued&limit=2{cursor}")).await;
            assert_eq!(elsewhere.refusal(400), "invalid_cursor");
        }
        made.reverse();
        assert_eq!(seen, made);
    }

    async fn statuses_are_the_same_however_often_and_in_which_order_they_are_named(world: World) {
        let (tenant, account) = stage(&world).await;
        order(&tenant, &account, "a.test", json!({})).await;
        for statuses in ["pending,issued", "issued,pending", "pending,pending,issued,pending", "issued,issued,pending"] {
            assert_eq!(found(&tenant, &format!("certificate_status={statuses}")).await, ["a.test"]);
        }
    }

    async fn a_page_looks_through_so_many_certificates_and_then_says_where_to_go_on(world: World) {
        let (tenant, account) = stage(&world).await;
        let first = order(&tenant, &account, "first.test", json!({"profile": "TLS-199d"})).await;
        let last = order(&tenant, &account, "last.test", json!({})).await;
        tenant.delete(&order_path(&first)).await.expect(200);
        multiply(&world, &last, 1_050).await;
        for (list, narrowed) in [
            ("certificates", "account_lookup={account}&profile=TLS-199d"),
            ("certificates", "certificate_status=cancelled"),
            ("certificates", "certificate_status=revoked,cancelled"),
            ("certificates", "expires_before=2020-01-01T00:00:00Z"),
            ("certificates", "name=last.test&profile=TLS-199d"),
            ("order", "account_lookup={account}&status=cancelled"),
            ("order", "status=expired"),
        ] {
            let query = format!("/v1/{list}?limit=10&{}", narrowed.replace("{account}", &account));
            let (mut pages, mut items, mut cursor) = (0, 0, String::new());
            loop {
                let page = tenant.get(&format!("{query}{cursor}")).await.expect(200);
                items += page["items"].as_array().unwrap().len();
                pages += 1;
                let Some(next) = page["nextCursor"].as_str() else { break };
                cursor = format!("&cursor={next}");
            }
            let expected = usize::from(!narrowed.contains("expire") && !narrowed.contains("name="));
            assert_eq!((pages, items), (2, expected), "{query}");
        }
        // What an index serves comes at once.
        for query in ["certificates?profile=TLS-199d", "order?status=cancelled", "certificates?name=first.test"] {
            let page = tenant.get(&format!("/v1/{query}")).await.expect(200);
            assert_eq!((page["items"].as_array().unwrap().len(), &page["nextCursor"]), (1, &Value::Null), "{query}");
        }
    }

    async fn the_whole_list_comes_as_csv_however_long(world: World) {
        let (tenant, account) = stage(&world).await;
        let first = world.issue(&tenant, &account, &["a.test", "b.test"]).await;
        let order: OrderId = lookup(&first).parse().unwrap();
        // Two thousand more than a page has, written in one go.
        let unit = move |tx: &mut chancery_store::Tx<'_>| {
            let entropy = SeededEntropy::new(5);
            let order = tx.any_order(order)?.expect("it is there");
            let mut row = tx.certificate_of_order(order.id)?.expect("it is there");
            row.state = chancery_domain::CertificateState::Pending { until: None };
            for _ in 0..2050 {
                let mut order = order.clone();
                order.id = OrderId::new(order.created_at, &entropy as &dyn Entropy);
                order.certificate = CertificateId::new(order.created_at, &entropy as &dyn Entropy);
                tx.insert_order(&order)?;
                row.id = order.certificate;
                row.order = order.id;
                tx.insert_certificate(&row, None)?;
            }
            Ok::<_, ServiceError>(())
        };
        world.store.write(unit).await.unwrap();
        let csv = tenant.send(http::Method::GET, "/v1/certificates", &[("accept", "text/csv")], None).await;
        assert_eq!(csv.status, 200);
        assert!(csv.header("content-type").unwrap().starts_with("text/csv"));
        let text = csv.text();
        let lines: Vec<_> = text.split_terminator("\r\n").collect();
        assert!(lines[0].starts_with("lookup,orderLookup,"));
        assert_eq!(lines.len(), 2052);
        assert!(lines.iter().all(|line| line.split(',').count() == lines[0].split(',').count()), "{}", lines[1]);
        let lookups: BTreeSet<_> = lines[1..].iter().map(|line| line.split(',').next().unwrap()).collect();
        assert_eq!(lookups.len(), 2051);
        assert!(lines[1..].iter().all(|line| line.contains("a.test b.test")));
        let csv = [("accept", "application/json;q=0.5, text/csv")];
        let one = tenant.send(http::Method::GET, "/v1/certificates?certificate_status=issued", &csv, None).await.text();
        assert_eq!(one.split_terminator("\r\n").count(), 2);
        let none = tenant.send(http::Method::GET, "/v1/certificates?account_lookup=nobody", &csv, None).await.text();
        assert_eq!(none.split_terminator("\r\n").count(), 1);
        let paged = tenant.send(http::Method::GET, "/v1/certificates?limit=5", &csv, None).await;
        assert_eq!(paged.status, 400);
        for (accept, begins) in [("TEXT/CSV", "lookup,"), ("Application/JSON, text/csv", "{"), ("text/CSV;Q=0", "{")] {
            let path = "/v1/certificates?certificate_status=issued";
            let list = tenant.send(http::Method::GET, path, &[("accept", accept)], None).await;
            assert!(list.text().starts_with(begins), "{accept}: {}", list.text());
        }
        let json = [("accept", "text/csv;q=0, application/json")];
        tenant.send(http::Method::GET, "/v1/certificates?limit=5", &json, None).await.expect(200);
    }
}

/// Copies an order and its certificate so many times, at a later time.
async fn multiply(world: &World, order: &Value, times: u32) {
    let (entropy, id) = (SeededEntropy::new(8), lookup(order).parse::<OrderId>().unwrap());
    let unit = move |tx: &mut chancery_store::Tx<'_>| {
        let original = tx.any_order(id)?.expect("it is there");
        let mut row = tx.certificate_of_order(id)?.expect("it is there");
        let later = original.created_at.plus(Duration::from_secs(1));
        for _ in 0..times {
            let order = OrderId::new(later, &entropy as &dyn Entropy);
            let certificate = CertificateId::new(later, &entropy as &dyn Entropy);
            tx.insert_order(&chancery_domain::Order { id: order, certificate, ..original.clone() })?;
            (row.id, row.order) = (certificate, order);
            tx.insert_certificate(&row, None)?;
        }
        Ok::<_, ServiceError>(())
    };
    world.store.write(unit).await.unwrap();
}
