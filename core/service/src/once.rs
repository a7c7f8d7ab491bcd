//! Asking twice under one idempotency key gives the first answer again.
//!
//! The answer is kept in the same unit of work as what it tells of, so a crash cannot part them: either both are
//! there, or neither is and the request can simply be made again.

use std::fmt;
use std::sync::Arc;

use chancery_domain::{ResellerId, Timestamp};
use chancery_store::{StoreError, StoredAnswer, Tx};

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::kernel::Kernel;

/// A key that the caller chose: 1 to 255 printable ASCII characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=255).contains(&text.len()) && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        fits.then(|| Self(text.to_owned()))
    }
}

/// What was answered: a status and a JSON body, in which there may be secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("status", &self.status).finish_non_exhaustive()
    }
}

/// A request that is to happen once: its key, what it says, and how its answer is written.
pub struct Once<T> {
    pub key: IdempotencyKey,
    /// A hash of method, path and body.
    pub fingerprint: [u8; 32],
    pub render: Arc<dyn Fn(&T) -> Answer + Send + Sync>,
}

impl<T> Clone for Once<T> {
    fn clone(&self) -> Self {
        Self { key: self.key.clone(), fingerprint: self.fingerprint, render: self.render.clone() }
    }
}

/// Something new, or the answer that was given before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    Fresh(T),
    Replayed(Answer),
}

impl Kernel {
    /// Runs a unit of work, once per idempotency key where there is one.
    pub(crate) async fn write_once<T, F>(
        self: &Arc<Self>,
        caller: &Caller,
        once: Option<Once<T>>,
        mut unit: F,
    ) -> Result<Outcome<T>, ServiceError>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<T, ServiceError> + Send + 'static,
    {
        let (kernel, reseller) = (self.clone(), caller.reseller);
        self.store_of(reseller).write(move |tx| kernel.do_once(tx, reseller, once.as_ref(), &mut unit)).await
    }

    /// Does something within a unit of work, once per idempotency key where there is one.
    pub(crate) fn do_once<T>(
        &self,
        tx: &mut Tx<'_>,
        reseller: ResellerId,
        once: Option<&Once<T>>,
        mut unit: impl FnMut(&mut Tx<'_>) -> Result<T, ServiceError>,
    ) -> Result<Outcome<T>, ServiceError> {
        let Some(once) = once else { return unit(tx).map(Outcome::Fresh) };
        let now = self.now();
        if let Some(answer) = self.find_answer(tx, reseller, &once.key, &once.fingerprint, now)? {
            return Ok(Outcome::Replayed(answer));
        }
        let made = unit(tx)?;
        self.keep_answer(tx, reseller, &once.key, &once.fingerprint, &(once.render)(&made), now)?;
        Ok(Outcome::Fresh(made))
    }

    fn find_answer(
        &self,
        tx: &mut Tx<'_>,
        reseller: ResellerId,
        key: &IdempotencyKey,
        fingerprint: &[u8; 32],
        now: Timestamp,
    ) -> Result<Option<Answer>, ServiceError> {
        let Some(stored) = tx.answer(reseller, &key.0, self.oldest_answer(now))? else { return Ok(None) };
        if stored.fingerprint != fingerprint {
            return Err(ServiceError::IdempotencyKeyReused);
        }
        let body = self.keyring.open(&context(reseller, key), &stored.sealed).map_err(ServiceError::internal)?;
        Ok(Some(Answer { status: stored.status, body: body.to_vec() }))
    }

    fn keep_answer(
        &self,
        tx: &mut Tx<'_>,
        reseller: ResellerId,
        key: &IdempotencyKey,
        fingerprint: &[u8; 32],
        answer: &Answer,
        now: Timestamp,
    ) -> Result<(), ServiceError> {
        let stored = StoredAnswer {
            fingerprint: fingerprint.to_vec(),
            status: answer.status,
            sealed: self.keyring.seal(&context(reseller, key), &answer.body),
            created_at: now,
        };
        Ok(tx.keep_answer(reseller, &key.0, &stored, self.oldest_answer(now))?)
    }

    fn oldest_answer(&self, now: Timestamp) -> Timestamp {
        now.minus(self.settings.idempotency_window)
    }
}

fn context(reseller: ResellerId, key: &IdempotencyKey) -> String {
    format!("idempotency:{reseller}:{}", key.0)
}

/// The longest refusal that is kept, so that a refused request writes little. One with a longer refusal is judged again.
const LONGEST_REFUSAL: usize = 4 * 1024;

/// Answers that are kept beside the units of work: refusals, which change nothing.
#[derive(Clone)]
pub struct Answers {
    kernel: Arc<Kernel>,
}

impl Answers {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel }
    }

    /// The answer that was given to this key and request before.
    pub async fn find<T: 'static>(&self, caller: &Caller, once: &Once<T>) -> Result<Option<Answer>, ServiceError> {
        let (kernel, reseller, now) = (self.kernel.clone(), caller.reseller, self.kernel.now());
        let (key, fingerprint) = (once.key.clone(), once.fingerprint);
        let unit = move |tx: &mut Tx<'_>| kernel.find_answer(tx, reseller, &key, &fingerprint, now);
        self.kernel.store_of(reseller).read(unit).await
    }

    /// Keeps a refusal, so that the same request is refused in the same words. Where the same request was answered
    /// meanwhile, that answer stays and is given: of two at once, the one that was refused hears what the other made.
    pub async fn keep_refusal<T: 'static>(
        &self,
        caller: &Caller,
        once: &Once<T>,
        refusal: Answer,
    ) -> Result<Option<Answer>, ServiceError> {
        if refusal.body.len() > LONGEST_REFUSAL {
            return self.find(caller, once).await.or_else(|error| match error {
                ServiceError::IdempotencyKeyReused => Ok(None),
                other => Err(other),
            });
        }
        let (kernel, reseller, now) = (self.kernel.clone(), caller.reseller, self.kernel.now());
        let (key, fingerprint) = (once.key.clone(), once.fingerprint);
        let kept = self
            .kernel
            .store_of(reseller)
            .write(move |tx| {
                let first = kernel.find_answer(tx, reseller, &key, &fingerprint, now)?;
                if first.is_none() {
                    kernel.keep_answer(tx, reseller, &key, &fingerprint, &refusal, now)?;
                }
                Ok(first)
            })
            .await;
        match kept {
            // The key is another request's; ours told of nothing that happened.
            Err(ServiceError::IdempotencyKeyReused | ServiceError::Store(StoreError::Stale { .. })) => Ok(None),
            other => other,
        }
    }

    /// Forgets what is too old to be replayed.
    pub async fn sweep(&self) -> Result<u64, ServiceError> {
        const BATCH: u32 = 100;
        let oldest = self.kernel.oldest_answer(self.kernel.now());
        self.kernel.forget(BATCH, move |tx, most| tx.forget_answers(oldest, most)).await
    }
}
