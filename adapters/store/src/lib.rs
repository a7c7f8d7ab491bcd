//! The store: one interface, one SQL text, two databases.
//!
//! A unit of work is a closure ([`Store::write`], [`Store::read`]) that is handed a [`Tx`]. It may run more than once
//! when it meets a conflict, so it has no effect but on the transaction. An `Ok` from `write` means: durable.

mod engine;
mod error;
mod marks;
mod migrate;
mod peaks;
mod pipeline;
mod prepared;
mod protocol;
mod rows;
mod store;
mod tx;
mod unit;
mod value;

pub use engine::{DatabaseUrl, Facts};
pub use error::StoreError;
pub use migrate::{Applied, migrations};
pub use peaks::WritePeaks;
pub use protocol::{PostgresAddress, Server};
pub use rows::account::AccountFilter;
pub use rows::acme_nonce::Redemption;
pub use rows::audit::{AuditFilter, AuditRecord, Outcome};
pub use rows::cascade::{CascadeRow, GivenUp, OrdersOf, Reached, Turned};
pub use rows::certificate::{CrlEntry, Downloadable, DraftRow, Standing};
pub use rows::certificate_list::CertificateFilter;
pub use rows::console_session::{ConsoleSession, SessionHolder};
pub use rows::crl::{CrlFacts, CrlHead, CrlRow};
pub use rows::event::{Expiring, Place, Placed};
pub use rows::external_session::ExternalSession;
pub use rows::failing_name::FailuresInRow;
pub use rows::idempotency::StoredAnswer;
pub use rows::issuer::{IssuerKind, IssuerRecord, IssuerRevocation, IssuerStanding, IssuerState, PreferredChain};
pub use rows::issuer_chain::{ChainMark, ChainRecord};
pub use rows::job::{Backlog, Job, JobKind};
pub use rows::keys::Bar;
pub use rows::node::NodeRow;
pub use rows::order::OrderFilter;
pub use rows::overview::{CountedState, Span};
pub use rows::party::{NonceClaim, Party, Redeemed};
pub use rows::precertificate::{OpenPrecertificate, PrecertificateFate, PrecertificateRow};
pub use rows::quota::Counted;
pub use rows::rate_bucket::{BucketAnswer, BucketWish};
pub use rows::recovered::{RecoveredCertificate, RecoveredRow};
pub use rows::retention::{Deleted, EndedAfter, EndedOrder, Kept, SweepTimes};
pub use rows::sealed::{SEALED_COLUMNS, SealedColumn, SealedValue};
pub use rows::token_key::TokenKey;
pub use rows::usage::{UsageBy, UsageFilter, UsageRow};
pub use rows::webhook::WebhookSecret;
pub use store::{Options, SPANS, Store};
pub use tx::{ASKED_AT_A_TIME, Tx};
