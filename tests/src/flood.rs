//! A tenant that floods the database.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use chancery_domain::ResellerId;
use chancery_store::{Store, StoreError, Tx};
use futures_util::FutureExt;

/// Units of work of one tenant that occupy as many threads of a store as one tenant may and fill the tenant's share of its queues, until this is
/// dropped. On SQLite, reads on the calling thread go on.
pub struct Flood {
    gate: Arc<Gate>,
    _units: Vec<Unit>,
}

type Unit = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

#[derive(Default)]
struct Gate {
    reached: AtomicUsize,
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn pass(&self) {
        self.reached.fetch_add(1, Ordering::SeqCst);
        drop(
            self.opened
                .wait_while(self.is_open.lock().expect("no thread panics with the lock"), |is_open| !*is_open)
                .expect("no thread panics with the lock"),
        );
    }
}

impl Flood {
    pub async fn of(store: &Store, reseller: ResellerId) -> Self {
        Self::on(store.for_reseller(reseller)).await
    }

    /// The flood of clients that are not authenticated.
    pub async fn of_strangers(store: &Store) -> Self {
        Self::on(store.for_anonymous()).await
    }

    async fn on(store: Store) -> Self {
        let gate = Arc::new(Gate::default());
        // A quarter of the connections does not serve one tenant alone.
        let share = store.connections() - store.connections() / 4;
        let threads = share + usize::from(!store.is_shared());
        let mut units = Vec::new();
        for thread in 0..threads {
            let gate = gate.clone();
            let unit = unit(&store, thread == 0, move |_| {
                gate.pass();
                Ok(())
            });
            units.extend(queue(unit).ok());
        }
        while gate.reached.load(Ordering::SeqCst) < threads {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        for writes in [true, false] {
            while let Ok(unit) = queue(unit(&store, writes, |_| Ok(()))) {
                units.push(unit);
            }
        }
        Self { gate, _units: units }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        *self.gate.is_open.lock().expect("no thread panics with the lock") = true;
        self.gate.opened.notify_all();
    }
}

fn unit(store: &Store, writes: bool, work: impl FnMut(&mut Tx<'_>) -> Result<(), StoreError> + Send + 'static) -> Unit {
    let store = store.clone();
    Box::pin(async move { if writes { store.write(work).await } else { store.read(work).await } })
}

/// Hands a unit to the store, which may refuse it at once.
fn queue(mut unit: Unit) -> Result<Unit, StoreError> {
    match (&mut unit).now_or_never() {
        None | Some(Ok(())) => Ok(unit),
        Some(Err(refused)) => Err(refused),
    }
}
