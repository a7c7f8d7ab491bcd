//! A unit of work on its way to a connection and its answer on the way back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::oneshot;

use crate::error::StoreError;
use crate::tx::Tx;

/// What a unit of work does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    /// Reads that need not be of one moment, and so no transaction around them.
    Peek,
    Write,
    /// One statement that stands by itself, needs no transaction around it, and need not outlast a crash of the
    /// database's machine.
    Alone,
}

impl Kind {
    pub(crate) fn only_reads(self) -> bool {
        matches!(self, Self::Read | Self::Peek)
    }
}

/// A closure whose result waits until the transaction around it has ended.
pub(crate) trait Unit: Send {
    /// Whether it is still to be done: whoever waits may have given it up, and been told that nothing was kept.
    fn begin(&self) -> bool;

    /// Runs the closure; `true` when its changes are to be kept. They are not when the database refused something,
    /// even where the closure made light of it.
    fn run(&mut self, tx: &mut Tx<'_>) -> bool;

    /// Hands over the result: the closure's own where the commit went well or was not needed.
    fn settle(self: Box<Self>, commit: Result<(), StoreError>);
}

pub(crate) struct Typed<F, T, E> {
    closure: F,
    result: Option<Result<T, E>>,
    reply: oneshot::Sender<Result<T, E>>,
    turn: Turn,
}

/// Who decides about a unit that waits: the one who begins it, or the one who gives it up.
#[derive(Clone, Default)]
pub(crate) struct Turn(Arc<AtomicBool>);

impl Turn {
    /// True for the first who asks.
    pub(crate) fn take(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }
}

/// A unit's answer, some time later.
pub(crate) struct Reply<T, E> {
    pub(crate) answer: oneshot::Receiver<Result<T, E>>,
    pub(crate) turn: Turn,
}

/// Packs a closure; the receiver gets its result.
pub(crate) fn pack<F, T, E>(closure: F) -> (Box<dyn Unit>, Reply<T, E>)
where
    F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    let (reply, answer) = oneshot::channel();
    let turn = Turn::default();
    (Box::new(Typed { closure, result: None, reply, turn: turn.clone() }), Reply { answer, turn })
}

impl<F, T, E> Unit for Typed<F, T, E>
where
    F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send,
    T: Send,
    E: From<StoreError> + Send,
{
    fn begin(&self) -> bool {
        self.turn.take()
    }

    fn run(&mut self, tx: &mut Tx<'_>) -> bool {
        // A panic in one unit must not take the writer, and with it everybody else's units, down.
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.closure)(tx)));
        let result = outcome.unwrap_or_else(|_| Err(StoreError::Database("a unit of work panicked".into()).into()));
        let result = result.and_then(|value| tx.failed().map_or(Ok(value), |error| Err(error.into())));
        let keep = result.is_ok();
        self.result = Some(result);
        keep
    }

    fn settle(self: Box<Self>, commit: Result<(), StoreError>) {
        let result = match (self.result, commit) {
            (Some(Ok(value)), Ok(())) => Ok(value),
            // It was run again in vain: what it says itself is the better told.
            (Some(Err(error)), Err(StoreError::Stale { .. })) => Err(error),
            // A refusal may rest on what a neighbour wrote in the same commit: where that failed, nothing is certain.
            (_, Err(error)) => Err(error.into()),
            (Some(Err(error)), Ok(())) => Err(error),
            (None, Ok(())) => Err(StoreError::Database("a unit of work did not run".into()).into()),
        };
        // Nobody waits any more where the client has gone: the work is done all the same.
        drop(self.reply.send(result));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(result: Result<u32, StoreError>, commit: Result<(), StoreError>) -> Result<u32, StoreError> {
        let (reply, mut receiver) = oneshot::channel();
        let closure = |_: &mut Tx<'_>| Ok::<_, StoreError>(0);
        Box::new(Typed { closure, result: Some(result), reply, turn: Turn::default() }).settle(commit);
        receiver.try_recv().unwrap()
    }

    #[test]
    fn a_unit_is_begun_or_given_up_and_not_both() {
        let (unit, reply) = pack(|_: &mut Tx<'_>| Ok::<_, StoreError>(0));
        assert!(unit.begin() && !reply.turn.take());
        let (unit, reply) = pack(|_: &mut Tx<'_>| Ok::<_, StoreError>(0));
        assert!(reply.turn.take() && !unit.begin());
    }

    #[test]
    fn nothing_is_certain_where_the_commit_failed() {
        let lost = || StoreError::Unavailable("the disk is full".to_owned());
        let refused = || StoreError::Database("taken".into());
        assert_eq!(settled(Ok(7), Ok(())).unwrap(), 7);
        assert!(matches!(settled(Err(refused()), Ok(())), Err(StoreError::Database(_))));
        // A refusal may rest on what a neighbour wrote in the very commit that failed.
        assert!(matches!(settled(Err(refused()), Err(lost())), Err(StoreError::Unavailable(_))));
        assert!(matches!(settled(Ok(7), Err(lost())), Err(StoreError::Unavailable(_))));
    }
}
