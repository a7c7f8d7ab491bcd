//! Certificates that end soon and that nothing has taken the place of: found by one look along their ends, each once for
//! each notice, whichever node looks.
//!
//! How far the look has come is kept. Where a clock that was ahead has moved that beyond what it can be, the look goes back:
//! else nobody would be told of anything until that time. What that clock told ahead of its time is then told once more,
//! when it is due; what was told in time is not told again.

use std::sync::Arc;
use std::time::Duration;

use chancery_domain::{Action, CertificateRecord, Timestamp};
use chancery_store::{Expiring, Tx};
use serde_json::{Value, json};

use crate::error::ServiceError;
use crate::kernel::Kernel;

/// How many days before its end a certificate is told of.
const NOTICES: [u32; 3] = [30, 7, 1];
/// A certificate is renewed when a third of its life is left; before that nothing is amiss.
const THIRD: u32 = 3;
const BATCH: u32 = 200;
const DAY: u64 = 86_400;
/// By how much the clocks of nodes may differ that are both right.
const SKEW: Duration = Duration::from_secs(60);
const ACTION: Action = Action::CertificateExpireSoon;

#[derive(Clone)]
pub struct Expiry {
    kernel: Arc<Kernel>,
}

impl Expiry {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel }
    }

    /// Writes down what ends soon, as far as it has not been written down; gives how many.
    pub async fn sweep(&self) -> Result<usize, ServiceError> {
        let mut told = 0;
        for days in NOTICES {
            let mut most = BATCH;
            loop {
                let (kernel, now) = (self.kernel.clone(), self.kernel.now());
                let name = format!("expiring-{days}");
                let to = now.plus(Duration::from_secs(u64::from(days) * DAY));
                let known = name.clone();
                let looked = move |tx: &mut Tx<'_>| match tx.watermark(&known)? {
                    Some(looked) => believed(tx, looked, to, now),
                    None => Ok(None),
                };
                if self.kernel.store.read(looked).await?.is_some_and(|looked| looked >= to) {
                    break;
                }
                let step = self.kernel.store.write(move |tx| step(&kernel, tx, &name, days, now, most)).await?;
                told += step.told;
                match step.more {
                    More::None => break,
                    More::Some => {}
                    // So many end in the same moment that a batch cannot part them.
                    More::Wider => most = most.saturating_mul(2),
                }
            }
        }
        Ok(told)
    }
}

struct Step {
    told: usize,
    more: More,
}

enum More {
    None,
    Some,
    Wider,
}

fn step(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    name: &str,
    days: u32,
    now: Timestamp,
    most: u32,
) -> Result<Step, ServiceError> {
    let to = now.plus(Duration::from_secs(u64::from(days) * DAY));
    // The first look ever begins now: what was due before then is told by the next notice. So does the first one after a
    // clock was ahead, which has told of what was due before then.
    let first = to.minus(Duration::from_secs(DAY));
    let looked = tx.claim_watermark(name, first.as_millis())?;
    let from = believed(tx, looked, to, now)?.unwrap_or(first);
    if from >= to {
        // Another node has come so far meanwhile.
        return Ok(Step { told: 0, more: More::None });
    }
    // Nobody need be told that what has ended ends soon.
    let mut ending = tx.expiring(from.max(now), to, most)?;
    let (mut until, mut more) = (to, More::None);
    if ending.len() == most as usize {
        // Others may end in the same moment as the last of these: that moment is left to the next batch.
        let last = ending.last().map_or(to, |last| end(&last.certificate));
        ending.retain(|each| end(&each.certificate) < last);
        let Some(kept) = ending.last() else { return Ok(Step { told: 0, more: More::Wider }) };
        (until, more) = (end(&kept.certificate), More::Some);
    }
    let mut told = 0;
    for Expiring { certificate, replaced } in &ending {
        let life = certificate.issued().map_or(Duration::ZERO, |issued| issued.not_after.since(issued.not_before));
        let early = Duration::from_secs(u64::from(days * THIRD) * DAY) > life + Duration::from_secs(1);
        if *replaced || early || is_told(kernel, tx, certificate, days)? {
            continue;
        }
        let issued = certificate.issued();
        let names: Vec<_> = certificate.identifiers.iter().map(ToString::to_string).collect();
        let detail = json!({
            "account": certificate.account.to_string(),
            "order": certificate.order.to_string(),
            "names": names,
            "profile": certificate.profile.as_str(),
            "serial": issued.map(|issued| &issued.serial),
            "notAfter": issued.map(|issued| issued.not_after.to_string()),
            "daysLeft": days,
        });
        kernel.audit_own(tx, Some(certificate.reseller), ACTION, certificate.id, &detail)?;
        told += 1;
    }
    tx.set_watermark(name, until.as_millis())?;
    Ok(Step { told, more })
}

/// Up to when was looked, as it is noted; none where only a clock that was ahead can have noted it. Where it may be ours
/// that is behind, nothing is told until that is over.
fn believed(tx: &mut Tx<'_>, looked: i64, to: Timestamp, now: Timestamp) -> Result<Option<Timestamp>, ServiceError> {
    let looked = Timestamp::from_millis(looked);
    let known = looked <= to.plus(Duration::from_secs(DAY)) || tx.is_behind(now)?;
    Ok(known.then_some(looked))
}

/// Whether this notice was given before, as a look that went back may find. What a clock that was ahead has told has a time
/// that is still to come, and does not count.
fn is_told(kernel: &Kernel, tx: &mut Tx<'_>, certificate: &CertificateRecord, days: u32) -> Result<bool, ServiceError> {
    let told = tx.details_of(certificate.id, ACTION.as_str(), kernel.now().plus(SKEW))?;
    let mut details = told.iter().filter_map(|detail| serde_json::from_str::<Value>(detail).ok());
    Ok(details.any(|detail| detail["daysLeft"] == days))
}

fn end(certificate: &CertificateRecord) -> Timestamp {
    certificate.issued().map_or(Timestamp::from_millis(0), |issued| issued.not_after)
}
