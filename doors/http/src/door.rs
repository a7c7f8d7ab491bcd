//! What every door holds: the use cases, and the addresses under which we are reached.

use std::sync::Arc;

use chancery_domain::AcmeAccountId;
use chancery_service::Services;

/// The state of every door's router.
#[derive(Clone)]
pub struct Door {
    /// In one piece, since every request gets several copies.
    pub services: Arc<Services>,
    pub urls: Arc<PublicUrls>,
    /// Which build of the program this is.
    pub version: &'static str,
}

/// The addresses under which the world reaches us, without a slash at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrls {
    /// The reseller API.
    pub base_url: String,
    /// ACME.
    pub acme_url: String,
    /// The token endpoint.
    pub auth_url: String,
    /// Plain HTTP for relying parties: CRLs, OCSP, issuer certificates.
    pub http_url: String,
}

impl PublicUrls {
    /// The ACME directory of a profile.
    pub fn acme_directory(&self, profile: &str) -> String {
        format!("{}/acme/{profile}/directory", self.acme_url)
    }

    /// An ACME account.
    pub fn acme_account(&self, id: AcmeAccountId) -> String {
        format!("{}/acme/account/{id}", self.acme_url)
    }
}
