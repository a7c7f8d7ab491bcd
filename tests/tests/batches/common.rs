use std::time::Duration;

use chancery_domain::{OrderStatus, PageRequest};
use chancery_service::JobKind;
use chancery_store::{AuditFilter, AuditRecord, OrderFilter, Tx};
use chancery_testkit::Address;
use chancery_tests::{Tenant, World};

/// A hundred dependent rows, and what goes with them: the thing itself, a counter, a line in the audit trail, the job.
const MOST_ROWS: u64 = 105;

/// That no transaction since the last look has changed more rows than one may.
#[track_caller]
pub(crate) fn small_transactions(world: &World) {
    let rows = world.store.take_write_peaks().rows;
    assert!((1..=MOST_ROWS).contains(&rows), "one transaction has changed {rows} rows");
}

/// How many orders of a tenant are in this state, as their rows say.
pub(crate) async fn orders(world: &World, tenant: &Tenant, status: OrderStatus) -> usize {
    let (code, now) = (tenant.code.clone(), world.services.now());
    let count = move |tx: &mut Tx<'_>| {
        let reseller = tx.reseller_by_code(&code)?.expect("it is there").id;
        let filter = OrderFilter { account: None, external_id: None, status: Some(status), now };
        let mut page = PageRequest { after: None, limit: 1000 };
        let mut count = 0;
        loop {
            let found = tx.orders(reseller, &filter, &page)?;
            count += found.items.len();
            page.after = found.next;
            if page.after.is_none() {
                return Ok::<_, chancery_store::StoreError>(count);
            }
        }
    };
    world.store.read(count).await.unwrap()
}

/// The lines of the audit trail about an action, newest first.
pub(crate) async fn trail(world: &World, action: &str) -> Vec<AuditRecord> {
    let filter = AuditFilter { action: Some(action.to_owned()), ..AuditFilter::default() };
    world.services.audit.list(filter, PageRequest { after: None, limit: 100_000 }).await.unwrap()
}

/// How many cascades are under way.
pub(crate) async fn cascades(world: &World) -> i64 {
    let queues = world.services.jobs.backlog().await.unwrap();
    queues.iter().find(|queue| queue.kind == JobKind::Cascade).unwrap().jobs
}

/// Has a worker do what is left.
pub(crate) async fn finish(world: &World) {
    world.work(None).await;
    assert_eq!(cascades(world).await, 0);
}

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// Has the database run a trigger for each row: SQL for SQLite, and the body of a function for PostgreSQL.
pub(crate) async fn add_trigger(world: &World, name: &str, when: &str, sqlite: &str, postgres: &str) {
    let to_sqlite = format!("CREATE TRIGGER {name} {when} FOR EACH ROW {sqlite}");
    let to_postgres = format!(
        "CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {postgres} END $$;
         CREATE TRIGGER {name} {when} FOR EACH ROW EXECUTE FUNCTION {name}();"
    );
    run_sql(world, to_sqlite, to_postgres).await;
}

/// Refuses every statement that reaches a row of a table so; `drop_trigger` ends that.
pub(crate) async fn refuse(world: &World, when: &str) {
    let sqlite = "BEGIN SELECT RAISE(ABORT, 'refused'); END";
    add_trigger(world, "refuse", when, sqlite, "RAISE EXCEPTION 'refused';").await;
}

pub(crate) async fn drop_trigger(world: &World, name: &str, table: &str) {
    let to_postgres = format!("DROP TRIGGER {name} ON {table}; DROP FUNCTION {name}();");
    run_sql(world, format!("DROP TRIGGER {name}"), to_postgres).await;
}

async fn run_sql(world: &World, sqlite: String, postgres: String) {
    let address = world.store.address();
    let run = move || match address {
        Address::Sqlite(path) => rusqlite::Connection::open(path).unwrap().execute_batch(&sqlite).unwrap(),
        Address::Postgres(url) => {
            let mut client = ::postgres::Client::connect(&url, ::postgres::NoTls).unwrap();
            client.batch_execute(&postgres).unwrap();
        }
    };
    tokio::task::spawn_blocking(run).await.unwrap();
}
