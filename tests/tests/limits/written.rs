//! A refused request writes at most 16 KiB to the database, whatever was in it.

use chancery_testkit::Address;
use chancery_tests::{AcmeClient, World, identifiers, long_name, lookup, on_both_databases};
use http::Method;
use serde_json::{Value, json};

const MOST: i64 = 16 * 1024;

/// The bytes of all values in all rows. Refusals that wait to be written are written before.
async fn stored(world: &World) -> i64 {
    world.services.audit.run(std::future::ready(())).await;
    let address = world.store.address();
    let count = move || match address {
        Address::Sqlite(path) => {
            let connection = rusqlite::Connection::open(path).unwrap();
            let texts = |sql: &str| -> Vec<String> {
                let mut statement = connection.prepare(sql).unwrap();
                statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
            };
            let tables = texts("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
            let bytes = tables.iter().map(|table| {
                let columns = texts(&format!("SELECT name FROM pragma_table_info('{table}')"));
                let length: Vec<_> =
                    columns.iter().map(|column| format!("COALESCE(octet_length(\"{column}\"), 0)")).collect();
                let sum = format!("SELECT COALESCE(SUM({}), 0) FROM {table}", length.join(" + "));
                connection.query_row(&sum, [], |row| row.get::<_, i64>(0)).unwrap()
            });
            bytes.sum::<i64>()
        }
        Address::Postgres(url) => {
            let mut client = ::postgres::Client::connect(&url, ::postgres::NoTls).unwrap();
            let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()";
            let tables: Vec<String> = client.query(tables, &[]).unwrap().iter().map(|row| row.get(0)).collect();
            let bytes = tables.iter().map(|table| {
                let sum = format!("SELECT COALESCE(SUM(octet_length(t::text)), 0)::bigint FROM {table} t");
                client.query_one(&sum, &[]).unwrap().get::<_, i64>(0)
            });
            bytes.sum()
        }
    };
    tokio::task::spawn_blocking(count).await.unwrap()
}

on_both_databases! {
    async fn a_refused_request_writes_little_however_long_it_was(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = tenant.make_account("a@example.com").await;
        let (client, account) = (AcmeClient::registered(&world, &account).await, lookup(&account));
        let group = tenant.make_group("G").await;
        tenant.add_members(&group, std::slice::from_ref(&account)).await.expect(200);
        for place in 0..30 {
            let policy = tenant.make_policy(&format!("{place:02}{}", "😀".repeat(250)), json!({"denied_domains": ["**"]})).await;
            tenant.assign(&group, &policy).await.expect(200);
        }
        let names: Vec<_> = (0..100).map(|place| long_name(place).to_string()).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let strangers: Vec<_> = (0..100).map(|place| format!("{place}{}", "😀".repeat(200))).collect();
        let unknown: serde_json::Map<_, _> =
            (0..100).map(|place| (format!("{place}{}", "\"".repeat(1000)), Value::Null)).collect();
        let order = json!({"account_lookup": account, "csr": chancery_tests::csr(&names)});
        let id = "r".repeat(64);
        let requests = [
            ("/v1/order", order.clone(), 400),
            ("/v1/order", Value::Object(unknown), 400),
            ("/v1/account", json!({"customer_email": "b@example.com", "account_groups": strangers}), 404),
            ("/v1/account", json!({"customer_email": "c".repeat(200_000)}), 400),
        ];
        for (number, (path, body, status)) in requests.into_iter().enumerate() {
            let before = stored(&world).await;
            let key = format!("{}{number}", "k".repeat(254));
            let headers = [("idempotency-key", key.as_str()), ("x-request-id", id.as_str())];
            let refused = tenant.send(Method::POST, path, &headers, Some(&body)).await;
            assert_eq!(refused.status.as_u16(), status, "{}", refused.text());
            let written = stored(&world).await - before;
            assert!((1..=MOST).contains(&written), "{path}: {written} bytes");
        }

        // A refusal that is not kept is given again, since the request is judged again.
        let headers = [("idempotency-key", "again")];
        let refused = async || tenant.send(Method::POST, "/v1/order", &headers, Some(&order)).await;
        assert_eq!([refused().await.refusal(400), refused().await.refusal(400)], ["policy_violation"; 2]);

        let before = stored(&world).await;
        let refused = client.post(&client.url("newOrder"), &json!({"identifiers": identifiers(&names)})).await;
        assert_eq!(refused.json()["type"], "urn:ietf:params:acme:error:rejectedIdentifier", "{}", refused.text());
        let written = stored(&world).await - before;
        assert!((1..=MOST).contains(&written), "newOrder: {written} bytes");
    }
}
