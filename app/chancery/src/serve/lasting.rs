//! Work without which there is no service. It goes on until it is told to stop, and has something to write down then.

use std::collections::HashMap;
use std::time::Duration;

use tokio::task::{Id, JoinSet};

#[derive(Default)]
pub struct Lasting {
    tasks: JoinSet<()>,
    /// Of those that have not ended.
    names: HashMap<Id, &'static str>,
}

impl Lasting {
    pub fn spawn(&mut self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        let id = self.tasks.spawn(work).id();
        self.names.insert(id, name);
    }

    /// Completes with the name of one that has ended; before they were told to, that is by a fault.
    pub async fn one_ends(&mut self) -> &'static str {
        match self.next().await {
            Some(name) => name,
            None => std::future::pending().await,
        }
    }

    /// Waits until all have ended. A database that does not answer must not keep the process.
    pub async fn end_within(mut self, patience: Duration) {
        let all = async { while self.next().await.is_some() {} };
        if tokio::time::timeout(patience, all).await.is_err() {
            let left: Vec<_> = self.names.values().copied().collect();
            tracing::error!(left = left.join(", "), "gave up waiting for what is to be written at the end");
        }
    }

    async fn next(&mut self) -> Option<&'static str> {
        let ended = self.tasks.join_next_with_id().await?;
        let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
        self.names.remove(&id)
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn who_ends_is_named_also_by_a_panic() {
        let mut lasting = Lasting::default();
        lasting.spawn("stays", pending());
        lasting.spawn("panics", async { panic!("on purpose") });
        assert_eq!(lasting.one_ends().await, "panics");
        lasting.spawn("returns", async {});
        assert_eq!(lasting.one_ends().await, "returns");
        assert_eq!(lasting.names.into_values().collect::<Vec<_>>(), ["stays"]);
    }

    #[tokio::test]
    async fn the_end_is_waited_for_and_not_for_ever() {
        let (begun, mut ended) = tokio::sync::oneshot::channel();
        let mut lasting = Lasting::default();
        lasting.spawn("a moment", async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            begun.send(()).unwrap();
        });
        lasting.end_within(Duration::from_secs(60)).await;
        assert!(ended.try_recv().is_ok());
        let mut lasting = Lasting::default();
        lasting.spawn("stays", pending());
        lasting.end_within(Duration::from_millis(20)).await;
    }
}
