//! Step two: lint the stored draft, sign it, check the signature, and keep the certificate.

use std::sync::Arc;

use chancery_domain::{Action, Identifier, IssuanceProof, Issued, Order, OrderId, ProofError, Timestamp};
use chancery_pki::{
    Certificate, CertificateRequest, Draft, IssuerUrls, Signed, SubscriberKey, SubscriberProfile, Terms,
};
use chancery_store::{JobKind, SPANS, Tx};

use super::draft::AllowedDays;
use super::{Issuance, Next, csr_of, hex, profiles};
use crate::authority::Signing;
use crate::ca_key::unsigned;
use crate::error::ServiceError;
use crate::fault::{self, Step};
use crate::issuance_rules::{
    Parties, evidence_rules, require_short, require_unbarred, standing_authorizations, unprovable,
};
use crate::known_keys;
use crate::orders::describe_with;
use crate::policies::Decision;
use crate::telling;
use crate::timed::Timed;

/// A draft that is about to be signed.
pub(crate) struct Work {
    pub(crate) order: Order,
    pub(super) draft: Draft,
    pub(super) signing: Arc<Signing>,
    pub(super) request: CertificateRequest,
}

impl Work {
    /// What is kept of the certificate that this has become, and the shard of the revocation lists that it belongs to.
    fn outcome(&self, certificate: &Certificate, now: Timestamp) -> Result<(Issued, i64), ServiceError> {
        let serial = self.draft.serial();
        let issued = Issued {
            issuer: self.signing.id,
            serial: serial.to_string(),
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

impl Issuance {
    /// Step two, by itself.
    pub async fn sign(&self, id: OrderId) -> Result<Next, ServiceError> {
        let me = self.clone();
        let work = match self.store().glance(move |tx| me.take_up(tx, id)).await {
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
        let evaluation = self.evaluation(&work.order, &Ok(work.request.clone()));
        let keep =
            move |tx: &mut Tx<'_>, decision: &Decision<AllowedDays>| me.keep(tx, &work, &issued, shard, &der, decision);
        let kept = self.kernel.write_decided(self.reseller, &evaluation, keep).await;
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
    pub(super) async fn sign_where_it_is<T: Send + 'static>(
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
    pub(super) fn with_terms<T>(
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
        decision: &Decision<AllowedDays>,
    ) -> Result<Option<Order>, ServiceError> {
        let (kernel, now) = (&self.kernel, self.kernel.now());
        let id = work.order.id;
        let key = work.request.key().map_err(ServiceError::internal)?;
        tx.foresee(|tx| {
            drop(tx.lock_order_and_conclude(id, &kernel.node));
            drop(Parties::hold(tx, &work.order));
            drop(known_keys::hold(tx, key, work.signing.id));
            drop(known_keys::bar(tx, key, work.signing.id));
            drop(tx.authorizations(id));
            drop(tx.policy_versions(work.order.account));
        });
        let Some(order) = self.claim_last(tx, id)? else { return Ok(None) };
        self.require_issuable(tx, work, &order, decision, now)?;
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
    pub(super) fn require_issuable(
        &self,
        tx: &mut Tx<'_>,
        work: &Work,
        order: &Order,
        decision: &Decision<AllowedDays>,
        now: Timestamp,
    ) -> Result<(), ServiceError> {
        Parties::hold(tx, order)?.require_standing(order)?;
        let key = work.request.key().map_err(ServiceError::internal)?;
        known_keys::hold(tx, key, work.signing.id)?;
        require_unbarred(tx, &work.request, work.signing.id)?;
        let authorizations = standing_authorizations(&self.kernel, tx, order.id)?;
        let evidence = evidence_rules(&self.kernel, order, now);
        IssuanceProof::build(order, &authorizations, &evidence, now).map_err(|error| match error {
            // It became too old since the draft was made: the job is tried again, and asks.
            ProofError::StaleCaa(_) => ServiceError::Overtaken(error.to_string()),
            other => unprovable(other),
        })?;
        let (_, most_days) = self.require_allowed(tx, order, &authorizations, decision)?;
        require_short(&work.draft, most_days)
    }
}

pub(super) fn terms<'a>(
    signing: &'a Signing,
    urls: &'a IssuerUrls,
    profile: &'a SubscriberProfile,
    names: &'a [Identifier],
    key: &'a SubscriberKey,
    now: Timestamp,
) -> Terms<'a> {
    Terms { issuer: &signing.issuer, profile, urls, names, key, now: now.as_secs() }
}
