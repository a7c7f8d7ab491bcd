//! From a finalized order to a certificate, in steps that a crash between them cannot spoil.
//!
//! 1. *Prepare*: prove from what is stored that every name is authorized, ask the policies again, and store the draft
//!    with its serial. What was stored once is taken up again, never drawn anew.
//! 2. *Sign*: lint the stored bytes, sign them, check the signature, and keep the certificate; the order becomes valid
//!    in the same unit of work.
//!
//! Where certificates are shown to logs there is a signature and a draft more between the two: `transparency` tells.
//!
//! Whatever goes wrong ends the order with a reason; only where somebody is suspended or a quota used up it is put back, to be finalized
//! again.

mod draft;
mod ending;
mod signing;
mod transparency;

use std::sync::Arc;

use chancery_domain::{
    AuthorizationId, AuthorizationState, CaaEvidence, ChallengeType, Identifier, Order, OrderId, OrderState,
    ResellerId, ValidationProblem,
};
use chancery_pki::{CertificateRequest, SubscriberProfile};
use chancery_store::{JobKind, Store, Tx};

pub(crate) use self::draft::allowed_days;
use self::draft::{AllowedDays, Drafting};
pub(crate) use self::signing::Work;
pub use self::transparency::LogAssignment;
use crate::authority::Authority;
use crate::csr;
use crate::error::ServiceError;
use crate::fault::{self, Step};
use crate::kernel::Kernel;
use crate::policies::Decision;

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
    /// Charged for the units of work.
    reseller: Option<ResellerId>,
}

impl Issuance {
    pub(crate) fn new(kernel: Arc<Kernel>, authority: Arc<Authority>) -> Self {
        Self { kernel, authority, reseller: None }
    }

    /// Issuance whose units of work are charged to a reseller.
    #[must_use]
    pub fn for_reseller(&self, reseller: Option<ResellerId>) -> Self {
        Self { reseller, ..self.clone() }
    }

    fn store(&self) -> Store {
        self.kernel.store_of(self.reseller)
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
        let Some(order) = self.store().peek(move |tx| tx.any_order(id)).await? else { return Ok(Drafting::Done) };
        let request = csr_of(&order);
        let evaluation = self.evaluation(&order, &request);
        let me = self.clone();
        let draft =
            move |tx: &mut Tx<'_>, decision: &Decision<AllowedDays>| me.draft_in(tx, &order, &request, decision);
        let drafted = self.kernel.write_decided(self.reseller, &evaluation, draft).await;
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
        self.store()
            .write(move |tx| {
                if me.claim(tx, id)?.is_none() {
                    return Ok(());
                }
                let Some(mut authorization) = tx.any_authorization(authorization)? else { return Ok(()) };
                if let AuthorizationState::Valid(validation) = &mut authorization.state {
                    validation.caa = caa.clone();
                    validation.fit_for_public &= me.kernel.settings.issuing.fit_for_public;
                    tx.save_authorization(&authorization)?;
                }
                Ok(())
            })
            .await
    }

    /// Whether an order has its draft, and needs others who may be away: a token that has the key of its CA, or logs, which may
    /// have been shown it already.
    pub async fn needs_others(&self, id: OrderId) -> Result<bool, ServiceError> {
        let read = move |tx: &mut Tx<'_>| {
            let Some(order) = tx.any_order(id)? else { return Ok::<_, ServiceError>(None) };
            let Some(draft) = tx.draft(order.certificate)? else { return Ok(None) };
            Ok(Some((draft.issuer, tx.precertificate(&draft.serial)?.is_some())))
        };
        let Some((issuer, is_shown)) = self.store().glance(read).await? else { return Ok(false) };
        let signing = self.authority.find(issuer);
        Ok(is_shown || signing.is_some_and(|signing| signing.issuer.signs_elsewhere()))
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
}

fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
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
