//! The JSON shapes of the reseller API and, in [`acme`], of ACME, and nothing else: no rule lives here.
//!
//! Requests are `snake_case` and refuse members they do not know; responses are `camelCase` and leave out what is
//! absent.

mod account;
pub mod acme;
mod certificate;
mod diagnosis;
mod eab;
mod error;
mod event;
mod group;
mod limits;
mod list;
mod metadata;
mod order;
mod pause;
mod policy;
mod token;
mod usage;
mod version;
mod webhook;

pub use account::{Account, AccountList, AccountWithGroups, ResellerAccountRequest, ResellerUpdateAccountRequest};
pub use certificate::{
    Binary, CertificateMetadata, CertificateSummaryList, CertificateWithChain, ReasonInput,
    ResellerRevokeCertificateRequest, ResellerValidateCsrRequest,
};
pub use diagnosis::{CaaFinding, Diagnosis, DiagnosisReport, DiagnosisRequest, HttpFinding};
pub use eab::{EabAuthorization, EabCredentialList, EabCredentialRequest};
pub use error::{ErrorCode, ErrorResponse, FieldProblem, SuccessResponse};
pub use event::{Event, EventList};
pub use group::{
    AccountGroupList, AccountGroupMemberList, AccountGroupRecord, ResellerAccountGroupMembersRequest,
    ResellerAccountGroupRequest,
};
pub use limits::{Cap, LimitOverview, RateLimit};
pub use list::NamedReference;
pub use order::{
    Attempt, Authorization, Challenge, Challenges, Instructions, Order, OrderList, Problem, ProgressStep,
    ResellerOrderRequest,
};
pub use pause::{PauseList, PauseRecord};
pub use policy::{
    AppliedPolicy, IdentifierInput, IssuancePolicy, IssuancePolicyRecord, PolicyEvaluation, PolicyEvaluationRequest,
    PolicyList, TypedIdentifier,
};
pub use token::{TokenErrorResponse, TokenResponse};
pub use usage::{UsageItem, UsageReport};
pub use version::Version;
pub use webhook::{
    Delivery, DeliveryList, UpdateWebhookRequest, Webhook, WebhookList, WebhookRequest, WebhookWithSecret,
};
