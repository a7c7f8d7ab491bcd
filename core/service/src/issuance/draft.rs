//! Step one: prove from what is stored that every name is authorized, ask the policies, and store the draft with its
//! serial.

use std::sync::Arc;
use std::time::Duration;

use chancery_domain::policy::Request;
use chancery_domain::{
    Authorization, Identifier, IssuanceProof, KeyType, Order, ProblemKind, ProofError, Timestamp, ValidationProblem,
};
use chancery_pki::{
    CertificateRequest, CurrentLogs, Draft, LogList, Period, PeriodWish, Serial, SubscriberKey, SubscriberProfile,
    Validity,
};
use chancery_store::{DraftRow, Tx};

use super::signing::terms;
use super::{CaaAssignment, Issuance, Work, profiles};
use crate::authority::Signing;
use crate::csr;
use crate::error::ServiceError;
use crate::fault::{self, Step};
use crate::issuance_rules::{Parties, evidence_rules, require_short, standing_authorizations, unprovable};
use crate::kernel::Kernel;
use crate::orders::{days_between, redraft_order};
use crate::policies::{Decision, EffectivePolicies, PolicyEvaluation, Subject, require_none};

/// How far the first step has come.
pub(super) enum Drafting {
    /// The draft is stored. What signing needs is not there where the CA is not loaded yet.
    Drafted(Option<Box<Work>>),
    AskCaa(Vec<CaaAssignment>),
    Done,
}

/// For how many days a certificate may be issued, or what the policies have against it.
pub(super) type AllowedDays = Result<u32, ServiceError>;

impl Issuance {
    /// Drafts what an order that is being issued is about, or takes up the draft it has. `read` is the order as it was before the
    /// transaction.
    pub(super) fn draft_in(
        &self,
        tx: &mut Tx<'_>,
        read: &Order,
        request: &Result<CertificateRequest, ServiceError>,
        decision: &Decision<AllowedDays>,
    ) -> Result<Drafting, ServiceError> {
        let (kernel, now, id) = (&self.kernel, self.kernel.now(), read.id);
        let Some(order) = self.claim(tx, id)? else { return Ok(Drafting::Done) };
        if order.csr != read.csr {
            return Err(ServiceError::Overtaken("the order was finalized again with another CSR".to_owned()));
        }
        let stored = self.suitable_draft(tx, &order, now)?;
        if stored.is_none() && decision.policies(tx, order.reseller, order.account)?.have_quotas() {
            // Certificates of one account are counted one after the other; claimed before it is held, or two wait for
            // each other.
            tx.claim_account(order.reseller, order.account)?;
        }
        Parties::hold(tx, &order)?.require_standing(&order)?;
        let authorizations = standing_authorizations(kernel, tx, id)?;
        let proof = match IssuanceProof::build(&order, &authorizations, &evidence_rules(kernel, &order, now), now) {
            Ok(proof) => proof,
            Err(ProofError::StaleCaa(stale)) => {
                let again = authorizations.iter().filter(|each| stale.contains(&each.id));
                let again = again.filter_map(|each| {
                    Some(CaaAssignment {
                        authorization: each.id,
                        identifier: each.identifier.clone(),
                        method: each.validation()?.method,
                        account_uri: kernel.settings.applicant_uri(order.account, order.acme_account),
                    })
                });
                return Ok(Drafting::AskCaa(again.collect()));
            }
            Err(error) => return Err(unprovable(error)),
        };
        let request = request.clone()?;
        let problems = csr::problems_since(kernel, tx, &request, profiles(kernel, &order)?.0)?;
        if let Some(problem) = problems.first() {
            return Err(ServiceError::Unissuable(ValidationProblem {
                kind: ProblemKind::BadCsr,
                detail: problem.message.clone(),
            }));
        }
        let (policies, most_days) = self.require_allowed(tx, &order, &authorizations, decision)?;
        if let Some(stored) = stored {
            // It is counted already, and must not stand in its own way: no quota is asked.
            let draft = Draft::from_stored(&stored.tbs).map_err(ServiceError::internal)?;
            require_short(&draft, most_days)?;
            let signing = self.authority.find(stored.issuer);
            let work = signing.map(|signing| Box::new(Work { order, draft, signing, request }));
            return Ok(Drafting::Drafted(work));
        }
        policies.require_quota(tx, order.account, now)?;
        let composed = self.compose(tx, &order, &request, proof.names(), most_days, now)?;
        let changed = || ServiceError::Overtaken("the CAs are about to be read anew".to_owned());
        let (draft, signing) = composed.ok_or_else(changed)?;
        Ok(Drafting::Drafted(Some(Box::new(Work { order, draft, signing, request }))))
    }

    /// The draft that the order has; none where it is one that its profile has no use for any more. Such a one is dropped.
    fn suitable_draft(&self, tx: &mut Tx<'_>, order: &Order, now: Timestamp) -> Result<Option<DraftRow>, ServiceError> {
        let Some(stored) = tx.draft(order.certificate)? else { return Ok(None) };
        let (_, profile) = profiles(&self.kernel, order)?;
        let draft = Draft::from_stored(&stored.tbs).map_err(ServiceError::internal)?;
        if draft.suits(profile.logs.as_ref().map(CurrentLogs::now).as_deref()) {
            return Ok(Some(stored));
        }
        tracing::warn!(order = %order.id, serial = stored.serial, "a draft is made anew: the logs of its profile have changed");
        redraft_order(tx, order, now)?;
        Ok(None)
    }

    /// Drafts for an order in the unit of work that finalized it, where all who stand for it are held and the CSR was
    /// found good. None where that cannot be: then it is the job's to draft it, or to say what stands against it.
    pub(crate) fn draft_at_once(
        &self,
        tx: &mut Tx<'_>,
        order: &Order,
        request: &CertificateRequest,
        policies: &EffectivePolicies,
        days: AllowedDays,
    ) -> Result<Option<Work>, ServiceError> {
        let now = self.kernel.now();
        if policies.have_quotas() {
            return Ok(None);
        }
        let authorizations = standing_authorizations(&self.kernel, tx, order.id)?;
        let Ok(proof) = IssuanceProof::build(order, &authorizations, &evidence_rules(&self.kernel, order, now), now)
        else {
            return Ok(None);
        };
        let drafted = self
            .check_methods(order, policies, &authorizations)
            .and(days)
            .and_then(|most_days| self.compose(tx, order, request, proof.names(), most_days, now));
        match drafted {
            Ok(None) => Ok(None),
            // Logs are shown it by the job, which has its own way to them.
            Ok(Some((draft, _))) if draft.is_precertificate() => Ok(None),
            Ok(Some((draft, signing))) => {
                Ok(Some(Work { order: order.clone(), draft, signing, request: request.clone() }))
            }
            Err(trouble @ ServiceError::Store(_)) => Err(trouble),
            Err(_) => Ok(None),
        }
    }

    /// Decides for how many days the policies allow the certificate of an order.
    pub(super) fn evaluation(
        &self,
        order: &Order,
        request: &Result<CertificateRequest, ServiceError>,
    ) -> PolicyEvaluation<AllowedDays> {
        let (kernel, order) = (self.kernel.clone(), order.clone());
        let key_type = request.as_ref().ok().and_then(|request| request.key().ok()).map(SubscriberKey::key_type);
        PolicyEvaluation::new(Subject::new(order.reseller, order.account), move |policies| {
            allowed_days(&kernel, &order, key_type, policies)
        })
    }

    /// The policies that apply to an order now, and for how many days they allow its certificate.
    pub(super) fn require_allowed(
        &self,
        tx: &mut Tx<'_>,
        order: &Order,
        authorizations: &[Authorization],
        decision: &Decision<AllowedDays>,
    ) -> Result<(Arc<EffectivePolicies>, u32), ServiceError> {
        let (policies, days) = decision.outcome(tx, order.reseller, order.account)?;
        let days = days.clone()?;
        self.check_methods(order, &policies, authorizations)?;
        Ok((policies, days))
    }

    /// Requires that the methods by which the names were validated are still allowed.
    fn check_methods(
        &self,
        order: &Order,
        policies: &EffectivePolicies,
        authorizations: &[Authorization],
    ) -> Result<(), ServiceError> {
        let (profile, _) = profiles(&self.kernel, order)?;
        let validated = authorizations.iter().filter_map(|each| Some((&each.identifier, each.validation()?.method)));
        require_none(policies.check_methods(profile, validated))
    }

    /// Draws a serial number, and stores what is to be signed. None where the CA was revoked and this process has not heard
    /// of it yet.
    fn compose(
        &self,
        tx: &mut Tx<'_>,
        order: &Order,
        request: &CertificateRequest,
        names: &[Identifier],
        most_days: u32,
        now: Timestamp,
    ) -> Result<Option<(Draft, Arc<Signing>)>, ServiceError> {
        let kernel = &self.kernel;
        let key = request.key().map_err(ServiceError::internal)?;
        let (_, profile) = profiles(kernel, order)?;
        let wish = wish(order, profile, most_days, now);
        let days = i64::from(most_days.min(profile.validity_days));
        let end = wish.not_after.unwrap_or(now.as_secs() + days * 86_400);
        let signing = self.authority.choose(&order.profile, profile, key.key_type(), end, order.id)?;
        if tx.is_revoked_issuer(signing.id)? {
            return Ok(None);
        }
        let period = Period::plan(profile, &signing.issuer, &wish, now.as_secs()).map_err(|error| {
            ServiceError::Unissuable(ValidationProblem {
                kind: ProblemKind::RejectedIdentifier,
                detail: error.to_string(),
            })
        })?;
        if let Some(logs) = &profile.logs {
            require_logs(&logs.now(), period.validity)?;
        }
        let urls = signing.urls_for(&kernel.settings.issuing.issuer_rules(&order.profile));
        let terms = terms(&signing, &urls, profile, names, key, now);
        let serial = Serial::draw(kernel.entropy.as_ref());
        let draft = Draft::subscriber(&terms, period.validity, serial, request.common_name().as_ref())
            .map_err(ServiceError::internal)?;
        let row = DraftRow { issuer: signing.id, serial: serial.to_string(), tbs: draft.tbs_der().to_vec() };
        tx.store_draft(order.certificate, &row, now)?;
        // Counted with its draft, so that orders side by side cannot all fit under one quota.
        tx.count_issued(order.account, Timestamp::from_secs(period.validity.not_after()), now)?;
        fault::reached(Step::Drafting);
        Ok(Some((draft, signing)))
    }
}

/// For how many days the policies allow the certificate of an order.
pub(crate) fn allowed_days(
    kernel: &Kernel,
    order: &Order,
    key_type: Option<KeyType>,
    policies: &EffectivePolicies,
) -> AllowedDays {
    let (domain_profile, profile) = profiles(kernel, order)?;
    let asked = Request {
        profile: domain_profile,
        identifiers: &order.identifiers,
        key_type,
        challenge_type: None,
        validity_days: order.not_after.map(|end| days_between(beginning(order, profile, kernel.now()), end)),
    };
    let verdict = policies.evaluate(&asked);
    require_none(verdict.violations)?;
    Ok(verdict.most_days)
}

/// Nothing is shown to some logs that could never be in enough.
fn require_logs(logs: &LogList, validity: Validity) -> Result<(), ServiceError> {
    if logs.could_be_enough(validity) {
        return Ok(());
    }
    let ends = Timestamp::from_secs(validity.not_after());
    tracing::error!(%ends, "too few certificate logs take what ends then: name more in [ct]");
    let detail = format!("too few certificate logs take what ends at {ends}; the operator has been told");
    Err(ServiceError::Unissuable(ValidationProblem { kind: ProblemKind::ServerInternal, detail }))
}

/// When a certificate with an explicit end begins: as asked for, unless that has passed meanwhile, or else now.
fn beginning(order: &Order, profile: &SubscriberProfile, now: Timestamp) -> Timestamp {
    let earliest = now.minus(Duration::from_secs(u64::from(profile.backdate_seconds)));
    order.not_before.map_or(now, |asked| asked.max(earliest))
}

/// The period that was asked for. One that was taken when it was ordered is not refused because time has passed, or
/// because certificates begin a little before they are signed.
fn wish(order: &Order, profile: &SubscriberProfile, max_days: u32, now: Timestamp) -> PeriodWish {
    let not_before = order.not_before.map(|_| beginning(order, profile, now).as_secs());
    PeriodWish { not_before, not_after: order.not_after.map(Timestamp::as_secs), max_days: Some(max_days) }
}
