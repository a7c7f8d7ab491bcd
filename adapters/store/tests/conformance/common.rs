//! What the cases share: a database, shortcuts to fill it, and ways to make units of work meet.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};
use std::{future::Future, thread};

use chancery_domain::{Account, Client, Group, Policy, Reseller, ResellerId};
use chancery_store::{DatabaseUrl, StoreError, Tx};
use chancery_testkit::postgres::TestDatabase;
use chancery_testkit::{Address, Builders, TestStore};

pub(crate) type Result<T = ()> = std::result::Result<T, StoreError>;

/// A store on a database of its own, and what to fill it with.
pub(crate) struct Database {
    store: TestStore,
    pub(crate) make: Builders,
}

impl Deref for Database {
    type Target = TestStore;

    fn deref(&self) -> &TestStore {
        &self.store
    }
}

pub(crate) fn on_sqlite<F: Future<Output = ()>>(case: impl FnOnce(Database) -> F) {
    run(case, TestStore::sqlite());
}

pub(crate) fn on_postgres<F: Future<Output = ()>>(case: impl FnOnce(Database) -> F) {
    if let Some(store) = TestStore::postgres() {
        run(case, store);
    }
}

fn run<F: Future<Output = ()>>(case: impl FnOnce(Database) -> F, store: TestStore) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    runtime.block_on(case(Database { store, make: Builders::seeded(1) }));
}

impl Database {
    /// Changes something and insists that it works.
    pub(crate) async fn put<T: Send + 'static>(
        &self,
        unit: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> T {
        self.write(unit).await.unwrap()
    }

    /// Reads something and insists that it works.
    pub(crate) async fn get<T: Send + 'static>(
        &self,
        unit: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> T {
        self.read(unit).await.unwrap()
    }

    pub(crate) async fn reseller(&self) -> Reseller {
        let reseller = self.make.reseller();
        let stored = reseller.clone();
        assert!(self.put(move |tx| tx.insert_reseller(&stored)).await);
        reseller
    }

    /// A new account of a new reseller.
    pub(crate) async fn some_account(&self) -> Account {
        let reseller = self.reseller().await.id;
        self.account(self.make.account(reseller)).await
    }

    /// Keeps an account and its first credential.
    pub(crate) async fn account(&self, account: Account) -> Account {
        let (stored, root) = (account.clone(), self.make.root_credential(&account));
        self.put(move |tx| {
            assert!(tx.insert_account(&stored)?);
            tx.insert_credential(&root, b"sealed")
        })
        .await;
        account
    }

    /// A new client of a new reseller.
    pub(crate) async fn client(&self) -> Client {
        let client = self.make.client(self.reseller().await.id);
        let stored = client.clone();
        self.put(move |tx| tx.insert_client(&stored)).await;
        client
    }

    pub(crate) async fn group(&self, reseller: ResellerId) -> Group {
        let group = self.make.group(reseller);
        let stored = group.clone();
        assert!(self.put(move |tx| tx.insert_group(&stored)).await);
        group
    }

    pub(crate) async fn policy(&self, reseller: ResellerId) -> Policy {
        let policy = self.make.policy(reseller);
        let stored = policy.clone();
        assert!(self.put(move |tx| tx.insert_policy(&stored)).await);
        policy
    }

    /// The account as it is kept.
    pub(crate) async fn stored(&self, account: &Account) -> Account {
        let (reseller, id) = (account.reseller, account.id);
        self.get(move |tx| tx.account(reseller, id)).await.expect("the account is there")
    }

    /// Runs statements behind the store's back; an error is the database's own words.
    pub(crate) fn raw(&self, sql: &str) -> std::result::Result<(), String> {
        raw(&self.address(), sql)
    }

    /// The first column of what a query finds, as texts, behind the store's back.
    pub(crate) fn raw_texts(&self, sql: &str) -> Vec<String> {
        raw_texts(&self.address(), sql)
    }

    /// An empty database without a schema, beside this one.
    pub(crate) fn blank(&self) -> Blank {
        match self.address() {
            Address::Sqlite(path) => {
                let path = path.with_file_name("blank.db");
                Blank { url: DatabaseUrl::Sqlite(path.clone()), address: Address::Sqlite(path), _kept: None }
            }
            Address::Postgres(_) => {
                let database = TestDatabase::create().expect("the server was there a moment ago");
                let url = database.url().parse().unwrap();
                Blank { url, address: Address::Postgres(database.url().to_owned()), _kept: Some(database) }
            }
        }
    }
}

pub(crate) struct Blank {
    pub(crate) url: DatabaseUrl,
    pub(crate) address: Address,
    _kept: Option<TestDatabase>,
}

pub(crate) fn raw(address: &Address, sql: &str) -> std::result::Result<(), String> {
    match address {
        Address::Sqlite(path) => open(path).execute_batch(sql).map_err(|error| error.to_string()),
        Address::Postgres(url) => off_runtime(|| {
            let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
            client.batch_execute(sql).map_err(|error| format!("{:?}", error.as_db_error()))
        }),
    }
}

pub(crate) fn raw_texts(address: &Address, sql: &str) -> Vec<String> {
    match address {
        Address::Sqlite(path) => {
            let connection = open(path);
            let mut statement = connection.prepare(sql).unwrap();
            statement.query_map([], |row| row.get(0)).unwrap().map(std::result::Result::unwrap).collect()
        }
        Address::Postgres(url) => off_runtime(|| {
            let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
            client.query(sql, &[]).unwrap().iter().map(|row| row.get(0)).collect()
        }),
    }
}

fn open(path: &PathBuf) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(5)).unwrap();
    connection
}

/// The driver blocks, which it may not do on a thread of an async runtime.
fn off_runtime<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(work).join().unwrap())
}

/// A place where units of work stop until they are let through.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    waiting: usize,
    open: bool,
}

/// Long enough for a slow machine, and short of what the test runner allows.
const PATIENCE: Duration = Duration::from_secs(20);

impl Gate {
    /// Called inside a unit: waits until the gate is open.
    pub(crate) fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.waiting += 1;
        let (state, _) = self.changed.wait_timeout_while(state, PATIENCE, |state| !state.open).unwrap();
        assert!(state.open, "nobody opened the gate");
    }

    /// Called outside: waits until a unit stands before the gate.
    pub(crate) async fn reached(&self) {
        self.reached_by(1).await;
    }

    pub(crate) async fn reached_by(&self, units: usize) {
        let started = Instant::now();
        while self.state.lock().unwrap().waiting < units {
            assert!(started.elapsed() < PATIENCE, "nobody came to the gate");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().open = true;
        self.changed.notify_all();
    }
}

/// A point that two units reach before either goes on. Where units run one after the other, as on SQLite, the first
/// waits in vain and goes on alone; a unit that is run again does not stop here a second time.
#[derive(Default)]
pub(crate) struct Meeting {
    arrived: Mutex<usize>,
    changed: Condvar,
}

impl Meeting {
    pub(crate) fn wait(&self) {
        let mut arrived = self.arrived.lock().unwrap();
        *arrived += 1;
        self.changed.notify_all();
        drop(self.changed.wait_timeout_while(arrived, Duration::from_millis(500), |arrived| *arrived < 2).unwrap());
    }
}
