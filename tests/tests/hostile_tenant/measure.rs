//! What a request costs: bytes answered, rows changed by its largest transaction, bytes stored.

use chancery_testkit::Address;
use chancery_tests::{Reply, World};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::{MAX_REFUSAL, MAX_RESPONSE, MAX_ROWS};

/// The cost of one request.
#[derive(Debug)]
pub(crate) struct Cost {
    pub(crate) response: usize,
    /// Rows changed by the largest transaction.
    pub(crate) rows: u64,
    /// Bytes by which the contents of all tables grew.
    pub(crate) stored: i64,
}

/// Runs a request to its end, including the audit record of a refusal, and measures it.
pub(crate) async fn measure(world: &World, request: impl Future<Output = Reply>) -> (Reply, Cost) {
    let before = stored(world).await;
    world.store.take_write_peaks();
    let audit = AuditWriter::start(world);
    let reply = request.await;
    audit.stop().await;
    let rows = world.store.take_write_peaks().rows;
    let cost = Cost { response: reply.body.len(), rows, stored: stored(world).await - before };
    (reply, cost)
}

impl Cost {
    /// The bounds that hold for every request, as far as this one exceeds them.
    pub(crate) fn exceeded(&self, reply: &Reply) -> Option<String> {
        let stored = u64::try_from(self.stored).unwrap_or(0);
        let is_refusal = reply.status.is_client_error() || reply.status.is_server_error();
        let Self { response, rows, .. } = self;
        if *response > MAX_RESPONSE {
            Some(format!("{response} bytes in the response"))
        } else if *rows > MAX_ROWS {
            Some(format!("{rows} rows in one transaction"))
        } else if is_refusal && stored > MAX_REFUSAL {
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
    /// Checks the status, the bounds and, if one is expected, the limit that a refusal names.
    pub(crate) fn check(&mut self, name: &str, status: u16, limit: Option<&str>, (reply, cost): &(Reply, Cost)) {
        let text: String = reply.text().chars().take(300).collect();
        if reply.status.as_u16() != status {
            self.0.push(format!("{name}: {} instead of {status}: {text}", reply.status));
        }
        if let Some(exceeded) = cost.exceeded(reply) {
            self.0.push(format!("{name}: {exceeded}"));
        }
        if let Some(limit) = limit.filter(|limit| !reply.text().contains(&format!("\"limit\":\"{limit}\""))) {
            self.0.push(format!("{name}: the limit {limit} is not named: {text}"));
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
