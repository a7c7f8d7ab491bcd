//! What the service is about, as plain values: no I/O, no clock of its own, no wire format.
//!
//! Everything here is built by parsing ([`EmailAddress::parse`], [`Identifier::parse`], …) so that a value that
//! exists is a value that is valid, and changes state by functions that take the old state and give the new one.

mod account;
mod acme_account;
mod action;
mod attempts;
mod authorization;
mod certificate;
mod challenge;
mod client;
mod credential;
mod documented;
mod email;
mod entropy;
mod event;
mod evidence;
mod group;
mod id;
mod identifier;
mod kinds;
mod metadata;
mod order;
mod page;
mod pause;
pub mod policy;
mod problem;
mod profile;
mod proof;
mod quorum;
mod reseller;
mod scope;
mod secret;
mod special_address;
mod status;
mod text;
mod time;
mod webhook;

pub use account::{Account, AccountChange, AccountError, AccountNumber, AccountStatus};
pub use acme_account::{AcmeAccount, AcmeAccountError, AcmeAccountState, Contact, ContactError};
pub use action::Action;
pub use authorization::{Authorization, AuthorizationError, AuthorizationState, Validation, Verification};
pub use certificate::{CertificateRecord, CertificateState, Issued, Revocation, RevocationReason};
pub use challenge::{Challenge, ChallengeState};
pub use client::{ApiKey, Client, ClientError, ClientSecret, OperatorKey, SecretHash};
pub use credential::{CredentialStatus, EabCredential, EabTerms, Kid};
pub use email::EmailAddress;
pub use entropy::Entropy;
pub use event::{EventId, EventType};
pub use evidence::{Attempt, CaaEvidence, CaaReport, ProblemKind, ValidationProblem};
pub use group::Group;
pub use id::{
    AccountId, AcmeAccountId, ApiKeyId, AuditId, AuthorizationId, CertificateId, ChallengeId, ClientId, DeliveryId,
    EabId, GroupId, IdError, IssuerId, OperatorKeyId, OrderId, PauseId, PolicyId, ResellerId, TokenKeyId, WebhookId,
    WebhookSecretId,
};
pub use identifier::{DnsName, Identifier, IdentifierError};
pub use kinds::{ChallengeType, KeyType};
pub use metadata::Metadata;
pub use order::{Finalization, Order, OrderError, OrderState, Via};
pub use page::{PAGE_BYTES, PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX, Page, PageRequest};
pub use pause::{Failure, Pause};
pub use policy::{CompiledPolicy, Policy, PolicyRules, PolicyVersion, Violations};
pub use problem::{Problem, Problems, messages};
pub use profile::{Profile, ProfileName};
pub use proof::{CLOCK_SKEW, EvidenceRules, IssuanceProof, ProofError};
pub use quorum::{Quorum, Region, Standing, needed_for_public, tolerance};
pub use reseller::{Reseller, ResellerCode};
pub use scope::{Scope, ScopeSet};
pub use secret::Secret;
pub use special_address::{set_aside, special_use};
pub use status::{AuthorizationStatus, CertificateStatus, OrderStatus};
pub use text::{Comment, Description, ExternalId, Label, Name, TextError, cut, turns_text_around};
pub use time::{Clock, Timestamp};
pub use webhook::{
    Attempted, Delivery, DeliveryState, Webhook, WebhookState, WebhookUrl, WebhookUrlError, WebhookUrlRules,
};
