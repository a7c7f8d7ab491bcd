//! What a `dev` was asked for beside its folder, and how it becomes settings.

use std::net::SocketAddr;
use std::time::Duration;

use chancery_dcv::{Dnssec, ValidatorConfig};
use chancery_domain::{PolicyRules, Profile};
use chancery_http::PublicUrls;
use chancery_service::{AcmeSettings, IssuerRef, IssuerRules, Issuing};

use super::pebble;
use crate::installation::{Addresses, Validation};

/// What CAA records call a `dev`.
pub const CA_DOMAIN: &str = "chancery.test";

/// What was asked for.
pub struct Wishes {
    /// That of the last time where none is given.
    pub database_url: Option<String>,
    /// The usual addresses where none are given.
    pub listen: Option<Addresses>,
    pub limits: bool,
    /// None asks nobody: then only names under `.test` and `.localhost` resolve.
    pub dns: Option<SocketAddr>,
    pub http01_port: u16,
    pub tls_alpn01_port: u16,
    /// Whether profiles offer the challenges that are drafts.
    pub draft_challenges: bool,
    pub skip_validation: bool,
    /// Whether finalizing answers before the certificate is there.
    pub force_processing: bool,
    /// Whether a name that was shown is shown for later orders as well.
    pub reuse: bool,
    /// Whether Pebble's place is taken.
    pub pebble: bool,
}

impl Default for Wishes {
    fn default() -> Self {
        Self {
            database_url: None,
            listen: None,
            limits: false,
            dns: None,
            http01_port: 5002,
            tls_alpn01_port: 5001,
            draft_challenges: false,
            skip_validation: false,
            force_processing: false,
            reuse: true,
            pebble: false,
        }
    }
}

impl Wishes {
    pub fn validation(&self) -> Validation {
        if self.skip_validation {
            return Validation::Skipped;
        }
        Validation::Checked(Box::new(ValidatorConfig {
            resolvers: self.dns.into_iter().collect(),
            dnssec: Dnssec::Unchecked,
            plain_case: true,
            http01_port: self.http01_port,
            https_port: self.tls_alpn01_port,
            tls_alpn01_port: self.tls_alpn01_port,
            allow_special_addresses: true,
            builtin_loopback_suffixes: self.own_names(),
            ca_domains: vec![CA_DOMAIN.to_owned()],
            ..ValidatorConfig::default()
        }))
    }

    /// What leads to this machine without being looked up.
    fn own_names(&self) -> Vec<String> {
        let mut names = ["test", "localhost"].map(str::to_owned).to_vec();
        if self.pebble && self.dns.is_none() {
            names.extend(pebble::own_names());
        }
        names
    }

    pub fn acme(&self, urls: &PublicUrls) -> AcmeSettings {
        let mut acme = AcmeSettings::of(&urls.acme_url);
        acme.caa_identities = vec![CA_DOMAIN.to_owned()];
        acme.subdomains = true;
        if self.force_processing {
            acme.finalize_wait = Duration::ZERO;
        }
        acme
    }

    pub fn issuing(&self, profiles: &[Profile], urls: &PublicUrls) -> Issuing {
        let mut issuing = Issuing::of(profiles, &urls.base_url, &urls.http_url);
        if !self.reuse {
            issuing.reuse = Duration::ZERO;
        }
        for profile in pebble::profiles() {
            let rules = IssuerRules { allowed: vec![IssuerRef::Rsa], ..IssuerRules::default() };
            issuing.issuers.insert(profile.name, rules);
        }
        issuing
    }

    pub fn policy(&self) -> PolicyRules {
        if self.pebble { pebble::policy() } else { PolicyRules::default() }
    }
}
