//! The CA hierarchy: a root, and issuing CAs below it.

use std::sync::Arc;

use chancery_domain::{IssuerId, Timestamp};
use chancery_pki::{
    CaName, CaPolicy, Certificate, CertificateInfo, Issuer, IssuingCa, KeyAlgorithm, PrivateKey, Serial, Signer,
    Validity, issuing, root,
};
use chancery_store::{IssuerKind, IssuerRecord, IssuerState};
use serde_json::json;

use super::Operator;
use crate::error::ServiceError;
use crate::kernel::sealed_column;

/// What the CAs are called.
#[derive(Clone, Debug)]
pub struct CaNames {
    pub country: String,
    pub organization: String,
    pub root: String,
    pub issuing: String,
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
}

const ROOT_DAYS: u32 = 20 * 365;
const ISSUING_DAYS: u32 = 5 * 365;

impl Operator {
    /// Makes a root and an issuing CA where there is no hierarchy yet; otherwise gives back the one there is.
    pub async fn init_hierarchy(&self, names: CaNames) -> Result<Vec<IssuerDetails>, ServiceError> {
        let existing = self.issuers().await?;
        if !existing.is_empty() {
            return Ok(existing);
        }
        let made = self.make_hierarchy(&names).map_err(ServiceError::internal)?;
        let me = self.clone();
        self.kernel
            .store
            .write(move |tx| {
                if tx.issuers()?.is_empty() {
                    for issuer in &made {
                        tx.insert_issuer(issuer)?;
                        me.record(tx, None, "issuer.create", issuer.id, &json!({"name": issuer.name}))?;
                    }
                }
                Ok::<_, ServiceError>(())
            })
            .await?;
        self.issuers().await
    }

    /// Every CA, roots before what they signed.
    pub async fn issuers(&self) -> Result<Vec<IssuerDetails>, ServiceError> {
        let records = self.kernel.store.read(|tx| Ok::<_, ServiceError>(tx.issuers()?)).await?;
        records.into_iter().map(details).collect()
    }

    fn make_hierarchy(&self, names: &CaNames) -> Result<[IssuerRecord; 2], Box<dyn std::error::Error>> {
        let now = self.kernel.now();
        let serial = || Serial::draw(self.kernel.entropy.as_ref());
        let name = |common: &str| CaName::new(&names.country, &names.organization, common);

        let root_key = PrivateKey::generate(KeyAlgorithm::EcP384)?;
        let root_certificate =
            root(&root_key, &name(&names.root)?, Validity::days(now.as_secs(), ROOT_DAYS)?, serial())?;
        let root_record = self.issuer_record(None, &names.root, IssuerKind::Root, &root_certificate, &root_key, now)?;

        let issuing_key = PrivateKey::generate(KeyAlgorithm::EcP256)?;
        let parent = Issuer::new(root_certificate, Arc::new(root_key))?;
        let draft = IssuingCa {
            subject: &name(&names.issuing)?,
            spki: issuing_key.spki(),
            validity: Validity::days(now.as_secs(), ISSUING_DAYS)?,
            serial: serial(),
            policy: CaPolicy::DomainValidated,
            ca_issuers_url: None,
            crl_url: None,
        };
        let certificate = issuing(&parent, &draft)?;
        let (id, kind) = (Some(root_record.id), IssuerKind::Issuing);
        let issuing_record = self.issuer_record(id, &names.issuing, kind, &certificate, &issuing_key, now)?;
        Ok([root_record, issuing_record])
    }

    fn issuer_record(
        &self,
        parent: Option<IssuerId>,
        name: &str,
        kind: IssuerKind,
        certificate: &Certificate,
        key: &PrivateKey,
        now: Timestamp,
    ) -> Result<IssuerRecord, Box<dyn std::error::Error>> {
        let id = IssuerId::new(now, self.kernel.entropy.as_ref());
        let sealed = self.kernel.keyring.seal(&sealed_column("issuers").context(id), &key.to_pkcs8()?);
        Ok(IssuerRecord {
            id,
            parent,
            name: name.to_owned(),
            kind,
            state: IssuerState::Active,
            certificate: certificate.as_der().to_vec(),
            sealed,
            created_at: now,
        })
    }
}

fn details(record: IssuerRecord) -> Result<IssuerDetails, ServiceError> {
    let certificate = Certificate::from_der(&record.certificate).map_err(ServiceError::internal)?;
    let info = certificate.info().map_err(ServiceError::internal)?;
    Ok(IssuerDetails {
        id: record.id,
        parent: record.parent,
        name: record.name,
        kind: record.kind,
        state: record.state,
        certificate,
        info,
        created_at: record.created_at,
    })
}
