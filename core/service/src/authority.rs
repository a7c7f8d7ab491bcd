//! The CAs that sign, opened and ready.

use std::collections::HashMap;
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
    pub urls: IssuerUrls,
    pub shards: CrlShards,
    /// From itself up to, and without, the root.
    pub chain: Vec<Certificate>,
}

impl Signing {
    /// The chain in PEM, for those who get a certificate of this issuer.
    pub fn chain_pem(&self) -> String {
        chain_to_pem(&self.chain)
    }
}

/// Every issuing CA of this installation, retired ones included: what they issued is still theirs to answer for.
pub struct Authority {
    kernel: Arc<Kernel>,
    issuers: RwLock<Arc<HashMap<IssuerId, Arc<Signing>>>>,
}

impl Authority {
    pub async fn new(kernel: Arc<Kernel>) -> Result<Arc<Self>, ServiceError> {
        let authority = Arc::new(Self { kernel, issuers: RwLock::default() });
        authority.reload().await?;
        Ok(authority)
    }

    /// Reads the CAs anew: one may have been added or retired.
    pub async fn reload(&self) -> Result<(), ServiceError> {
        let records = self.kernel.store.read(|tx| Ok::<_, ServiceError>(tx.issuers()?)).await?;
        let issuing = records.iter().filter(|record| record.kind == IssuerKind::Issuing);
        let loaded =
            issuing.map(|record| Ok((record.id, Arc::new(self.open(record)?)))).collect::<Result<_, ServiceError>>()?;
        *self.issuers.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(loaded);
        Ok(())
    }

    pub fn all(&self) -> Vec<Arc<Signing>> {
        let issuers = self.issuers.read().unwrap_or_else(PoisonError::into_inner).clone();
        issuers.values().cloned().collect()
    }

    pub fn find(&self, id: IssuerId) -> Option<Arc<Signing>> {
        self.issuers.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    /// The CA for a new certificate: an active one, the newest where there are several.
    pub(crate) fn choose(&self) -> Result<Arc<Signing>, ServiceError> {
        let mut active: Vec<_> = self.all().into_iter().filter(|signing| signing.active).collect();
        active.sort_by_key(|signing| signing.id);
        active.pop().ok_or_else(|| ServiceError::internal("there is no active issuing CA; run `chancery init`"))
    }

    fn open(&self, record: &IssuerRecord) -> Result<Signing, ServiceError> {
        let context = sealed_column("issuers").context(record.id);
        let der = self.kernel.keyring.open(&context, &record.sealed).map_err(ServiceError::internal)?;
        let key = PrivateKey::from_pkcs8(&der).map_err(ServiceError::internal)?;
        let certificate = Certificate::from_der(&record.certificate).map_err(ServiceError::internal)?;
        let base = &self.kernel.settings.issuing.relying_url;
        let shards = CrlShards::new(&format!("{base}/crl/{}", record.id), self.kernel.settings.issuing.crl_shards);
        let urls = IssuerUrls {
            ca_issuers: Some(format!("{base}/issuer/{}.crt", record.id)),
            ocsp: Some(self.kernel.settings.issuing.ocsp_url()),
            crl: Some(shards.clone()),
        };
        Ok(Signing {
            id: record.id,
            name: record.name.clone(),
            active: record.state == IssuerState::Active,
            issuer: Issuer::new(certificate.clone(), Arc::new(key)).map_err(ServiceError::internal)?,
            urls,
            shards,
            chain: vec![certificate],
        })
    }
}
