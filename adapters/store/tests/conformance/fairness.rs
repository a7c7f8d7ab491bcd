//! Resellers share the database's time: one whose units take long, or that has many of them, waits for itself.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

use chancery_domain::ResellerId;
use chancery_store::{Options, Store, StoreError, Tx};
use uuid::Uuid;

use crate::common::{Database, Gate, Result};

const HEAVY: u128 = 1;
const LIGHT: u128 = 2;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Read,
    Write,
}

type Queued = Pin<Box<dyn Future<Output = Result> + Send>>;

/// A store with two connections, and the order in which units have run on it.
struct Traced {
    store: Store,
    runs: Arc<Mutex<Vec<u128>>>,
}

impl Traced {
    fn new(db: &Database) -> Self {
        let store = db.another(&Options { connections: 2, ..Options::default() }).unwrap();
        Self { store, runs: Arc::default() }
    }

    fn of(&self, reseller: u128) -> Store {
        self.store.for_reseller(ResellerId::from_uuid(Uuid::from_u128(reseller)))
    }

    /// How many units of a kind run at the same time.
    fn servers(&self, kind: Kind) -> usize {
        if kind == Kind::Write && !self.store.is_shared() { 1 } else { 2 }
    }

    /// Queues a unit of a reseller.
    async fn queue(
        &self,
        reseller: u128,
        kind: Kind,
        mut work: impl FnMut(&mut Tx<'_>) -> Result + Send + 'static,
    ) -> Queued {
        let (store, runs) = (self.of(reseller), self.runs.clone());
        let unit = move |tx: &mut Tx<'_>| {
            runs.lock().unwrap().push(reseller);
            work(tx)
        };
        let mut queued: Queued = Box::pin(async move {
            match kind {
                Kind::Read => store.read(unit).await,
                Kind::Write => store.write(unit).await,
            }
        });
        let is_pending = poll_fn(|context| Poll::Ready(queued.as_mut().poll(context).is_pending())).await;
        assert!(is_pending);
        queued
    }

    /// Occupies every connection with units of the heavy reseller that wait at the gate.
    async fn occupy(&self, kind: Kind, gate: &Arc<Gate>) -> Vec<Queued> {
        let mut queued = Vec::new();
        for _ in 0..self.servers(kind) {
            let gate = gate.clone();
            let wait = move |_: &mut Tx<'_>| {
                gate.pass();
                Ok(())
            };
            queued.push(self.queue(HEAVY, kind, wait).await);
        }
        gate.reached_by(self.servers(kind)).await;
        queued
    }
}

async fn all_done(queued: Vec<Queued>) {
    for unit in queued {
        unit.await.unwrap();
    }
}

/// Asks the database one thing after the other for so long.
fn busy_for(tx: &mut Tx<'_>, time: Duration) -> Result {
    let started = Instant::now();
    while started.elapsed() < time {
        tx.identity_epoch()?;
    }
    Ok(())
}

pub(crate) async fn a_unit_waits_for_one_unit_of_another_reseller(db: Database) {
    for kind in [Kind::Write, Kind::Read] {
        let (traced, gate) = (Traced::new(&db), Arc::new(Gate::default()));
        let mut queued = traced.occupy(kind, &gate).await;
        for _ in 0..200 {
            queued.push(traced.queue(HEAVY, kind, |tx| tx.identity_epoch().map(drop)).await);
        }
        queued.push(traced.queue(LIGHT, kind, |tx| tx.identity_epoch().map(drop)).await);
        gate.open();
        all_done(queued).await;
        let before = traced.runs.lock().unwrap().iter().position(|reseller| *reseller == LIGHT);
        // Two connections take the next unit at the same time.
        assert!(before.is_some_and(|before| before < traced.servers(kind) + 2), "{before:?} ran before it");
    }
}

pub(crate) async fn resellers_share_time_and_not_turns(db: Database) {
    const HEAVY_UNITS: usize = 4;
    for kind in [Kind::Write, Kind::Read] {
        let (traced, gate) = (Traced::new(&db), Arc::new(Gate::default()));
        let mut queued = traced.occupy(kind, &gate).await;
        for _ in 0..HEAVY_UNITS {
            queued.push(traced.queue(HEAVY, kind, |tx| busy_for(tx, Duration::from_millis(100))).await);
        }
        for _ in 0..6 {
            queued.push(traced.queue(LIGHT, kind, |tx| tx.identity_epoch().map(drop)).await);
        }
        gate.open();
        all_done(queued).await;
        let runs = traced.runs.lock().unwrap();
        let before = runs.iter().rposition(|reseller| *reseller == LIGHT).unwrap();
        let heavy = runs[..before].iter().filter(|reseller| **reseller == HEAVY).count() - traced.servers(kind);
        // In turns they would all run before the fifth light one.
        assert!(heavy < HEAVY_UNITS, "light units waited for {heavy} heavy ones: {runs:?}");
    }
}

/// Group commit must not keep a unit that has run from its commit while another reseller's units run.
pub(crate) async fn a_commit_does_not_wait_for_all_units_of_another_reseller(db: Database) {
    const UNITS: usize = 30;
    let (traced, gate) = (Traced::new(&db), Arc::new(Gate::default()));
    let mut queued = traced.occupy(Kind::Write, &gate).await;
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..UNITS {
        let ran = ran.clone();
        let long = move |tx: &mut Tx<'_>| {
            busy_for(tx, Duration::from_millis(25))?;
            ran.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        queued.push(traced.queue(HEAVY, Kind::Write, long).await);
    }
    let light = traced.queue(LIGHT, Kind::Write, |tx| tx.identity_epoch().map(drop)).await;
    gate.open();
    light.await.unwrap();
    let before = ran.load(Ordering::SeqCst);
    assert!(before < UNITS, "it was committed after all of them");
    all_done(queued).await;
}

pub(crate) async fn a_reseller_that_floods_the_queue_leaves_room_for_others(db: Database) {
    for kind in [Kind::Write, Kind::Read] {
        let store = db.another(&Options { connections: 2, queue: 16, ..Options::default() }).unwrap();
        let (traced, gate) = (Traced { store, runs: Arc::default() }, Arc::new(Gate::default()));
        let mut queued = traced.occupy(kind, &gate).await;
        for _ in 0..7 {
            queued.push(traced.queue(HEAVY, kind, |_| Ok(())).await);
        }
        let refused = match kind {
            Kind::Read => traced.of(HEAVY).read(|_| Ok::<_, StoreError>(())).await,
            Kind::Write => traced.of(HEAVY).write(|_| Ok::<_, StoreError>(())).await,
        };
        assert!(matches!(refused, Err(StoreError::QueueFull)), "{refused:?}");
        queued.push(traced.queue(LIGHT, kind, |_| Ok(())).await);
        gate.open();
        all_done(queued).await;
        traced.store.ping().await.unwrap();
    }
}

pub(crate) async fn a_reseller_alone_leaves_connections_to_those_who_arrive(db: Database) {
    let store = db.another(&Options { connections: 8, ..Options::default() }).unwrap();
    let (traced, gate) = (Traced { store, runs: Arc::default() }, Arc::new(Gate::default()));
    let mut queued = Vec::new();
    for _ in 0..8 {
        let gate = gate.clone();
        let wait = move |_: &mut Tx<'_>| {
            gate.pass();
            Ok(())
        };
        queued.push(traced.queue(HEAVY, Kind::Read, wait).await);
    }
    gate.reached_by(6).await;
    traced.of(LIGHT).read(|_| Ok::<_, StoreError>(())).await.unwrap();
    gate.open();
    all_done(queued).await;
}
