//! The threads that everything async runs on.

use std::pin::Pin;

use tokio::runtime::{Builder, Runtime};

use crate::failure::Failure;

pub struct Threads(Runtime);

impl Threads {
    pub fn start() -> Result<Self, Failure> {
        let built = Builder::new_multi_thread().enable_all().build();
        built.map(Self).map_err(|error| Failure::failed(format!("cannot start threads: {error}")))
    }

    /// Runs `work` to its end, on the thread that calls.
    pub fn run<'w, T>(&self, work: impl Future<Output = T> + 'w) -> T {
        // As an object: the runtime has three ways to wait, and the whole of every command would be compiled into each.
        let work: Pin<Box<dyn Future<Output = T> + 'w>> = Box::pin(work);
        self.0.block_on(work)
    }

    /// Does not wait for what threads are busy with.
    pub fn abandon(self) {
        self.0.shutdown_background();
    }
}
