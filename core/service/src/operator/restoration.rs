//! What follows on a database that was put back from a copy: the world has seen more than the copy remembers.
//!
//! - *Revocation lists* get numbers beyond all that were used, and are made anew at once (RFC 5280 section 5.2.3).
//! - *Serial numbers* are 158 random bits and so never meet; the only ones that could come back are those of drafts that
//!   were waiting to be signed, so drafts are dropped and drawn anew.
//! - *Precertificates* that were waiting for their certificates may have them since: they stay good, whatever comes of their
//!   orders now. An operator who knows better revokes them by their serial numbers.
//! - *Nonces* that were used since are not known any more: all that were given out become worthless, and clients ask again.
//! - *Jobs* and claims belonged to processes that are gone: they are anybody's at once.
//! - *Idempotency keys* come back with the very state that they tell of: who repeats a request that is lost makes it anew.
//! - *Tokens* of keys that were made since are refused, and clients get new ones; nodes read clients and keys anew.
//! - *Sessions* of the console may have been ended since: all end, and people sign in again.
//! - *Numbers of accounts* that were given since are left out.
//! - *Positions of events* likewise: whoever follows the feed, and had come further than the copy, misses nothing new.

use chancery_domain::{Action, Timestamp};
use chancery_store::Tx;
use serde_json::json;

use super::Operator;
use crate::error::ServiceError;
use crate::orders::redraft_order;

/// What was found and done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// When the copy was made: as it says itself, or else when something was last written.
    pub copy_of: Option<Timestamp>,
    pub lists: u64,
    pub jobs: u64,
    pub drafts: usize,
}

impl Operator {
    /// When the database was copied, or last written where nobody made a note of that.
    pub async fn copied_at(&self) -> Result<Option<Timestamp>, ServiceError> {
        self.kernel.store.read(copied_at).await
    }

    /// Makes a database that was put back fit to be served from, in one unit of work. To do it twice does no harm.
    pub async fn settle_restored(&self) -> Result<Restored, ServiceError> {
        self.settle_restored_after(0).await
    }

    /// The same for one that takes the place of another, whose highest number of a revocation list is known: it may have been
    /// put back itself, from a younger copy.
    pub async fn settle_restored_after(&self, highest: i64) -> Result<Restored, ServiceError> {
        let me = self.clone();
        self.kernel
            .store
            .write(move |tx| {
                let now = me.kernel.now();
                let copy_of = copied_at(tx)?;
                let drafted = tx.drafted_orders()?;
                let mut dropped = Vec::new();
                for id in &drafted {
                    let Some(order) = tx.any_order(*id)? else { continue };
                    dropped.extend(redraft_order(tx, &order, now)?);
                }
                tx.leave_precertificates(now)?;
                tx.skip_account_numbers()?;
                tx.skip_positions(now)?;
                tx.forget_nonce_key()?;
                tx.end_console_sessions()?;
                let restored = Restored {
                    copy_of,
                    lists: tx.restart_crls(now, highest)?,
                    jobs: tx.release_jobs(now)?,
                    drafts: dropped.len(),
                };
                tx.restart_epochs(now)?;
                let detail = json!({"copyOf": copy_of.map(|at| at.to_string()), "droppedSerials": dropped});
                me.record(tx, None, Action::DatabaseRestore, "database", &detail)?;
                Ok(restored)
            })
            .await
    }
}

fn copied_at(tx: &mut Tx<'_>) -> Result<Option<Timestamp>, ServiceError> {
    Ok(match tx.backup_made_at()? {
        Some(made) => Some(made),
        None => tx.last_written_at()?,
    })
}
