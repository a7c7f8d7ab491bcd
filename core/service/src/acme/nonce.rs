//! Nonces (RFC 8555 section 6.5): made without the store, by any node, and taken at most once by all of them together.
//!
//! Where several nodes share a database, it remembers which nonces were taken. Where one process has it to itself, that
//! process remembers, and takes no nonce that was made before it started.
//!
//! A database that crashed, or failed over to a standby, may have lost the last of those records. So each nonce names the
//! generation that it was issued in, the database ends a generation whenever it recovers, and redeems no nonce of an earlier one.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use aws_lc_rs::{constant_time, hmac};
use chancery_domain::{AcmeAccountId, Entropy, ResellerId, Timestamp};
use chancery_store::{NonceClaim, Party, Redeemed, Redemption, Store, StoreError, Tx};
use data_encoding::BASE64URL_NOPAD;

use super::counter::Counter;
use super::spent::{Spent, Taking};
use super::{Acme, AcmeError};
use crate::error::ServiceError;

/// How long a nonce can be used. Some clients keep one while a person does something.
const LIFETIME: Duration = Duration::from_secs(3600);
/// How far clocks of nodes may be apart, and how long a write may take.
const LEEWAY: Duration = Duration::from_secs(600);
/// Nonces forgotten with one commit.
const BATCH: u32 = 100;

/// A nonce is the time, where it was issued, a number, and a tag that only we can make.
const TIME: usize = 8;
const SOURCE: usize = 8;
const NUMBER: usize = 8;
const TAG: usize = 16;

pub(crate) struct Nonces {
    key: hmac::Key,
    memory: Memory,
}

/// Who remembers which nonces were taken.
enum Memory {
    Store(Shared),
    /// This process, under a name of its own.
    Process([u8; SOURCE], Spent),
}

/// Nonces that the store remembers.
struct Shared {
    counter: Counter,
    /// The generation that nonces are issued in: the current one, as far as this node knows.
    generation: AtomicI64,
}

/// A nonce of ours that was not too old when it came, and may have been taken already.
pub struct Nonce {
    text: String,
    ends: Timestamp,
    /// The process that issued it, or the generation.
    source: [u8; SOURCE],
    /// Which of that process's it is. Where the store remembers, the number is random.
    number: u64,
}

impl Nonce {
    fn generation(&self) -> i64 {
        i64::from_be_bytes(self.source)
    }
}

const USED: AcmeError =
    AcmeError::BadNonce("the nonce was used before; use the one in the header Replay-Nonce of this answer");
const OLD: AcmeError =
    AcmeError::BadNonce("the nonce is too old; use the one in the header Replay-Nonce of this answer");
const OUTDATED: AcmeError = AcmeError::BadNonce(
    "the database has recovered since the nonce was made; use the one in the header Replay-Nonce of this answer",
);

impl Nonces {
    /// Nonces that any node can take, and that the store remembers; `generation` is the current one.
    pub(crate) fn of_many(key: hmac::Key, generation: i64) -> Self {
        let shared = Shared { counter: Counter::default(), generation: AtomicI64::new(generation) };
        Self { key, memory: Memory::Store(shared) }
    }

    /// Nonces of this process alone.
    pub(crate) fn of_one(key: hmac::Key, entropy: &dyn Entropy) -> Self {
        Self { key, memory: Memory::Process(entropy.bytes(), Spent::new()) }
    }

    fn make(&self, entropy: &dyn Entropy, now: Timestamp) -> String {
        let (source, number) = match &self.memory {
            Memory::Store(shared) => (shared.generation.load(Ordering::Relaxed).to_be_bytes(), entropy.bytes()),
            Memory::Process(name, spent) => (*name, spent.next().to_be_bytes()),
        };
        let mut bytes = [now.as_millis().to_be_bytes(), source, number].concat();
        let tag = hmac::sign(&self.key, &bytes);
        bytes.extend_from_slice(&tag.as_ref()[..TAG]);
        BASE64URL_NOPAD.encode(&bytes)
    }

    /// The nonce, if it is ours and not too old.
    fn check(&self, nonce: &str, now: Timestamp) -> Result<Nonce, AcmeError> {
        const NOT_OURS: AcmeError =
            AcmeError::BadNonce("the nonce is not one of ours; use the one in the header Replay-Nonce of this answer");
        const OF_ANOTHER: AcmeError = AcmeError::BadNonce(
            "the service was started anew since it made the nonce; use the one in the header Replay-Nonce of this answer",
        );
        let bytes = BASE64URL_NOPAD.decode(nonce.as_bytes()).map_err(|_| NOT_OURS)?;
        let (said, tag) = bytes.split_at_checked(TIME + SOURCE + NUMBER).ok_or(NOT_OURS)?;
        let own = hmac::sign(&self.key, said);
        constant_time::verify_slices_are_equal(tag, &own.as_ref()[..TAG]).map_err(|_| NOT_OURS)?;
        let (made, said) = said.split_first_chunk().ok_or(NOT_OURS)?;
        let (source, number) = said.split_first_chunk().ok_or(NOT_OURS)?;
        let number = u64::from_be_bytes(number.try_into().map_err(|_| NOT_OURS)?);
        let ends = Timestamp::from_millis(i64::from_be_bytes(*made)).plus(LIFETIME);
        if now >= ends {
            return Err(OLD);
        }
        match &self.memory {
            Memory::Process(own, _) if own != source => Err(OF_ANOTHER),
            Memory::Process(..) | Memory::Store(_) => {
                Ok(Nonce { text: nonce.to_owned(), ends, source: *source, number })
            }
        }
    }
}

/// The current generation of nonces; a new one if the database has recovered since the last was started.
pub(crate) async fn start_generation(store: &Store, entropy: &dyn Entropy) -> Result<i64, StoreError> {
    let fresh = i64::from_be_bytes(entropy.bytes());
    store.write(move |tx| tx.nonce_generation_or_start(fresh)).await
}

impl Acme {
    /// A nonce that was never given out before.
    pub fn new_nonce(&self) -> String {
        self.kernel.nonces.make(self.kernel.entropy.as_ref(), self.kernel.now())
    }

    /// Checks that a nonce is one of ours and not too old, before anything that costs more. Whether it was taken already is not
    /// known yet.
    pub fn check_nonce(&self, nonce: &str) -> Result<Nonce, ServiceError> {
        Ok(self.kernel.nonces.check(nonce, self.kernel.now())?)
    }

    /// Takes the nonce of a request whose signature was verified with the key that it brought; the second time it is refused.
    pub async fn take_nonce(&self, nonce: Nonce) -> Result<(), ServiceError> {
        match &self.kernel.nonces.memory {
            Memory::Process(_, spent) => match spent.take(nonce.number) {
                Taking::Taken => Ok(()),
                Taking::UsedBefore => Err(USED.into()),
                Taking::TooOld => Err(OLD.into()),
            },
            Memory::Store(shared) => {
                let generation = nonce.generation();
                let redeem = move |tx: &mut Tx<'_>| tx.redeem_nonce(&nonce.text, nonce.ends, generation);
                match self.kernel.anonymous_store().alone(redeem).await? {
                    Redemption::Redeemed => Ok(()),
                    Redemption::Replayed => Err(USED.into()),
                    Redemption::Outdated(current) => Err(self.outdated(shared, current).await),
                }
            }
        }
    }

    /// Takes the nonce of a request that an account of this reseller has signed, and tells who speaks: asked at once where both
    /// are in the database.
    pub(super) async fn take_nonce_and_find(
        &self,
        nonce: Nonce,
        id: AcmeAccountId,
        reseller: ResellerId,
    ) -> Result<Option<Party>, ServiceError> {
        let store = self.kernel.store_of(reseller);
        let Memory::Store(shared) = &self.kernel.nonces.memory else {
            self.take_nonce(nonce).await?;
            return Ok(store.peek(move |tx| tx.party(id)).await?);
        };
        let generation = nonce.generation();
        let claim = NonceClaim { nonce: nonce.text, expires_at: nonce.ends, generation, account: id };
        match shared.counter.take(&store, claim).await? {
            Redeemed::By(party) => Ok(party?),
            Redeemed::Before => Err(USED.into()),
            Redeemed::Outdated(current) => Err(self.outdated(shared, current).await),
        }
    }

    /// Refuses a nonce of an earlier generation, after seeing to it that the nonce which comes with the refusal is of the
    /// current one. If there is none yet, this node starts it.
    async fn outdated(&self, shared: &Shared, current: Option<i64>) -> ServiceError {
        let current = match current {
            Some(current) => current,
            None => match start_generation(&self.kernel.store, self.kernel.entropy.as_ref()).await {
                Ok(started) => started,
                Err(error) => return error.into(),
            },
        };
        if shared.generation.swap(current, Ordering::Relaxed) != current {
            tracing::info!("the database has recovered; earlier nonces are refused");
        }
        OUTDATED.into()
    }

    /// Forgets used nonces that are too old to be taken again; says how many.
    pub async fn sweep(&self) -> Result<u64, ServiceError> {
        // Another node's clock may be behind, and would take them for fresh.
        let now = self.kernel.now().minus(LEEWAY);
        self.kernel.forget(BATCH, move |tx, most| tx.forget_nonces(now, most)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sevens;
    impl Entropy for Sevens {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(7);
        }
    }

    struct Eights;
    impl Entropy for Eights {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(8);
        }
    }

    fn key(byte: u8) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &[byte; 32])
    }

    fn both(byte: u8) -> [Nonces; 2] {
        [Nonces::of_many(key(byte), -7), Nonces::of_one(key(byte), &Sevens)]
    }

    const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);

    #[test]
    fn a_nonce_is_ours_until_it_is_too_old() {
        for nonces in both(1) {
            let nonce = nonces.make(&Sevens, NOW);
            assert!(nonces.check(&nonce, NOW).is_ok_and(|nonce| nonce.ends == NOW.plus(LIFETIME)));
            assert!(nonces.check(&nonce, NOW.plus(LIFETIME)).is_err());
            // The clock of another node may be behind.
            assert!(nonces.check(&nonce, NOW.minus(Duration::from_secs(60))).is_ok());
        }
    }

    #[test]
    fn a_nonce_that_was_altered_or_made_elsewhere_is_not() {
        for (nonces, others) in both(1).into_iter().zip(both(2)) {
            let nonce = nonces.make(&Sevens, NOW);
            assert!(others.check(&nonce, NOW).is_err());
            for place in 0..nonce.len() {
                let mut altered = nonce.clone().into_bytes();
                altered[place] = if altered[place] == b'A' { b'B' } else { b'A' };
                assert!(nonces.check(&String::from_utf8(altered).unwrap(), NOW).is_err(), "{place}");
                assert!(nonces.check(&nonce[..place], NOW).is_err(), "{place}");
            }
        }
    }

    #[test]
    fn a_process_takes_its_own_nonces_and_many_nodes_each_others() {
        let (one, other) = (Nonces::of_one(key(1), &Sevens), Nonces::of_one(key(1), &Eights));
        assert!(other.check(&one.make(&Sevens, NOW), NOW).is_err());
        let (one, other) = (Nonces::of_many(key(1), i64::MIN), Nonces::of_many(key(1), 8));
        let nonce = other.check(&one.make(&Sevens, NOW), NOW).ok().unwrap();
        assert_eq!(nonce.generation(), i64::MIN, "the database compares");
    }
}
