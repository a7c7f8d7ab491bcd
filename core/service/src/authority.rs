//! The CAs that sign, opened and ready.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use chancery_domain::IssuerId;
use chancery_pki::{Certificate, CrlShards, Issuer, IssuerUrls, PrivateKey, chain_to_pem};
use chancery_store::{IssuerKind, IssuerRecord, IssuerState};

use crate::error::ServiceError;
use crate::kernel::{Kernel, sealed_column};

/// An issuing CA with its key and its addresses.
pub struct Signing {
    pub id: IssuerId,
    pub name: String,
    pub active: bool,
    pub issuer: Issuer,
    pub shards: CrlShards,
    urls: IssuerUrls,
    urls_without_ocsp: IssuerUrls,
    /// From itself up to, and without, the root.
    pub chain: Vec<Certificate>,
}

impl Signing {
    /// The addresses for a certificate, with or without that of the OCSP responder.
    pub fn urls_for(&self, ocsp: bool) -> &IssuerUrls {
        if ocsp { &self.urls } else { &self.urls_without_ocsp }
    }

    /// The chain in PEM, for those who get a certificate of this issuer.
    pub fn chain_pem(&self) -> String {
        chain_to_pem(&self.chain)
    }
}

/// Every issuing CA of this installation, retired ones included: what they issued is still theirs to answer for.
pub struct Authority {
    kernel: Arc<Kernel>,
    issuers: RwLock<Arc<HashMap<IssuerId, Arc<Signing>>>>,
    roots: RwLock<Arc<BTreeMap<IssuerId, Certificate>>>,
}

impl Authority {
    pub async fn new(kernel: Arc<Kernel>) -> Result<Arc<Self>, ServiceError> {
        let authority = Arc::new(Self { kernel, issuers: RwLock::default(), roots: RwLock::default() });
        authority.reload().await?;
        Ok(authority)
    }

    /// Reads the CAs anew: one may have been added or retired.
    pub async fn reload(&self) -> Result<(), ServiceError> {
        let records = self.kernel.store.read(|tx| Ok::<_, ServiceError>(tx.issuers()?)).await?;
        let issuing = records.iter().filter(|record| record.kind == IssuerKind::Issuing);
        let loaded =
            issuing.map(|record| Ok((record.id, Arc::new(self.open(record)?)))).collect::<Result<_, ServiceError>>()?;
        let roots = records.iter().filter(|record| record.kind == IssuerKind::Root);
        let roots = roots.map(|root| Ok((root.id, certificate(root)?))).collect::<Result<_, ServiceError>>()?;
        *self.issuers.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(loaded);
        *self.roots.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(roots);
        Ok(())
    }

    pub fn all(&self) -> Vec<Arc<Signing>> {
        let issuers = self.issuers.read().unwrap_or_else(PoisonError::into_inner).clone();
        issuers.values().cloned().collect()
    }

    pub fn find(&self, id: IssuerId) -> Option<Arc<Signing>> {
        self.issuers.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    pub fn roots(&self) -> Arc<BTreeMap<IssuerId, Certificate>> {
        self.roots.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The certificate of a CA of any kind, retired or not.
    pub fn certificate(&self, id: IssuerId) -> Option<Certificate> {
        let issuing = self.find(id).map(|signing| signing.issuer.certificate().clone());
        issuing.or_else(|| self.roots().get(&id).cloned())
    }

    /// The CA for a new certificate: an active one, the newest where there are several.
    pub(crate) fn choose(&self) -> Result<Arc<Signing>, ServiceError> {
        let mut active: Vec<_> = self.all().into_iter().filter(|signing| signing.active).collect();
        active.sort_by_key(|signing| signing.id);
        active.pop().ok_or_else(|| ServiceError::internal("there is no active issuing CA; run `chancery init`"))
    }

    fn open(&self, record: &IssuerRecord) -> Result<Signing, ServiceError> {
        let issuing = &self.kernel.settings.issuing;
        let shards = issuing.crls(record.id);
        let urls = IssuerUrls {
            ca_issuers: Some(issuing.issuer_url(record.id)),
            ocsp: Some(issuing.ocsp_url()),
            crl: Some(shards.clone()),
        };
        Ok(Signing {
            id: record.id,
            name: record.name.clone(),
            active: record.state == IssuerState::Active,
            issuer: self.unseal(record)?,
            urls_without_ocsp: IssuerUrls { ocsp: None, ..urls.clone() },
            urls,
            shards,
            chain: vec![certificate(record)?],
        })
    }

    /// A CA with its key. A root's is needed seldom, so it is not kept open.
    pub(crate) fn unseal(&self, record: &IssuerRecord) -> Result<Issuer, ServiceError> {
        let context = sealed_column("issuers").context(record.id);
        let der = self.kernel.keyring.open(&context, &record.sealed).map_err(ServiceError::internal)?;
        let key = PrivateKey::from_pkcs8(&der).map_err(ServiceError::internal)?;
        Issuer::new(certificate(record)?, Arc::new(key)).map_err(ServiceError::internal)
    }
}

fn certificate(record: &IssuerRecord) -> Result<Certificate, ServiceError> {
    Certificate::from_der(&record.certificate).map_err(ServiceError::internal)
}
