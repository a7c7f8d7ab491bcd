//! Where everything is.

use chancery_domain::{AcmeAccountId, AuthorizationId, CertificateId, ChallengeId, OrderId};

use crate::layout::Layout;
use crate::mount::Door;

/// The addresses of ACME's resources, as the world knows them.
pub(crate) struct Urls<'a> {
    base: &'a str,
    layout: &'a Layout,
}

impl<'a> Urls<'a> {
    pub(crate) fn of(door: &'a Door) -> Self {
        Self { base: &door.urls.acme_url, layout: &door.mount.layout }
    }

    /// Something of one profile.
    pub(crate) fn of_profile(&self, profile: &str, what: &str) -> String {
        self.at(&format!("{profile}/{what}"))
    }

    pub(crate) fn account(&self, id: AcmeAccountId) -> String {
        self.at(&format!("account/{id}"))
    }

    /// The account that a URL names, if it is one of ours.
    pub(crate) fn read_account(&self, url: &str) -> Option<AcmeAccountId> {
        let path = self.layout.inside(url.strip_prefix(self.base)?)?;
        path.strip_prefix("/acme/account/")?.parse().ok()
    }

    pub(crate) fn orders(&self, id: AcmeAccountId) -> String {
        self.at(&format!("account/{id}/orders"))
    }

    pub(crate) fn order(&self, id: OrderId) -> String {
        self.at(&format!("order/{id}"))
    }

    pub(crate) fn finalize(&self, id: OrderId) -> String {
        self.at(&format!("order/{id}/finalize"))
    }

    pub(crate) fn authorization(&self, id: AuthorizationId) -> String {
        self.at(&format!("authz/{id}"))
    }

    pub(crate) fn challenge(&self, id: ChallengeId) -> String {
        self.at(&format!("challenge/{id}"))
    }

    pub(crate) fn certificate(&self, id: CertificateId) -> String {
        self.at(&format!("cert/{id}"))
    }

    /// A certificate with one of its chains; none is the usual one.
    pub(crate) fn chain(&self, id: CertificateId, number: Option<u32>) -> String {
        let certificate = self.certificate(id);
        number.map_or(certificate.clone(), |number| format!("{certificate}/{number}"))
    }

    pub(crate) fn renewal_info(&self) -> String {
        self.at("renewal-info")
    }

    /// The full address of what was asked for: its signature must say the same, whatever a proxy has made of it.
    pub(crate) fn asked(&self, path_and_query: &str) -> String {
        format!("{}{}", self.base, self.layout.outside(path_and_query))
    }

    fn at(&self, rest: &str) -> String {
        self.asked(&format!("/acme/{rest}"))
    }
}
