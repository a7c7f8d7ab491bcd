//! A new order: the CSR is checked and the policies are evaluated, then order and authorizations are stored in one transaction.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chancery_domain::policy::{Request, Violations};
use chancery_domain::{
    Account, AcmeAccount, Action, CertificateId, CertificateRecord, CertificateState, DnsName, EabCredential,
    ExternalId, Identifier, KeyType, Metadata, Order, OrderId, OrderState, Problems, Profile, ProfileName, Scope,
    Timestamp, Via,
};
use chancery_pki::{SubscriberKey, SubscriberProfile, ceiling_days};
use chancery_store::Tx;

use super::{OrderDetails, Orders, describe_with, rules};
use crate::account_lookup::AccountLookup;
use crate::accounts::{Orderer, account_for_order};
use crate::caller::Caller;
use crate::csr::{self, JudgedCsr};
use crate::error::ServiceError;
use crate::failures::require_worth_trying;
use crate::kernel::Kernel;
use crate::once::{Once, Outcome};
use crate::open_orders::require_room;
use crate::operator::latest_end;
use crate::policies::{Decision, EffectivePolicies, PolicyEvaluation, Subject, require_none};
use crate::rate_rules::OrderToken;
use crate::refused::{Asked, Refused};
use crate::telling::{self, About};

/// What is ordered.
#[derive(Clone, Debug)]
pub struct NewOrder {
    pub account: AccountLookup,
    /// The operator's default where there is none.
    pub profile: Option<ProfileName>,
    /// PEM, or base64 of DER.
    pub csr: String,
    /// Must equal the CSR's names where it is given.
    pub identifiers: Option<Vec<Identifier>>,
    pub not_before: Option<Timestamp>,
    pub not_after: Option<Timestamp>,
    pub external_id: Option<ExternalId>,
    pub metadata: Metadata,
}

impl Orders {
    /// Creates an order for an account. A valid authorization the account has for a name already is used again.
    pub async fn create(
        &self,
        caller: &Caller,
        new: NewOrder,
        once: Option<Once<OrderDetails>>,
    ) -> Result<Outcome<OrderDetails>, ServiceError> {
        caller.require(Scope::WriteOrder)?;
        self.kernel.in_flight.check(caller.reseller)?;
        let (kernel, by) = (self.kernel.clone(), caller.clone());
        let subject = Subject { reseller: caller.reseller, account: new.account.clone() };
        let checked = Arc::new(Checked::read(&kernel, &new));
        let evaluated = checked.clone();
        let evaluation = PolicyEvaluation::new(subject, move |policies| evaluated.evaluate(policies)).in_turn();
        let refused = Refused::default();
        let token = OrderToken::default();
        let (noted, reserved) = (refused.clone(), token.clone());
        let unit = move |tx: &mut Tx<'_>, decision: &Decision<Objections>| {
            let mut create = |tx: &mut Tx<'_>| create(&kernel, tx, &by, (&new, &reserved), &checked, decision, &noted);
            let created = kernel.do_once(tx, by.reseller, once.as_ref(), &mut create);
            created.inspect_err(|_| reserved.release())
        };
        match self.kernel.write_decided(caller.reseller, &evaluation, unit).await {
            Err(error) => {
                token.release();
                Err(refused.answer(&self.kernel, caller, About::Nothing, "order", error).await)
            }
            Ok(created) => {
                token.spend();
                if let Outcome::Fresh(details) = &created {
                    telling::created(&details.order);
                }
                Ok(created)
            }
        }
    }
}

/// A new order as far as it can be checked without the database.
struct Checked {
    /// The CSR, or why it could not be checked.
    csr: Result<ReadCsr, ServiceError>,
    /// What policies are asked about; none if the CSR is refused anyway, since it may have thousands of names.
    question: Option<Question>,
}

/// A CSR that can be read.
struct ReadCsr {
    judged: JudgedCsr,
    /// Its names, each once, sorted.
    names: Vec<Identifier>,
    /// Whether the identifiers beside it are these names, if there are any.
    names_agree: bool,
}

impl ReadCsr {
    fn new(judged: JudgedCsr, named: Option<&[Identifier]>) -> Self {
        let mut names = judged.request.identifiers();
        names.sort();
        names.dedup();
        let names_agree = named.is_none_or(|named| {
            let mut named = named.to_vec();
            named.sort();
            named == names
        });
        Self { judged, names, names_agree }
    }
}

/// What policies are asked about.
struct Question {
    profile: Profile,
    /// In the order in which the caller names them, so that a refusal names the right position.
    names: Vec<Identifier>,
    names_are_named: bool,
    key_type: Option<KeyType>,
    validity_days: Option<u32>,
}

impl Question {
    fn of(csr: &ReadCsr, profile: &Profile, new: &NewOrder, now: Timestamp) -> Option<Self> {
        (csr.names_agree && !csr.judged.has_problems()).then(|| Self {
            profile: profile.clone(),
            names: new.identifiers.clone().unwrap_or_else(|| csr.names.clone()),
            names_are_named: new.identifiers.is_some(),
            key_type: csr.judged.request.key().ok().map(SubscriberKey::key_type),
            validity_days: Dates::validity_days(new.not_before, new.not_after, now),
        })
    }
}

/// What the policies have against an order.
#[derive(Default)]
struct Objections {
    rules: Violations,
    /// Names that policies allow but that can only be validated through ACME.
    methods: Violations,
}

impl Checked {
    fn read(kernel: &Kernel, new: &NewOrder) -> Self {
        let name = new.profile.as_ref().unwrap_or(&kernel.settings.default_profile);
        let profile = rules::profile(&kernel.settings, name);
        let csr = profile.clone().and_then(|profile| JudgedCsr::read(kernel, &new.csr, profile, Via::Reseller));
        let csr = csr.map(|judged| ReadCsr::new(judged, new.identifiers.as_deref()));
        let question = match (&csr, profile) {
            (Ok(csr), Ok(profile)) => Question::of(csr, profile, new, kernel.now()),
            _ => None,
        };
        Self { csr, question }
    }

    fn evaluate(&self, policies: &EffectivePolicies) -> Objections {
        let Some(question) = &self.question else { return Objections::default() };
        let Question { profile, names, names_are_named, key_type, validity_days } = question;
        let (key_type, validity_days) = (*key_type, *validity_days);
        let request = Request { profile, identifiers: names, key_type, challenge_type: None, validity_days };
        Objections {
            rules: in_terms_of_an_order(policies.evaluate_order(&request), *names_are_named),
            methods: in_terms_of_an_order(policies.names_without_method_outside_acme(&request), *names_are_named),
        }
    }
}

/// The CSR comes checked, or with the reason why it could not be; that is reported once it is clear that the caller may order.
fn create(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    caller: &Caller,
    (new, token): (&NewOrder, &OrderToken),
    checked: &Checked,
    decision: &Decision<Objections>,
    refused: &Refused,
) -> Result<OrderDetails, ServiceError> {
    let (now, settings) = (kernel.now(), &kernel.settings);
    let Orderer { account, credential } = account_for_order(tx, caller, &new.account)?;
    account.require_active()?;
    kernel.rates.reserve_new_order(account.id, token)?;
    let name = new.profile.as_ref().unwrap_or(&settings.default_profile);
    let Ok(profile) = rules::profile(settings, name) else {
        return Err(ServiceError::Invalid(csr::unjudgeable(settings, Some(name), &new.csr)));
    };
    let mut problems = Problems::default();
    let mut dates = Dates::of(settings.issuing.certificates.get(name), profile.validity_days, now);
    let key = checked.csr.as_ref().ok().and_then(|csr| csr.judged.request.key().ok());
    if let (Some(_), Some(key)) = (new.not_after, key) {
        dates.latest_end = latest_end(tx, &settings.issuing, name, &[key.key_type()], now)?;
    }
    dates.check(new.not_before, new.not_after, now, DATES, &mut problems);
    let csr = match &checked.csr {
        Ok(csr) => csr,
        Err(ServiceError::Invalid(unreadable)) => {
            let all = unreadable.0.iter().cloned().chain(problems.0).collect();
            return Err(ServiceError::Invalid(Problems(all)));
        }
        Err(other) => return Err(other.clone()),
    };
    let of_dates = std::mem::replace(&mut problems, Problems(csr.judged.problems(tx)?));
    if !csr.names_agree {
        let message = "must be the very names of the CSR; leave it out to take them from there";
        problems.add("identifiers", "differs_from_csr", message);
    }
    problems.0.extend(of_dates.0);
    problems.into_result().map_err(ServiceError::Invalid)?;
    let (policies, objections) = decision.outcome(tx, caller.reseller, account.id)?;
    let about = Asked { account: account.id, order: None, profile: &profile.name, names: &csr.names };
    refused.note(&about, require_none(objections.rules.clone()))?;
    refused.note(&about, policies.require_quota(tx, account.id, now))?;
    refused.note(&about, require_none(objections.methods.clone()))?;
    let draft = Draft {
        kernel,
        caller,
        account: &account,
        credential: &credential,
        acme: None,
        profile,
        policies: &policies,
        now,
    };
    let order = draft.order(Wanted {
        identifiers: csr.names.clone(),
        csr: Some(csr.judged.request.as_der().to_vec()),
        not_before: new.not_before,
        not_after: new.not_after,
        external_id: new.external_id.clone(),
        metadata: new.metadata.clone(),
        replaces: None,
    });
    draft.store(tx, order)
}

/// Policies speak of `key_type`, `validity_days` and places among the names; what the caller sent is `csr` and `not_after`,
/// and names only where they are named beside the CSR.
fn in_terms_of_an_order(mut violations: Violations, names_are_named: bool) -> Violations {
    for violation in violations.described_mut() {
        match violation.field.as_str() {
            "key_type" => "csr".clone_into(&mut violation.field),
            "validity_days" => "not_after".clone_into(&mut violation.field),
            "identifiers" if !names_are_named => "csr".clone_into(&mut violation.field),
            _ if violation.name.is_some() && !names_are_named => "csr".clone_into(&mut violation.field),
            _ => {}
        }
    }
    violations
}

/// What a door calls the two dates.
#[derive(Clone, Copy)]
pub(crate) struct DateNames {
    pub(crate) not_before: &'static str,
    pub(crate) not_after: &'static str,
}

const DATES: DateNames = DateNames { not_before: "not_before", not_after: "not_after" };

/// What may be asked for by dates, so that nothing is taken on that is refused when the certificate is drafted.
pub(crate) struct Dates {
    earliest: Timestamp,
    latest: Timestamp,
    most_days: u32,
    /// The end of the CA that lasts longest, where that is known.
    pub(crate) latest_end: Option<Timestamp>,
}

impl Dates {
    pub(crate) fn of(look: Option<&SubscriberProfile>, validity_days: u32, now: Timestamp) -> Self {
        let days = |days: u64| Duration::from_secs(days * 86_400);
        let backdate = Duration::from_secs(look.map_or(0, |look| look.backdate_seconds).into());
        let public = look.is_some_and(|look| look.public);
        let ceiling = if public { ceiling_days(now.as_secs()) } else { u32::MAX };
        Self {
            earliest: now.minus(backdate),
            latest: now.plus(days(if public { 2 } else { 30 })),
            most_days: validity_days.min(ceiling),
            latest_end: None,
        }
    }

    /// The validity that is asked for by dates, in whole days rounded up; none if there is no end, or one that is too soon.
    pub(crate) fn validity_days(
        not_before: Option<Timestamp>,
        not_after: Option<Timestamp>,
        now: Timestamp,
    ) -> Option<u32> {
        let (start, end) = (not_before.unwrap_or(now), not_after?);
        (end.as_secs() - start.max(now).as_secs() + 1 >= 3600).then(|| days_between(start, end))
    }

    /// Checks the validity that is asked for by dates.
    pub(crate) fn check(
        &self,
        not_before: Option<Timestamp>,
        not_after: Option<Timestamp>,
        now: Timestamp,
        called: DateNames,
        problems: &mut Problems,
    ) {
        let start = not_before.unwrap_or(now);
        if !(self.earliest..=self.latest).contains(&start) {
            let message = format!("must lie from {} to {}", self.earliest, self.latest);
            problems.add(called.not_before, "out_of_range", message);
        }
        let Some(end) = not_after else { return };
        let Some(days) = Self::validity_days(not_before, not_after, now) else {
            let message = format!("must be at least an hour after {}, and from now", called.not_before);
            problems.add(called.not_after, "out_of_range", message);
            return;
        };
        if days > self.most_days {
            let latest = start.plus(Duration::from_secs((u64::from(self.most_days) * 86_400).saturating_sub(1)));
            let message = format!("must be {latest} at most: the profile allows {} days", self.most_days);
            problems.add(called.not_after, "out_of_range", message);
        } else if let Some(latest) = self.latest_end.filter(|latest| end > *latest) {
            let message = format!("must be {latest} at most: no CA that may sign it lasts longer");
            problems.add(called.not_after, "out_of_range", message);
        }
    }
}

/// From the first second to the last, both counted, in whole days rounded up.
pub(crate) fn days_between(start: Timestamp, end: Timestamp) -> u32 {
    const DAY: i64 = 86_400;
    let seconds = end.as_secs() - start.as_secs() + 1;
    u32::try_from((seconds + DAY - 1).div_euclid(DAY)).unwrap_or(u32::MAX)
}

/// Everything a new order is made from.
pub(crate) struct Draft<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) caller: &'a Caller,
    pub(crate) account: &'a Account,
    pub(crate) credential: &'a EabCredential,
    /// Who orders, where that is through ACME.
    pub(crate) acme: Option<&'a AcmeAccount>,
    pub(crate) profile: &'a Profile,
    pub(crate) policies: &'a EffectivePolicies,
    pub(crate) now: Timestamp,
}

/// What is wanted, once it was judged.
pub(crate) struct Wanted {
    /// Each name once, in order.
    pub(crate) identifiers: Vec<Identifier>,
    pub(crate) csr: Option<Vec<u8>>,
    pub(crate) not_before: Option<Timestamp>,
    pub(crate) not_after: Option<Timestamp>,
    pub(crate) external_id: Option<ExternalId>,
    pub(crate) metadata: Metadata,
    pub(crate) replaces: Option<String>,
}

impl Draft<'_> {
    pub(crate) fn order(&self, wanted: Wanted) -> Order {
        let Wanted { identifiers, csr, not_before, not_after, external_id, metadata, replaces } = wanted;
        let entropy = self.kernel.entropy.as_ref();
        Order {
            id: OrderId::new(self.now, entropy),
            reseller: self.caller.reseller,
            account: self.account.id,
            kid: self.credential.kid,
            kid_was_revoked: self.credential.revoked_at.is_some(),
            via: if self.acme.is_some() { Via::Acme } else { Via::Reseller },
            acme_account: self.acme.map(|account| account.id),
            replaces,
            profile: self.profile.name.clone(),
            identifiers,
            authorizations: Vec::new(),
            certificate: CertificateId::new(self.now, entropy),
            csr,
            not_before,
            not_after,
            external_id,
            metadata,
            state: OrderState::Pending,
            finalized_at: None,
            expires_at: self.now.plus(self.kernel.settings.issuing.order_lifetime),
            created_at: self.now,
            updated_at: self.now,
            version: 1,
        }
    }

    pub(crate) fn store(&self, tx: &mut Tx<'_>, order: Order) -> Result<OrderDetails, ServiceError> {
        self.store_with(tx, order, &BTreeMap::new())
    }

    /// Stores a new order and its authorizations; `ancestors` has names above its own at which control is to be shown.
    pub(crate) fn store_with(
        &self,
        tx: &mut Tx<'_>,
        mut order: Order,
        ancestors: &BTreeMap<Identifier, DnsName>,
    ) -> Result<OrderDetails, ServiceError> {
        let authorizations = self.authorizations(tx, &order, ancestors)?;
        require_worth_trying(self.kernel, &authorizations)?;
        require_room(self.kernel, tx, order.account)?;
        // A permission that was earned earlier may end earlier: without it nothing would come of the order any more.
        let ends = authorizations.iter().map(|authorization| authorization.expires_at).min();
        order.expires_at = ends.map_or(order.expires_at, |end| end.min(order.expires_at));
        if authorizations.iter().all(|authorization| authorization.validation().is_some()) {
            order = order.make_ready(self.now);
        }
        if !tx.insert_order(&order)? {
            let external_id = order.external_id.map(|id| id.to_string()).unwrap_or_default();
            return Err(ServiceError::OrderExternalIdInUse(external_id));
        }
        for (place, authorization) in authorizations.iter().enumerate() {
            let place = u32::try_from(place).map_err(ServiceError::internal)?;
            tx.insert_authorization(authorization, place)?;
        }
        tx.insert_certificate(&self.certificate(&order), order.external_id.as_ref().map(ExternalId::as_str))?;
        order.authorizations = authorizations.iter().map(|authorization| authorization.id).collect();
        let detail = describe_with(&order, "ready", order.state == OrderState::Ready);
        self.kernel.audit(tx, self.caller, Action::OrderCreate, order.id, &detail)?;
        let thumbprint = match self.acme {
            Some(account) => Some(account.thumbprint.clone()),
            None => tx.account_thumbprint(order.account)?,
        };
        Ok(OrderDetails { order, authorizations, thumbprint, waits_for_logs: false })
    }

    fn certificate(&self, order: &Order) -> CertificateRecord {
        CertificateRecord {
            id: order.certificate,
            order: order.id,
            reseller: order.reseller,
            account: order.account,
            kid: order.kid,
            email: self.account.email.clone(),
            via: order.via,
            profile: order.profile.clone(),
            identifiers: order.identifiers.clone(),
            state: CertificateState::Pending { until: Some(order.expires_at) },
            created_at: self.now,
            updated_at: self.now,
            version: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use chancery_domain::Problem;
    use chancery_pki::CertificateRequest;

    use super::*;

    /// Of a.test and b.test.
    const CSR: &str = "MIHnMIGOAgEAMAAwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQXAqE0S41HU6twVK9sNTQn6mZ9ezDoNrW8YWzFBY0L\
        8VcOT5fSDi2TkL9WvZTJQER3ytyPFCse398gNcr1qjfLoCwwKgYJKoZIhvcNAQkOMR0wGzAZBgNVHREEEjAQggZhLnRlc3SCBmIudGVzdDAK\
        BggqhkjOPQQDAgNIADBFAiA8lrtPOF12R/3J4rthOmKbMo0XcOtPOzWGy1CFW5srfgIhAKde3X/ROIZ9Weg0MzpHi7IoiZQB1oPPSDABNCSf\
        qeQF";

    #[test]
    fn policies_are_not_asked_about_a_csr_that_is_refused_anyway() {
        let profile = Profile::predefined().remove(0);
        let names = |names: &[&str]| names.iter().map(|name| Identifier::parse(name).unwrap()).collect::<Vec<_>>();
        let question = |problems: Vec<Problem>, named: Option<Vec<Identifier>>| {
            let new = NewOrder {
                account: AccountLookup::NoCredential,
                profile: None,
                csr: CSR.to_owned(),
                identifiers: named.clone(),
                not_before: None,
                not_after: None,
                external_id: None,
                metadata: Metadata::default(),
            };
            let judged = JudgedCsr::with_problems(CertificateRequest::parse(CSR).unwrap(), problems);
            Question::of(&ReadCsr::new(judged, named.as_deref()), &profile, &new, Timestamp::from_secs(0))
        };
        assert_eq!(question(Vec::new(), None).unwrap().names, names(&["a.test", "b.test"]));
        assert_eq!(question(Vec::new(), Some(names(&["b.test", "a.test"]))).unwrap().names[0].to_string(), "b.test");
        assert!(question(Vec::new(), Some(names(&["a.test", "c.test"]))).is_none());
        assert!(question(vec![Problem::new("csr", "too_many_names", "there are too many names")], None).is_none());
    }
}
