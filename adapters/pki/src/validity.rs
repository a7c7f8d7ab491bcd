//! How long a certificate is valid.

use std::time::Duration;

use der::DateTime;
use x509_cert::time::{Time, Validity as EncodedValidity};

use crate::error::{PkiError, ValidityError};

/// 9999-12-31T23:59:59Z, the last second a certificate can name (RFC 5280 section 4.1.2.5).
const LAST_SECOND: i64 = 253_402_300_799;

/// A period with both its first and its last second included (RFC 5280 section 4.1.2.5), in Unix seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    not_before: i64,
    not_after: i64,
}

impl Validity {
    /// This many seconds from `not_before` on. The last second counts, so
    /// `not_after = not_before + seconds - 1`.
    pub fn lasting(not_before: i64, seconds: i64) -> Result<Self, ValidityError> {
        if seconds < 1 {
            return Err(ValidityError::Empty);
        }
        match not_before.checked_add(seconds - 1) {
            Some(not_after) if not_before >= 0 && not_after <= LAST_SECOND => Ok(Self { not_before, not_after }),
            Some(_) | None => Err(ValidityError::OutOfRange),
        }
    }

    /// This many days of 86,400 seconds from `not_before` on.
    pub fn days(not_before: i64, days: u32) -> Result<Self, ValidityError> {
        Self::lasting(not_before, i64::from(days) * 86_400)
    }

    /// The first second.
    pub fn not_before(self) -> i64 {
        self.not_before
    }

    /// The last second.
    pub fn not_after(self) -> i64 {
        self.not_after
    }

    pub(crate) fn encode(self) -> Result<EncodedValidity, PkiError> {
        Ok(EncodedValidity::new(time(self.not_before)?, time(self.not_after)?))
    }
}

/// UTCTime through 2049, GeneralizedTime from 2050 on (RFC 5280 section 4.1.2.5), as `Time::from` decides.
pub(crate) fn time(seconds: i64) -> Result<Time, PkiError> {
    let seconds = u64::try_from(seconds).map_err(|_| ValidityError::OutOfRange)?;
    DateTime::from_unix_duration(Duration::from_secs(seconds)).map(Time::from).map_err(PkiError::Encoding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use der::{Encode, Tag, Tagged};

    #[test]
    fn ninety_days_end_a_second_before_the_ninety_first() {
        let validity = Validity::days(1_000, 90).unwrap();
        assert_eq!((validity.not_before(), validity.not_after()), (1_000, 1_000 + 90 * 86_400 - 1));
    }

    #[test]
    fn a_period_that_cannot_be_written_is_refused() {
        assert_eq!(Validity::lasting(0, 0), Err(ValidityError::Empty));
        assert_eq!(Validity::lasting(0, -5), Err(ValidityError::Empty));
        assert_eq!(Validity::lasting(-1, 5), Err(ValidityError::OutOfRange));
        assert_eq!(Validity::lasting(i64::MAX, 5), Err(ValidityError::OutOfRange));
        assert_eq!(Validity::lasting(LAST_SECOND, 2), Err(ValidityError::OutOfRange));
        assert!(Validity::lasting(LAST_SECOND, 1).unwrap().encode().is_ok());
    }

    #[test]
    fn the_year_2050_is_written_in_four_digits_and_2049_in_two() {
        let new_year_2050 = 2_524_608_000;
        assert_eq!(time(new_year_2050 - 1).unwrap().tag(), Tag::UtcTime);
        assert_eq!(time(new_year_2050).unwrap().tag(), Tag::GeneralizedTime);
        assert_eq!(&time(new_year_2050).unwrap().to_der().unwrap()[2..], b"20500101000000Z");
    }
}
