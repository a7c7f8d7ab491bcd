//! Where nonces are taken that the store remembers: those that wait at the same time are taken together, by one statement.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chancery_store::{NonceClaim, Party, Store, StoreError, Tx};
use tokio::sync::oneshot;

/// So many are taken together.
const MOST: usize = 100;

/// Everybody who waits. Whoever comes sends a unit of work; the first of those that is run serves all who wait by then, and the
/// others find nobody left.
#[derive(Clone, Default)]
pub(super) struct Counter(Arc<Mutex<Vec<Waiting>>>);

/// Whether the nonce was fresh, and who speaks.
type Answer = (bool, Option<Party>);

struct Waiting {
    claim: NonceClaim,
    reply: oneshot::Sender<Answer>,
}

impl Counter {
    pub(super) async fn take(&self, store: &Store, claim: NonceClaim) -> Result<Answer, StoreError> {
        let (reply, mut answer) = oneshot::channel();
        self.wait(Waiting { claim, reply });
        let (counter, mut served) = (self.clone(), Vec::new());
        let serve = store.alone(move |tx| counter.serve(&mut served, tx));
        let lost = |_| StoreError::Unavailable("the nonce could not be taken".to_owned());
        tokio::select! {
            biased;
            answer = &mut answer => answer.map_err(lost),
            // Somebody else may be serving this one.
            served = serve => {
                served?;
                answer.await.map_err(lost)
            }
        }
    }

    fn wait(&self, who: Waiting) {
        let mut waiting = self.waiting();
        if waiting.len() == waiting.capacity() {
            // While nobody is served, only those who have gone make room.
            waiting.retain(|waiting| !waiting.reply.is_closed());
        }
        waiting.push(who);
    }

    /// Serves all who wait. After a conflict it is run again, for the same ones.
    fn serve(&self, served: &mut Vec<Waiting>, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        if served.is_empty() {
            let mut waiting = self.waiting();
            let most = waiting.len().min(MOST);
            // Whoever has gone keeps the nonce.
            served.extend(waiting.drain(..most).filter(|waiting| !waiting.reply.is_closed()));
        }
        if served.is_empty() {
            return Ok(());
        }
        let claims: Vec<_> = served.iter().map(|waiting| waiting.claim.clone()).collect();
        let answers = tx.redeem_and_find(&claims)?;
        for (waiting, answer) in served.drain(..).zip(answers) {
            drop(waiting.reply.send(answer));
        }
        Ok(())
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
