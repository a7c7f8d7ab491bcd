//! The CA hierarchy: a root, and issuing CAs below it.

use std::collections::HashMap;
use std::thread;

use chancery_domain::{Action, IssuerId, Timestamp};
use chancery_pki::{
    CaName, CaPolicy, Certificate, CertificateInfo, Issuer, IssuerChain, IssuingCa, KeyAlgorithm, KeyError, PkiError,
    PolicyId, Purpose, Serial, SubscriberProfile, Validity, ValidityError, issuing, root,
};
use chancery_store::{IssuerKind, IssuerRecord, IssuerRevocation, IssuerState};
use serde_json::json;

use super::Operator;
use super::issuers::is_same_name;
use crate::ca_key::{KeyHome, KeyPlace, NewKey, unsigned};
use crate::chains::preferred;
use crate::error::{Noun, ServiceError};
use crate::settings::Issuing;

/// What the CAs are to be.
#[derive(Clone, Debug)]
pub struct NewHierarchy {
    pub country: String,
    pub organization: String,
    /// The name of the root, whose key is on P-384.
    pub root: String,
    /// The names and keys of the issuing CAs.
    pub issuing: Vec<(String, KeyAlgorithm)>,
    /// Where the keys are made; the usual place where nobody says.
    pub keys: Option<KeyPlace>,
}

/// A CA as it is shown.
#[derive(Clone)]
pub struct IssuerDetails {
    pub id: IssuerId,
    pub parent: Option<IssuerId>,
    pub name: String,
    pub kind: IssuerKind,
    pub state: IssuerState,
    pub certificate: Certificate,
    pub info: CertificateInfo,
    pub created_at: Timestamp,
    pub revocation: Option<IssuerRevocation>,
    /// The chain that its certificates come with, unless it is that of its own certificate.
    pub preferred: Option<Preferred>,
}

/// One of a CA's further chains, which an operator prefers.
#[derive(Clone)]
pub struct Preferred {
    pub number: u32,
    pub chain: IssuerChain,
}

/// A key that is to be made, and the name of its CA.
pub(super) type Wanted = (String, KeyAlgorithm);

impl IssuerDetails {
    /// Where it stands, in a word.
    pub fn standing(&self) -> &'static str {
        if self.revocation.is_some() { "revoked" } else { self.state.as_str() }
    }

    /// The last second that what it signs may have: its own, or that of the chain it comes with.
    pub fn not_after(&self) -> i64 {
        let chain = self.preferred.as_ref().map(|preferred| preferred.chain.not_after());
        chain.map_or(self.info.not_after, |ends| ends.min(self.info.not_after))
    }
}

/// How many seconds before it is made a CA begins, for clocks that are late; what it signs in its first hour is dated
/// back as well, and never to before its issuer.
const BACKDATE: i64 = 3600;
const ROOT_DAYS: u32 = 20 * 365;
const ISSUING_DAYS: u32 = 5 * 365;

impl Operator {
    /// Makes a root and issuing CAs where there is no hierarchy yet; otherwise gives back the one there is.
    pub async fn init_hierarchy(&self, new: NewHierarchy) -> Result<Vec<IssuerDetails>, ServiceError> {
        let existing = self.issuers().await?;
        if !existing.is_empty() {
            return Ok(existing);
        }
        let mut names = [&new.root].into_iter().chain(new.issuing.iter().map(|(name, _)| name));
        while let Some(name) = names.next() {
            if names.clone().any(|other| is_same_name(name, other)) {
                return Err(ServiceError::NameInUse(Noun::Issuer, name.clone()));
            }
        }
        let wanted = [(new.root.clone(), KeyAlgorithm::EcP384)].into_iter().chain(new.issuing.iter().cloned());
        let keys = self.generate(new.keys, wanted.collect()).await?;
        let made = match self.make_hierarchy(&new, &keys) {
            Ok(made) => made,
            Err(error) => {
                keys.into_iter().for_each(NewKey::discard);
                return Err(unmade(error));
            }
        };
        let me = self.clone();
        let kept = self
            .kernel
            .store
            .write(move |tx| {
                // Another process may be doing the same; whoever comes second finds that it is done.
                let first = tx.claim_hierarchy()?.is_empty();
                if first {
                    for issuer in &made {
                        tx.insert_issuer(issuer)?;
                        me.record(tx, None, Action::IssuerCreate, issuer.id, &json!({"name": issuer.name}))?;
                    }
                }
                Ok::<_, ServiceError>(first)
            })
            .await;
        settle(keys, kept, |first| *first)?;
        self.issuers().await
    }

    /// Every CA, roots before what they signed.
    pub async fn issuers(&self) -> Result<Vec<IssuerDetails>, ServiceError> {
        let records = self.kernel.store.read(|tx| Ok::<_, ServiceError>(tx.issuers()?)).await?;
        records.iter().map(details).collect()
    }

    /// Where the key of each CA is, as far as that opens.
    pub async fn key_homes(&self) -> Result<HashMap<IssuerId, KeyHome>, ServiceError> {
        let records = self.kernel.store.read(|tx| Ok::<_, ServiceError>(tx.issuers()?)).await?;
        let home = |record: &IssuerRecord| Some((record.id, self.kernel.ca_keys.home(record).ok()?));
        Ok(records.iter().filter_map(home).collect())
    }

    /// The first key is the root's.
    fn make_hierarchy(&self, new: &NewHierarchy, keys: &[NewKey]) -> Result<Vec<IssuerRecord>, AnyError> {
        let name = |common: &str| CaName::new(&new.country, &new.organization, common);
        let (root_key, keys) = keys.split_first().ok_or("a root needs a key")?;
        let validity = ca_validity(self.kernel.now().as_secs(), ROOT_DAYS, None)?;
        let certificate = root(&*root_key.signer, &name(&new.root)?, validity, self.serial())?;
        let root_record = self.issuer_record(None, &new.root, &certificate, root_key)?;
        let parent = Parent { id: root_record.id, issuer: Issuer::new(certificate, root_key.signer.clone())? };
        let mut made = vec![root_record];
        for ((common, _), key) in new.issuing.iter().zip(keys) {
            made.push(self.make_issuing(&parent, common, &name(common)?, key)?);
        }
        Ok(made)
    }

    /// An issuing CA below a root. Which purposes and policies it allows is told by the profiles that there are.
    pub(super) fn make_issuing(
        &self,
        parent: &Parent,
        name: &str,
        subject: &CaName,
        key: &NewKey,
    ) -> Result<IssuerRecord, AnyError> {
        let settings = &self.kernel.settings.issuing;
        let ca = IssuingCa {
            subject,
            spki: key.signer.spki(),
            validity: ca_validity(self.kernel.now().as_secs(), ISSUING_DAYS, Some(&parent.issuer))?,
            serial: self.serial(),
            policy: policy_for(settings),
            purposes: &purposes_of(settings),
            ca_issuers_url: Some(&settings.issuer_url(parent.id)),
            crl_url: Some(&settings.root_crl_url(parent.id)),
        };
        let certificate = issuing(&parent.issuer, &ca)?;
        self.issuer_record(Some(parent.id), name, &certificate, key)
    }

    /// A root with its key, to sign with.
    pub(super) fn open_root(&self, record: &IssuerRecord) -> Result<Parent, AnyError> {
        Ok(Parent { id: record.id, issuer: self.kernel.ca_keys.open(record)? })
    }

    fn issuer_record(
        &self,
        parent: Option<IssuerId>,
        name: &str,
        certificate: &Certificate,
        key: &NewKey,
    ) -> Result<IssuerRecord, AnyError> {
        let now = self.kernel.now();
        let id = IssuerId::new(now, self.kernel.entropy.as_ref());
        let sealed = self.kernel.ca_keys.seal(id, key);
        Ok(IssuerRecord {
            id,
            parent,
            name: name.to_owned(),
            kind: if parent.is_some() { IssuerKind::Issuing } else { IssuerKind::Root },
            state: IssuerState::Active,
            certificate: certificate.as_der().to_vec(),
            sealed,
            created_at: now,
            revocation: None,
            preferred: None,
        })
    }

    /// New keys, all at once and beside everything else: one takes from tenths of a second to seconds.
    pub(super) async fn generate(
        &self,
        place: Option<KeyPlace>,
        wanted: Vec<Wanted>,
    ) -> Result<Vec<NewKey>, ServiceError> {
        let kernel = self.kernel.clone();
        let work = move || {
            let place = place.unwrap_or_else(|| kernel.ca_keys.usual_place());
            let make = |(name, key): &Wanted| kernel.ca_keys.make(place, *key, name, kernel.entropy.as_ref());
            thread::scope(|scope| {
                let making: Vec<_> = wanted.iter().map(|wanted| scope.spawn(move || make(wanted))).collect();
                let made = making.into_iter().map(|key| key.join().unwrap_or(Err(KeyError::Generation)));
                all_or_none(made.collect())
            })
        };
        let made = tokio::task::spawn_blocking(work).await.map_err(ServiceError::internal)?;
        made.map_err(unsigned)
    }

    fn serial(&self) -> Serial {
        Serial::draw(self.kernel.entropy.as_ref())
    }
}

pub(super) type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// A root that is about to sign.
pub(super) struct Parent {
    pub(super) id: IssuerId,
    pub(super) issuer: Issuer,
}

fn all_or_none(made: Vec<Result<NewKey, KeyError>>) -> Result<Vec<NewKey>, KeyError> {
    let (mut keys, mut failed) = (Vec::new(), None);
    for key in made {
        match key {
            Ok(key) => keys.push(key),
            Err(error) => failed = Some(error),
        }
    }
    match failed {
        None => Ok(keys),
        Some(error) => {
            keys.into_iter().for_each(NewKey::discard);
            Err(error)
        }
    }
}

/// What came of keeping CAs with new keys; those that are surely of no use are taken away.
pub(super) fn settle<T>(
    keys: Vec<NewKey>,
    kept: Result<T, ServiceError>,
    used: impl FnOnce(&T) -> bool,
) -> Result<T, ServiceError> {
    if !may_be_used(&kept, used) {
        keys.into_iter().for_each(NewKey::discard);
    }
    kept
}

/// Unless it was refused before anything was committed. A commit whose answer is lost may have happened, and nothing brings a
/// key back.
fn may_be_used<T>(kept: &Result<T, ServiceError>, used: impl FnOnce(&T) -> bool) -> bool {
    match kept {
        Ok(kept) => used(kept),
        Err(error) => {
            !matches!(error, ServiceError::NameInUse(..) | ServiceError::Invalid(_) | ServiceError::NotFound(..))
        }
    }
}

/// A root whose key is in a token may be unable to sign, which is nobody's mistake.
pub(super) fn unmade(error: AnyError) -> ServiceError {
    match error.downcast::<PkiError>() {
        Ok(error) => unsigned(*error),
        Err(other) => ServiceError::internal(other),
    }
}

pub(super) fn details(record: &IssuerRecord) -> Result<IssuerDetails, ServiceError> {
    let certificate = Certificate::from_der(&record.certificate).map_err(ServiceError::internal)?;
    let info = certificate.info().map_err(ServiceError::internal)?;
    Ok(IssuerDetails {
        id: record.id,
        parent: record.parent,
        name: record.name.clone(),
        kind: record.kind,
        state: record.state,
        certificate,
        info,
        created_at: record.created_at,
        revocation: record.revocation,
        preferred: preferred(record)?.zip(record.preferred_number()).map(|(chain, number)| Preferred { number, chain }),
    })
}

/// So many days from now on, and a little before; all of it within the validity of the parent.
fn ca_validity(now: i64, days: u32, parent: Option<&Issuer>) -> Result<Validity, ValidityError> {
    let ends = Validity::days(now, days)?.not_after();
    let (begins, ends) = match parent {
        Some(parent) => ((now - BACKDATE).max(parent.certificate().not_before()), ends.min(parent.not_after())),
        None => (now - BACKDATE, ends),
    };
    Validity::lasting(begins, ends - begins + 1)
}

/// Domain validated alone where no profile has another policy.
fn policy_for(issuing: &Issuing) -> CaPolicy {
    let plain = |profile: &SubscriberProfile| profile.policies.iter().all(|id| *id == PolicyId::DOMAIN_VALIDATED);
    if issuing.certificates.values().all(plain) { CaPolicy::DomainValidated } else { CaPolicy::Any }
}

fn purposes_of(issuing: &Issuing) -> Vec<Purpose> {
    let wanted = |purpose: &Purpose| issuing.certificates.values().any(|profile| profile.purposes.contains(purpose));
    Purpose::ALL.into_iter().filter(wanted).collect()
}

#[cfg(test)]
mod tests {
    use chancery_store::StoreError;

    use super::*;

    #[test]
    fn a_key_is_not_taken_away_where_its_ca_may_have_been_kept() {
        let may_be_used = |kept| may_be_used(&kept, |first: &bool| *first);
        assert!(may_be_used(Ok(true)));
        assert!(!may_be_used(Ok(false)), "another process was faster");
        assert!(!may_be_used(Err(ServiceError::NameInUse(Noun::Issuer, "Example".to_owned()))));
        let lost = [StoreError::Unknown("the answer was lost".to_owned()), StoreError::Unavailable("gone".to_owned())];
        assert!(lost.into_iter().all(|error| may_be_used(Err(error.into()))));
        assert!(may_be_used(Err(ServiceError::internal("whatever"))));
    }
}
