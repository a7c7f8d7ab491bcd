//! Decisions about policies, made outside of transactions.
//!
//! Evaluating policies takes time in which a transaction must not hold up others. So a decision is made first, from the
//! policies that are believed to apply. The transaction reads which policies and which versions do apply. If the decision was
//! made from others, it ends, the policies are read, and decision and transaction are repeated. A policy that was changed before
//! the transaction began is thus always respected.

use std::sync::Arc;

use chancery_domain::{AccountId, ResellerId};
use chancery_store::Tx;
use parking_lot::Mutex;

use super::EffectivePolicies;
use super::cache::Subject;
use crate::error::ServiceError;
use crate::kernel::Kernel;

/// How often a transaction is begun. Whoever changes policies faster than this gets 503 for the orders of their accounts.
const MAX_ATTEMPTS: usize = 4;
/// An order whose account has this many policies holds a list permit while they are evaluated and compared, as an evaluation does.
const MANY_POLICIES: usize = 100;

/// What is to be decided, and from whose policies.
pub(crate) struct PolicyEvaluation<D> {
    subject: Option<Subject>,
    evaluate: Box<dyn Fn(&EffectivePolicies) -> D + Send + Sync>,
    /// Whether it waits for a list permit if there are many policies.
    in_turn: bool,
}

impl<D> PolicyEvaluation<D> {
    pub(crate) fn new(subject: Subject, evaluate: impl Fn(&EffectivePolicies) -> D + Send + Sync + 'static) -> Self {
        Self { subject: Some(subject), evaluate: Box::new(evaluate), in_turn: false }
    }

    /// Waits for a list permit of the reseller if there are many policies, so that a reseller with many of them waits for itself.
    pub(crate) fn in_turn(self) -> Self {
        Self { in_turn: true, ..self }
    }
}

impl PolicyEvaluation<()> {
    /// For transactions that need the policies, but nothing that has to be evaluated from their rules about names.
    pub(crate) fn none() -> Self {
        Self { subject: None, evaluate: Box::new(|_| ()), in_turn: false }
    }
}

/// A decision, as a transaction gets it.
pub(crate) struct Decision<D> {
    kernel: Arc<Kernel>,
    policies: Arc<EffectivePolicies>,
    outcome: D,
    /// What applies, if the decision turned out to rest on something else.
    stale: Mutex<Option<Stale>>,
}

struct Stale {
    reseller: ResellerId,
    account: AccountId,
    /// None if some of their rules are not in memory.
    policies: Option<Arc<EffectivePolicies>>,
}

impl<D> Decision<D> {
    /// The policies that apply to an account now. If their rules have to be read first, the transaction fails and is repeated.
    pub(crate) fn policies(
        &self,
        tx: &mut Tx<'_>,
        reseller: ResellerId,
        account: AccountId,
    ) -> Result<Arc<EffectivePolicies>, ServiceError> {
        let versions = tx.policy_versions(account)?;
        let policies = match self.policies.versions() == versions {
            true => Some(self.policies.clone()),
            false => self.kernel.policies.find(reseller, &versions),
        };
        policies.ok_or_else(|| self.overtaken(Stale { reseller, account, policies: None }))
    }

    /// The policies that apply to an account now, and the decision that was made from them. If it was made from others, the
    /// transaction fails and is repeated.
    pub(crate) fn outcome(
        &self,
        tx: &mut Tx<'_>,
        reseller: ResellerId,
        account: AccountId,
    ) -> Result<(Arc<EffectivePolicies>, &D), ServiceError> {
        let policies = self.policies(tx, reseller, account)?;
        match self.policies.versions() == policies.versions() {
            true => Ok((policies, &self.outcome)),
            false => Err(self.overtaken(Stale { reseller, account, policies: Some(policies) })),
        }
    }

    fn overtaken(&self, stale: Stale) -> ServiceError {
        *self.stale.lock() = Some(stale);
        ServiceError::Overtaken("the policies of the account were changed".to_owned())
    }
}

impl Kernel {
    /// Runs a transaction that depends on the policies of an account, with a decision that was made from them before.
    pub(crate) async fn write_decided<D, T, F>(
        self: &Arc<Self>,
        reseller: impl Into<Option<ResellerId>>,
        evaluation: &PolicyEvaluation<D>,
        transaction: F,
    ) -> Result<T, ServiceError>
    where
        D: Send + Sync + 'static,
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>, &Decision<D>) -> Result<T, ServiceError> + Send + 'static,
    {
        let reseller = reseller.into();
        let store = self.store_of(reseller);
        let mut permit = None;
        let transaction = Arc::new(Mutex::new(transaction));
        let subject = evaluation.subject.as_ref();
        let mut policies =
            subject.map_or_else(|| self.policies.default_policy(), |subject| self.policies.guess(subject));
        let mut attempts = 0;
        loop {
            attempts += 1;
            if let Some(reseller) =
                reseller.filter(|_| evaluation.in_turn && policies.versions().len() >= MANY_POLICIES)
                && permit.is_none()
            {
                permit = Some(self.list_permit(reseller).await?);
            }
            let outcome = (evaluation.evaluate)(&policies);
            let decision = Arc::new(Decision { kernel: self.clone(), policies, outcome, stale: Mutex::default() });
            let (transaction, made) = (transaction.clone(), decision.clone());
            let unit = move |tx: &mut Tx<'_>| {
                *made.stale.lock() = None;
                (transaction.lock())(tx, &made)
            };
            let result = store.write(unit).await;
            let stale = decision.stale.lock().take();
            match (result, stale) {
                (Err(ServiceError::Overtaken(_)), Some(stale)) if attempts < MAX_ATTEMPTS => {
                    policies = self.current_policies(stale, subject).await?;
                }
                (result, _) => return result,
            }
        }
    }

    /// The policies that a transaction has found to apply, with their rules. They are remembered by the names of the account.
    async fn current_policies(
        self: &Arc<Self>,
        stale: Stale,
        subject: Option<&Subject>,
    ) -> Result<Arc<EffectivePolicies>, ServiceError> {
        let Stale { reseller, account, policies } = stale;
        let policies = match policies {
            Some(policies) => policies,
            None => {
                let kernel = self.clone();
                self.store_of(reseller).read(move |tx| kernel.policies.read(tx, reseller, account)).await?
            }
        };
        self.policies.remember(&Subject::new(reseller, account), &policies);
        subject.into_iter().for_each(|subject| self.policies.remember(subject, &policies));
        Ok(policies)
    }
}
