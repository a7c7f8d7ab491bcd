//! Further chains of an issuing CA: others vouch for it, and clients may prefer their roots.

use chancery_domain::{Action, IssuerId, Timestamp};
use chancery_pki::{Certificate, IssuerChain, request_to_pem};
use chancery_store::{ChainRecord, IssuerKind, IssuerRecord, Tx};
use serde_json::json;

use super::Operator;
use super::issuers::{find_issuing, refusal};
use crate::ca_key::unsigned;
use crate::error::ServiceError;

/// A further chain as it is shown.
#[derive(Clone)]
pub struct ChainDetails {
    pub issuer: IssuerId,
    /// By which clients ask for it.
    pub number: u32,
    pub chain: IssuerChain,
    pub added_at: Timestamp,
}

impl ChainDetails {
    /// The name of the root it leads to.
    pub fn root(&self) -> String {
        self.chain.root_name()
    }

    /// Whether clients are offered it at this time.
    pub fn is_offered(&self, now: Timestamp) -> bool {
        now.as_secs() <= self.chain.not_after()
    }
}

impl Operator {
    /// A request for another CA to vouch for an issuing CA, in PEM.
    pub async fn request_chain(&self, which: &str) -> Result<String, ServiceError> {
        let records = self.kernel.store.read(|tx| Ok::<_, ServiceError>(tx.issuers()?)).await?;
        let record = find_standing(&records, which)?;
        let issuer = self.kernel.ca_keys.open(record).map_err(ServiceError::internal)?;
        // A token takes its time.
        let made = tokio::task::spawn_blocking(move || issuer.request()).await.map_err(ServiceError::internal)?;
        let request = made.and_then(|der| request_to_pem(&der)).map_err(unsigned)?;
        let (me, id, detail) = (self.clone(), record.id, json!({"name": record.name}));
        self.kernel.store.write(move |tx| me.record(tx, None, Action::IssuerRequest, id, &detail)).await?;
        Ok(request)
    }

    /// Adds a chain for an issuing CA, in PEM: its certificate as another CA signed it, or its own where a CA above it
    /// was signed by another one, and those above, up to the root.
    pub async fn add_chain(&self, which: &str, pem: &str) -> Result<ChainDetails, ServiceError> {
        self.keep_chain(which, pem, false).await
    }

    /// Adds a chain for an issuing CA, in PEM, and prefers it; one that there is already is preferred as it is.
    pub async fn add_preferred_chain(&self, which: &str, pem: &str) -> Result<ChainDetails, ServiceError> {
        self.keep_chain(which, pem, true).await
    }

    async fn keep_chain(&self, which: &str, pem: &str, prefer: bool) -> Result<ChainDetails, ServiceError> {
        let certificates = Certificate::chain_from_pem(pem).map_err(refusal)?;
        let (me, which) = (self.clone(), which.to_owned());
        self.kernel
            .store
            .write(move |tx| {
                let issuers = tx.claim_issuers()?;
                let issuer = find_standing(&issuers, &which)?;
                let chain = me.check(&issuers, issuer, certificates.clone())?;
                let fingerprint = chain.fingerprint();
                let existing = tx.chains()?;
                let mut others = existing.iter().filter(|other| other.issuer == issuer.id);
                let kept = match others.find(|other| other.fingerprint == fingerprint) {
                    Some(same) if prefer => details(same)?,
                    Some(same) => {
                        let (name, number) = (&issuer.name, same.number);
                        return Err(refusal(format!("{name} has this chain already, as number {number}")));
                    }
                    None => me.number_chain(tx, issuer, &existing, &chain)?,
                };
                if prefer {
                    me.prefer(tx, issuer, Some(&kept))?;
                }
                Ok(kept)
            })
            .await
    }

    /// With the next number. The CAs are claimed.
    fn number_chain(
        &self,
        tx: &mut Tx<'_>,
        issuer: &IssuerRecord,
        existing: &[ChainRecord],
        chain: &IssuerChain,
    ) -> Result<ChainDetails, ServiceError> {
        let others = existing.iter().filter(|other| other.issuer == issuer.id);
        let greatest = others.map(|other| other.number).max().unwrap_or(0);
        let number = tx.keep_chain_number(issuer.id, greatest)? + 1;
        tx.keep_chain_number(issuer.id, number)?;
        let record = ChainRecord {
            issuer: issuer.id,
            number,
            fingerprint: chain.fingerprint(),
            pem: chain.to_pem(),
            created_at: self.kernel.now(),
        };
        if !tx.insert_chain(&record)? {
            return Err(ServiceError::internal("a chain that was not there is there"));
        }
        let made = details(&record)?;
        let detail = json!({"name": issuer.name, "number": number, "root": made.root()});
        self.record(tx, None, Action::IssuerAddChain, issuer.id, &detail)?;
        Ok(made)
    }

    /// Has certificates of a CA come with one of its further chains, where nobody asks for another, or with the one of its
    /// own certificate again. None of them outlasts the chain from now on.
    pub async fn prefer_chain(&self, which: &str, number: Option<u32>) -> Result<Option<ChainDetails>, ServiceError> {
        let (me, which) = (self.clone(), which.to_owned());
        self.kernel
            .store
            .write(move |tx| {
                let issuers = tx.claim_issuers()?;
                let issuer = match number {
                    Some(_) => find_standing(&issuers, &which)?,
                    None => find_issuing(&issuers, &which)?,
                };
                let chain = number.map(|number| find(tx, issuer, number)).transpose()?;
                if let Some(over) = chain.as_ref().filter(|chain| !chain.is_offered(me.kernel.now())) {
                    let ends = Timestamp::from_secs(over.chain.not_after());
                    let name = &issuer.name;
                    return Err(refusal(format!("chain {} of {name} ended at {ends}; add another", over.number)));
                }
                me.prefer(tx, issuer, chain.as_ref())?;
                Ok(chain)
            })
            .await
    }

    /// None is the one of its own certificate. Where it is so already nothing is written down.
    fn prefer(&self, tx: &mut Tx<'_>, issuer: &IssuerRecord, chain: Option<&ChainDetails>) -> Result<(), ServiceError> {
        let number = chain.map(|chain| chain.number);
        tx.prefer_chain(issuer.id, number)?;
        if issuer.preferred_number() == number {
            return Ok(());
        }
        let root = chain.map(ChainDetails::root);
        let detail = json!({"name": issuer.name, "number": number.unwrap_or(0), "root": root});
        self.record(tx, None, Action::IssuerPreferChain, issuer.id, &detail)
    }

    /// Removes one: it is not offered any more, nor is its number given to another, which clients would take for it.
    pub async fn remove_chain(&self, which: &str, number: u32) -> Result<ChainDetails, ServiceError> {
        let (me, which) = (self.clone(), which.to_owned());
        self.kernel
            .store
            .write(move |tx| {
                let issuers = tx.claim_issuers()?;
                let issuer = find_issuing(&issuers, &which)?;
                let removed = find(tx, issuer, number)?;
                let preferred = issuer.preferred_number() == Some(number);
                if preferred && issuer.revocation.is_some() {
                    me.prefer(tx, issuer, None)?;
                } else if preferred {
                    return Err(refusal(format!(
                        "clients of {} rely on chain {number}, which is preferred; prefer another before (`ca prefer-chain`)",
                        issuer.name
                    )));
                }
                // A release that kept no numbers may have given it.
                tx.keep_chain_number(issuer.id, number)?;
                tx.delete_chain(issuer.id, number)?;
                let detail = json!({"name": issuer.name, "number": number, "root": removed.root()});
                me.record(tx, None, Action::IssuerRemoveChain, issuer.id, &detail)?;
                Ok(removed)
            })
            .await
    }

    /// The further chains of a CA, by their numbers; those that have expired are among them.
    pub async fn chains_of(&self, issuer: IssuerId) -> Result<Vec<ChainDetails>, ServiceError> {
        let chains = self.kernel.store.read(|tx| Ok::<_, ServiceError>(tx.chains()?)).await?;
        chains.iter().filter(|chain| chain.issuer == issuer).map(details).collect()
    }

    fn check(
        &self,
        issuers: &[IssuerRecord],
        issuer: &IssuerRecord,
        certificates: Vec<Certificate>,
    ) -> Result<IssuerChain, ServiceError> {
        let read = |record: &IssuerRecord| Certificate::from_der(&record.certificate).map_err(ServiceError::internal);
        let roots = issuers.iter().filter(|record| record.kind == IssuerKind::Root).map(read);
        let roots = roots.collect::<Result<Vec<_>, _>>()?;
        IssuerChain::check(certificates, &read(issuer)?, &roots, self.kernel.now().as_secs()).map_err(refusal)
    }
}

/// One for which somebody may vouch.
fn find_standing<'a>(records: &'a [IssuerRecord], which: &str) -> Result<&'a IssuerRecord, ServiceError> {
    match find_issuing(records, which)? {
        revoked if revoked.revocation.is_some() => {
            Err(refusal(format!("{} is revoked, for good; nobody is to vouch for it", revoked.name)))
        }
        standing => Ok(standing),
    }
}

/// One of a CA's further chains.
fn find(tx: &mut Tx<'_>, issuer: &IssuerRecord, number: u32) -> Result<ChainDetails, ServiceError> {
    let chains = tx.chains()?;
    let found = chains.iter().find(|chain| chain.issuer == issuer.id && chain.number == number);
    let missing = || refusal(format!("{} has no further chain {number}; see `ca show`", issuer.name));
    details(found.ok_or_else(missing)?)
}

fn details(record: &ChainRecord) -> Result<ChainDetails, ServiceError> {
    Ok(ChainDetails {
        issuer: record.issuer,
        number: record.number,
        chain: IssuerChain::from_pem(&record.pem).map_err(ServiceError::internal)?,
        added_at: record.created_at,
    })
}
