//! A second root that vouches for the issuing CAs of a `dev`, so that whoever writes a client can try preferred chains.

use std::sync::Arc;

use chancery_domain::Timestamp;
use chancery_machine::SystemEntropy;
use chancery_pki::{
    CaName, CaPolicy, Certificate, Issuer, IssuingCa, KeyAlgorithm, PkiError, PrivateKey, Purpose, Serial, Validity,
    chain_to_pem, issuing, root,
};
use chancery_service::Operator;
use chancery_service::operator::{ChainDetails, IssuerDetails};

use super::folder::Folder;
use crate::failure::Failure;
use crate::files::write;

/// What clients name to get its chain.
const NAME: &str = "Chancery Dev Root X2";
const ROOT_DAYS: u32 = 20 * 365;

/// Makes sure that every issuing CA that has not expired has a chain up to the second root, and that the root is in the folder.
///
/// Its key is on P-384, made at once, and forgotten: a CA that comes later gets a root of the same name anew.
pub async fn ensure(
    folder: &Folder,
    operator: &Operator,
    hierarchy: &[IssuerDetails],
    now: Timestamp,
) -> Result<(), Failure> {
    let operator = operator.clone().acting_as("chancery dev");
    let (mut roots, mut without) = (Vec::new(), Vec::new());
    let lives = |issuer: &&IssuerDetails| issuer.parent.is_some() && issuer.info.not_after > now.as_secs();
    for issuer in hierarchy.iter().filter(lives) {
        let chains = operator.chains_of(issuer.id).await?;
        match chains.iter().filter(|chain| chain.is_offered(now)).find_map(second_root) {
            Some(root) if roots.contains(&root) => {}
            Some(root) => roots.push(root),
            None => without.push(issuer),
        }
    }
    if let Some(first) = without.first() {
        let second = make_root(first, now).map_err(Failure::failed)?;
        for issuer in &without {
            let chain = [cross_sign(&second, issuer, now).map_err(Failure::failed)?, second.certificate().clone()];
            operator.add_chain(&issuer.id.to_string(), &chain_to_pem(&chain)).await?;
        }
        roots.push(second.certificate().clone());
    }
    write(&folder.alternate_root(), &chain_to_pem(&roots), 0o644)
}

fn second_root(chain: &ChainDetails) -> Option<Certificate> {
    chain.chain.root().filter(|root| root.issuer_text().contains(NAME)).cloned()
}

fn make_root(beside: &IssuerDetails, now: Timestamp) -> Result<Issuer, PkiError> {
    let key = PrivateKey::generate(KeyAlgorithm::EcP384)?;
    let name = CaName::beside(&beside.certificate, NAME)?;
    let certificate = root(&key, &name, Validity::days(now.as_secs(), ROOT_DAYS)?, Serial::draw(&SystemEntropy))?;
    Issuer::new(certificate, Arc::new(key))
}

/// The CA's certificate as the second root signs it. Nobody publishes a list or a certificate for that root, so it
/// names none.
fn cross_sign(root: &Issuer, issuer: &IssuerDetails, now: Timestamp) -> Result<Certificate, PkiError> {
    let covered = |purpose: &Purpose| issuer.certificate.covers(&[*purpose]).unwrap_or(false);
    let purposes: Vec<_> = Purpose::ALL.into_iter().filter(covered).collect();
    let remaining = issuer.info.not_after - now.as_secs() + 1;
    issuing(
        root,
        &IssuingCa {
            subject: &CaName::beside(&issuer.certificate, &issuer.name)?,
            spki: &issuer.certificate.spki()?,
            validity: Validity::lasting(now.as_secs(), remaining)?,
            serial: Serial::draw(&SystemEntropy),
            policy: CaPolicy::Any,
            purposes: &purposes,
            ca_issuers_url: None,
            crl_url: None,
        },
    )
}
