//! The key of a CA, which is sealed in the database.

use std::error::Error;
use std::sync::Arc;

use chancery_pki::{Certificate, Issuer, PrivateKey};
use chancery_seal::Keyring;
use chancery_store::IssuerRecord;

use crate::kernel::sealed_column;

/// A CA with its key, to sign with.
pub(crate) fn open_issuer(keyring: &Keyring, record: &IssuerRecord) -> Result<Issuer, Box<dyn Error + Send + Sync>> {
    let der = keyring.open(&sealed_column("issuers").context(record.id), &record.sealed)?;
    let certificate = Certificate::from_der(&record.certificate)?;
    Ok(Issuer::new(certificate, Arc::new(PrivateKey::from_pkcs8(&der)?))?)
}
