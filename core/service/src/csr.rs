//! The verdict on a CSR: the same wherever one is handed in.

use chancery_domain::{Problem, Problems, Profile};
use chancery_pki::{BadKey, CertificateRequest, CsrRules, KnownBadKeys, NameRules, SubscriberKey};
use chancery_store::Tx;

use crate::error::ServiceError;
use crate::kernel::Kernel;

/// Takes a CSR apart; one that cannot be is refused with the reason.
pub(crate) fn read(text: &str) -> Result<CertificateRequest, ServiceError> {
    CertificateRequest::parse(text).map_err(|error| {
        let mut problems = Problems::default();
        problems.add("csr", error.code(), &error);
        ServiceError::Invalid(problems)
    })
}

/// Everything that stands against a CSR under a profile.
pub(crate) fn problems(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    request: &CertificateRequest,
    profile: &Profile,
) -> Result<Vec<Problem>, ServiceError> {
    let compromised = match request.key() {
        Ok(key) => tx.blocked_key(key.sha256())?.is_some(),
        Err(_) => false,
    };
    let names = kernel.settings.issuing.name_rules;
    let names = NameRules {
        max_names: profile.max_names as usize,
        wildcards: names.wildcards && profile.allow_wildcards,
        ip_addresses: names.ip_addresses && profile.allow_ip_addresses,
        ..names
    };
    let rules = CsrRules { key_types: &profile.key_types, names };
    let known = Known { kernel, compromised };
    let found = request.check(&rules, &known).into_iter();
    Ok(found.map(|problem| Problem::new("csr", problem.code(), &problem)).collect())
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
