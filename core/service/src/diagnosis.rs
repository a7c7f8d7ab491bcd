//! What would happen to names: what CAA records and policies say, and whether the web server is reached.

use std::sync::Arc;

use chancery_domain::policy::Request;
use chancery_domain::{Account, Attempt, CaaReport, ChallengeType, Identifier, Problem, ProfileName, Scope};
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
use crate::orders::rules;
use crate::orders::{Reuse, Standing};

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
    pub objections: Vec<Problem>,
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
        let (kernel, reseller, asked) = (self.kernel.clone(), caller.reseller, names.clone());
        let judge = move |tx: &mut Tx<'_>| {
            let account = account.as_ref().map(|lookup| lookup.find(tx, reseller)).transpose()?;
            account.as_ref().map_or(Ok(()), Account::require_active)?;
            judge(&kernel, tx, profile.as_ref(), account.as_ref(), &asked)
        };
        let judged = self.kernel.store.read(judge).await?;
        let whose = caller.reseller.to_string();
        let count = u32::try_from(names.len()).unwrap_or(u32::MAX);
        let granted = self.kernel.limits.take_many(Limit::Diagnoses, &whose, count).await;
        if let Some(refused) = granted.filter(|decision| !decision.allowed()) {
            return Err(ServiceError::RateLimited(refused));
        }
        let blank = |(name, objections): (Identifier, Vec<Problem>)| Diagnosis {
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
    objections: Vec<Vec<Problem>>,
    /// Which of the names the rules for names object to, whoever would order.
    unfit: Vec<bool>,
    account_uri: String,
    methods: Vec<ChallengeType>,
}

fn judge(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    profile: Option<&ProfileName>,
    account: Option<&Account>,
    names: &[Identifier],
) -> Result<Judged, ServiceError> {
    let settings = &kernel.settings;
    let profile = rules::profile(settings, profile.unwrap_or(&settings.default_profile))?;
    let rules = settings.issuing.names_of(profile);
    let standing = account.map(|account| Standing::of(tx, account.id)).transpose()?;
    let full = match (account, &standing) {
        (Some(account), Some(standing)) => standing.full_quotas(tx, settings, account.id, kernel.now())?,
        _ => Vec::new(),
    };
    let (mut objections, mut unfit) = (Vec::with_capacity(names.len()), Vec::with_capacity(names.len()));
    for (place, name) in names.iter().enumerate() {
        let one = std::slice::from_ref(name);
        // It was judged by itself, and is one of several.
        let placed = |problem: Problem| match problem.name {
            Some(_) => Problem { name: Some(place), field: format!("identifiers[{place}]"), ..problem },
            None => problem,
        };
        let problem = |problem: &dyn std::fmt::Display| Problem::new("name", "not_acceptable", problem);
        let mut found: Vec<_> = rules.problems(one).iter().map(|each| problem(each)).collect();
        unfit.push(!found.is_empty());
        if let (Some(account), Some(standing)) = (account, &standing) {
            found.extend(standing.verdict(settings, &Request::of(profile, one)).violations.into_iter().map(placed));
            found.extend(full.iter().cloned());
            let reuse = Reuse { settings, account: account.id, acme: None, profile, now: kernel.now() };
            found.extend(failures::paused(kernel, tx, &reuse, standing, one)?.into_iter().map(placed));
        }
        objections.push(found);
    }
    let account_uri = account.map(|account| settings.issuing.account_uri(account.id)).unwrap_or_default();
    Ok(Judged { objections, unfit, account_uri, methods: profile.challenge_types.clone() })
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
