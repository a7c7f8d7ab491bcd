//! Which nonces of this process were taken, where no other process can take them: in memory, and in always the same room.

use std::sync::atomic::{AtomicU64, Ordering};

/// Nonces that are remembered, the youngest ones: two megabytes of bits, and an hour of 4,600 nonces a second.
const REMEMBERED: u64 = 1 << 24;
/// The oldest of them are refused, since the bits of those who come next are being cleared about there.
const LEEWAY: u64 = 1 << 12;

/// A bit for each of the last nonces, by their numbers.
pub(super) struct Spent {
    next: AtomicU64,
    bits: Box<[AtomicU64]>,
}

/// What became of a nonce that somebody wanted to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taking {
    Taken,
    UsedBefore,
    TooOld,
}

impl Spent {
    pub(super) fn new() -> Self {
        let words = REMEMBERED / u64::from(u64::BITS);
        Self { next: AtomicU64::new(0), bits: (0..words).map(|_| AtomicU64::new(0)).collect() }
    }

    /// The number of a new nonce.
    pub(super) fn next(&self) -> u64 {
        let number = self.next.fetch_add(1, Ordering::AcqRel);
        let (word, mask) = self.place(number);
        word.fetch_and(!mask, Ordering::AcqRel);
        number
    }

    /// Takes a nonce that was given out.
    pub(super) fn take(&self, number: u64) -> Taking {
        if self.age(number) > REMEMBERED - LEEWAY {
            return Taking::TooOld;
        }
        let (word, mask) = self.place(number);
        match word.fetch_or(mask, Ordering::AcqRel) & mask {
            // A thread that was held up may have set the bit after it was reused for a newer nonce.
            0 if self.age(number) > REMEMBERED - LEEWAY => Taking::TooOld,
            0 => Taking::Taken,
            _ => Taking::UsedBefore,
        }
    }

    fn age(&self, number: u64) -> u64 {
        self.next.load(Ordering::Acquire).saturating_sub(number)
    }

    fn place(&self, number: u64) -> (&AtomicU64, u64) {
        let bit = number % REMEMBERED;
        let word = usize::try_from(bit / u64::from(u64::BITS)).expect("as many words as fit in memory");
        (&self.bits[word], 1 << (bit % u64::from(u64::BITS)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_taken_once_and_while_it_is_remembered() {
        let spent = Spent::new();
        let (first, second) = (spent.next(), spent.next());
        assert_eq!(spent.take(first), Taking::Taken);
        assert_eq!(spent.take(first), Taking::UsedBefore);
        for _ in 0..REMEMBERED - LEEWAY - 1 {
            spent.next();
        }
        assert_eq!(spent.take(first), Taking::TooOld);
        assert_eq!(spent.take(second), Taking::Taken);
        for _ in 0..LEEWAY {
            spent.next();
        }
        assert_eq!(spent.take(second), Taking::TooOld);
        // The places of both are others' by now.
        let heir = spent.next();
        assert_eq!(spent.take(heir), Taking::Taken);
    }

    #[test]
    fn of_many_who_take_the_same_one_one_gets_it() {
        let spent = Spent::new();
        let number = spent.next();
        let taken = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(|| spent.take(number))).collect();
            all.into_iter().map(|one| one.join().unwrap()).filter(|taking| *taking == Taking::Taken).count()
        });
        assert_eq!(taken, 1);
    }
}
