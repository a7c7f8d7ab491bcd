//! What the operator has chosen, as the use cases need it.

use std::collections::BTreeMap;
use std::time::Duration;

use chancery_domain::{
    AccountId, AcmeAccountId, IssuerId, Name, PolicyRules, Profile, ProfileName, Quorum, ResellerCode, ScopeSet,
    Timestamp, Validation, WebhookUrlRules,
};
use chancery_overload::LimitSettings;
use chancery_pki::{CrlShards, NameRules, SubscriberProfile, reuse_ceiling_days};

use crate::issuers::IssuerRules;
use crate::retention::Retention;

/// No setting makes tokens live longer.
pub const LONGEST_TOKEN_LIFETIME: Duration = Duration::from_secs(7 * 86_400);

/// The operator's choices.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The `iss` of the tokens we make; also where their keys are published.
    pub issuer: String,
    /// The `aud` of the tokens we make and take.
    pub audience: String,
    pub token_lifetime: Duration,
    /// How old a token-signing key grows before another takes over.
    pub token_key_rotation: Duration,
    /// How long a new token-signing key is published before it is used.
    pub token_key_notice: Duration,
    /// Whether the bare API keys of the test environment are taken.
    pub api_keys: bool,
    pub external: Vec<ExternalProvider>,
    pub profiles: Vec<Profile>,
    pub default_profile: ProfileName,
    /// Applies to accounts that no policy applies to.
    pub default_policy: PolicyRules,
    pub default_policy_name: Name,
    pub issuing: Issuing,
    pub acme: AcmeSettings,
    /// How long an answer can be replayed by its idempotency key.
    pub idempotency_window: Duration,
    /// How long what has ended is kept.
    pub retention: Retention,
    pub limits: LimitSettings,
    pub webhooks: WebhookSettings,
}

/// What the operator has chosen for webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhookSettings {
    /// Webhooks that one reseller may have.
    pub most: u32,
    pub urls: WebhookUrlRules,
}

impl WebhookSettings {
    /// What holds where nothing else is said.
    pub const fn of(urls: WebhookUrlRules) -> Self {
        Self { most: 10, urls }
    }
}

impl Settings {
    pub fn profile(&self, name: &ProfileName) -> Option<&Profile> {
        self.profiles.iter().find(|profile| profile.name == *name)
    }
}

/// What the operator has chosen for ACME.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcmeSettings {
    /// Where ACME is reached from outside, without a slash at the end.
    pub url: String,
    /// The terms that every new ACME account has to agree to, where there are any.
    pub terms_of_service: Option<String>,
    /// A page about the service.
    pub website: Option<String>,
    /// The names by which CAA records refer to us.
    pub caa_identities: Vec<String>,
    /// Whether a credential binds one ACME account and no more.
    pub single_use: bool,
    /// How long finalizing waits for the certificate before it answers that it is being made.
    pub finalize_wait: Duration,
    /// How long the answer to a challenge waits for the verdict before it says that somebody looks.
    pub challenge_wait: Duration,
    /// Whether control of a name can be shown for all names below it (RFC 9444).
    pub subdomains: bool,
}

impl AcmeSettings {
    /// What holds where nothing else is said.
    pub fn of(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            terms_of_service: None,
            website: None,
            caa_identities: Vec::new(),
            single_use: false,
            finalize_wait: Duration::from_secs(5),
            challenge_wait: Duration::from_secs(1),
            subdomains: false,
        }
    }

    /// The names that a record for dns-persist-01 may call us by; clients take no more than ten.
    pub fn issuer_domain_names(&self) -> &[String] {
        &self.caa_identities[..self.caa_identities.len().min(10)]
    }

    /// The URL of an ACME account; also how CAA records may name it (RFC 8657 `accounturi`).
    pub fn account_url(&self, account: AcmeAccountId) -> String {
        format!("{}/acme/account/{account}", self.url)
    }
}

impl Settings {
    /// The URI by which CAA records may name whoever ordered.
    pub fn applicant_uri(&self, account: AccountId, acme_account: Option<AcmeAccountId>) -> String {
        acme_account.map_or_else(|| self.issuing.account_uri(account), |acme| self.acme.account_url(acme))
    }
}

/// An external OpenID provider whose access tokens are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalProvider {
    pub issuer: String,
    pub jwks_url: String,
    pub audience: String,
    /// The claim that names the reseller by its code.
    pub reseller_claim: String,
    /// The claim that carries the scopes: a text with spaces, or a list.
    pub scope_claim: String,
    /// For whom it may speak, whatever its tokens say.
    pub resellers: SpeaksFor,
    /// How people sign in to the console through it, where they may.
    pub sign_in: Option<ProviderSignIn>,
}

/// For which resellers an external provider may speak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpeaksFor {
    Every,
    /// What the claim says, and the reseller that is meant by it.
    Only(Vec<(String, ResellerCode)>),
}

impl SpeaksFor {
    /// The reseller that is meant by what a claim says.
    pub fn named(&self, claim: &str) -> Option<ResellerCode> {
        match self {
            Self::Every => ResellerCode::parse(claim).ok(),
            Self::Only(known) => known.iter().find(|(said, _)| said == claim).map(|(_, code)| code.clone()),
        }
    }

    pub fn includes(&self, code: &ResellerCode) -> bool {
        match self {
            Self::Every => true,
            Self::Only(known) => known.iter().any(|(_, named)| named == code),
        }
    }
}

/// How people sign in through an external provider: OpenID Connect by authorization code, with PKCE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderSignIn {
    /// Its name in our addresses.
    pub slug: String,
    /// What people call it.
    pub label: String,
    /// Where people are sent, and where the code is redeemed.
    pub authorize_url: String,
    pub token_url: String,
    /// As which client the provider knows us.
    pub client_id: String,
    /// Where people come back to; the provider has to know this very text.
    pub redirect_url: String,
    /// What the provider is asked for: `openid`, and what its claims need.
    pub request_scope: String,
    /// The most that people may do here.
    pub scopes: ScopeSet,
    /// The claim that may lessen it; without one everybody may do the most.
    pub scope_claim: Option<String>,
}

/// How orders become certificates.
#[derive(Clone, Debug)]
pub struct Issuing {
    /// How long an order may take before it expires.
    pub order_lifetime: Duration,
    /// How long a valid authorization is used again for further orders; zero turns that off.
    pub reuse: Duration,
    /// Which remote perspectives must have seen what this service has seen.
    pub quorum: Quorum,
    /// Whether this node validates as strictly as public certificates require.
    pub fit_for_public: bool,
    /// What names are taken: stricter in the world than in a test environment.
    pub name_rules: NameRules,
    /// How long a node has for a job before another may take it over.
    pub job_lease: Duration,
    /// Where accounts are named in CAA records (RFC 8657 `accounturi`).
    pub account_uri_base: String,
    /// Into how many lists the revocations of an issuer are published.
    pub crl_shards: u32,
    /// Plain HTTP for relying parties, without a slash at the end.
    pub relying_url: String,
    /// How the certificates of each profile look.
    pub certificates: BTreeMap<ProfileName, SubscriberProfile>,
    /// Which CAs sign them; the usual rules for a profile that is not here.
    pub issuers: BTreeMap<ProfileName, IssuerRules>,
}

impl Issuing {
    /// What holds where nothing else is said, for certificates that are used inside an organisation.
    pub fn of(profiles: &[Profile], base_url: &str, relying_url: &str) -> Self {
        let name_rules = NameRules { internal_names: true, special_addresses: true, ..NameRules::default() };
        let look = |profile: &Profile| {
            let tls = SubscriberProfile::tls(profile.validity_days);
            let key_types = profile.key_types.clone();
            (profile.name.clone(), SubscriberProfile { key_types, names: name_rules, public: false, ..tls })
        };
        Self {
            order_lifetime: Duration::from_secs(7 * 86_400),
            reuse: Duration::from_secs(10 * 86_400),
            quorum: Quorum::default(),
            fit_for_public: false,
            name_rules,
            job_lease: Duration::from_secs(15),
            account_uri_base: format!("{base_url}/account"),
            crl_shards: 8,
            relying_url: relying_url.to_owned(),
            certificates: profiles.iter().map(look).collect(),
            issuers: BTreeMap::new(),
        }
    }

    /// Which CAs sign the certificates of a profile.
    pub fn issuer_rules(&self, profile: &ProfileName) -> IssuerRules {
        self.issuers.get(profile).cloned().unwrap_or_default()
    }

    /// What names may stand in the certificates of a profile.
    pub fn names_of(&self, profile: &Profile) -> NameRules {
        let names = self.certificates.get(&profile.name).map_or(self.name_rules, |look| look.names);
        NameRules {
            max_names: profile.max_names as usize,
            wildcards: names.wildcards && profile.allow_wildcards,
            ip_addresses: names.ip_addresses && profile.allow_ip_addresses,
            ..names
        }
    }

    /// Whether the Baseline Requirements apply to the certificates of a profile.
    pub fn is_public(&self, profile: &ProfileName) -> bool {
        self.certificates.get(profile).is_some_and(|look| look.public)
    }

    /// Whether a validation, however old, was strict enough for a profile and was seen by enough of the perspectives.
    pub fn accepts(&self, profile: &ProfileName, validation: &Validation) -> bool {
        self.quorum.is_met_by(&validation.agreed) && (validation.fit_for_public || !self.is_public(profile))
    }

    /// How long control that was shown may be relied on at most: for public certificates by their date, for others as
    /// long as its permission holds.
    pub fn longest_reuse(&self, profile: &ProfileName, now: Timestamp) -> Option<Duration> {
        self.is_public(profile).then(|| Duration::from_secs(u64::from(reuse_ceiling_days(now.as_secs())) * 86_400))
    }

    /// How long a valid authorization is used again for orders of this profile.
    pub fn reuse_of(&self, profile: &ProfileName, now: Timestamp) -> Duration {
        self.longest_reuse(profile, now).map_or(self.reuse, |longest| longest.min(self.reuse))
    }

    /// The URI by which CAA records may name an account.
    pub fn account_uri(&self, account: AccountId) -> String {
        format!("{}/{account}", self.account_uri_base)
    }

    /// Where relying parties find the certificate of an issuer.
    pub fn issuer_url(&self, issuer: IssuerId) -> String {
        format!("{}/issuer/{issuer}.crt", self.relying_url)
    }

    /// Where the revocation lists of an issuing CA are.
    pub fn crls(&self, issuer: IssuerId) -> CrlShards {
        CrlShards::new(&format!("{}/crl/{issuer}", self.relying_url), self.crl_shards)
    }

    /// Where the revocation list of a root is, for the certificates of the CAs below it.
    pub fn root_crl_url(&self, root: IssuerId) -> String {
        format!("{}/crl/{root}/root.crl", self.relying_url)
    }

    /// Where OCSP is answered, for every issuing CA.
    pub fn ocsp_url(&self) -> String {
        format!("{}/ocsp", self.relying_url)
    }
}
