//! What the operator does, at the command line and at the console: resellers, their clients and keys, the hierarchy, the key-encryption key.

mod chains;
mod clients;
mod hierarchy;
mod issuer_revocation;
mod issuers;
mod keys;
mod pauses;
mod recovery;
mod reseal;
mod resellers;
mod restoration;
mod revocation;
pub(crate) mod secrets;

use std::sync::Arc;

use chancery_domain::{Action, Reseller, ResellerId};
use chancery_store::Tx;
use serde_json::Value;

pub use chains::ChainDetails;
pub use chancery_pki::KeyAlgorithm;
pub use clients::NewApiKey;
pub use hierarchy::{IssuerDetails, NewHierarchy, Preferred};
pub use issuer_revocation::RevokedIssuer;
pub(crate) use issuers::latest_end;
pub use issuers::{NewIssuer, RotatedIssuer, unsigned};
pub use keys::NewOperatorKey;
pub use recovery::{Brought, BroughtList};
pub use reseal::Resealed;
pub use restoration::Restored;
pub use revocation::{CertificateRef, Fate, MANY, OperatorRevocation, RevokedWhat};
pub use secrets::Secrets;

use crate::caller::{Actor, Origin};
use crate::error::{Noun, ServiceError};
use crate::kernel::Kernel;

/// The operator's use cases. They need no scope: who can read the database and its keys is the operator.
#[derive(Clone)]
pub struct Operator {
    kernel: Arc<Kernel>,
    actor: Arc<str>,
    origin: Origin,
}

impl Operator {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        let origin = Origin { address: "local".to_owned(), request_id: String::new() };
        Self { kernel, actor: "operator".into(), origin }
    }

    /// The operator's use cases, recorded under the name of the person at the keyboard.
    #[must_use]
    pub fn acting_as(self, name: &str) -> Self {
        Self { actor: name.into(), ..self }
    }

    /// The operator's use cases, recorded with where the request came from.
    #[must_use]
    pub fn acting_from(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }

    fn record(
        &self,
        tx: &mut Tx<'_>,
        reseller: Option<ResellerId>,
        action: Action,
        subject: impl ToString,
        detail: &Value,
    ) -> Result<(), ServiceError> {
        self.kernel.audit_as(tx, reseller, &self.as_actor(), &self.origin, action, subject.to_string(), detail)
    }

    fn as_actor(&self) -> Actor {
        Actor::Operator(self.actor.to_string())
    }
}

fn reseller_by_code(tx: &mut Tx<'_>, code: &str) -> Result<Reseller, ServiceError> {
    tx.reseller_by_code(code)?.ok_or_else(|| ServiceError::NotFound(Noun::Reseller, vec![code.to_owned()]))
}
