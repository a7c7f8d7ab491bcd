//! What would happen to names: what CAA records and policies say, and whether the web server is reached.

use std::sync::Arc;

use chancery_domain::policy::{Request, Violations};
use chancery_domain::{Account, Attempt, CaaReport, ChallengeType, Identifier, Problem, Profile, ProfileName, Scope};
use chancery_overload::Limit;
use chancery_store::Tx;
use tokio::time::Instant;

use crate::account_lookup::AccountLookup;
use crate::caa::{CaaAsker, PATIENCE};
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::failures;
use crate::few::few_at_a_time;
use crate::kernel::Kernel;
use crate::orders::{Reuse, rules};
use crate::policies::EffectivePolicies;

/// Names that are looked at at a time, of one request.
const AT_ONCE: usize = 4;

/// What is asked.
#[derive(Clone, Debug)]
pub struct DiagnosisRequest {
    pub names: Vec<Identifier>,
    /// The operator's default where there is none.
    pub profile: Option<ProfileName>,
    /// Whose policies are asked; nobody's where there is none.
    pub account: Option<AccountLookup>,
}

/// What was found of one name.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    pub name: Identifier,
    /// What the policies and the rules for names have against it.
    pub objections: Violations,
    /// What CAA says; nothing where nobody can look, and for a name that the rules object to.
    pub caa: Option<CaaReport>,
    /// What was seen of the web server; nothing for a wildcard either.
    pub web: Option<Attempt>,
    /// Whether there was no time to look.
    pub out_of_time: bool,
}

#[derive(Clone)]
pub struct Diagnoses {
    kernel: Arc<Kernel>,
    pub(crate) asker: Option<Arc<dyn CaaAsker>>,
}

impl Diagnoses {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel, asker: None }
    }

    /// Looks at each name once. Nothing is ordered, and nothing that is seen counts for an order.
    pub async fn look(&self, caller: &Caller, request: DiagnosisRequest) -> Result<Vec<Diagnosis>, ServiceError> {
        caller.require(Scope::ReadCertificate)?;
        let DiagnosisRequest { names, profile, account } = request;
        let whose = caller.reseller.to_string();
        let count = u32::try_from(names.len()).unwrap_or(u32::MAX);
        let granted = self.kernel.limits.take_many(Limit::Diagnoses, &whose, count).await;
        if let Some(refused) = granted.filter(|decision| !decision.allowed()) {
            return Err(ServiceError::RateLimited(refused));
        }
        let (kernel, reseller, asked) = (self.kernel.clone(), caller.reseller, names.clone());
        let wanted = profile.clone();
        let read = move |tx: &mut Tx<'_>| {
            let account = account.as_ref().map(|lookup| lookup.find(tx, reseller)).transpose()?;
            account.as_ref().map_or(Ok(()), Account::require_active)?;
            let profile = profile_of(&kernel, wanted.as_ref())?;
            account.map(|account| Customer::read(&kernel, tx, account, profile, &asked)).transpose()
        };
        let permit = Arc::new(self.kernel.list_permit(reseller).await?);
        let customer = self.kernel.read_within(&permit, reseller, read).await?;
        let judged = judge(&self.kernel, profile_of(&self.kernel, profile.as_ref())?, customer, &names);
        drop(permit);
        let blank = |(name, objections): (Identifier, Violations)| Diagnosis {
            name,
            objections,
            caa: None,
            web: None,
            out_of_time: false,
        };
        let mut found: Vec<_> = names.into_iter().zip(judged.objections).map(blank).collect();
        if let Some(asker) = &self.asker {
            // Names that could never be ordered are not looked up: they are those of the operator's own network, too.
            let fit = found.iter_mut().zip(judged.unfit).filter(|(_, unfit)| !unfit).map(|(each, _)| each).collect();
            see(asker, &whose, &judged.account_uri, &judged.methods, fit).await;
        }
        Ok(found)
    }
}

struct Judged {
    objections: Vec<Violations>,
    /// Which of the names the rules for names object to, whoever would order.
    unfit: Vec<bool>,
    account_uri: String,
    methods: Vec<ChallengeType>,
}

/// The customer whose policies are asked, and what prevents its orders.
struct Customer {
    account: Account,
    policies: Arc<EffectivePolicies>,
    exhausted: Violations,
    /// For each name the pause of new orders for it, if there is one.
    paused: Vec<Violations>,
}

impl Customer {
    fn read(
        kernel: &Kernel,
        tx: &mut Tx<'_>,
        account: Account,
        profile: &Profile,
        names: &[Identifier],
    ) -> Result<Self, ServiceError> {
        let now = kernel.now();
        let policies = kernel.policies.read(tx, account.reseller, account.id)?;
        let exhausted = policies.exhausted_quotas(tx, account.id, now)?;
        let reuse = Reuse { settings: &kernel.settings, account: account.id, acme: None, profile, now };
        let paused =
            names.iter().map(|name| failures::paused(kernel, tx, &reuse, &policies, std::slice::from_ref(name)));
        let paused = paused.collect::<Result<_, _>>()?;
        Ok(Self { account, policies, exhausted, paused })
    }

    /// What prevents an order for the name at this position of the request, ordered by itself.
    fn objections(&self, profile: &Profile, place: usize, name: &Identifier) -> Violations {
        let mut objections = self.policies.evaluate(&Request::of(profile, std::slice::from_ref(name))).violations;
        objections.append(self.exhausted.clone());
        self.paused.get(place).cloned().into_iter().for_each(|paused| objections.append(paused));
        for problem in objections.described_mut().iter_mut().filter(|problem| problem.name.is_some()) {
            problem.name = Some(place);
            problem.field = format!("identifiers[{place}]");
        }
        objections
    }
}

fn profile_of<'k>(kernel: &'k Kernel, name: Option<&ProfileName>) -> Result<&'k Profile, ServiceError> {
    rules::profile(&kernel.settings, name.unwrap_or(&kernel.settings.default_profile))
}

fn judge(kernel: &Kernel, profile: &Profile, customer: Option<Customer>, names: &[Identifier]) -> Judged {
    let issuing = &kernel.settings.issuing;
    let rules = issuing.names_of(profile);
    let (mut objections, mut unfit) = (Vec::with_capacity(names.len()), Vec::with_capacity(names.len()));
    for (place, name) in names.iter().enumerate() {
        let problems = rules.problems(std::slice::from_ref(name));
        unfit.push(!problems.is_empty());
        let mut found: Violations =
            problems.iter().map(|problem| Problem::new("name", "not_acceptable", problem)).collect();
        customer.iter().for_each(|customer| found.append(customer.objections(profile, place, name)));
        objections.push(found);
    }
    let account_uri = customer.map(|customer| issuing.account_uri(customer.account.id)).unwrap_or_default();
    Judged { objections, unfit, account_uri, methods: profile.challenge_types.clone() }
}

/// Looks at every name, few at a time, until the patience ends.
async fn see(
    asker: &Arc<dyn CaaAsker>,
    whose: &str,
    account_uri: &str,
    methods: &[ChallengeType],
    found: Vec<&mut Diagnosis>,
) {
    let look = |name: Identifier| {
        let (asker, whose, uri, methods) = (asker.clone(), whose.to_owned(), account_uri.to_owned(), methods.to_vec());
        async move {
            let web = async { if name.is_wildcard() { None } else { Some(asker.probe(&whose, &name).await) } };
            tokio::join!(asker.ask(&whose, &name, &uri, &methods), web)
        }
    };
    let names: Vec<_> = found.iter().map(|each| each.name.clone()).collect();
    let looks = few_at_a_time(AT_ONCE, Instant::now() + PATIENCE, names.into_iter().map(look)).await;
    for (each, look) in found.into_iter().zip(looks) {
        match look {
            Some((caa, web)) => (each.caa, each.web) = (Some(caa), web),
            None => each.out_of_time = true,
        }
    }
}
