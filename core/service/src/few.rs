//! Many things that take their time, a few of them at once.

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

/// What becomes of each, in their order; none of those that are not done by `end`. What is under way then is given up.
pub(crate) async fn few_at_a_time<T: Send + 'static>(
    most: usize,
    end: Instant,
    things: impl IntoIterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Vec<Option<T>> {
    let mut waiting = things.into_iter().enumerate();
    let (mut done, mut under_way) = (Vec::new(), JoinSet::new());
    loop {
        while under_way.len() < most
            && let Some((place, thing)) = waiting.next()
        {
            done.push(None);
            under_way.spawn(async move { (place, thing.await) });
        }
        match timeout_at(end, under_way.join_next()).await {
            Ok(Some(Ok((place, what)))) => done[place] = Some(what),
            Ok(Some(Err(error))) => tracing::error!(%error, "one of several things did not end"),
            // All are done, or there is no time left.
            Ok(None) | Err(_) => break,
        }
    }
    done.extend(waiting.map(|_| None));
    done
}
