//! Quotas of policies: how many certificates an account may have.

use chancery_domain::policy::{CompiledRules, Violations};
use chancery_domain::{AccountId, CompiledPolicy, Problem, Timestamp};
use chancery_store::{Counted, StoreError, Tx};

use super::EffectivePolicies;
use super::effective::require_none;
use crate::error::ServiceError;

/// A rule that limits the number of certificates.
struct Quota {
    rule: &'static str,
    noun: &'static str,
    limit: fn(&CompiledRules) -> Option<u32>,
    count: fn(&mut Tx<'_>, AccountId, Timestamp) -> Result<Vec<Counted>, StoreError>,
}

const QUOTAS: [Quota; 3] = [
    Quota {
        rule: "max_certificates_per_day",
        noun: "certificates a day",
        limit: |rules| rules.max_certificates_per_day,
        count: |tx, account, now| tx.issued_lately(account, 1, now),
    },
    Quota {
        rule: "max_certificates_per_week",
        noun: "certificates a week",
        limit: |rules| rules.max_certificates_per_week,
        count: |tx, account, now| tx.issued_lately(account, 7, now),
    },
    Quota {
        rule: "max_active_certificates",
        noun: "active certificates",
        limit: |rules| rules.max_active_certificates,
        count: |tx, account, now| tx.active_certificates(account, now),
    },
];

impl Quota {
    /// The policies that have this quota, with its limit.
    fn limits<'p>(&self, policies: &'p EffectivePolicies) -> impl Iterator<Item = (&'p CompiledPolicy, u32)> {
        let limit = self.limit;
        policies.iter().filter_map(move |policy| Some((policy, limit(&policy.rules)?)))
    }

    fn problem(&self, policy: &CompiledPolicy, message: String) -> Problem {
        policy.blamed_for(Problem::new(self.rule, self.rule, message))
    }
}

impl EffectivePolicies {
    /// Whether any policy counts certificates.
    pub(crate) fn have_quotas(&self) -> bool {
        QUOTAS.iter().any(|quota| quota.limits(self).next().is_some())
    }

    /// Quotas of zero: waiting does not help against them.
    pub(super) fn zero_quotas(&self) -> Violations {
        let mut violations = Violations::default();
        for policy in self.iter() {
            for quota in QUOTAS.iter().filter(|quota| (quota.limit)(&policy.rules) == Some(0)) {
                violations.add(quota.rule, || quota.problem(policy, format!("no {} are allowed", quota.noun)));
            }
        }
        violations
    }

    /// Requires that no quota forbids another certificate or is used up. If several are, the error says when the last of them
    /// has room again.
    pub(crate) fn require_quota(
        &self,
        tx: &mut Tx<'_>,
        account: AccountId,
        now: Timestamp,
    ) -> Result<(), ServiceError> {
        require_none(self.zero_quotas())?;
        let mut problems = Violations::default();
        let mut retry_after = 0;
        for quota in &QUOTAS {
            let Some(lowest) = quota.limits(self).map(|(_, limit)| limit).min() else { continue };
            let counted = (quota.count)(tx, account, now)?;
            let used: i64 = counted.iter().map(|each| each.certificates).sum();
            if used < i64::from(lowest) {
                continue;
            }
            for (policy, limit) in quota.limits(self).filter(|(_, limit)| used >= i64::from(*limit)) {
                let message = || format!("{used} of {limit} {} are used up", quota.noun);
                problems.add(quota.rule, || quota.problem(policy, message()));
            }
            // The lowest limit has room last.
            retry_after = seconds_to_free(&counted, lowest, now).max(retry_after);
        }
        if problems.is_empty() { Ok(()) } else { Err(ServiceError::QuotaExceeded { problems, retry_after }) }
    }

    /// The quotas that leave no room for another certificate.
    pub(crate) fn exhausted_quotas(
        &self,
        tx: &mut Tx<'_>,
        account: AccountId,
        now: Timestamp,
    ) -> Result<Violations, ServiceError> {
        match self.require_quota(tx, account, now) {
            Ok(()) => Ok(Violations::default()),
            Err(ServiceError::QuotaExceeded { problems, .. } | ServiceError::PolicyViolation(problems)) => Ok(problems),
            Err(other) => Err(other),
        }
    }
}

/// The seconds until fewer than `limit` certificates count. They are sorted by when they stop counting.
fn seconds_to_free(counted: &[Counted], limit: u32, now: Timestamp) -> u64 {
    let mut left: i64 = counted.iter().map(|each| each.certificates).sum();
    let free = counted.iter().find(|each| {
        left -= each.certificates;
        left < i64::from(limit)
    });
    free.map_or(1, |each| u64::try_from(each.until.as_secs() - now.as_secs()).unwrap_or(1).max(1))
}
