//! The verdict on a CSR: the same wherever one is handed in.

use chancery_domain::{Problem, Problems, Profile, ProfileName, Via};
use chancery_pki::{BadKey, CertificateRequest, CsrError, CsrProblem, CsrRules, KnownBadKeys, SubscriberKey};
use chancery_store::Tx;

use crate::error::ServiceError;
use crate::kernel::Kernel;
use crate::known_keys;
use crate::orders::rules;
use crate::settings::Settings;
use crate::timed::Timed;

/// A CSR with everything that stands against it by itself. It is judged before a unit of work begins, since others
/// wait for that unit: signatures and weak keys take their time.
#[derive(Clone)]
pub(crate) struct JudgedCsr {
    pub(crate) request: CertificateRequest,
    problems: Vec<Problem>,
}

impl JudgedCsr {
    /// Takes a CSR apart and judges it by the rules of a profile; one that cannot be read is refused with the reason.
    pub(crate) fn read(
        kernel: &Kernel,
        text: impl AsRef<[u8]>,
        profile: &Profile,
        via: Via,
    ) -> Result<Self, ServiceError> {
        let _timed = Timed::start("csr");
        let request = parse(text, via).map_err(|error| ServiceError::invalid("csr", error.code(), &error))?;
        let problems = told(request.check(&csr_rules(kernel, profile), &Known { kernel, compromised: false }));
        Ok(Self { request, problems })
    }

    /// Whether anything stands against it by itself.
    pub(crate) fn has_problems(&self) -> bool {
        !self.problems.is_empty()
    }

    /// Everything that stands against it; also that its key was revoked as compromised, which the store knows.
    pub(crate) fn problems(&self, tx: &mut Tx<'_>) -> Result<Vec<Problem>, ServiceError> {
        let mut problems = self.problems.clone();
        if is_compromised(tx, &self.request)? {
            problems.extend(told(vec![CsrProblem::Key(BadKey::Compromised.into())]));
        }
        Ok(problems)
    }
}

#[cfg(test)]
impl JudgedCsr {
    /// A CSR with these problems.
    pub(crate) fn with_problems(request: CertificateRequest, problems: Vec<Problem>) -> Self {
        Self { request, problems }
    }
}

/// What keeps a CSR from being judged: that there is no such profile, and that it cannot be read.
pub(crate) fn unjudgeable(settings: &Settings, profile: Option<&ProfileName>, text: &str) -> Problems {
    let mut problems = Problems::default();
    if let Some(Err(ServiceError::Invalid(unknown))) = profile.map(|name| rules::profile(settings, name)) {
        problems.0.extend(unknown.0);
    }
    if let Err(error) = parse(text, Via::Reseller) {
        problems.add("csr", error.code(), &error);
    }
    problems
}

/// A CSR as the door that it came by understands it: in ACME, names may also be common names (RFC 8555 section 7.4).
pub(crate) fn parse(text: impl AsRef<[u8]>, via: Via) -> Result<CertificateRequest, CsrError> {
    let request = CertificateRequest::parse(text)?;
    Ok(match via {
        Via::Acme => request.with_common_names(),
        Via::Reseller => request,
    })
}

/// What stands by now against a CSR that was found good when it was handed in: rules change, and keys become known.
pub(crate) fn problems_since(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    request: &CertificateRequest,
    profile: &Profile,
) -> Result<Vec<Problem>, ServiceError> {
    let compromised = is_compromised(tx, request)?;
    Ok(told(request.check_again(&csr_rules(kernel, profile), &Known { kernel, compromised })))
}

pub(crate) fn is_compromised(tx: &mut Tx<'_>, request: &CertificateRequest) -> Result<bool, ServiceError> {
    match request.key() {
        Ok(key) => Ok(known_keys::is_blocked(tx, key)?),
        Err(_) => Ok(false),
    }
}

/// What a profile asks of a CSR.
fn csr_rules<'a>(kernel: &Kernel, profile: &'a Profile) -> CsrRules<'a> {
    CsrRules { key_types: &profile.key_types, names: kernel.settings.issuing.names_of(profile) }
}

fn told(problems: Vec<CsrProblem>) -> Vec<Problem> {
    problems.into_iter().map(|problem| Problem::new("csr", problem.code(), &problem)).collect()
}

/// What this installation knows against keys: the operator's list, and keys that were revoked as compromised.
struct Known<'a> {
    kernel: &'a Kernel,
    compromised: bool,
}

impl KnownBadKeys for Known<'_> {
    fn verdict(&self, key: &SubscriberKey) -> Option<BadKey> {
        if self.compromised {
            return Some(BadKey::Compromised);
        }
        self.kernel.blocklist.as_ref().and_then(|list| list.verdict(key))
    }
}
