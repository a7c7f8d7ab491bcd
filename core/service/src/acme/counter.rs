//! Where nonces are taken that the store remembers: those that wait at the same time are taken together, by one statement.

use std::sync::Arc;

use chancery_store::{NonceClaim, Redeemed, Store, StoreError, Tx};
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// So many are taken together.
const MOST: usize = 100;

/// Everybody who waits. Whoever comes sends a unit of work; the first of those that is run serves all who wait by then, and the
/// others find nobody left. Each serves at least the one who sent it, unless that one was served already. A unit waits in the queue
/// of its sender's reseller, and that reseller is charged for it.
#[derive(Clone, Default)]
pub(super) struct Counter(Arc<Mutex<Line>>);

#[derive(Default)]
struct Line {
    next: u64,
    waiting: Vec<Waiting>,
}

struct Waiting {
    number: u64,
    claim: NonceClaim,
    reply: oneshot::Sender<Redeemed>,
}

impl Counter {
    pub(super) async fn take(&self, store: &Store, claim: NonceClaim) -> Result<Redeemed, StoreError> {
        let (reply, mut answer) = oneshot::channel();
        let number = self.0.lock().join(claim, reply);
        let (counter, mut served) = (self.clone(), Vec::new());
        let serve = store.alone(move |tx| serve(&counter, number, &mut served, tx));
        let trouble = tokio::select! {
            biased;
            answer = &mut answer => return answer.map_err(|_| lost()),
            // Somebody else may be serving this one.
            served = serve => served.err(),
        };
        match trouble {
            Some(trouble) if self.0.lock().leave(number) => Err(trouble),
            Some(trouble) => answer.await.map_err(|_| trouble),
            None => answer.await.map_err(|_| lost()),
        }
    }
}

impl Line {
    fn join(&mut self, claim: NonceClaim, reply: oneshot::Sender<Redeemed>) -> u64 {
        if self.waiting.len() == self.waiting.capacity() {
            // While nobody is served, only those who have gone make room.
            self.forget_gone();
        }
        let number = self.next;
        self.next += 1;
        self.waiting.push(Waiting { number, claim, reply });
        number
    }

    /// Takes out whoever goes; `false` where that one is being served.
    fn leave(&mut self, number: u64) -> bool {
        self.take(number).is_some()
    }

    /// The one with this number, and as many others as can be served together. Whoever has gone keeps the nonce.
    fn next(&mut self, number: u64) -> Vec<Waiting> {
        self.forget_gone();
        let own = self.take(number);
        let others = self.waiting.len().min(MOST - usize::from(own.is_some()));
        own.into_iter().chain(self.waiting.drain(..others)).collect()
    }

    fn take(&mut self, number: u64) -> Option<Waiting> {
        let place = self.waiting.iter().position(|waiting| waiting.number == number)?;
        Some(self.waiting.remove(place))
    }

    fn forget_gone(&mut self) {
        self.waiting.retain(|waiting| !waiting.reply.is_closed());
    }
}

/// Serves all who wait. After a conflict it is run again, for the same ones.
fn serve(counter: &Counter, number: u64, served: &mut Vec<Waiting>, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    if served.is_empty() {
        *served = counter.0.lock().next(number);
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

fn lost() -> StoreError {
    StoreError::Unknown("whether the nonce was taken cannot be told".to_owned())
}

#[cfg(test)]
mod tests {
    use chancery_domain::{AcmeAccountId, Timestamp};

    use super::*;

    fn join(line: &mut Line) -> (u64, oneshot::Receiver<Redeemed>) {
        let account = AcmeAccountId::from_uuid(uuid::Uuid::nil());
        let claim =
            NonceClaim { nonce: "nonce".to_owned(), expires_at: Timestamp::from_secs(0), generation: 0, account };
        let (reply, answer) = oneshot::channel();
        (line.join(claim, reply), answer)
    }

    fn numbers(served: &[Waiting]) -> Vec<u64> {
        served.iter().map(|waiting| waiting.number).collect()
    }

    #[test]
    fn a_unit_serves_its_own_and_those_who_wait() {
        let mut line = Line::default();
        let all: Vec<_> = (0..MOST + 20).map(|_| join(&mut line)).collect();
        let (last, _) = all.last().unwrap();
        let served = numbers(&line.next(*last));
        assert_eq!((served.len(), served[0]), (MOST, *last));
        assert_eq!(line.next(0).len(), 20);
        assert!(line.next(1).is_empty());
    }

    #[test]
    fn those_who_have_gone_are_in_nobodys_way() {
        let mut line = Line::default();
        for _ in 0..10 * MOST {
            drop(join(&mut line));
        }
        let (number, _answer) = join(&mut line);
        assert_eq!(numbers(&line.next(number)), [number]);
        let (number, _answer) = join(&mut line);
        assert!(line.leave(number) && !line.leave(number) && line.waiting.capacity() <= MOST);
    }
}
