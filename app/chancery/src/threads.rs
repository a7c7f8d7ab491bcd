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
    pub fn run<T>(&self, work: impl Future<Output = T>) -> T {
        let mut done = None;
        // As an object that gives nothing, whatever it is: the runtime has three ways to wait, and each would be compiled anew
        // with the whole of every command.
        let work: Pin<Box<dyn Future<Output = ()> + '_>> = Box::pin(async { done = Some(work.await) });
        self.0.block_on(work);
        done.expect("work that was run to its end has given something")
    }

    /// Does not wait for what threads are busy with.
    pub fn abandon(self) {
        self.0.shutdown_background();
    }
}
