//! Certificates: listed, downloaded, revoked; and CSRs judged before anything is ordered.

use std::sync::Arc;

use chancery_domain::policy::{Request, Violations};
use chancery_domain::{
    Account, AccountId, Action, CertificateId, CertificateRecord, CertificateState, Comment, Identifier, OrderId, Page,
    Problems, Profile, ProfileName, ResellerId, Revocation, RevocationReason, Scope, Timestamp, Via,
};
use chancery_overload::KeyedCapGuard;
use chancery_pki::{Certificate, SubscriberKey};
use chancery_store::{CertificateFilter, Downloadable, Tx};
use serde_json::{Value, json};

use crate::account_lookup::AccountLookup;
use crate::authority::{Authority, Signing};
use crate::caa::{self, CaaAsker, Question};
use crate::caller::{Actor, Caller, Origin};
use crate::csr::{self, JudgedCsr};
use crate::cursor::{ListName, ListRequest, Listed};
use crate::error::{Cap, Noun, ServiceError};
use crate::failures;
use crate::kernel::Kernel;
use crate::known_keys::block_if_compromised;
use crate::orders::{OrderDetails, Reuse, details, rules};
use crate::policies::EffectivePolicies;

/// A certificate and the name of its issuer.
#[derive(Clone, Debug)]
pub struct CertificateDetails {
    pub certificate: CertificateRecord,
    /// Once it is issued.
    pub issuer: Option<String>,
}

/// What there is to download.
pub enum Download {
    /// The certificate and the chain above it.
    Issued { details: CertificateDetails, certificate: Certificate, signing: Arc<Signing> },
    /// Not yet: the order it will come from.
    NotYet(OrderDetails),
    /// It will never be.
    Never(CertificateDetails),
}

/// Whether a revocation was new.
pub enum Revoked {
    Accepted(CertificateDetails),
    AlreadyAccepted(OrderDetails),
}

#[derive(Clone)]
pub struct Certificates {
    kernel: Arc<Kernel>,
    authority: Arc<Authority>,
    pub(crate) caa: Option<Arc<dyn CaaAsker>>,
}

impl Certificates {
    pub(crate) fn new(kernel: Arc<Kernel>, authority: Arc<Authority>) -> Self {
        Self { kernel, authority, caa: None }
    }

    /// Starts a CSV export, which reads the list page by page until the guard is dropped.
    pub fn start_export(&self, caller: &Caller) -> Result<KeyedCapGuard<ResellerId>, ServiceError> {
        caller.require(Scope::ReadCertificate)?;
        let max = self.kernel.limits.settings().caps.downloads;
        let unlimited_if_zero = if max == 0 { usize::MAX } else { max as usize };
        let guard = self.kernel.exports.acquire(caller.reseller, unlimited_if_zero);
        guard.ok_or(ServiceError::TooMany(Cap::Exports, max))
    }

    /// A page of the reseller's certificates, newest first. An account that does not exist has none.
    pub async fn list(
        &self,
        caller: &Caller,
        account: Option<AccountLookup>,
        filter: CertificateFilter,
        request: &ListRequest,
    ) -> Result<Listed<CertificateDetails>, ServiceError> {
        caller.require(Scope::ReadCertificate)?;
        let reseller = caller.reseller;
        let bound = CertificateFilter { now: Timestamp::from_secs(0), ..filter.clone() };
        let list = ListName::new("certificates", reseller, &(&account, bound));
        let page = self.kernel.cursors.open(&list, request)?;
        let read = move |tx: &mut Tx<'_>| {
            let account = match &account {
                None => None,
                Some(lookup) => match lookup.find_any(tx, reseller)? {
                    Some(account) => Some(account.id),
                    None => return Ok(Page::empty(None)),
                },
            };
            let filter = CertificateFilter { account, ..filter.clone() };
            Ok::<Page<_>, ServiceError>(tx.certificates(reseller, &filter, &page)?)
        };
        let page = self.kernel.read_in_turn(reseller, read).await?.map(|certificate| self.detail(certificate));
        Ok(self.kernel.cursors.close(&list, page))
    }

    /// The certificate, or where it stands.
    pub async fn download(&self, caller: &Caller, id: CertificateId) -> Result<Download, ServiceError> {
        caller.require(Scope::ReadCertificate)?;
        let (me, caller) = (self.clone(), caller.clone());
        self.kernel
            .store_of(caller.reseller)
            .glance(move |tx| {
                let missing = || ServiceError::not_found(Noun::Certificate);
                let found = tx.certificate_to_download(caller.reseller, id)?;
                let Downloadable { certificate, acme_account, der } = found.ok_or_else(missing)?;
                if !caller.sees(acme_account) {
                    return Err(missing());
                }
                match &certificate.state {
                    CertificateState::Pending { .. } => {
                        let order = tx.order(caller.reseller, certificate.order)?.ok_or_else(missing)?;
                        if order.is_expired(me.kernel.now()) {
                            return Ok(Download::Never(me.detail(certificate)));
                        }
                        Ok(Download::NotYet(details(tx, order)?))
                    }
                    CertificateState::Cancelled { .. } => Ok(Download::Never(me.detail(certificate))),
                    CertificateState::Issued(issued) | CertificateState::Revoked { issued, .. } => {
                        let der = der.ok_or_else(missing)?;
                        let signing = me.authority.require(tx, issued.issuer)?;
                        let parsed = Certificate::from_der(&der).map_err(ServiceError::internal)?;
                        Ok(Download::Issued { details: me.detail(certificate), certificate: parsed, signing })
                    }
                }
            })
            .await
    }

    /// That the caller's order has led to a certificate: its absence is told before anything about the request.
    pub async fn require_of_order(&self, caller: &Caller, order: OrderId) -> Result<(), ServiceError> {
        caller.require(Scope::WriteCertificate)?;
        let reseller = caller.reseller;
        let find = move |tx: &mut Tx<'_>| {
            let missing = || ServiceError::not_found(Noun::Certificate);
            let order = tx.order(reseller, order)?.ok_or_else(missing)?;
            let certificate = tx.certificate(reseller, order.certificate)?.ok_or_else(missing)?;
            // What logs were shown has a key that may be compromised.
            Ok::<_, ServiceError>((tx.key_hash(certificate.id)?.is_some(), certificate))
        };
        match self.kernel.store_of(reseller).read(find).await? {
            (true, _) => Ok(()),
            (false, certificate) => Err(nothing_to_revoke(&certificate, false, self.kernel.now())),
        }
    }

    /// Revokes the certificate of an order. For a compromised key, nobody gets a certificate for it any more: that is told
    /// even of one that was revoked for less, or that has expired.
    pub async fn revoke(
        &self,
        caller: &Caller,
        order: OrderId,
        reason: RevocationReason,
        comment: Option<Comment>,
    ) -> Result<Revoked, ServiceError> {
        caller.require(Scope::WriteCertificate)?;
        let (me, caller) = (self.clone(), caller.clone());
        self.kernel
            .store_of(caller.reseller)
            .write(move |tx| {
                let missing = || ServiceError::not_found(Noun::Certificate);
                let order = tx.order(caller.reseller, order)?.ok_or_else(missing)?;
                let certificate = tx.certificate(caller.reseller, order.certificate)?.ok_or_else(missing)?;
                let was_revoked = certificate.revocation().is_some();
                let by = (&caller.actor, &caller.origin);
                let revocation = Revocation { at: me.kernel.now(), reason, comment: comment.clone().map(Into::into) };
                Ok::<_, ServiceError>(match revoke(&me.kernel, tx, by, certificate, revocation)? {
                    Revoking::Done(revoked) if !was_revoked => Ok(Revoked::Accepted(me.detail(revoked))),
                    Revoking::Done(_) | Revoking::Already(_) => Ok(Revoked::AlreadyAccepted(details(tx, order)?)),
                    Revoking::Nothing { certificate, key_is_blocked } => {
                        Err(nothing_to_revoke(&certificate, key_is_blocked, me.kernel.now()))
                    }
                })
            })
            // A refusal does not undo the unit: a key that was blocked stays so.
            .await?
    }

    /// What is wrong with a CSR and a profile before anybody looks at them more closely: for those who find a request wrong
    /// otherwise, and tell everything at once.
    pub fn unjudgeable(&self, csr: &str, profile: Option<&ProfileName>) -> Problems {
        csr::unjudgeable(&self.kernel.settings, profile, csr)
    }

    /// Everything that stands against a CSR: its own faults and, with an account, what policies and CAA records say.
    pub async fn judge_csr(
        &self,
        caller: &Caller,
        text: String,
        profile: Option<ProfileName>,
        account: Option<AccountLookup>,
    ) -> Result<Violations, ServiceError> {
        caller.require(Scope::ReadCertificate)?;
        let reseller = caller.reseller;
        // Before the CSR is parsed: signatures and weak keys take their time.
        let permit = Arc::new(self.kernel.list_permit(reseller).await?);
        let (kernel, caller, whose) = (self.kernel.clone(), caller.clone(), reseller.to_string());
        let name = profile.as_ref().unwrap_or(&kernel.settings.default_profile);
        let profile = rules::profile(&kernel.settings, name);
        let csr = match &profile {
            Ok(profile) => JudgedCsr::read(&kernel, &text, profile, Via::Reseller),
            Err(_) => Err(ServiceError::Invalid(csr::unjudgeable(&kernel.settings, Some(name), &text))),
        };
        let known = Arc::new((csr, profile.cloned()));
        let (kernel, asked) = (self.kernel.clone(), known.clone());
        let read = move |tx: &mut Tx<'_>| {
            CsrFacts::read(&kernel, tx, &caller, asked.0.as_ref(), asked.1.as_ref(), account.as_ref())
        };
        let CsrFacts { mut problems, customer } = self.kernel.read_within(&permit, reseller, read).await?;
        let (Some(customer), (Ok(csr), Ok(profile))) = (customer, known.as_ref()) else { return Ok(problems) };
        let names = csr.request.identifiers();
        problems.append(customer.objections(csr, profile, &names));
        drop(permit);
        // Of a CSR that is refused anyway nothing is asked.
        if let (true, Some(asker)) = (problems.is_empty(), &self.caa) {
            let account_uri = self.kernel.settings.issuing.account_uri(customer.account);
            let question = Question { whose, names, account_uri, methods: profile.challenge_types.clone() };
            problems.extend(caa::objections(asker, question, caa::PATIENCE).await);
        }
        Ok(problems)
    }

    fn detail(&self, certificate: CertificateRecord) -> CertificateDetails {
        let issuer = certificate.issued().and_then(|issued| self.authority.find(issued.issuer));
        CertificateDetails { issuer: issuer.map(|signing| signing.name.clone()), certificate }
    }
}

/// What the database contributes to the verdict on a CSR.
struct CsrFacts {
    problems: Violations,
    /// The customer that it would be for, if one is named and the CSR can be read.
    customer: Option<Customer>,
}

/// What prevents orders of a customer for the names of a CSR.
struct Customer {
    account: AccountId,
    policies: Arc<EffectivePolicies>,
    exhausted: Violations,
    paused: Violations,
}

impl CsrFacts {
    fn read(
        kernel: &Kernel,
        tx: &mut Tx<'_>,
        caller: &Caller,
        csr: Result<&JudgedCsr, &ServiceError>,
        profile: Result<&Profile, &ServiceError>,
        account: Option<&AccountLookup>,
    ) -> Result<Self, ServiceError> {
        let now = kernel.now();
        let account = account.map(|lookup| lookup.find(tx, caller.reseller)).transpose()?;
        account.as_ref().map_or(Ok(()), Account::require_active)?;
        let (profile, csr) = match (profile, csr) {
            (Ok(profile), Ok(csr)) => (profile, csr),
            (_, Err(ServiceError::Invalid(problems))) => {
                return Ok(Self { problems: problems.0.iter().cloned().collect(), customer: None });
            }
            (Err(other), _) | (_, Err(other)) => return Err(other.clone()),
        };
        let problems = csr.problems(tx)?.into_iter().collect();
        let Some(account) = account else { return Ok(Self { problems, customer: None }) };
        let policies = kernel.policies.read(tx, account.reseller, account.id)?;
        let exhausted = policies.exhausted_quotas(tx, account.id, now)?;
        let reuse = Reuse { settings: &kernel.settings, account: account.id, acme: None, profile, now };
        let paused = failures::paused(kernel, tx, &reuse, &policies, &csr.request.identifiers())?;
        let customer = Some(Customer { account: account.id, policies, exhausted, paused });
        Ok(Self { problems, customer })
    }
}

impl Customer {
    /// Used-up quotas count only if no rule refuses the CSR.
    fn objections(&self, csr: &JudgedCsr, profile: &Profile, names: &[Identifier]) -> Violations {
        // Of a key that is refused anyway it would be told as what it is not: one of 1024 bits is of no type that there is.
        let key = csr.request.key().ok().filter(|key| key.weaknesses().is_empty());
        let key_type = key.map(SubscriberKey::key_type);
        let asked = Request { key_type, ..Request::of(profile, names) };
        let mut objections = self.policies.evaluate_order(&asked);
        if objections.is_empty() {
            objections.append(self.exhausted.clone());
        }
        objections.append(self.policies.names_without_method_outside_acme(&asked));
        objections.append(self.paused.clone());
        objections
    }
}

/// What came of a certificate that was to be revoked. Whatever it is, the unit of work is to be committed: a compromised key
/// is blocked in all cases.
pub(crate) enum Revoking {
    /// It is revoked, or for a graver reason than it was.
    Done(CertificateRecord),
    /// It was revoked before, and stays as it was.
    Already(CertificateRecord),
    /// It has expired, or was never issued; its key may be blocked now.
    Nothing { certificate: CertificateRecord, key_is_blocked: bool },
}

/// Revokes within a unit of work, and writes that down of whoever asked for it.
pub(crate) fn revoke(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    (actor, origin): (&Actor, &Origin),
    certificate: CertificateRecord,
    revocation: Revocation,
) -> Result<Revoking, ServiceError> {
    let (now, reason, was_active) = (kernel.now(), revocation.reason, certificate.revocation().is_none());
    let revoked = certificate.clone().revoke(revocation.clone(), now);
    if let Some(revoked) = &revoked {
        tx.store_revocation(revoked)?;
        if let (true, Some(issued)) = (was_active, revoked.issued()) {
            tx.count_revoked(revoked.account, issued.not_after)?;
        }
    }
    // A key that others have is one that nobody must use again, even if nothing is left of its certificate to revoke.
    let (compromised, signed) = match reason == RevocationReason::KeyCompromise {
        true => (tx.key_hash(certificate.id)?, tx.signed(certificate.id)?),
        false => (None, None),
    };
    let is_blocked_now = block_if_compromised(kernel, tx, compromised.as_deref(), signed.as_deref(), reason)?;
    let mut write_down = |action: Action, detail: Value| {
        let (reseller, subject) = (Some(certificate.reseller), certificate.id.to_string());
        kernel.audit_as(tx, reseller, actor, origin, action, subject, &detail)
    };
    if let Some(revoked) = revoked {
        write_down(Action::CertificateRevoke, revocation_detail(&revoked, &revocation))?;
        return Ok(Revoking::Done(revoked));
    }
    if is_blocked_now {
        write_down(Action::CertificateBlockKey, revocation_detail(&certificate, &revocation))?;
    }
    Ok(match was_active {
        true => Revoking::Nothing { certificate, key_is_blocked: compromised.is_some() },
        false => Revoking::Already(certificate),
    })
}

fn nothing_to_revoke(certificate: &CertificateRecord, key_is_blocked: bool, now: Timestamp) -> ServiceError {
    ServiceError::NothingToRevoke(why_nothing(certificate, key_is_blocked, now))
}

/// Why there is nothing of a certificate to revoke, and what was done all the same.
pub(crate) fn why_nothing(certificate: &CertificateRecord, key_is_blocked: bool, now: Timestamp) -> String {
    let why = match &certificate.state {
        CertificateState::Pending { until } if until.is_none_or(|until| now < until) => {
            "nothing is issued yet".to_owned()
        }
        CertificateState::Pending { .. } | CertificateState::Cancelled { .. } => {
            "the order ended without one".to_owned()
        }
        CertificateState::Issued(issued) | CertificateState::Revoked { issued, .. } => {
            format!("it ended at {}", issued.not_after)
        }
    };
    if key_is_blocked { format!("{why}; its key is blocked, and nothing is issued for it any more") } else { why }
}

/// What the audit trail says of a revocation.
pub(crate) fn revocation_detail(certificate: &CertificateRecord, revocation: &Revocation) -> Value {
    let names: Vec<_> = certificate.identifiers.iter().map(ToString::to_string).collect();
    let detail = json!({
        "account": certificate.account.to_string(),
        "order": certificate.order.to_string(),
        "names": names,
        "serial": certificate.issued().map(|issued| &issued.serial),
        "reason": revocation.reason.as_str(),
    });
    commented(detail, revocation)
}

/// With the comment of a revocation, where it has one.
pub(crate) fn commented(mut detail: Value, revocation: &Revocation) -> Value {
    if let Some(comment) = &revocation.comment {
        detail["comment"] = comment.as_str().into();
    }
    detail
}
