//! A unit of work on its way to a connection and its answer on the way back.

use std::any::Any;
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
    /// A few rows by their keys, on the thread that asks where the database allows that.
    Glance,
    /// A few rows by their keys that need not be of one moment, on the thread that asks where the database allows that,
    /// and without a transaction around them.
    Peek,
    Write,
    /// A statement that stands by itself, needs no transaction around it, and need not outlast a crash of the database's
    /// machine; and questions.
    Alone,
}

impl Kind {
    pub(crate) fn only_reads(self) -> bool {
        matches!(self, Self::Read | Self::Glance | Self::Peek)
    }
}

/// A closure that keeps what it said when it was last run, until the transaction around it has ended. Who packed it
/// knows its type, and nobody else has to: hundreds of units would each bring their own way through the store along.
pub(crate) trait Unit: Any + Send {
    /// Runs the closure; `true` when it went well.
    fn call(&mut self, tx: &mut Tx<'_>) -> bool;

    /// Puts an error in the place of what the closure said.
    fn fail(&mut self, error: StoreError);
}

impl dyn Unit {
    /// Runs the closure; `true` when its changes are to be kept. They are not when the database refused something,
    /// even where the closure made light of it.
    pub(crate) fn run(&mut self, tx: &mut Tx<'_>) -> bool {
        // A panic in one unit must not take the writer, and with it everybody else's units, down.
        let error = match catch_unwind(AssertUnwindSafe(|| self.call(tx))) {
            Ok(false) => return false,
            Ok(true) => tx.failed(),
            Err(_) => Some(StoreError::Database("a unit of work panicked".into())),
        };
        let keep = error.is_none();
        if let Some(error) = error {
            self.fail(error);
        }
        keep
    }
}

/// A unit that is done with, and how the transaction around it ended.
pub(crate) struct Settled {
    pub(crate) unit: Box<dyn Unit>,
    pub(crate) commit: Result<(), StoreError>,
}

pub(crate) struct Typed<F, T, E> {
    closure: F,
    result: Option<Result<T, E>>,
}

/// Packs a closure; [`unpack`] gives its result.
pub(crate) fn pack<F, T, E>(closure: F) -> Box<dyn Unit>
where
    F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    Box::new(Typed { closure, result: None })
}

/// The closure's own result, where the commit went well or was not needed.
pub(crate) fn unpack<F, T, E>(mut settled: Settled) -> Result<T, E>
where
    F: 'static,
    T: 'static,
    E: From<StoreError> + 'static,
{
    let unit: &mut dyn Any = settled.unit.as_mut();
    let said = unit.downcast_mut::<Typed<F, T, E>>().and_then(|typed| typed.result.take());
    match trouble(said.as_ref().map(Result::is_ok), settled.commit) {
        Some(error) => Err(error.into()),
        None => said.expect("nothing said is a trouble"),
    }
}

/// What is to be told in place of what a closure said, which went well or did not, or was never run.
fn trouble(went_well: Option<bool>, commit: Result<(), StoreError>) -> Option<StoreError> {
    match (went_well, commit) {
        (Some(_), Ok(())) => None,
        // It was run again in vain: what it says itself is the better told.
        (Some(false), Err(StoreError::Stale { .. })) => None,
        // A refusal may rest on what a neighbour wrote in the same commit: where that failed, nothing is certain.
        (_, Err(error)) => Some(error),
        (None, Ok(())) => Some(StoreError::Database("a unit of work did not run".into())),
    }
}

impl<F, T, E> Unit for Typed<F, T, E>
where
    F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    fn call(&mut self, tx: &mut Tx<'_>) -> bool {
        let result = (self.closure)(tx);
        let well = result.is_ok();
        self.result = Some(result);
        well
    }

    fn fail(&mut self, error: StoreError) {
        self.result = Some(Err(error.into()));
    }
}

/// A unit on its way to another thread, which sends it back.
pub(crate) struct Errand {
    pub(crate) unit: Box<dyn Unit>,
    reply: oneshot::Sender<Settled>,
    turn: Turn,
}

/// Where an errand comes back to.
pub(crate) struct Reply {
    pub(crate) answer: oneshot::Receiver<Settled>,
    pub(crate) turn: Turn,
}

/// Who decides about an errand that waits: the one who begins it, or the one who gives it up.
#[derive(Clone, Default)]
pub(crate) struct Turn(Arc<AtomicBool>);

impl Turn {
    /// True for the first who asks.
    pub(crate) fn take(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }
}

impl Errand {
    pub(crate) fn new(unit: Box<dyn Unit>) -> (Self, Reply) {
        let (reply, answer) = oneshot::channel();
        let turn = Turn::default();
        (Self { unit, reply, turn: turn.clone() }, Reply { answer, turn })
    }

    /// Whether it is still to be done: whoever waits may have given it up, and been told that nothing was kept.
    pub(crate) fn begin(&self) -> bool {
        self.turn.take()
    }

    /// Whether nobody waits for it any more: what would only have been read needs no reading.
    pub(crate) fn is_forsaken(&self) -> bool {
        self.reply.is_closed()
    }

    pub(crate) fn settle(self, commit: Result<(), StoreError>) {
        // Nobody waits any more where the client has gone: the work is done all the same.
        drop(self.reply.send(Settled { unit: self.unit, commit }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Closure = fn(&mut Tx<'_>) -> Result<u32, StoreError>;
    const NOTHING: Closure = |_| Ok(0);

    fn settled(result: Result<u32, StoreError>, commit: Result<(), StoreError>) -> Result<u32, StoreError> {
        let (errand, mut reply) = Errand::new(Box::new(Typed { closure: NOTHING, result: Some(result) }));
        errand.settle(commit);
        unpack::<Closure, _, _>(reply.answer.try_recv().unwrap())
    }

    #[test]
    fn a_unit_is_begun_or_given_up_and_not_both() {
        let (errand, reply) = Errand::new(pack(NOTHING));
        assert!(errand.begin() && !reply.turn.take());
        let (errand, reply) = Errand::new(pack(NOTHING));
        assert!(reply.turn.take() && !errand.begin());
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
