//! What a request costs: bytes answered, rows changed by its largest transaction, bytes stored.

use chancery_testkit::Address;
use chancery_tests::{Reply, World};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::{MAX_REFUSAL, MAX_RESPONSE, MAX_ROWS};

/// What is expected of a request.
#[derive(Clone, Copy)]
pub(crate) struct Expected {
    pub(crate) status: u16,
    /// The limit that the refusal names.
    pub(crate) limit: Option<&'static str>,
    /// The most rows that its largest transaction changes.
    pub(crate) rows: u64,
}

impl Expected {
    pub(crate) fn status(status: u16) -> Self {
        Self { status, limit: None, rows: MAX_ROWS }
    }

    fn is_refusal(self) -> bool {
        self.status >= 400
    }
}

/// The cost of one request.
#[derive(Debug)]
pub(crate) struct Cost {
    pub(crate) response: usize,
    /// Rows changed by the largest transaction.
    pub(crate) rows: u64,
    /// Bytes by which the contents of all tables grew. Counted for expected refusals only: it reads every table.
    pub(crate) stored: i64,
}

/// Runs a request to its end, including the audit record of a refusal, and measures it.
pub(crate) async fn measure(world: &World, expected: Expected, request: impl Future<Output = Reply>) -> (Reply, Cost) {
    let before = if expected.is_refusal() { stored(world).await } else { 0 };
    world.store.take_write_peaks();
    let audit = AuditWriter::start(world);
    let reply = request.await;
    audit.stop().await;
    let rows = world.store.take_write_peaks().rows;
    let after = if expected.is_refusal() { stored(world).await } else { 0 };
    let cost = Cost { response: reply.body.len(), rows, stored: after - before };
    (reply, cost)
}

impl Cost {
    /// The bounds that this request exceeds.
    fn exceeded(&self, expected: Expected) -> Option<String> {
        let stored = u64::try_from(self.stored).unwrap_or(0);
        let Self { response, rows, .. } = self;
        if *response > MAX_RESPONSE {
            Some(format!("{response} bytes in the response"))
        } else if *rows > expected.rows {
            Some(format!("{rows} rows in one transaction"))
        } else if stored > MAX_REFUSAL {
            Some(format!("refused, and {stored} bytes stored"))
        } else {
            None
        }
    }
}

/// The requests that did not end as expected, or exceeded a bound.
#[derive(Default)]
pub(crate) struct Findings(Vec<String>);

impl Findings {
    /// Measures a request and checks it.
    pub(crate) async fn send(
        &mut self,
        world: &World,
        name: &str,
        expected: Expected,
        request: impl Future<Output = Reply>,
    ) -> Reply {
        let (reply, cost) = measure(world, expected, request).await;
        self.check(name, expected, &reply, &cost);
        reply
    }

    /// Checks the status, the bounds and, if one is expected, the limit that a refusal names.
    pub(crate) fn check(&mut self, name: &str, expected: Expected, reply: &Reply, cost: &Cost) {
        let status = expected.status;
        let text: String = reply.text().chars().take(300).collect();
        if reply.status.as_u16() != status {
            self.0.push(format!("{name}: {} instead of {status}: {text}", reply.status));
        }
        if let Some(exceeded) = cost.exceeded(expected) {
            self.0.push(format!("{name}: {exceeded}"));
        }
        if let Some(limit) = expected.limit.filter(|limit| !reply.text().contains(&format!("\"limit\":\"{limit}\""))) {
            self.0.push(format!("{name}: the limit {limit} is not named: {text}"));
        }
    }

    /// Checks that a page of 1,000 items ended because of its bytes: it has fewer items, and a cursor to the others.
    pub(crate) fn require_full_page(&mut self, name: &str, reply: &Reply) {
        let page = reply.json();
        let items = page["items"].as_array().map_or(0, Vec::len);
        if items == 0 || items >= 1000 || !page["nextCursor"].is_string() {
            self.0.push(format!("{name}: the page has all {items} items in {} bytes", reply.body.len()));
        }
    }

    /// Fails if there is any.
    #[track_caller]
    pub(crate) fn assert_none(&self) {
        assert!(self.0.is_empty(), "{:#?}", self.0);
    }
}

/// Writes audit records of refusals until stopped.
struct AuditWriter {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl AuditWriter {
    fn start(world: &World) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let audit = world.services.audit.clone();
        let task = tokio::spawn(async move { audit.run(async { drop(stopped.await) }).await });
        Self { stop, task }
    }

    /// Returns once all refusals so far are written.
    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap();
    }
}

/// The bytes of all values in all tables.
async fn stored(world: &World) -> i64 {
    let address = world.store.address();
    let count = move || match address {
        Address::Sqlite(path) => sqlite_bytes(&rusqlite::Connection::open(path).unwrap()),
        Address::Postgres(url) => postgres_bytes(&mut ::postgres::Client::connect(&url, ::postgres::NoTls).unwrap()),
    };
    tokio::task::spawn_blocking(count).await.unwrap()
}

fn sqlite_bytes(connection: &rusqlite::Connection) -> i64 {
    let texts = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    };
    let tables = texts("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    let bytes = tables.iter().map(|table| {
        let columns = texts(&format!("SELECT name FROM pragma_table_info('{table}')"));
        let lengths = columns.iter().map(|column| format!("COALESCE(LENGTH(CAST(\"{column}\" AS BLOB)), 0)"));
        let sum = format!("SELECT COALESCE(SUM({}), 0) FROM \"{table}\"", lengths.collect::<Vec<_>>().join(" + "));
        connection.query_row(&sum, [], |row| row.get::<_, i64>(0)).unwrap()
    });
    bytes.sum()
}

fn postgres_bytes(client: &mut ::postgres::Client) -> i64 {
    let sql = "SELECT table_name::text FROM information_schema.tables WHERE table_schema = current_schema()
               AND table_type = 'BASE TABLE'";
    let tables: Vec<String> = client.query(sql, &[]).unwrap().iter().map(|row| row.get(0)).collect();
    let bytes = tables.iter().map(|table| {
        let sum = format!("SELECT COALESCE(SUM(OCTET_LENGTH(t::text)), 0)::bigint FROM \"{table}\" AS t");
        client.query_one(&sum, &[]).unwrap().get::<_, i64>(0)
    });
    bytes.sum()
}
