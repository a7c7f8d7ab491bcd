//! What a reseller sees first: what it has, what was issued lately, what ends soon, what has failed. What was issued is
//! counted already; every other number is counted up to a ceiling, so that nobody waits longer for having more.

use std::time::Duration;

use chancery_domain::{CertificateRecord, OrderStatus, Scope, Timestamp};
use chancery_store::{CountedState, OrderFilter, Span, Tx, UsageBy, UsageFilter};

use super::Console;
use crate::caller::Caller;
use crate::cursor::ListRequest;
use crate::error::ServiceError;
use crate::orders::{OrderDetails, Orders};

const SECONDS: i64 = 86_400;
const DAY: Duration = Duration::from_secs(SECONDS.unsigned_abs());
/// Days that are shown with what was issued, today included.
const DAYS_BACK: u32 = 14;
/// Of those that end on one day, no more are counted.
const MOST_OF_DAY: i64 = 1_000;
/// Of one state, no more are counted.
const MOST: i64 = 10_000;
/// Certificates that are listed.
const LISTED: u32 = 6;

/// A count, and whether there are more than were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    pub count: i64,
    pub more: bool,
}

/// How many certificates were issued on a day: all of them, also those that were revoked since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssuedOn {
    pub day: Timestamp,
    pub issued: i64,
}

/// How many certificates end on a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    pub day: Timestamp,
    pub certificates: Counted,
}

/// The numbers of a reseller.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Issued, not revoked, not expired.
    pub valid: Counted,
    pub pending: Counted,
    pub revoked: Counted,
    pub cancelled: Counted,
    pub expired: Counted,
    /// Of those that are valid, how many end within thirty days.
    pub ending_soon: Counted,
    /// Oldest day first.
    pub days: Vec<IssuedOn>,
    /// The next thirty days, today first.
    pub endings: Vec<Ending>,
    /// Those that end first.
    pub next_to_end: Vec<CertificateRecord>,
    /// The newest orders that have failed; none where the caller may not see orders.
    pub failed: Vec<OrderDetails>,
}

impl Console {
    pub async fn summary(&self, caller: &Caller) -> Result<Summary, ServiceError> {
        caller.require(Scope::ReadCertificate)?;
        let (reseller, now) = (caller.reseller, self.kernel.now());
        let today = midnight(now);
        let coming: Vec<_> = (0..30).map(|days| day(today.plus(DAY * days))).collect();
        let failed = self.failed(caller, now).await?;
        let read = move |tx: &mut Tx<'_>| {
            let all = |tx: &mut Tx<'_>, state| tx.count_all_certificates(reseller, state, MOST + 1).map(of(MOST));
            let pending = all(tx, CountedState::Pending)?;
            let revoked = all(tx, CountedState::Revoked)?;
            let cancelled = all(tx, CountedState::Cancelled)?;
            let past = Span { from: Timestamp::from_millis(0), until: now };
            let later = [ever(now), Span { from: now, until: now.plus(DAY * 30) }, past];
            let ends = tx.count_expiring(reseller, &later, MOST + 1)?;
            Ok(Summary {
                valid: of(MOST)(ends.first().copied().unwrap_or(0)),
                ending_soon: of(MOST)(ends.get(1).copied().unwrap_or(0)),
                expired: of(MOST)(ends.get(2).copied().unwrap_or(0)),
                pending,
                revoked,
                cancelled,
                days: issued(tx, reseller, today)?,
                endings: endings(tx, reseller, &coming)?,
                next_to_end: tx.certificates_expiring(reseller, later[0], LISTED)?,
                failed: failed.clone(),
            })
        };
        self.kernel.read_in_turn(reseller, read).await
    }

    /// How many certificates end on each day from this one on.
    pub async fn calendar(&self, caller: &Caller, from: Timestamp, days: u32) -> Result<Vec<Ending>, ServiceError> {
        caller.require(Scope::ReadCertificate)?;
        let (reseller, first) = (caller.reseller, midnight(from));
        let spans: Vec<_> = (0..days.min(100)).map(|number| day(first.plus(DAY * number))).collect();
        self.kernel.read_in_turn(reseller, move |tx| endings(tx, reseller, &spans)).await
    }

    /// The certificates that end on a day, as many as fit a page.
    pub async fn ending_on(
        &self,
        caller: &Caller,
        at: Timestamp,
        most: u32,
    ) -> Result<Vec<CertificateRecord>, ServiceError> {
        caller.require(Scope::ReadCertificate)?;
        let (reseller, span) = (caller.reseller, day(midnight(at)));
        let read = move |tx: &mut Tx<'_>| Ok(tx.certificates_expiring(reseller, span, most.min(1000))?);
        self.kernel.read_in_turn(reseller, read).await
    }

    async fn failed(&self, caller: &Caller, now: Timestamp) -> Result<Vec<OrderDetails>, ServiceError> {
        if caller.require(Scope::ReadOrder).is_err() {
            return Ok(Vec::new());
        }
        let filter = OrderFilter { account: None, status: Some(OrderStatus::Invalid), external_id: None, now };
        let request = ListRequest { limit: LISTED, cursor: None };
        Ok(Orders::new(self.kernel.clone()).list(caller, None, filter, &request).await?.items)
    }
}

fn issued(
    tx: &mut Tx<'_>,
    reseller: chancery_domain::ResellerId,
    today: Timestamp,
) -> Result<Vec<IssuedOn>, ServiceError> {
    let days: Vec<_> = (0..DAYS_BACK).rev().map(|ago| today.minus(DAY * ago)).collect();
    let by = UsageBy { day: true, ..UsageBy::default() };
    let asked = (number(today) - i64::from(DAYS_BACK) + 1, number(today));
    let filter = UsageFilter { days: asked, account: None, profile: None, by, most: DAYS_BACK };
    let rows = tx.usage(reseller, &filter)?;
    let on = |day: Timestamp| rows.iter().find(|row| row.day == Some(number(day))).map_or(0, |row| row.issued);
    Ok(days.into_iter().map(|day| IssuedOn { day, issued: on(day) }).collect())
}

fn endings(
    tx: &mut Tx<'_>,
    reseller: chancery_domain::ResellerId,
    spans: &[Span],
) -> Result<Vec<Ending>, ServiceError> {
    let counts = tx.count_expiring(reseller, spans, MOST_OF_DAY + 1)?;
    let counted = spans.iter().zip(counts);
    Ok(counted.map(|(span, count)| Ending { day: span.from, certificates: of(MOST_OF_DAY)(count) }).collect())
}

/// Shows a count that was taken up to `most + 1` as `most` and more.
fn of(most: i64) -> impl Fn(i64) -> Counted {
    move |count| Counted { count: count.min(most), more: count > most }
}

/// The day, counted from 1970 on.
fn number(at: Timestamp) -> i64 {
    at.as_secs().div_euclid(SECONDS)
}

fn midnight(at: Timestamp) -> Timestamp {
    Timestamp::from_secs(number(at) * SECONDS)
}

fn day(from: Timestamp) -> Span {
    Span { from, until: from.plus(DAY) }
}

fn ever(from: Timestamp) -> Span {
    Span { from, until: Timestamp::from_millis(i64::MAX) }
}
