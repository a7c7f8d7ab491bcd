//! Fills a store as if it had been at work for months: every row is a copy of one that the program itself has written.

use std::time::Instant;

use chancery_domain::{AcmeAccountId, AuditId, AuthorizationId, CertificateId, Entropy, OrderId, Timestamp};
use chancery_testkit::SeededEntropy;
use serde::{Deserialize, Serialize};

use crate::copies::{Keys, Original, number, text};
use crate::database::{Address, Cell, Database, hex};
use crate::templates::{KINDS, Kind, name};

/// How long it has been at work.
const SPAN: i64 = 120 * DAY;
const DAY: i64 = 86_400_000;
/// Copied by one statement.
const CHUNK: usize = 5_000;
/// Of each reseller, to ask for.
const KNOWN: usize = 500;
const TABLES: [&str; 6] = ["orders", "authorizations", "certificates", "certificate_names", "audit", "acme_accounts"];
const OWN: usize = 14;

/// One that was stored, to ask for.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Known {
    pub(crate) account: String,
    pub(crate) email: String,
    pub(crate) kid: String,
    pub(crate) order: String,
    pub(crate) certificate: String,
    pub(crate) serial: String,
    pub(crate) name: String,
}

/// A customer of a reseller.
struct Customer {
    reseller: String,
    account: String,
    kid: String,
    acme: String,
}

/// An order of one kind, and all that belongs to it.
struct Template {
    rows: Vec<Original>,
    trail: Vec<Original>,
    keys: Keys,
    created_at: i64,
    serial: String,
}

/// Copies until there are so many; brings some of each reseller, in the order of these.
pub(crate) fn fill(address: &Address, stored: usize, resellers: &[String], now: Timestamp) -> Vec<Vec<Known>> {
    let (began, entropy) = (Instant::now(), SeededEntropy::new(7));
    let mut opened = Database::open(address);
    let database = &mut opened;
    let templates: Vec<_> = KINDS.iter().map(|kind| template(database, kind.label)).collect();
    let customers = customers(database, &entropy, now);
    let indexes = database.drop_indexes(&TABLES);
    let most = templates.iter().map(|template| template.trail.len()).max().unwrap_or(0);
    plan(database, &templates, &customers, stored, most, &entropy, now);
    accounts(database, &customers);
    copy(database, &templates, stored);
    database.execute("DROP TABLE bench_plan");
    let copied = began.elapsed();
    for index in indexes {
        database.execute(&index);
    }
    counts(database, now);
    let known = resellers.iter().map(|code| known(database, code)).collect();
    opened.close();
    println!(
        "  stored {stored} certificates of {} customers in {:.0} s, of which {:.0} s were for the indexes",
        customers.len(),
        began.elapsed().as_secs_f64(),
        (began.elapsed() - copied).as_secs_f64()
    );
    known
}

fn template(database: &mut Database, label: &str) -> Template {
    let mut all = |table: &'static str, condition: String| -> Vec<Original> {
        let rows = database.rows(&format!("SELECT * FROM {table} WHERE {condition}"));
        rows.into_iter().map(|row| Original { table, row }).collect()
    };
    let names = all("certificate_names", format!("name = '{}'", name(label)));
    let certificate = text(&names[0].row, "certificate_id").unwrap().to_owned();
    let certificates = all("certificates", format!("id = '{certificate}'"));
    let of = |column: &str| text(&certificates[0].row, column).map(str::to_owned);
    let order = of("order_id").unwrap();
    let orders = all("orders", format!("id = '{order}'"));
    let authorizations = all("authorizations", format!("order_id = '{order}'"));
    let authorization = text(&authorizations[0].row, "id").unwrap().to_owned();
    let trail = all(
        "audit",
        format!(
            "subject IN ('{order}', '{authorization}', '{certificate}') OR detail LIKE '%{order}%' OR
             detail LIKE '%{authorization}%' OR detail LIKE '%{certificate}%' OR detail LIKE '%{}%' ORDER BY id",
            name(label)
        ),
    );
    let serial = of("serial").unwrap_or_default();
    let acme = text(&orders[0].row, "acme_account_id").unwrap_or_default().to_owned();
    let keys = [
        (order, "order_id"),
        (authorization, "authorization_id"),
        (certificate, "certificate_id"),
        (of("reseller_id").unwrap(), "reseller_id"),
        (of("account_id").unwrap(), "account_id"),
        (of("kid").unwrap(), "kid"),
        (acme, "acme_id"),
        (serial.clone(), "serial"),
        (of("fingerprint").unwrap_or_default(), "fingerprint"),
        (label.to_owned(), "label"),
    ];
    let keys = keys.into_iter().filter(|(key, _)| !key.is_empty()).collect();
    let created_at = number(&orders[0].row, "created_at").unwrap();
    // In the order in which one refers to the other.
    let rows = orders.into_iter().chain(authorizations).chain(certificates).chain(names).collect();
    Template { rows, trail, keys, created_at, serial }
}

fn customers(database: &mut Database, entropy: &dyn Entropy, now: Timestamp) -> Vec<Customer> {
    let rows = database.rows("SELECT id, reseller_id, kid FROM accounts WHERE email LIKE 'c%@stored.test' ORDER BY id");
    let customer = |row| {
        let of = |column| text(&row, column).unwrap().to_owned();
        let acme = AcmeAccountId::new(now, entropy).to_string();
        Customer { reseller: of("reseller_id"), account: of("id"), kid: of("kid"), acme }
    };
    rows.into_iter().map(customer).collect()
}

/// A table with a line for each that is to be.
fn plan(
    database: &mut Database,
    templates: &[Template],
    customers: &[Customer],
    stored: usize,
    most: usize,
    entropy: &dyn Entropy,
    now: Timestamp,
) {
    let trail: Vec<_> = (0..most).map(|place| format!(", audit_{place} TEXT")).collect();
    let blob = if database.is_postgres() { "BYTEA" } else { "BLOB" };
    database.execute(&format!(
        "CREATE TABLE bench_plan (n BIGINT PRIMARY KEY, kind BIGINT, shift BIGINT, position BIGINT, reseller_id TEXT,
         account_id TEXT, kid TEXT, acme_id TEXT, order_id TEXT, authorization_id TEXT, certificate_id TEXT, serial TEXT,
         fingerprint TEXT, label TEXT, key_hash {blob}{})",
        trail.concat()
    ));
    let mut position = database.number("SELECT COALESCE(MAX(position), 0) FROM audit");
    let first = now.as_millis() - SPAN;
    let rows = (0..stored).map(|n| {
        let kind = kind_of(n);
        let template = &templates[kind];
        // Neither customers nor kinds come in runs.
        let customer = &customers[(n.wrapping_mul(7919) + n / customers.len()) % customers.len()];
        let millis = first + ((n as f64 + 0.5) / stored as f64 * (SPAN - 3_600_000) as f64) as i64;
        let at = Timestamp::from_millis(millis);
        let random: [u8; 32] = entropy.bytes();
        let text = |text: &str| Cell::Text(text.to_owned());
        // As long as the one it stands for, and beginning like it.
        let serial: String = template.serial.chars().take(2).chain(hex(&random).chars()).collect();
        let mut row = vec![
            Cell::Int(n as i64),
            Cell::Int(kind as i64),
            Cell::Int(millis - template.created_at),
            Cell::Int(position),
            text(&customer.reseller),
            text(&customer.account),
            text(&customer.kid),
            text(&customer.acme),
            Cell::Text(OrderId::new(at, entropy).to_string()),
            Cell::Text(AuthorizationId::with_challenges(at, entropy).to_string()),
            Cell::Text(CertificateId::new(at, entropy).to_string()),
            Cell::Text(serial.chars().take(template.serial.len()).collect()),
            Cell::Text(hex(&entropy.bytes::<32>())),
            Cell::Text(format!("n{n}")),
            Cell::Bytes(random.to_vec()),
        ];
        row.extend((0..most).map(|place| {
            let at = Timestamp::from_millis(millis + place as i64);
            Cell::Text(AuditId::new(at, entropy).to_string())
        }));
        position += template.trail.len() as i64;
        row
    });
    database.copy("bench_plan", OWN + 1 + most, rows);
}

/// By how many of a hundred are of it.
fn kind_of(n: usize) -> usize {
    let mut place = n * 37 % 100;
    for (kind, Kind { percent, .. }) in KINDS.iter().enumerate() {
        if place < *percent {
            return kind;
        }
        place -= percent;
    }
    0
}

/// Every customer has an account at the door of ACME.
fn accounts(database: &mut Database, customers: &[Customer]) {
    let original = database.rows("SELECT * FROM acme_accounts ORDER BY id LIMIT 1").remove(0);
    database.execute(
        "CREATE TABLE bench_customers (acme_id TEXT, reseller_id TEXT, account_id TEXT, kid TEXT, shift BIGINT)",
    );
    let rows = customers.iter().map(|customer| {
        let texts = [&customer.acme, &customer.reseller, &customer.account, &customer.kid];
        texts.into_iter().map(|text| Cell::Text(text.clone())).chain([Cell::Int(0)]).collect()
    });
    database.copy("bench_customers", 5, rows);
    let key = |column: &str| text(&original, column).unwrap().to_owned();
    let keys = vec![
        (key("id"), "acme_id"),
        (key("reseller_id"), "reseller_id"),
        (key("account_id"), "account_id"),
        (key("kid"), "kid"),
    ];
    let own = [("thumbprint", "'stored-' || s.acme_id".to_owned())];
    let original = Original { table: "acme_accounts", row: original };
    let sql = original.copy(database, &keys, &own, "bench_customers", "true");
    database.execute(&sql);
    database.execute("DROP TABLE bench_customers");
}

fn copy(database: &mut Database, templates: &[Template], stored: usize) {
    let shards = database.number("SELECT COUNT(DISTINCT shard) FROM crls WHERE shard >= 0").max(1);
    for from in (0..stored).step_by(CHUNK) {
        database.execute("BEGIN");
        for (kind, template) in templates.iter().enumerate() {
            let condition = format!("s.n >= {from} AND s.n < {} AND s.kind = {kind} ORDER BY s.n", from + CHUNK);
            let own = [("key_hash", "s.key_hash".to_owned()), ("crl_shard", format!("s.n % {shards}"))];
            for row in &template.rows {
                let sql = row.copy(database, &template.keys, &own, "bench_plan", &condition);
                database.execute(&sql);
            }
            for (place, line) in template.trail.iter().enumerate() {
                let position = format!("s.position + {}", place + 1);
                let mut own = vec![("id", format!("s.audit_{place}")), ("position", position.clone())];
                if !database.is_postgres() {
                    // The next position is taken from it.
                    own.push(("rowid", position));
                }
                let sql = line.copy(database, &template.keys, &own, "bench_plan", &condition);
                database.execute(&sql);
            }
        }
        database.execute("COMMIT");
    }
}

/// What the program counts as it goes along.
fn counts(database: &mut Database, now: Timestamp) {
    let (now, today) = (now.as_millis(), now.as_millis() / DAY);
    for table in ["issued_per_day", "active_until_day", "usage_days", "usage_marks"] {
        database.execute(&format!("DELETE FROM {table}"));
    }
    database.execute(&format!(
        "INSERT INTO issued_per_day (account_id, day, issued) SELECT account_id, issued_at / {DAY}, COUNT(*)
         FROM certificates WHERE issued_at IS NOT NULL GROUP BY account_id, issued_at / {DAY}"
    ));
    database.execute(&format!(
        "INSERT INTO active_until_day (account_id, day, active) SELECT account_id, not_after / {DAY}, COUNT(*)
         FROM certificates WHERE state = 'issued' AND not_after >= {} GROUP BY account_id, not_after / {DAY}",
        today * DAY
    ));
    database.execute(&format!(
        "INSERT INTO usage_days (reseller_id, day, account_id, profile, issued)
         SELECT reseller_id, issued_at / {DAY}, account_id, profile, COUNT(*) FROM certificates
         WHERE issued_at IS NOT NULL GROUP BY reseller_id, issued_at / {DAY}, account_id, profile"
    ));
    database.execute(&format!("INSERT INTO usage_marks (reseller_id, counted_until) SELECT id, {now} FROM resellers"));
    database.execute("UPDATE crls SET changes = changes + 1");
}

fn known(database: &mut Database, code: &str) -> Vec<Known> {
    let reseller = database.texts(&format!("SELECT id FROM resellers WHERE code = '{code}'")).remove(0);
    let rows = database.rows(&format!(
        "SELECT certificates.id, order_id, account_id, certificates.kid, serial, email, name FROM certificates
         JOIN accounts ON accounts.id = account_id JOIN certificate_names ON certificate_id = certificates.id
         WHERE certificates.reseller_id = '{reseller}' AND state = 'issued' AND email LIKE 'c%'
         ORDER BY serial LIMIT {KNOWN}"
    ));
    let read = |row| {
        let of = |column| text(&row, column).unwrap().to_owned();
        Known {
            account: of("account_id"),
            email: of("email"),
            kid: of("kid"),
            order: of("order_id"),
            certificate: of("id"),
            serial: of("serial"),
            name: of("name"),
        }
    };
    rows.into_iter().map(read).collect()
}
