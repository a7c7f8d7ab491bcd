//! A filter that no index serves looks through so many rows at a time.

use chancery_testkit::Address;
use chancery_tests::{lookup, on_both_databases};

/// Certificates of an account, older than any real one and cancelled, as many as there are.
fn fill(address: Address, account: String, even: i64, count: i64) {
    let columns = "id, order_id, reseller_id, account_id, kid, via, profile, identifiers, state, state_at, created_at,
        updated_at, version";
    let select = |id: &str, numbers: &str| {
        format!(
            "INSERT INTO certificates ({columns}) SELECT {id}, 'o' || account_id || n, reseller_id, account_id, kid, via,
             profile, identifiers, 'cancelled', state_at, created_at, updated_at, version
             FROM certificates, {numbers} WHERE account_id = '{account}'"
        )
    };
    let id = |padded: &str| format!("'cert_' || {padded}");
    match address {
        Address::Sqlite(path) => {
            let numbers = format!(
                "(WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count} - 1)
                  SELECT n FROM numbers) AS numbers"
            );
            let connection = rusqlite::Connection::open(path).unwrap();
            connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA busy_timeout = 10000").unwrap();
            let id = id(&format!("printf('%026d', 2 * n + {even})"));
            connection.execute(&select(&id, &numbers), []).unwrap();
        }
        Address::Postgres(url) => {
            let mut client = ::postgres::Client::connect(&url, ::postgres::NoTls).unwrap();
            client.execute("SET session_replication_role = replica", &[]).unwrap();
            let id = id(&format!("lpad((2 * n + {even})::text, 26, '0')"));
            client.execute(&select(&id, &format!("generate_series(0, {count} - 1) AS numbers (n)")), &[]).unwrap();
        }
    }
}

on_both_databases! {
    async fn a_page_of_an_address_looks_through_so_many_rows_and_says_where_to_go_on(world: World) {
        let tenant = world.tenant("DEMO").await;
        for even in [0, 1] {
            let account = lookup(&tenant.make_account("same@example.com").await);
            tenant.make_order(&account, &["real.test"]).await;
            let address = world.store.address();
            let filled = account.clone();
            tokio::task::spawn_blocking(move || fill(address, filled, even, 1_100)).await.unwrap();
            if even == 0 {
                tenant.delete(&format!("/v1/account/{account}")).await.expect(200);
            }
        }
        let (mut found, mut pages, mut cursor) = (0, 0, String::new());
        loop {
            let path = format!("/v1/certificates?customer_email=same@example.com&certificate_status=pending{cursor}");
            let page = tenant.get(&path).await.expect(200);
            (found, pages) = (found + page["items"].as_array().unwrap().len(), pages + 1);
            let Some(next) = page["nextCursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(found, 1);
        assert!((3..=4).contains(&pages), "2,200 rows in {pages} pages");
    }
}
