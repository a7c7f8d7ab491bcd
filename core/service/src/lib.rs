//! The use cases: who may do what, in which order, in one unit of work each. No HTTP, no SQL.

mod account_lookup;
mod accounts;
pub mod acme;
mod audit;
mod authority;
mod authorizations;
mod ca_key;
mod caa;
mod caller;
mod cascades;
mod certificates;
mod chains;
pub mod console;
mod credentials;
mod csr;
mod cursor;
mod diagnosis;
mod error;
mod events;
mod examination;
mod failures;
pub mod fault;
mod few;
mod groups;
pub mod identity;
mod issuance;
mod issuance_rules;
mod issuers;
mod jobs;
mod kernel;
mod known_keys;
mod list_reads;
mod members;
mod nodes;
mod ocsp;
mod ocsp_responder;
mod once;
mod open_orders;
pub mod operator;
mod orders;
#[doc(hidden)]
pub mod parsers;
mod pauses;
mod policies;
mod policy_draft;
mod publication;
mod rate_rules;
mod recovery;
mod refused;
mod retention;
mod settings;
mod shared_buckets;
mod telling;
mod timed;
mod to_the_end;
mod troubles;
mod usage;
mod validation;
mod waiting;
mod webhooks;

use std::sync::Arc;

use chancery_overload::{FairPermits, RateLimits};

pub use account_lookup::AccountLookup;
pub use accounts::{AccountDetails, Accounts, CreatedAccount, Ending, NewAccount};
pub use acme::Acme;
pub use audit::{Audit, CERTIFICATE_KEY, FOREIGN_ACME_ACCOUNT, Refusal};
pub use authority::{Authority, Remedy, Signing};
pub use authorizations::{AuthorizationDetails, Authorizations, ChallengeDetails, Looker};
pub use ca_key::{CaKeys, KeyHome, KeyPlace};
pub use caa::{CaaAnswer, CaaAsker, WebAnswer};
pub use caller::{Actor, Caller, Origin};
pub use cascades::{CascadeRun, Cascades};
pub use certificates::{CertificateDetails, Certificates, Download, Revoked};
pub use chains::{Chain, Chains};
pub use chancery_store::{
    AccountFilter, AuditFilter, AuditRecord, CertificateFilter, Job, JobKind, OrderFilter, Outcome as AuditOutcome,
    SPANS, StoreError, UsageBy, UsageRow,
};
pub use console::Console;
pub use credentials::{CreatedCredential, CredentialDetails, Credentials, ONE_BINDING};
pub use cursor::{ListRequest, Listed, WrittenPage};
pub use diagnosis::{Diagnoses, Diagnosis, DiagnosisRequest};
pub use error::{Cap, Noun, ServiceError};
pub use events::{Event, EventFilter, Events, Expiry};
pub use examination::{Examination, ExaminedIssuer, ExaminedList, examine};
pub use groups::{GroupDetails, GroupInput, Groups};
pub use identity::Identity;
pub use issuance::{CaaAssignment, Issuance, LogAssignment, Next, Prepared};
pub use issuers::{IssuerRef, IssuerRefError, IssuerRules};
pub use jobs::{Jobs, Queue};
pub use kernel::{Fresh, Kernel};
pub use nodes::{NodeSeen, Nodes};
pub use ocsp::{CacheableAnswer, Ocsp, OcspAnswer};
pub use once::{Answer, Answers, IdempotencyKey, Once, Outcome};
pub use operator::Operator;
pub use orders::{Finalized, NewOrder, OrderDetails, Orders};
pub use pauses::Pauses;
pub use policies::{Evaluation, EvaluationRequest, Judges, Policies, PolicyDetails, PolicyInput};
pub use policy_draft::PolicyDraft;
pub use publication::{CrlName, NoCrl, Publication, PublishedCrl};
pub use rate_rules::RateRules;
pub use recovery::NotTaken;
pub use retention::{Retention, Sweeper, Swept};
pub use settings::{
    AcmeSettings, ExternalProvider, Issuing, LONGEST_TOKEN_LIFETIME, ProviderSignIn, Settings, SpeaksFor,
    WebhookSettings,
};
pub use troubles::{KEPT_TROUBLES, Severity, Trouble, Troubles};
pub use usage::{Usage, UsageRequest};
pub use validation::{Assignment, Report, Validations};
pub use webhooks::{Dispatch, DueWebhook, Message, NewWebhook, NewWebhookSecret, Round, Sent, WebhookChange, Webhooks};

/// Every use case there is, for the doors to hold. Clones share one core.
#[derive(Clone)]
pub struct Services {
    pub identity: Arc<Identity>,
    pub accounts: Accounts,
    pub credentials: Credentials,
    pub groups: Groups,
    pub policies: Policies,
    pub pauses: Pauses,
    pub orders: Orders,
    pub authorizations: Authorizations,
    pub validations: Validations,
    pub issuance: Issuance,
    pub jobs: Jobs,
    pub cascades: Cascades,
    pub certificates: Certificates,
    pub acme: Acme,
    pub publication: Publication,
    pub ocsp: Ocsp,
    pub authority: Arc<Authority>,
    pub answers: Answers,
    pub retention: Sweeper,
    pub audit: Audit,
    pub events: Events,
    pub expiry: Expiry,
    pub webhooks: Webhooks,
    pub dispatch: Dispatch,
    pub console: Console,
    pub limits: RateLimits,
    pub rates: RateRules,
    pub list_permits: FairPermits,
    pub usage: Usage,
    pub diagnoses: Diagnoses,
    pub operator: Operator,
    pub nodes: Nodes,
    /// What the log of this process keeps, where somebody has it keep anything.
    pub troubles: Troubles,
    pub settings: Arc<Settings>,
    kernel: Arc<Kernel>,
}

impl Services {
    pub fn new(kernel: Arc<Kernel>, identity: Arc<Identity>, authority: Arc<Authority>) -> Self {
        let acme = Acme::new(kernel.clone(), authority.clone());
        let known = identity.clone();
        Self {
            acme,
            identity,
            accounts: Accounts::new(kernel.clone()),
            credentials: Credentials::new(kernel.clone()),
            groups: Groups::new(kernel.clone()),
            policies: Policies::new(kernel.clone()),
            pauses: Pauses::new(kernel.clone()),
            orders: Orders::new(kernel.clone()),
            authorizations: Authorizations::new(kernel.clone()),
            validations: Validations::new(kernel.clone()),
            jobs: Jobs::new(kernel.clone()),
            cascades: Cascades::new(kernel.clone()),
            issuance: Issuance::new(kernel.clone(), authority.clone()),
            certificates: Certificates::new(kernel.clone(), authority.clone()),
            publication: Publication::new(kernel.clone(), authority.clone()),
            ocsp: Ocsp::new(kernel.clone(), authority.clone()),
            authority,
            answers: Answers::new(kernel.clone()),
            retention: Sweeper::new(kernel.clone()),
            audit: Audit::new(kernel.clone()),
            events: Events::new(kernel.clone()),
            expiry: Expiry::new(kernel.clone()),
            webhooks: Webhooks::new(kernel.clone()),
            dispatch: Dispatch::new(kernel.clone()),
            nodes: Nodes::new(kernel.clone()),
            console: Console::new(kernel.clone(), known),
            limits: kernel.limits.clone(),
            rates: kernel.rates.clone(),
            list_permits: kernel.list_permits.clone(),
            usage: Usage::new(kernel.clone()),
            diagnoses: Diagnoses::new(kernel.clone()),
            operator: Operator::new(kernel.clone()),
            troubles: Troubles::default(),
            settings: kernel.settings.clone(),
            kernel,
        }
    }

    /// With somebody who can ask what CAA records say and whether names are reached; without, that is left out.
    #[must_use]
    pub fn asking(mut self, asker: Arc<dyn CaaAsker>) -> Self {
        self.certificates.caa = Some(asker.clone());
        self.diagnoses.asker = Some(asker);
        self
    }

    /// The time, for what a door has to reckon from it.
    pub fn now(&self) -> chancery_domain::Timestamp {
        self.kernel.now()
    }
}
