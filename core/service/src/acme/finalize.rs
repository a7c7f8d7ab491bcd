//! From a ready order and a CSR to a certificate, within the request where that is possible.

use std::sync::Arc;

use chancery_domain::policy::{ALLOWED_KEY_TYPES, Request, Violations};
use chancery_domain::{KeyType, Order, OrderId, OrderState, messages};
use chancery_pki::{CertificateRequest, SubscriberKey};
use chancery_store::Tx;
use tokio::task::JoinHandle;
use tracing::Instrument;

use super::{Acme, AcmeCaller, AcmeError};
use crate::caller::Caller;
use crate::csr::JudgedCsr;
use crate::error::ServiceError;
use crate::issuance::{Work, allowed_days};
use crate::kernel::Kernel;
use crate::orders::{Finalized, rules};
use crate::policies::{Decision, EffectivePolicies, PolicyEvaluation, Subject, require_none};
use crate::refused::{Asked, Refused};
use crate::telling::About;
use crate::to_the_end::to_the_end;

/// What the policies say to a CSR and to the certificate that is issued for it.
struct Permission {
    violations: Violations,
    /// For how many days a certificate may be issued.
    days: Result<u32, ServiceError>,
}

impl Permission {
    fn evaluate(kernel: &Kernel, order: &Order, key_type: Option<KeyType>, policies: &EffectivePolicies) -> Self {
        let profile = rules::profile(&kernel.settings, &order.profile);
        let violations = profile.map_or_else(
            |_| Violations::default(),
            |profile| policies.evaluate_order(&Request { key_type, ..Request::of(profile, &order.identifiers) }),
        );
        Self { violations, days: allowed_days(kernel, order, key_type, policies) }
    }
}

/// A CSR that was accepted, and what drafting its certificate needs.
struct Accepted {
    request: CertificateRequest,
    policies: Arc<EffectivePolicies>,
    days: Result<u32, ServiceError>,
}

/// Ends with the order, where it has its certificate by then.
type Issuing = JoinHandle<Option<Order>>;

impl Acme {
    /// Asks for the certificate (RFC 8555 section 7.4), and waits a little for it: most are there at once. Asking again
    /// with the same CSR gives the order as it is; with another, the client would think that its key was used.
    pub async fn finalize(&self, by: &AcmeCaller, id: OrderId, csr: Vec<u8>) -> Result<Order, ServiceError> {
        by.require_active()?;
        let ended = self.kernel.ended.watch(id);
        let known = self.orders.glimpse(&by.caller, id).await?;
        let judged = read(&self.kernel, &known, &csr);
        // A client that goes away takes nothing with it.
        let begun = self.clone().finalize_and_begin(by.caller.clone(), known, csr, judged);
        let (order, issuing) = to_the_end(begun).await?;
        let wait = self.kernel.settings.acme.finalize_wait;
        let OrderState::Processing { .. } = order.state else { return Ok(order) };
        if wait.is_zero() {
            return Ok(order);
        }
        match issuing {
            Some(issuing) => {
                if let Ok(Ok(Some(order))) = tokio::time::timeout(wait, issuing).await {
                    return Ok(order);
                }
            }
            None => ended.at_most(wait).await,
        }
        self.orders.glimpse(&by.caller, id).await
    }

    /// The order, finalized, and what issues it, where that is not left to a job.
    async fn finalize_and_begin(
        self,
        caller: Caller,
        known: Order,
        csr: Vec<u8>,
        judged: Result<JudgedCsr, ServiceError>,
    ) -> Result<(Order, Option<Issuing>), ServiceError> {
        let (id, kernel, refused) = (known.id, self.kernel.clone(), Refused::default());
        let noted = refused.clone();
        let key = judged.as_ref().ok().and_then(|judged| judged.request.key().ok());
        let key_type = key.map(SubscriberKey::key_type);
        let subject = Subject::new(caller.reseller, known.account);
        let evaluation =
            PolicyEvaluation::new(subject, move |policies| Permission::evaluate(&kernel, &known, key_type, policies));
        let complete = move |kernel: &Kernel, tx: &mut Tx<'_>, order: Order, decision: &Decision<Permission>| {
            let judged = judged.clone()?;
            let (policies, days) = judge(kernel, tx, &order, &judged, decision, &noted)?;
            let csr = Some(judged.request.as_der().to_vec());
            Ok((Order { csr, ..order }, Accepted { request: judged.request, policies, days }))
        };
        let nobody_waits = self.kernel.settings.acme.finalize_wait.is_zero();
        let issuance = self.issuance.clone();
        let tell = move |tx: &mut Tx<'_>, order: Order, accepted: Option<Accepted>| {
            let Some(Accepted { request, policies, days }) = accepted else { return Ok((order, None)) };
            let work = match nobody_waits {
                false => issuance.draft_at_once(tx, &order, &request, &policies, days)?,
                true => None,
            };
            if work.is_none() {
                tx.await_certificate(order.certificate)?;
            }
            Ok((order, work))
        };
        match self.orders.finalize_with(&caller, id, &evaluation, complete, tell).await {
            Ok(Finalized::AlreadyAccepted((order, _))) if order.csr.as_deref() != Some(csr.as_slice()) => {
                let refused = AcmeError::OtherCsr.into();
                Err(self.kernel.tell_refused(&caller, About::Order(id), "finalize", refused).await)
            }
            Ok(Finalized::AlreadyAccepted((order, _))) => Ok((order, None)),
            Ok(Finalized::Accepted((order, None))) => {
                self.orders.begin(&caller, id);
                Ok((order, None))
            }
            Ok(Finalized::Accepted((order, Some(work)))) => {
                Ok((order, Some(tokio::spawn(self.issue_at_once(caller, work).in_current_span()))))
            }
            Err(error) => Err(refused.settle(&self.kernel, &caller, error).await),
        }
    }

    /// The order with its certificate. What cannot be written in this moment is left to the job, which tries again.
    async fn issue_at_once(self, caller: Caller, work: Work) -> Option<Order> {
        let id = work.order.id;
        match self.issuance.for_reseller(Some(caller.reseller)).sign_and_keep(work).await {
            Ok(issued) => issued,
            Err(error) => {
                tracing::debug!(%error, order = %id, "an order is left to its job");
                self.orders.begin(&caller, id);
                None
            }
        }
    }
}

fn bad(why: impl Into<String>) -> ServiceError {
    AcmeError::BadCsr(why.into()).into()
}

/// Takes the CSR apart, before others have to wait for it.
fn read(kernel: &Kernel, order: &Order, der: &[u8]) -> Result<JudgedCsr, ServiceError> {
    if !der.starts_with(&[0x30]) {
        return Err(bad("`csr` must be the DER of a PKCS #10 request in base64url, without PEM lines"));
    }
    let profile = rules::profile(&kernel.settings, &order.profile)?;
    JudgedCsr::read(kernel, der, profile, order.via).map_err(|error| match error {
        ServiceError::Invalid(problems) => bad(messages(&problems.0)),
        other => other,
    })
}

/// Refuses a CSR that no certificate can be issued for, before the order is finalized. Returns the policies that apply, and for
/// how many days they allow a certificate.
fn judge(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    order: &Order,
    judged: &JudgedCsr,
    decision: &Decision<Permission>,
    refused: &Refused,
) -> Result<(Arc<EffectivePolicies>, Result<u32, ServiceError>), ServiceError> {
    rules::profile(&kernel.settings, &order.profile)?;
    let request = &judged.request;
    if let Ok(key) = request.key() {
        tx.foresee(|tx| drop(tx.is_account_key(&key.thumbprint())));
    }
    let problems = judged.problems(tx)?;
    if !problems.is_empty() {
        return Err(bad(messages(&problems)));
    }
    let mut names = request.identifiers();
    names.sort();
    if names != order.identifiers {
        let text = |names: &[chancery_domain::Identifier]| {
            let texts: Vec<_> = names.iter().map(ToString::to_string).collect();
            texts.join(", ")
        };
        let (asked, ordered) = (text(&names), text(&order.identifiers));
        return Err(bad(format!("the CSR is for {asked}, and the order for {ordered}; they must be the same names")));
    }
    let key = request.key().map_err(|problem| bad(problem.to_string()))?;
    // RFC 8555 section 11.1: who knows the one key must not have the other with it.
    if tx.is_account_key(&key.thumbprint())? {
        return Err(bad("the CSR has the key of an ACME account; make another key for the certificate"));
    }
    let (policies, Permission { violations, days }) = decision.outcome(tx, order.reseller, order.account)?;
    let verdict = require_none(violations.clone());
    let verdict = verdict.and_then(|()| policies.require_quota(tx, order.account, kernel.now()));
    match refused.note(&Asked::of(order), verdict) {
        Ok(()) => Ok((policies, days.clone())),
        // The names are not what is wrong.
        Err(ServiceError::PolicyViolation(violations)) if violations.are_all_of(ALLOWED_KEY_TYPES) => {
            Err(bad(violations.messages()))
        }
        Err(ServiceError::PolicyViolation(violations)) => {
            Err(super::names::rejected(violations, &order.identifiers).into())
        }
        Err(other) => Err(other),
    }
}
