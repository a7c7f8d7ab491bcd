//! What the operator does at the command line: resellers, their clients and keys, the hierarchy, the key-encryption key.

mod chains;
mod clients;
mod hierarchy;
mod issuers;
mod pauses;
mod reseal;
mod resellers;
mod revocation;

use std::sync::Arc;

use chancery_domain::{Reseller, ResellerId};
use chancery_store::Tx;
use serde_json::Value;

pub use chains::ChainDetails;
pub use chancery_pki::KeyAlgorithm;
pub use clients::{NewApiKey, NewClient, NewSecret};
pub use hierarchy::{IssuerDetails, NewHierarchy};
pub use issuers::RotatedIssuer;
pub use reseal::Resealed;
pub use revocation::{CertificateRef, OperatorRevocation};

use crate::caller::{Actor, Origin};
use crate::error::{Noun, ServiceError};
use crate::kernel::Kernel;

/// The operator's use cases. They need no scope: who can read the database and its keys is the operator.
#[derive(Clone)]
pub struct Operator {
    kernel: Arc<Kernel>,
    actor: Arc<str>,
}

impl Operator {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel, actor: "operator".into() }
    }

    /// The same, under the name of the person at the keyboard.
    #[must_use]
    pub fn acting_as(self, name: &str) -> Self {
        Self { actor: name.into(), ..self }
    }

    fn record(
        &self,
        tx: &mut Tx<'_>,
        reseller: Option<ResellerId>,
        action: &str,
        subject: impl ToString,
        detail: &Value,
    ) -> Result<(), ServiceError> {
        let origin = Origin { address: "local".to_owned(), request_id: String::new() };
        self.kernel.audit_as(tx, reseller, &Actor::Operator(self.actor.to_string()), &origin, action, subject, detail)
    }
}

fn reseller_by_code(tx: &mut Tx<'_>, code: &str) -> Result<Reseller, ServiceError> {
    tx.reseller_by_code(code)?.ok_or_else(|| ServiceError::NotFound(Noun::Reseller, vec![code.to_owned()]))
}
