//! Time as the service knows it: an instant in UTC, read from a clock that is handed in.

use std::fmt;
use std::time::Duration;

use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, UtcOffset};

/// An instant, in milliseconds since 1970-01-01T00:00:00Z. Shown to the world in whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// Where the time comes from. Production reads the system's clock; tests hold it still.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

impl Timestamp {
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Whole seconds, rounded down.
    pub const fn as_secs(self) -> i64 {
        self.0.div_euclid(1000)
    }

    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    #[must_use]
    pub fn plus_days(self, days: u32) -> Self {
        self.plus(Duration::from_secs(u64::from(days) * 86_400))
    }

    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The time from `earlier` to here; zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Its day in UTC, such as `2025-11-15`.
    pub fn date(self) -> String {
        let mut text = self.to_string();
        text.truncate("2025-11-15".len());
        text
    }

    /// Reads RFC 3339 with any offset. The year has four digits in UTC too: it can be written as it was read.
    pub fn parse(text: &str) -> Option<Self> {
        let at = OffsetDateTime::parse(text, &Rfc3339).ok()?.checked_to_offset(UtcOffset::UTC)?;
        if !(0..=9999).contains(&at.year()) {
            return None;
        }
        i64::try_from(at.unix_timestamp_nanos().div_euclid(1_000_000)).ok().map(Self)
    }
}

/// RFC 3339, UTC, whole seconds, `Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(at) = OffsetDateTime::from_unix_timestamp(self.as_secs()) else {
            return write!(f, "@{}", self.as_secs());
        };
        let at = at.to_offset(UtcOffset::UTC);
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
            at.year(),
            u8::from(at.month()),
            at.day(),
            at.hour(),
            at.minute(),
            at.second()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_shown_in_whole_seconds_of_utc() {
        assert_eq!(Timestamp::from_millis(1_763_164_800_999).to_string(), "2025-11-15T00:00:00Z");
        assert_eq!(Timestamp::from_secs(1_763_164_799).date(), "2025-11-14");
    }

    #[test]
    fn reads_any_offset() {
        assert_eq!(Timestamp::parse("2025-11-15T01:00:00+01:00"), Some(Timestamp::from_secs(1_763_164_800)));
        assert_eq!(Timestamp::parse("2025-11-15"), None);
    }

    #[test]
    fn what_is_read_can_be_written_in_utc() {
        for edge in ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z"] {
            assert_eq!(Timestamp::parse(edge).unwrap().to_string(), edge);
        }
        assert_eq!(Timestamp::parse("0000-01-01T00:00:00+00:01"), None);
        assert_eq!(Timestamp::parse("9999-12-31T23:59:59-00:01"), None);
    }
}
