//! Certificates that end soon and that nothing has taken the place of: found by one look along their ends, each once for
//! each notice, whichever node looks.
//!
//! How far the look has come is kept. Where a clock that was ahead has moved that beyond what it can be, the look goes back:
//! else nobody would be told of anything until that time. What that clock told ahead of its time is then told once more,
//! when it is due; what was told in time is not told again.

use std::sync::Arc;
use std::time::Duration;

use chancery_domain::{Action, CertificateRecord, OrderId, Timestamp};
use chancery_store::{Expiring, Tx};
use serde_json::{Value, json};

use crate::error::ServiceError;
use crate::kernel::Kernel;

/// How many days before its end a certificate is told of.
const NOTICES: [u32; 3] = [30, 7, 1];
/// A certificate is renewed when a third of its life is left; before that nothing is amiss.
const THIRD: u32 = 3;
/// Certificates that are told of with one commit.
const BATCH: u32 = 100;
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
            let mut after = None;
            loop {
                let (now, notice) = (self.kernel.now(), Notice::of(days, self.kernel.now()));
                let (look, seen) = (notice.clone(), after.take());
                let find = move |tx: &mut Tx<'_>| look.find(tx, now, seen.as_ref());
                let Some(page) = self.kernel.store.read(find).await? else { break };
                after = page.last().filter(|_| page.len() == BATCH as usize).map(place);
                let kernel = self.kernel.clone();
                told += self.kernel.store.write(move |tx| notice.tell(&kernel, tx, now, &page)).await?;
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(told)
    }
}

/// A notice that is due for whatever ends until a time.
#[derive(Clone)]
struct Notice {
    days: u32,
    /// The watermark that says how far this notice has come.
    name: String,
    to: Timestamp,
    /// Where the first look ever begins: what was due before then is told by the next notice. So does the first one after a
    /// clock was ahead, which has told of what was due before then.
    first: Timestamp,
}

impl Notice {
    fn of(days: u32, now: Timestamp) -> Self {
        let to = now.plus(Duration::from_secs(u64::from(days) * DAY));
        Self { days, name: format!("expiring-{days}"), to, first: to.minus(Duration::from_secs(DAY)) }
    }

    /// The next certificates that end until then, after the last that was seen in this look; none if all were seen before.
    /// They may be very many, and some may end at the same time, so this only reads.
    fn find(
        &self,
        tx: &mut Tx<'_>,
        now: Timestamp,
        seen: Option<&(Timestamp, OrderId)>,
    ) -> Result<Option<Vec<Expiring>>, ServiceError> {
        let looked = match tx.watermark(&self.name)? {
            Some(looked) => believed(tx, looked, self.to, now)?.unwrap_or(self.first),
            None => self.first,
        };
        if looked >= self.to {
            return Ok(None);
        }
        // Nobody need be told that what has ended ends soon.
        Ok(Some(tx.expiring(looked.max(now), seen, self.to, BATCH)?))
    }

    /// Tells of these, each once, and notes how far the look has come: up to the end of the last, if there may be more that end
    /// when it does.
    fn tell(&self, kernel: &Kernel, tx: &mut Tx<'_>, now: Timestamp, page: &[Expiring]) -> Result<usize, ServiceError> {
        let looked = tx.claim_watermark(&self.name, self.first.as_millis())?;
        let from = believed(tx, looked, self.to, now)?.unwrap_or(self.first);
        if from >= self.to {
            // Another node has come so far meanwhile.
            return Ok(0);
        }
        let mut told = 0;
        for Expiring { certificate, replaced } in page {
            let issued = certificate.issued();
            let life = issued.map_or(Duration::ZERO, |issued| issued.not_after.since(issued.not_before));
            let early = Duration::from_secs(u64::from(self.days * THIRD) * DAY) > life + Duration::from_secs(1);
            if *replaced || early || is_told(kernel, tx, certificate, self.days)? {
                continue;
            }
            let names: Vec<_> = certificate.identifiers.iter().map(ToString::to_string).collect();
            let detail = json!({
                "account": certificate.account.to_string(),
                "order": certificate.order.to_string(),
                "names": names,
                "profile": certificate.profile.as_str(),
                "serial": issued.map(|issued| &issued.serial),
                "notAfter": issued.map(|issued| issued.not_after.to_string()),
                "daysLeft": self.days,
            });
            kernel.audit_own(tx, Some(certificate.reseller), ACTION, certificate.id, &detail)?;
            told += 1;
        }
        let until = match page.last().filter(|_| page.len() == BATCH as usize) {
            Some(last) => end(&last.certificate).minus(Duration::from_millis(1)).max(from),
            None => self.to,
        };
        tx.set_watermark(&self.name, until.as_millis())?;
        Ok(told)
    }
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

/// Where a certificate stands among all by their ends.
fn place(expiring: &Expiring) -> (Timestamp, OrderId) {
    (end(&expiring.certificate), expiring.certificate.order)
}
