//! The trail has long lines of earlier versions, which listed all that policies had against an order. Nobody who reads events is
//! to be hurt by them.

use std::collections::BTreeSet;
use std::time::Duration;

use chancery_domain::PAGE_BYTES;
use chancery_service::Sent;
use chancery_store::Tx;
use chancery_testkit::Address;
use chancery_tests::{Tenant, World, on_both_databases};
use serde_json::{Value, json};

const LINES: usize = 8;

/// Refusals of an order with 20 MB of problems each, as earlier versions wrote them.
async fn write_long_lines(world: &World) {
    let reseller = world.services.operator.reseller("DEMO").await.unwrap().id;
    let problem = r#"{"code":"denied_domains","field":"identifiers[0]","message":"is denied","policy":"pol_1"},"#;
    let count = 20_000_000 / problem.len();
    let address = world.store.address();
    let line = move |place: usize, problems: &str| {
        format!(
            "'aud_0000000000000000000000000{place}', 1800000000000, '{reseller}', 'client', 'cli_1', '192.0.2.1', 'r', 'order.refuse',
             'acc_1', 'refused', '{{\"names\":[\"a.test\"],\"order\":null,\"problems\":[' || {problems} || '{{}}],\"quota\":false}}'"
        )
    };
    let columns = "id, at, reseller_id, actor_kind, actor, address, request_id, action, subject, outcome, detail";
    tokio::task::spawn_blocking(move || {
        for place in 0..LINES {
            match &address {
                Address::Sqlite(path) => {
                    let line = line(place, &format!("replace(hex(zeroblob({count})), '00', '{problem}')"));
                    let position = "(SELECT coalesce(max(rowid), 0) + 1 FROM audit)";
                    let sql = format!("INSERT INTO audit ({columns}, position) SELECT {line}, {position}");
                    rusqlite::Connection::open(path).unwrap().execute(&sql, []).unwrap();
                }
                Address::Postgres(url) => {
                    let line = line(place, &format!("repeat('{problem}', {count})"));
                    let sql = format!("INSERT INTO audit ({columns}) SELECT {line}");
                    ::postgres::Client::connect(url, ::postgres::NoTls).unwrap().execute(&sql, &[]).unwrap();
                }
            }
        }
    })
    .await
    .unwrap();
}

/// The events of a feed, page by page: how many there are, and that each page is short.
async fn feed(tenant: &Tenant, order: &str) -> Vec<Value> {
    let (mut events, mut cursor) = (Vec::new(), String::new());
    loop {
        let reply = tenant.get(&format!("/v1/event?limit=1000&order={order}{cursor}")).await;
        assert!(reply.body.len() <= PAGE_BYTES, "{} bytes", reply.body.len());
        let page = reply.expect(200);
        let items = page["items"].as_array().unwrap();
        events.extend(items.iter().cloned());
        match page["nextCursor"].as_str().filter(|_| !items.is_empty()) {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return events,
        }
    }
}

on_both_databases! {
    async fn lines_of_any_length_make_short_pages_and_messages(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.post("/v1/webhook", json!({"url": "https://receiver.test/"})).await.expect(201);
        write_long_lines(&world).await;
        for order in ["newest", "oldest"] {
            let events = feed(&tenant, order).await;
            let ids: BTreeSet<_> = events.iter().map(|event| event["id"].to_string()).collect();
            assert_eq!((events.len(), ids.len()), (LINES, LINES), "{order}");
            for event in &events {
                assert_eq!((&event["type"], &event["data"]["names"]), (&"policy.refused".into(), &json!(["a.test"])));
                assert_eq!(event["data"]["truncated"], true);
                assert!(event.to_string().len() < 9_000);
                let path = format!("/v1/event/{}", event["id"].as_str().unwrap());
                assert_eq!(&tenant.get(&path).await.expect(200), event);
            }
        }
        let reseller = world.services.operator.reseller("DEMO").await.unwrap().id;
        let read = move |tx: &mut Tx<'_>| {
            let records = tx.records_after(reseller, &chancery_store::Place::default(), i64::MAX, 500)?;
            Ok::<_, chancery_store::StoreError>((records.len(), tx.bytes_read()))
        };
        let (records, read) = world.store.read(read).await.unwrap();
        assert!(records > LINES && read < 1_000_000, "{read} bytes for {records} lines");

        // A worker that comes back to work makes messages of all of them.
        let dispatch = &world.services.dispatch;
        let due = dispatch.due().await.unwrap();
        let [webhook] = due[..] else { panic!("{due:?}") };
        let round = dispatch.begin(webhook).await.unwrap().unwrap();
        assert_eq!(round.messages, LINES);
        for _ in 0..LINES {
            let message = dispatch.next_message(webhook).await.unwrap().unwrap();
            assert!(message.body.len() < 9_000, "{} bytes", message.body.len());
            let sent = Sent { at: world.services.now(), took: Duration::ZERO, answer: Ok(200) };
            assert!(dispatch.conclude(&message, sent).await.unwrap());
        }
    }

    /// An account whose metadata is so long that before and after do not fit into a line.
    async fn an_account_is_updated_by_what_is_cut_as_well(world: World) {
        let tenant = world.tenant("DEMO").await;
        let metadata = |last: &str| {
            let mut pairs: serde_json::Map<_, _> = (0..15).map(|place| (format!("{place:02}"), "x".repeat(500).into())).collect();
            pairs.insert("last".to_owned(), last.into());
            Value::Object(pairs)
        };
        let account = tenant.post("/v1/account", json!({"customer_email": "a@example.com", "metadata": metadata("one")})).await.expect(201);
        let path = format!("/v1/account/{}", account["lookup"].as_str().unwrap());
        tenant.patch(&path, json!({"metadata": metadata("two")})).await.expect(200);
        tenant.patch(&path, json!({"suspended": true})).await.expect(200);
        let events = feed(&tenant, "oldest").await;
        let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(types, ["account.created", "account.updated", "account.suspended"]);
        assert_eq!(events[1]["data"]["truncated"], true);
        assert_eq!((&events[2]["data"]["status"], &events[2]["data"]["email"]), (&"suspended".into(), &"a@example.com".into()));
    }
}
