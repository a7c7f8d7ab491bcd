//! Orders and authorizations that ACME clients ask for.

use std::collections::BTreeMap;
use std::sync::Arc;

use chancery_domain::policy::{Request, Violations};
use chancery_domain::{
    AcmeAccountId, Action, AuthorizationId, DnsName, Identifier, Metadata, Order, OrderId, Problems, Profile,
    ProfileName, Timestamp,
};
use chancery_store::{Party, Tx};
use serde_json::json;

use super::admission::{no_such_account, require_admitted};
use super::{Acme, AcmeCaller, AcmeError, AskedName, names, renewal};
use crate::authorizations::AuthorizationDetails;
use crate::caller::Caller;
use crate::certificates::Download;
use crate::error::ServiceError;
use crate::failures::require_worth_trying;
use crate::kernel::Kernel;
use crate::operator::latest_end;
use crate::orders::{DateNames, Dates, Draft, Wanted, rules};
use crate::policies::{Decision, EffectivePolicies, PolicyEvaluation, Subject, require_none};
use crate::refused::{Asked, Refused};
use crate::settings::Settings;
use crate::telling::{self, About};

const DATES: DateNames = DateNames { not_before: "notBefore", not_after: "notAfter" };

/// What is ordered.
#[derive(Clone, Debug)]
pub struct NewAcmeOrder {
    pub profile: ProfileName,
    pub identifiers: Vec<AskedName>,
    pub not_before: Option<Timestamp>,
    pub not_after: Option<Timestamp>,
    /// The certificate that it is to replace, as RFC 9773 section 4.1 names it.
    pub replaces: Option<String>,
}

/// The names of a request, read before its transaction begins.
struct ReadNames {
    profile: Profile,
    /// Each name once, in order.
    identifiers: Vec<Identifier>,
    /// Names above them at which control is to be shown.
    ancestors: BTreeMap<Identifier, DnsName>,
}

impl ReadNames {
    fn read(settings: &Settings, profile: &ProfileName, asked: &[AskedName]) -> Result<Self, ServiceError> {
        let profile = rules::profile(settings, profile)?;
        let identifiers = names::read(settings, profile, asked)?;
        Ok(Self { profile: profile.clone(), identifiers, ancestors: BTreeMap::new() })
    }

    fn of_order(settings: &Settings, new: &NewAcmeOrder) -> Result<Self, ServiceError> {
        let names = Self::read(settings, &new.profile, &new.identifiers)?;
        Ok(Self { ancestors: names::ancestors(settings, &new.identifiers)?, ..names })
    }
}

impl Acme {
    /// Creates an order of its own for every request (RFC 8555 section 7.4).
    pub async fn new_order(&self, by: &AcmeCaller, mut new: NewAcmeOrder) -> Result<Order, ServiceError> {
        by.require_active()?;
        self.kernel.rates.new_acme_order(&by.caller.origin, by.customer.id).await?;
        self.kernel.in_flight.check(by.caller.reseller)?;
        let (me, id, caller, refused) = (self.clone(), by.account.id, by.caller.clone(), Refused::default());
        let (customer, noted) = (by.customer.id, refused.clone());
        let validity_days = Dates::validity_days(new.not_before, new.not_after, self.kernel.now());
        names::drop_repeated(&mut new.identifiers);
        let names = Arc::new(ReadNames::of_order(&self.kernel.settings, &new));
        let evaluation = evaluation(by, &names, validity_days);
        let unit = move |tx: &mut Tx<'_>, decision: &Decision<Violations>| {
            tx.foresee(|tx| drop(tx.policy_versions(customer)));
            me.create(tx, id, &caller, (&new, &names), decision, &noted)
        };
        match self.kernel.write_decided(by.caller.reseller, &evaluation, unit).await {
            Err(error) => Err(refused.answer(&self.kernel, &by.caller, About::Nothing, "order", error).await),
            Ok(order) => {
                telling::created(&order);
                Ok(order)
            }
        }
    }

    /// Creates an authorization ahead of any order (RFC 8555 section 7.4.1).
    pub async fn new_authorization(
        &self,
        by: &AcmeCaller,
        profile: ProfileName,
        asked: AskedName,
    ) -> Result<AuthorizationDetails, ServiceError> {
        by.require_active()?;
        if asked.value.contains('*') {
            let message = "a wildcard cannot be authorized ahead of an order; order it with newOrder";
            return Err(AcmeError::Malformed(message.to_owned()).into());
        }
        self.kernel.rates.new_acme_order(&by.caller.origin, by.customer.id).await?;
        self.kernel.in_flight.check(by.caller.reseller)?;
        let (kernel, id, caller, refused) = (self.kernel.clone(), by.account.id, by.caller.clone(), Refused::default());
        let noted = refused.clone();
        let names = Arc::new(ReadNames::read(&kernel.settings, &profile, std::slice::from_ref(&asked)));
        let evaluation = evaluation(by, &names, None);
        let unit = move |tx: &mut Tx<'_>, decision: &Decision<Violations>| {
            pre_authorize(&kernel, tx, id, &caller, (&asked, &names), decision, &noted)
        };
        match self.kernel.write_decided(by.caller.reseller, &evaluation, unit).await {
            Err(error) => Err(refused.answer(&self.kernel, &by.caller, About::Nothing, "authorization", error).await),
            Ok(made) => Ok(made),
        }
    }

    pub async fn order(&self, by: &AcmeCaller, id: OrderId) -> Result<Order, ServiceError> {
        self.orders.glimpse(&by.caller, id).await
    }

    pub async fn authorization(
        &self,
        by: &AcmeCaller,
        id: AuthorizationId,
    ) -> Result<AuthorizationDetails, ServiceError> {
        self.authorizations.show(&by.caller, id).await
    }

    pub async fn certificate(
        &self,
        by: &AcmeCaller,
        id: chancery_domain::CertificateId,
    ) -> Result<Download, ServiceError> {
        self.certificates.download(&by.caller, id).await
    }

    fn create(
        &self,
        tx: &mut Tx<'_>,
        id: AcmeAccountId,
        caller: &Caller,
        (new, names): (&NewAcmeOrder, &Result<ReadNames, ServiceError>),
        decision: &Decision<Violations>,
        refused: &Refused,
    ) -> Result<Order, ServiceError> {
        let (kernel, now) = (self.kernel.as_ref(), self.kernel.now());
        let who = hold(tx, id, caller)?;
        let ReadNames { profile, identifiers, ancestors } = names.as_ref().map_err(ServiceError::clone)?;
        let look = kernel.settings.issuing.certificates.get(&new.profile);
        let mut dates = Dates::of(look, profile.validity_days, now);
        if let (Some(_), Some(look)) = (new.not_after, look) {
            dates.latest_end = latest_end(tx, &kernel.settings.issuing, &new.profile, &look.key_types, now)?;
        }
        let mut problems = Problems::default();
        dates.check(new.not_before, new.not_after, now, DATES, &mut problems);
        problems.into_result().map_err(|problems| AcmeError::Malformed(problems.to_string()))?;
        let about = Asked { account: who.account.id, order: None, profile: &profile.name, names: identifiers };
        let policies = require_permitted(tx, &who, decision, &about, refused, now)?;
        if let Some(replaces) = &new.replaces {
            renewal::require_replaceable(self, tx, id, replaces, identifiers)?;
        }
        let draft = draft(&who, kernel, caller, profile, &policies, now);
        let order = draft.order(Wanted {
            identifiers: identifiers.clone(),
            csr: None,
            not_before: new.not_before,
            not_after: new.not_after,
            external_id: None,
            metadata: Metadata::default(),
            replaces: new.replaces.clone(),
        });
        Ok(draft.store_with(tx, order, ancestors)?.order)
    }
}

/// What the policies have against these names. Names or a profile that cannot be read are refused before that counts.
fn evaluation(
    by: &AcmeCaller,
    names: &Arc<Result<ReadNames, ServiceError>>,
    validity_days: Option<u32>,
) -> PolicyEvaluation<Violations> {
    let names = names.clone();
    let evaluate = move |policies: &EffectivePolicies| match &*names {
        Ok(ReadNames { profile, identifiers, .. }) => {
            policies.evaluate_order(&Request { validity_days, ..Request::of(profile, identifiers) })
        }
        Err(_) => Violations::default(),
    };
    PolicyEvaluation::new(Subject::new(by.caller.reseller, by.customer.id), evaluate).in_turn()
}

fn pre_authorize(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    id: AcmeAccountId,
    caller: &Caller,
    (asked, names): (&AskedName, &Result<ReadNames, ServiceError>),
    decision: &Decision<Violations>,
    refused: &Refused,
) -> Result<AuthorizationDetails, ServiceError> {
    let now = kernel.now();
    let who = hold(tx, id, caller)?;
    let ReadNames { profile, identifiers, .. } = names.as_ref().map_err(ServiceError::clone)?;
    let [name] = identifiers.as_slice() else { return Err(ServiceError::internal("one name was read as several")) };
    let about = Asked { account: who.account.id, order: None, profile: &profile.name, names: identifiers };
    let policies = require_permitted(tx, &who, decision, &about, refused, now)?;
    let draft = draft(&who, kernel, caller, profile, &policies, now);
    let end = now.plus(kernel.settings.issuing.order_lifetime);
    let namespace = match name {
        Identifier::Dns(name) if kernel.settings.acme.subdomains && asked.subdomains => Some(name),
        Identifier::Dns(_) | Identifier::Ip(_) => None,
    };
    namespace.map_or(Ok(()), names::require_namespace)?;
    let authorization = draft.authorization(tx, None, name, namespace, end)?;
    require_worth_trying(kernel, std::slice::from_ref(&authorization))?;
    tx.insert_authorization(&authorization, 0)?;
    let detail = json!({"name": name.to_string()});
    kernel.audit(tx, caller, Action::AuthorizationCreate, authorization.id, &detail)?;
    Ok(AuthorizationDetails { authorization, thumbprint: Some(who.acme_account.thumbprint) })
}

/// Everything that an order or an authorization of theirs is made from.
fn draft<'a>(
    party: &'a Party,
    kernel: &'a Kernel,
    caller: &'a Caller,
    profile: &'a Profile,
    policies: &'a EffectivePolicies,
    now: Timestamp,
) -> Draft<'a> {
    let Party { account, acme_account, credential, .. } = party;
    Draft { kernel, caller, account, credential, acme: Some(acme_account), profile, policies, now }
}

/// The customer, the ACME account and the credential that bound it, all as they are until the unit of work ends, and all active.
fn hold(tx: &mut Tx<'_>, id: AcmeAccountId, caller: &Caller) -> Result<Party, ServiceError> {
    let party = tx.hold_party(id)?.ok_or_else(no_such_account)?;
    party.account.require_active()?;
    require_admitted(&party, caller)?;
    Ok(party)
}

/// The policies of the customer, if they permit what is asked for and no quota is used up.
fn require_permitted(
    tx: &mut Tx<'_>,
    who: &Party,
    decision: &Decision<Violations>,
    about: &Asked<'_>,
    refused: &Refused,
    now: Timestamp,
) -> Result<Arc<EffectivePolicies>, ServiceError> {
    let (policies, violations) = decision.outcome(tx, who.account.reseller, who.account.id)?;
    let verdict = require_none(violations.clone()).and_then(|()| policies.require_quota(tx, who.account.id, now));
    match refused.note(about, verdict) {
        Ok(()) => Ok(policies),
        Err(ServiceError::PolicyViolation(violations)) => Err(names::rejected(violations, about.names).into()),
        Err(other) => Err(other),
    }
}
