//! Nonces (RFC 8555 section 6.5): made without the store, by any node, and taken at most once by all of them together.

use std::time::Duration;

use aws_lc_rs::{constant_time, hmac};
use chancery_domain::{Entropy, Timestamp};
use data_encoding::BASE64URL_NOPAD;

use super::{Acme, AcmeError};
use crate::error::ServiceError;

/// How long a nonce can be used. Some clients keep one while a person does something.
const LIFETIME: Duration = Duration::from_secs(3600);
/// Nonces forgotten with one commit.
const BATCH: u32 = 1000;

const TIME: usize = 8;
const RANDOM: usize = 16;
const TAG: usize = 16;

pub(crate) struct Nonces {
    key: hmac::Key,
}

impl Nonces {
    pub(crate) fn new(key: hmac::Key) -> Self {
        Self { key }
    }

    fn make(&self, entropy: &dyn Entropy, now: Timestamp) -> String {
        let mut bytes = now.as_millis().to_be_bytes().to_vec();
        bytes.extend_from_slice(&entropy.bytes::<RANDOM>());
        let tag = hmac::sign(&self.key, &bytes);
        bytes.extend_from_slice(&tag.as_ref()[..TAG]);
        BASE64URL_NOPAD.encode(&bytes)
    }

    /// Until when the nonce would be taken, if it is ours and not too old.
    pub(super) fn check(&self, nonce: &str, now: Timestamp) -> Result<Timestamp, AcmeError> {
        const NOT_OURS: AcmeError =
            AcmeError::BadNonce("the nonce is not one of ours; use the one in the header Replay-Nonce of this answer");
        const OLD: AcmeError =
            AcmeError::BadNonce("the nonce is too old; use the one in the header Replay-Nonce of this answer");
        let bytes = BASE64URL_NOPAD.decode(nonce.as_bytes()).map_err(|_| NOT_OURS)?;
        let (said, tag) = bytes.split_at_checked(TIME + RANDOM).ok_or(NOT_OURS)?;
        let own = hmac::sign(&self.key, said);
        constant_time::verify_slices_are_equal(tag, &own.as_ref()[..TAG]).map_err(|_| NOT_OURS)?;
        let made = said.first_chunk::<TIME>().map_or(0, |time| i64::from_be_bytes(*time));
        let ends = Timestamp::from_millis(made).plus(LIFETIME);
        if now < ends { Ok(ends) } else { Err(OLD) }
    }
}

impl Acme {
    /// A nonce that was never given out before.
    pub fn new_nonce(&self) -> String {
        self.kernel.nonces.make(self.kernel.entropy.as_ref(), self.kernel.now())
    }

    /// Forgets used nonces that are too old to be taken again; says how many.
    pub async fn sweep(&self) -> Result<u64, ServiceError> {
        let now = self.kernel.now();
        let mut forgotten = 0;
        loop {
            let some = self.kernel.store.write(move |tx| Ok::<_, ServiceError>(tx.forget_nonces(now, BATCH)?)).await?;
            forgotten += some;
            if some < u64::from(BATCH) {
                return Ok(forgotten);
            }
        }
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

    fn nonces(key: u8) -> Nonces {
        Nonces::new(hmac::Key::new(hmac::HMAC_SHA256, &[key; 32]))
    }

    const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);

    #[test]
    fn a_nonce_is_taken_until_it_is_too_old() {
        let nonce = nonces(1).make(&Sevens, NOW);
        assert_eq!(nonces(1).check(&nonce, NOW), Ok(NOW.plus(LIFETIME)));
        assert!(nonces(1).check(&nonce, NOW.plus(LIFETIME)).is_err());
        // The clock of another node may be behind.
        assert!(nonces(1).check(&nonce, NOW.minus(Duration::from_secs(60))).is_ok());
    }

    #[test]
    fn a_nonce_that_was_altered_or_made_elsewhere_is_not() {
        let nonce = nonces(1).make(&Sevens, NOW);
        assert!(nonces(2).check(&nonce, NOW).is_err());
        for place in 0..nonce.len() {
            let mut altered = nonce.clone().into_bytes();
            altered[place] = if altered[place] == b'A' { b'B' } else { b'A' };
            assert!(nonces(1).check(&String::from_utf8(altered).unwrap(), NOW).is_err(), "{place}");
            assert!(nonces(1).check(&nonce[..place], NOW).is_err(), "{place}");
        }
    }
}
