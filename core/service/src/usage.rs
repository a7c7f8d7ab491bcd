//! How many certificates a reseller's customers got.

use std::sync::Arc;
use std::time::Duration;

use chancery_domain::{PageRequest, Problems, ProfileName, ResellerId, Scope, Timestamp};
use chancery_store::{Tx, UsageBy, UsageFilter, UsageRow};

use crate::account_lookup::AccountLookup;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::kernel::Kernel;

/// How often what has come is counted.
const ROUND: Duration = Duration::from_secs(60);
/// After so long no certificate with an earlier time can come any more: units of work take seconds. Where several nodes
/// write, their clocks may differ.
const SETTLED: Duration = Duration::from_secs(120);
const SETTLED_BY_ALL: Duration = Duration::from_secs(600);
/// Counts may be ahead of what has settled by our clock, by this part of that time: another node's clock may be a little ahead.
/// With a round on top that is still less than the whole, so that whatever comes between a clock that was ahead and the
/// next round is either not behind the mark or counted anew.
const AHEAD: u32 = 4;
/// For so long certificates are kept after their end, whatever retention is set to.
const KEPT: Duration = Duration::from_secs(7 * 86_400);
/// Days that can be asked for at a time, and rows that are answered.
const MOST_DAYS: i64 = 400;
const MOST_ROWS: u32 = 10_000;

/// What is asked for; days are since 1970, both counted.
#[derive(Clone, Debug)]
pub struct UsageRequest {
    pub days: (i64, i64),
    pub account: Option<AccountLookup>,
    pub profile: Option<ProfileName>,
    pub by: UsageBy,
}

#[derive(Clone)]
pub struct Usage {
    kernel: Arc<Kernel>,
}

impl Usage {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel }
    }

    /// Counts, up to this moment.
    pub async fn count(&self, caller: &Caller, request: UsageRequest) -> Result<Vec<UsageRow>, ServiceError> {
        caller.require(Scope::ReadCertificate)?;
        let UsageRequest { days: (from, to), account, profile, by } = request;
        let mut problems = Problems::default();
        if from > to {
            problems.add("from", "out_of_range", "must not be after to");
        }
        if to.saturating_sub(from) >= MOST_DAYS {
            problems.add("to", "out_of_range", format!("must be less than {MOST_DAYS} days after from"));
        }
        problems.into_result().map_err(ServiceError::Invalid)?;
        let reseller = caller.reseller;
        let read = move |tx: &mut Tx<'_>| {
            let account = account.as_ref().map(|lookup| lookup.find(tx, reseller)).transpose()?;
            let profile = profile.as_ref().map(ToString::to_string);
            let most = MOST_ROWS + 1;
            let filter =
                UsageFilter { days: (from, to), account: account.map(|account| account.id), profile, by, most };
            Ok::<_, ServiceError>(tx.usage(reseller, &filter)?)
        };
        let rows = self.kernel.read_in_turn(reseller, read).await?;
        if rows.len() > MOST_ROWS as usize {
            let message = format!("more than {MOST_ROWS} rows; ask for fewer days, or by less");
            return Err(ServiceError::invalid("by", "too_many", message));
        }
        Ok(rows)
    }

    /// Counts what has settled, again and again; goes on until it is dropped.
    pub async fn watch(&self) {
        loop {
            if let Err(error) = self.roll_up().await {
                tracing::warn!(%error, "could not count what was issued");
            }
            tokio::time::sleep(ROUND).await;
        }
    }

    /// Counts what has settled. Whichever node is first does it; nothing is counted twice. What was counted by a clock that
    /// was ahead is counted anew, or what is issued until that time comes would be missing for ever. Where it fails for one
    /// reseller, the others are counted, and the first failure is told.
    pub async fn roll_up(&self) -> Result<(), ServiceError> {
        let (mut after, mut counted) = (None, Ok(()));
        loop {
            let page = PageRequest { limit: 1000, after };
            let read = move |tx: &mut Tx<'_>| Ok::<_, ServiceError>(tx.resellers(&page)?);
            let page = self.kernel.store.read(read).await?;
            for reseller in &page.items {
                counted = match self.roll_up_one(reseller.id).await {
                    // Nobody else could be counted either.
                    Err(error) if error.is_transient() => return Err(error),
                    one => counted.and(one),
                };
            }
            after = page.next;
            if after.is_none() {
                return counted;
            }
        }
    }

    async fn roll_up_one(&self, reseller: ResellerId) -> Result<(), ServiceError> {
        let settled = if self.kernel.store.is_shared() { SETTLED_BY_ALL } else { SETTLED };
        // Asked for each reseller: where there are many, another node's round would else seem to be ahead of this one.
        let now = self.kernel.now();
        let until = now.minus(settled);
        let unit = move |tx: &mut Tx<'_>| {
            // Where it may be our clock that is behind, no further back than certificates are sure to be there.
            let last = if tx.is_behind(now)? { until.plus(KEPT) } else { Timestamp::from_millis(i64::MAX) };
            Ok::<_, ServiceError>(tx.roll_up_usage(reseller, until, &(until.plus(settled / AHEAD)..last))?)
        };
        while self.kernel.store.write(unit).await? {}
        Ok(())
    }
}
