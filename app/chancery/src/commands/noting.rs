//! Notes in the audit trail what a command did that is not a change to the database.

use chancery_domain::{Action, AuditId, Clock};
use chancery_machine::{SystemClock, SystemEntropy};
use chancery_store::{AuditRecord, Outcome, Store, StoreError};
use serde_json::Value;

use super::context::person;
use crate::failure::Failure;

/// As the operator at the keyboard. It needs no keys, as a backup needs none.
pub async fn note(store: &Store, action: Action, subject: String, detail: Value) -> Result<(), StoreError> {
    let now = SystemClock.now();
    let record = AuditRecord {
        id: AuditId::new(now, &SystemEntropy),
        at: now,
        reseller: None,
        actor_kind: "operator".to_owned(),
        actor: person(),
        address: "local".to_owned(),
        request_id: String::new(),
        action: action.as_str().to_owned(),
        subject,
        outcome: Outcome::Done,
        detail: detail.to_string(),
    };
    store.write(move |tx| tx.append_audit(&record)).await
}

/// It is done, but nobody will read of it.
pub fn untold(done: &str, error: &StoreError) -> Failure {
    Failure::failed(format!("{done}, but could not write that to the audit trail: {error}"))
}
