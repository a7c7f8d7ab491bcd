//! From a finalized order to a certificate, in steps that a crash between them cannot spoil.
//!
//! 1. *Prepare*: prove from what is stored that every name is authorized, ask the policies again, and store the draft
//!    with its serial. What was stored once is taken up again, never drawn anew.
//! 2. *Sign*: lint the stored bytes, sign them, check the signature, and keep the certificate; the order becomes valid
//!    in the same unit of work.
//!
//! Where certificates are shown to logs there is a signature and a draft more between the two: `transparency` tells.
//!
//! Whatever goes wrong ends the order with a reason; only for those who are suspended it is put back, to be finalized
//! again.

mod draft;
mod transparency;

use std::sync::Arc;

use chancery_domain::{
    AccountError, Action, AuthorizationId, AuthorizationState, CaaEvidence, ChallengeType, Identifier, IssuanceProof,
    Issued, Order, OrderId, OrderState, ProblemKind, ProofError, Timestamp, ValidationProblem, Via,
};
use chancery_pki::{
    Certificate, CertificateRequest, Draft, IssuerUrls, Signed, SubscriberKey, SubscriberProfile, Terms,
};
use chancery_store::{JobKind, SPANS, Tx};
use serde_json::json;

use self::draft::Drafting;
pub use self::transparency::LogAssignment;
use crate::authority::{Authority, Signing};
use crate::ca_key::unsigned;
use crate::csr;
use crate::error::ServiceError;
use crate::fault::{self, Step};
use crate::issuance_rules::{
    Parties, as_problem, evidence_rules, require_short, require_unbarred, standing_authorizations, unprovable,
};
use crate::kernel::Kernel;
use crate::orders::{Standing, describe_with, fail_order, put_back_order};
use crate::refused;
use crate::telling;
use crate::timed::Timed;

/// What has to happen next with an order, for those who take the steps one by one, which only tests do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prepared {
    /// The draft is stored and can be signed.
    Drafted,
    /// What CAA says has to be asked again first.
    AskCaa(Vec<CaaAssignment>),
    /// Nothing: the order has ended, or the job is another node's.
    Done,
}

/// What has to happen next with an order, which others have to do.
#[derive(Debug)]
pub enum Next {
    /// What CAA says has to be asked again.
    AskCaa(Vec<CaaAssignment>),
    /// Logs have to be shown what is going to be issued.
    ShowLogs(Box<LogAssignment>),
    /// Nothing: the order has ended, or the job is another node's.
    Done,
}

/// A name whose CAA records have to be looked at again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaaAssignment {
    pub authorization: AuthorizationId,
    pub identifier: Identifier,
    pub method: ChallengeType,
    pub account_uri: String,
}

#[derive(Clone)]
pub struct Issuance {
    kernel: Arc<Kernel>,
    authority: Arc<Authority>,
}

impl Issuance {
    pub(crate) fn new(kernel: Arc<Kernel>, authority: Arc<Authority>) -> Self {
        Self { kernel, authority }
    }

    /// Both steps, one after the other; or what others have to do in between, and then this once more.
    pub async fn issue(&self, id: OrderId) -> Result<Next, ServiceError> {
        match self.draft(id).await? {
            Drafting::Drafted(Some(work)) => self.go_on(*work).await,
            Drafting::Drafted(None) => self.sign(id).await,
            Drafting::AskCaa(names) => Ok(Next::AskCaa(names)),
            Drafting::Done => Ok(Next::Done),
        }
    }

    async fn go_on(&self, work: Work) -> Result<Next, ServiceError> {
        match work.draft.is_precertificate() {
            true => self.show(work).await,
            false => self.sign_and_keep(work).await.map(|_| Next::Done),
        }
    }

    /// Step one, for those who take the steps one by one, which only tests do. An order that cannot be issued is ended
    /// here, with the reason.
    pub async fn prepare(&self, id: OrderId) -> Result<Prepared, ServiceError> {
        Ok(match self.draft(id).await? {
            Drafting::Drafted(_) => Prepared::Drafted,
            Drafting::AskCaa(names) => Prepared::AskCaa(names),
            Drafting::Done => Prepared::Done,
        })
    }

    async fn draft(&self, id: OrderId) -> Result<Drafting, ServiceError> {
        let me = self.clone();
        let drafted = self.kernel.store.write(move |tx| me.draft_in(tx, id)).await;
        if let Ok(Drafting::Drafted(_)) = &drafted {
            fault::reached(Step::Drafted);
        }
        match drafted {
            Err(error) => self.settle(id, error).await.map(|()| Drafting::Done),
            drafted => drafted,
        }
    }

    /// Takes note of what CAA says now; a refusal ends the order.
    pub async fn note_caa(
        &self,
        id: OrderId,
        authorization: AuthorizationId,
        answer: Result<CaaEvidence, ValidationProblem>,
    ) -> Result<(), ServiceError> {
        let caa = match answer {
            Ok(caa) => caa,
            Err(problem) => return self.fail(id, problem).await,
        };
        let me = self.clone();
        self.kernel
            .store
            .write(move |tx| {
                if me.claim(tx, id)?.is_none() {
                    return Ok(());
                }
                let Some(mut authorization) = tx.any_authorization(authorization)? else { return Ok(()) };
                if let AuthorizationState::Valid(validation) = &mut authorization.state {
                    validation.caa = caa.clone();
                    tx.save_authorization(&authorization)?;
                }
                Ok(())
            })
            .await
    }

    /// Step two, by itself.
    pub async fn sign(&self, id: OrderId) -> Result<Next, ServiceError> {
        let me = self.clone();
        let work = match self.kernel.store.glance(move |tx| me.take_up(tx, id)).await {
            Ok(Some(work)) => work,
            Ok(None) => return Ok(Next::Done),
            // Anything else may pass: an issuer, for one, that another node has made and this one has not loaded yet.
            Err(
                error @ (ServiceError::Account(_)
                | ServiceError::AcmeAccount(_)
                | ServiceError::CredentialRevoked(_)
                | ServiceError::Unissuable(_)),
            ) => return self.settle(id, error).await.map(|()| Next::Done),
            Err(other) => return Err(other),
        };
        self.go_on(work).await
    }

    /// Whether an order has its draft, and needs others who may be away: a token that has the key of its CA, or logs, which may
    /// have been shown it already.
    pub async fn needs_others(&self, id: OrderId) -> Result<bool, ServiceError> {
        let read = move |tx: &mut Tx<'_>| {
            let Some(order) = tx.any_order(id)? else { return Ok::<_, ServiceError>(None) };
            let Some(draft) = tx.draft(order.certificate)? else { return Ok(None) };
            Ok(Some((draft.issuer, tx.precertificate(&draft.serial)?.is_some())))
        };
        let Some((issuer, is_shown)) = self.kernel.store.glance(read).await? else { return Ok(false) };
        let signing = self.authority.find(issuer);
        Ok(is_shown || signing.is_some_and(|signing| signing.issuer.signs_elsewhere()))
    }

    /// Nothing that is signed leaves before it is kept, and whatever was found good for it is looked at again then. Gives
    /// the order that has its certificate; none where it has come to another end.
    pub(crate) async fn sign_and_keep(&self, work: Work) -> Result<Option<Order>, ServiceError> {
        let id = work.order.id;
        fault::reached(Step::ToSign);
        let (work, signed) = self.sign_where_it_is(work, Self::sign_draft).await?;
        let signed = match signed {
            Ok(signed) => signed,
            Err(away @ ServiceError::Signer(_)) => return Err(away),
            Err(reason) => return self.unsignable(id, &reason).await.map(|()| None),
        };
        fault::reached(Step::Signed);
        let (me, der) = (self.clone(), signed.certificate().as_der().to_vec());
        let (issued, shard) = match work.outcome(signed.certificate(), self.kernel.now()) {
            Ok(outcome) => outcome,
            Err(error) => return self.settle(id, error).await.map(|()| None),
        };
        let kept = self.kernel.store.write(move |tx| me.keep(tx, &work, &issued, shard, &der)).await;
        if let Ok(kept) = &kept {
            fault::reached(Step::Kept);
            self.announce(id);
            kept.iter().for_each(telling::issued);
        }
        match kept {
            Err(error) => self.settle(id, error).await.map(|()| None),
            kept => kept,
        }
    }

    /// Signs here, or on a thread of its own where the key is in a token.
    async fn sign_where_it_is<T: Send + 'static>(
        &self,
        work: Work,
        sign: impl FnOnce(&Self, &Work) -> Result<T, ServiceError> + Send + 'static,
    ) -> Result<(Work, Result<T, ServiceError>), ServiceError> {
        let span = tracing::trace_span!(target: SPANS, "sign");
        let (me, elsewhere) = (self.clone(), work.signing.issuer.signs_elsewhere());
        let sign = move || {
            let signed = span.in_scope(|| sign(&me, &work));
            (work, signed)
        };
        match elsewhere {
            false => Ok(sign()),
            // A token may take its time, in which this thread has others to serve.
            true => tokio::task::spawn_blocking(sign).await.map_err(ServiceError::internal),
        }
    }

    /// Ends an order whose draft must not be signed: a mistake of ours.
    async fn unsignable(&self, id: OrderId, reason: &ServiceError) -> Result<(), ServiceError> {
        tracing::error!(order = %id, %reason, "a draft could not be signed");
        let detail = "the certificate could not be signed; the operator has been told".to_owned();
        self.fail(id, ValidationProblem { kind: ProblemKind::ServerInternal, detail }).await
    }

    /// Ends an order that cannot be issued. A verdict that comes too late, because the order has ended or the job is
    /// another node's by now, changes nothing.
    pub async fn fail(&self, id: OrderId, problem: ValidationProblem) -> Result<(), ServiceError> {
        self.end(id, problem, None).await
    }

    /// Ends an order that cannot be issued. What a policy or a quota refuses, as the error says, is told as such, too.
    async fn end(
        &self,
        id: OrderId,
        problem: ValidationProblem,
        error: Option<ServiceError>,
    ) -> Result<(), ServiceError> {
        let (me, why) = (self.clone(), problem.clone());
        let failed = self
            .kernel
            .store
            .write(move |tx| {
                let Some(order) = me.claim(tx, id)? else { return Ok(false) };
                error.iter().try_for_each(|error| refused::write_end(&me.kernel, tx, &order, error))?;
                let order = fail_order(tx, order, problem.clone(), me.kernel.now())?;
                let detail = describe_with(&order, "problem", problem.to_string());
                me.kernel.audit_own(tx, Some(order.reseller), Action::OrderFail, id, &detail)?;
                Ok::<_, ServiceError>(true)
            })
            .await;
        self.announce(id);
        if failed? {
            self.kernel.tell_failed(id, "issuance", &why).await;
        }
        Ok(())
    }

    /// What becomes of an order for which nothing was issued: an error that may pass is given back, and the job is tried
    /// again.
    async fn settle(&self, id: OrderId, error: ServiceError) -> Result<(), ServiceError> {
        match &error {
            ServiceError::Account(AccountError::Suspended) => return self.put_back(id, "suspended", error).await,
            ServiceError::QuotaExceeded { .. } => return self.put_back(id, "quota", error).await,
            _ => {}
        }
        if let ServiceError::Internal(reason) = &error {
            tracing::error!(order = %id, %reason, "an order could not be issued");
        }
        match as_problem(&error) {
            Some(problem) => self.end(id, problem, Some(error)).await,
            None => Err(error),
        }
    }

    /// Puts an order back to where it can be finalized again, since account or reseller are suspended or others have used up
    /// a quota; unless the account has ended since, which cancelled its open orders and found this one at work. A quota ends
    /// orders of ACME: their clients wait for a certificate or for an end, and would finalize nothing twice.
    async fn put_back(&self, id: OrderId, because: &'static str, error: ServiceError) -> Result<(), ServiceError> {
        let (me, why) = (self.clone(), error.clone());
        let back = self
            .kernel
            .store
            .write(move |tx| {
                let Some(order) = me.claim(tx, id)? else { return Ok(false) };
                Parties::hold(tx, &order)?.require_alive()?;
                if order.via == Via::Acme && matches!(error, ServiceError::QuotaExceeded { .. }) {
                    return Err(error.clone());
                }
                refused::write_end(&me.kernel, tx, &order, &error)?;
                let (reseller, mut detail) = (order.reseller, describe_with(&order, "because", because));
                let dropped = put_back_order(tx, order, me.kernel.now())?;
                detail["droppedSerial"] = json!(dropped);
                me.kernel.audit_own(tx, Some(reseller), Action::OrderPutBack, id, &detail)?;
                Ok::<_, ServiceError>(true)
            })
            .await;
        if let Err(end @ (ServiceError::Account(AccountError::Terminated(_)) | ServiceError::QuotaExceeded { .. })) =
            back
        {
            let problem = as_problem(&end).ok_or_else(|| end.clone())?;
            return self.end(id, problem, Some(end)).await;
        }
        self.announce(id);
        if back? {
            self.kernel.tell_put_back(id, &why).await;
        }
        Ok(())
    }

    /// Tells those who wait for the order that it has ended.
    fn announce(&self, id: OrderId) {
        self.kernel.ended.tell(id);
    }

    /// The order, locked, if it is being issued and the job is ours.
    fn claim(&self, tx: &mut Tx<'_>, id: OrderId) -> Result<Option<Order>, ServiceError> {
        let Some(order) = self.processing(tx, id)? else { return Ok(None) };
        let ours = tx.holds_job(JobKind::Issue, &id.to_string(), &self.kernel.node)?;
        Ok(ours.then_some(order))
    }

    /// The order, locked, if it is being issued and the job is ours, which is done with this.
    fn claim_last(&self, tx: &mut Tx<'_>, id: OrderId) -> Result<Option<Order>, ServiceError> {
        let (order, ours) = tx.lock_order_and_conclude(id, &self.kernel.node)?;
        Ok(self.if_processing(tx, order, id)?.filter(|_| ours))
    }

    /// The order, locked, if it is being issued; otherwise there is nothing left to do.
    fn processing(&self, tx: &mut Tx<'_>, id: OrderId) -> Result<Option<Order>, ServiceError> {
        let order = tx.lock_order(id)?;
        self.if_processing(tx, order, id)
    }

    fn if_processing(&self, tx: &mut Tx<'_>, order: Option<Order>, id: OrderId) -> Result<Option<Order>, ServiceError> {
        let Some(order) = order else { return Ok(None) };
        if let OrderState::Processing { .. } = order.state {
            return Ok(Some(order));
        }
        tx.finish_job(JobKind::Issue, id)?;
        Ok(None)
    }

    fn take_up(&self, tx: &mut Tx<'_>, id: OrderId) -> Result<Option<Work>, ServiceError> {
        let Some(order) = tx.any_order(id)? else { return Ok(None) };
        if !tx.holds_job(JobKind::Issue, &id.to_string(), &self.kernel.node)? {
            return Ok(None);
        }
        Parties::of(tx, &order)?.require_standing(&order)?;
        let Some(stored) = tx.draft(order.certificate)? else { return Ok(None) };
        let signing = self.authority.require(tx, stored.issuer)?;
        let request = csr_of(&order)?;
        require_unbarred(tx, &request, stored.issuer)?;
        let draft = Draft::from_stored(&stored.tbs).map_err(ServiceError::internal)?;
        Ok(Some(Work { request, order, draft, signing }))
    }

    fn sign_draft(&self, work: &Work) -> Result<Signed, ServiceError> {
        let _timed = Timed::start("sign");
        self.with_terms(work, |terms| {
            let linted = work.draft.lint(terms);
            let linted = linted.map_err(|findings| ServiceError::internal(format!("lint: {findings:?}")))?;
            work.signing.issuer.sign(linted).map_err(unsigned)
        })
    }

    /// What a draft is held against before it is signed.
    fn with_terms<T>(
        &self,
        work: &Work,
        sign: impl FnOnce(&Terms<'_>) -> Result<T, ServiceError>,
    ) -> Result<T, ServiceError> {
        if work.signing.revoked {
            return Err(ServiceError::internal(format!("the CA {} is revoked", work.signing.name)));
        }
        let key = work.request.key().map_err(ServiceError::internal)?;
        let (_, profile) = profiles(&self.kernel, &work.order)?;
        let urls = work.signing.urls_for(&self.kernel.settings.issuing.issuer_rules(&work.order.profile));
        sign(&terms(&work.signing, &urls, profile, &work.order.identifiers, key, self.kernel.now()))
    }

    /// Keeps the certificate, unless account, credential, order, key or policies have changed so that nothing may be issued
    /// any more. Gives the order that has it; none where the job is another node's by now.
    fn keep(
        &self,
        tx: &mut Tx<'_>,
        work: &Work,
        issued: &Issued,
        shard: i64,
        der: &[u8],
    ) -> Result<Option<Order>, ServiceError> {
        let (kernel, now) = (&self.kernel, self.kernel.now());
        let id = work.order.id;
        let key = work.request.key().map_err(ServiceError::internal)?;
        tx.foresee(|tx| {
            drop(tx.lock_order_and_conclude(id, &kernel.node));
            drop(Parties::hold(tx, &work.order));
            drop(tx.hold_bars(key.sha256(), work.signing.id));
            drop(tx.bars(key.sha256(), work.signing.id));
            drop(tx.authorizations(id));
            drop(Standing::of(tx, work.order.account));
        });
        let Some(order) = self.claim_last(tx, id)? else { return Ok(None) };
        self.require_issuable(tx, work, &order, now)?;
        // What counts certificates by when they were issued must find it then.
        let issued = &Issued { issued_at: now, ..issued.clone() };
        tx.store_issued(order.certificate, issued, der, key.sha256(), shard)?;
        let order = order.complete(now)?;
        tx.save_order(&order)?;
        let mut detail = describe_with(&order, "serial", issued.serial.as_str());
        detail["fingerprint"] = issued.fingerprint.as_str().into();
        detail["notBefore"] = issued.not_before.to_string().into();
        detail["notAfter"] = issued.not_after.to_string().into();
        kernel.audit_own(tx, Some(order.reseller), Action::CertificateIssue, id, &detail)?;
        fault::reached(Step::Keeping);
        Ok(Some(order))
    }

    /// That everything which stood for the draft still does. The order is locked.
    fn require_issuable(
        &self,
        tx: &mut Tx<'_>,
        work: &Work,
        order: &Order,
        now: Timestamp,
    ) -> Result<(), ServiceError> {
        Parties::hold(tx, order)?.require_standing(order)?;
        let key = work.request.key().map_err(ServiceError::internal)?;
        tx.hold_bars(key.sha256(), work.signing.id)?;
        require_unbarred(tx, &work.request, work.signing.id)?;
        let authorizations = standing_authorizations(tx, order.id)?;
        let evidence = evidence_rules(&self.kernel, order, now);
        let proof = IssuanceProof::build(order, &authorizations, &evidence, now).map_err(|error| match error {
            // It became too old since the draft was made: the job is tried again, and asks.
            ProofError::StaleCaa(_) => ServiceError::Overtaken(error.to_string()),
            other => unprovable(other),
        })?;
        let standing = Standing::of(tx, order.account)?;
        let most_days = self.allowed_days(order, &work.request, &standing, &authorizations, proof.names(), now)?;
        require_short(&work.draft, most_days)
    }
}

/// A draft that is about to be signed.
pub(crate) struct Work {
    pub(crate) order: Order,
    draft: Draft,
    signing: Arc<Signing>,
    request: CertificateRequest,
}

impl Work {
    /// What is kept of the certificate that this has become, and the shard of the revocation lists that it belongs to.
    fn outcome(&self, certificate: &Certificate, now: Timestamp) -> Result<(Issued, i64), ServiceError> {
        let serial = self.draft.serial();
        let issued = Issued {
            issuer: self.signing.id,
            serial: hex(serial.as_bytes()),
            subject: certificate.subject_text(),
            key_type: self.request.key().map_err(ServiceError::internal)?.key_type(),
            not_before: Timestamp::from_secs(certificate.not_before()),
            not_after: Timestamp::from_secs(certificate.not_after()),
            fingerprint: hex(&certificate.sha256()),
            issued_at: now,
        };
        Ok((issued, i64::from(self.signing.shards.shard_of(&serial))))
    }
}

fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

fn terms<'a>(
    signing: &'a Signing,
    urls: &'a IssuerUrls,
    profile: &'a SubscriberProfile,
    names: &'a [Identifier],
    key: &'a SubscriberKey,
    now: Timestamp,
) -> Terms<'a> {
    Terms { issuer: &signing.issuer, profile, urls, names, key, now: now.as_secs() }
}

fn profiles<'a>(
    kernel: &'a Kernel,
    order: &Order,
) -> Result<(&'a chancery_domain::Profile, &'a SubscriberProfile), ServiceError> {
    let gone = || ServiceError::internal(format!("the profile {} is gone", order.profile));
    let domain = kernel.settings.profile(&order.profile).ok_or_else(gone)?;
    Ok((domain, kernel.settings.issuing.certificates.get(&order.profile).ok_or_else(gone)?))
}

fn csr_of(order: &Order) -> Result<CertificateRequest, ServiceError> {
    let der = order.csr.as_deref().ok_or_else(|| ServiceError::internal("a finalized order without a CSR"))?;
    csr::parse(der, order.via).map_err(ServiceError::internal)
}
